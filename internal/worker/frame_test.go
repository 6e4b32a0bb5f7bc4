package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign/storetest"
)

func frameBytes(t testing.TB, f Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeFrame(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func upTo(bytes int64) func() int64 { return func() int64 { return bytes } }

func sample() Frame {
	return Frame{Header: Header{ID: 7, Kind: "ping", Body: []byte(`{"a":1}`)}, Data: []Array{
		{Shape: Shape{"float32", []int{2, 2}}, Float32: []float32{1, -2, 0.5, float32(math.Inf(1))}},
		{Shape: Shape{"float64", []int{1}}, Float64: []float64{math.Pi}},
		{Shape: Shape{"int32", []int{0, 3}}, Int32: []int32{}},
		{Shape: Shape{"int64", []int{2}}, Int64: []int64{math.MinInt64, 4}},
		{Shape: Shape{"uint8", []int{3}}, Uint8: []uint8("abc")},
	}}
}

func TestFramesComeBack(t *testing.T) {
	raw := bytes.Repeat(frameBytes(t, sample()), 2)
	r := bytes.NewReader(raw)
	for range 2 {
		f, err := readFrame(r, upTo(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		f.Arrays = nil
		if want := sample(); !reflect.DeepEqual(f, want) {
			t.Errorf("read %+v, wrote %+v", f, want)
		}
	}
	if _, err := readFrame(r, upTo(1<<20)); err != io.EOF {
		t.Errorf("at the end: %v, want EOF", err)
	}
}

func withHeader(text string, rest ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), rest...)
}

func TestDamagedFrames(t *testing.T) {
	whole := frameBytes(t, sample())
	for n := 1; n < len(whole); n++ {
		if _, err := readFrame(bytes.NewReader(whole[:n]), upTo(1<<20)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v, want an unexpected end", n, len(whole), err)
		}
	}
	for text, word := range map[string]string{
		`{`: "not JSON", `[]`: "not JSON", `{"id":-1}`: "not JSON",
		`{"arrays":[{"type":"float16","shape":[1]}]}`:                                       "unknown type",
		`{"arrays":[{"type":"uint8","shape":[-1]}]}`:                                        "shape [-1]",
		`{"arrays":[{"type":"float64","shape":[4611686018427387904,4611686018427387904]}]}`: "too large",
		`{"arrays":[{"type":"float64","shape":[1152921504606846975]},{"type":"uint8",` +
			`"shape":[1152921504606846975]}]}`: "more bytes than can be counted",
	} {
		_, err := readFrame(bytes.NewReader(withHeader(text)), upTo(math.MaxInt64))
		if wrong := (*FrameError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want a FrameError with %q", text, err, word)
		}
	}
	if _, err := readFrame(bytes.NewReader([]byte{255, 255, 255, 255}), upTo(1)); err == nil ||
		!strings.Contains(err.Error(), "header of") {
		t.Errorf("a header of 4 GiB: %v", err)
	}
}

func TestArraysBeyondTheLimitAreSkipped(t *testing.T) {
	r := bytes.NewReader(append(frameBytes(t, sample()), frameBytes(t, Frame{Header: Header{ID: 8, Kind: "ping"}})...))
	_, err := readFrame(r, upTo(10))
	if large := (*SizeError)(nil); !errors.As(err, &large) || large.ID != 7 || large.Need < 16+8+16+3 {
		t.Fatalf("%v, want a SizeError of request 7 and at least 43 bytes", err)
	}
	if f, err := readFrame(r, upTo(10)); err != nil || f.ID != 8 {
		t.Errorf("the next frame: %+v, %v", f, err)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(frameBytes(f, sample()))
	f.Add(withHeader(`{"arrays":[{"type":"float64","shape":[3,1000000]}]}`, 1, 2, 3))
	f.Add(withHeader(`{"id":1,"kind":"select","body":{"n":1}}`))
	f.Add(withHeader(`{"id":1,"kind":"fit","arrays":[{"type":"float64","shape":[1099511627776,0]},{"type":"float32",` +
		`"shape":[0,1099511627776]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := readFrame(bytes.NewReader(raw), upTo(1<<20))
		if err != nil {
			return
		}
		again, err := readFrame(bytes.NewReader(frameBytes(t, frame)), upTo(1<<20))
		if err != nil {
			t.Fatalf("a frame that was read cannot be read again: %v", err)
		}
		if !bytes.Equal(frameBytes(t, frame), frameBytes(t, again)) {
			t.Error("the frame has changed")
		}
	})
}

// FuzzServe sends arbitrary frames to a server, which must answer each of them or end
// with an error, without a fault. The end of the input cancels what takes long.
func FuzzServe(f *testing.F) {
	for _, kind := range append(slices.Sorted(maps.Keys(verbs)), "cancel", "") {
		frame := sample()
		frame.Kind, frame.Body = kind, []byte(`{}`)
		f.Add(frameBytes(f, frame))
	}
	f.Add(frameBytes(f, exampleSelect(8, 4)))
	for _, attack := range hostile() {
		if raw := frameBytes(f, attack.frame); len(raw) < 64<<10 { // larger ones slow the fuzzer down
			f.Add(raw)
		}
	}
	begin := newCampaignFrame("fuzzed")
	f.Add(frameBytes(f, begin))
	for kind, body := range map[string]string{
		"campaign_ask":    `{"store":"memory","name":"c","rows":2}`,
		"campaign_tell":   `{"store":"memory","name":"c","rows":[{"id":"r1","values":{"y":1}}]}`,
		"campaign_status": `{"store":"memory","stop":""}`, "campaign_retire": `{"store":"memory","ids":["r1"]}`,
		"campaign_confirm": `{"store":"memory","ids":["r1"]}`, "campaign_undo": `{"store":"memory","event":3}`,
	} {
		f.Add(frameBytes(f, Frame{Header: Header{ID: 2, Kind: kind, Body: []byte(body)}}))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		s := inMemory(&storetest.Memory{})
		s.Available = func() int64 { return 1 << 20 }
		if bytes.Contains(raw, []byte("campaign_")) {
			if err := s.Serve(t.Context(), bytes.NewReader(frameBytes(t, newCampaignFrame("c"))), io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.Serve(t.Context(), bytes.NewReader(raw), &out)
		for {
			answer, err := readFrame(&out, upTo(1<<30))
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("an answer cannot be read: %v", err)
			}
			if bytes.Contains(answer.Body, []byte(`"error":"fault"`)) {
				t.Fatalf("%s", answer.Body)
			}
		}
	})
}
