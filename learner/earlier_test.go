package learner

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
)

// TestDamagedEarlier: a file of a model with earlier ones that is cut off, changed or nested is an error, not a panic.
func TestDamagedEarlier(t *testing.T) {
	t.Parallel()
	one := func() *Model {
		o := Options{Kind: GaussianOnly}
		o.Network.Columns = &encode.Encoder{Numeric: []string{"a", "b", "c"}}
		m, err := Fit(t.Context(), made(20), o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := one()
	m.Earlier = []*Model{one()}
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(b []byte) []byte {
		return binary.LittleEndian.AppendUint32(slices.Clone(b), crc32.ChecksumIEEE(b))
	}
	if err := (&Model{}).UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(raw)
	changed[len(raw)/2]++
	nested := one()
	nested.Earlier = []*Model{m}
	deep, err := nested.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"cut off":   raw[:len(raw)/2],
		"changed":   changed,
		"nested":    deep,
		"one model": sealed(append([]byte(magicEarlier), 1, 0, 0, 0)),
		"too long":  sealed(slices.Concat([]byte(magicEarlier), []byte{2, 0, 0, 0}, slices.Repeat([]byte{0xff}, 8))),
		"only name": []byte(magicEarlier),
	} {
		if err := (&Model{}).UnmarshalBinary(damaged); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
