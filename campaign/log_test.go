package campaign_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
)

// TestDamagedLogsAreRefused damages the log of a busy campaign in every place, and
// requires an error or a log that is as long.
func TestDamagedLogsAreRefused(t *testing.T) {
	log, err := busy(t, &storetest.Memory{}).History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := log[len(log)-1].Time
	for i := range log {
		for what, damaged := range map[string][]campaign.Event{
			"lost":  append(append([]campaign.Event{}, log[:i]...), log[i+1:]...),
			"twice": append(append([]campaign.Event{}, log[:i+1]...), log[i:]...),
		} {
			if i == len(log)-1 && what == "lost" {
				continue // a log that ends earlier is a log
			}
			if _, err := campaign.Fold(damaged, now); err == nil {
				t.Errorf("event %d of %d is %s, and nobody noticed", i+1, len(log), what)
			}
		}
		raw, err := campaign.EncodeEvent(log[i])
		if err != nil {
			t.Fatal(err)
		}
		for cut := range raw {
			if _, err := new(campaign.EventDecoder).Decode(raw[:cut]); err == nil {
				t.Errorf("event %d was read from %d of %d bytes", i+1, cut, len(raw))
			}
		}
		if _, err := new(campaign.EventDecoder).Decode(bytes.Replace(raw, []byte(`{"seq"`), []byte(`{"news":1,"seq"`),
			1)); err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("an event with an unknown field: %v", err)
		}
	}
}

// TestDecoderOfManyEvents: a decoder that has read other events, complete or damaged, reads the next as a new one does.
func TestDecoderOfManyEvents(t *testing.T) {
	log, err := busy(t, &storetest.Memory{}).History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var decoder campaign.EventDecoder
	for i := range log {
		raw, err := campaign.EncodeEvent(log[i])
		if err != nil {
			t.Fatal(err)
		}
		spaces := bytes.Repeat([]byte(" "), 4096)
		for _, text := range [][]byte{raw, raw, slices.Concat(raw, spaces), raw[:len(raw)-1], raw,
			slices.Concat(raw, spaces, []byte("x")), nil, slices.Concat(raw, raw), raw} {
			got, failed := decoder.Decode(text)
			want, err := new(campaign.EventDecoder).Decode(text)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(failed) != fmt.Sprint(err) {
				t.Errorf("%d bytes of event %d: %v, %v, not %v, %v", len(text), i+1, got, failed, want, err)
			}
		}
	}
}
