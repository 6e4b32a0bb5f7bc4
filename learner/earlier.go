package learner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A model that takes what models of earlier data predict is saved with them, as
//
//	magic             which names the version of the container
//	count (uint32)    of the models, little-endian as all numbers
//	for each model    length (uint64) and the bytes that it has when it is saved alone; the model itself comes first
//	checksum          CRC-32 (IEEE) of all bytes before it
const magicEarlier = "nextbatch model after earlier data 1\n"

// marshalAfter returns the file of a model, whose own bytes are given, and of its earlier models.
func (m *Model) marshalAfter(own []byte) ([]byte, error) {
	le, b := binary.LittleEndian, []byte(magicEarlier)
	b = le.AppendUint32(b, uint32(1+len(m.Earlier)))
	b = append(le.AppendUint64(b, uint64(len(own))), own...)
	for _, e := range m.Earlier {
		raw, err := e.MarshalBinary()
		if err != nil {
			return nil, err
		}
		b = append(le.AppendUint64(b, uint64(len(raw))), raw...)
	}
	return le.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// unmarshalAfter reads what marshalAfter returned.
func unmarshalAfter(raw []byte) (*Model, error) {
	le, rest := binary.LittleEndian, raw[len(magicEarlier):]
	if len(rest) < 8 || crc32.ChecksumIEEE(raw[:len(raw)-4]) != le.Uint32(raw[len(raw)-4:]) {
		return nil, errors.New("its checksum is wrong")
	}
	count := le.Uint32(rest)
	rest = rest[4 : len(rest)-4]
	var all []*Model
	for range count {
		if len(rest) < 8 || le.Uint64(rest) > uint64(len(rest)-8) {
			return nil, fmt.Errorf("it ends within model %d of %d", len(all)+1, count)
		}
		size := le.Uint64(rest)
		one := rest[8 : 8+size]
		rest = rest[8+size:]
		if bytes.HasPrefix(one, []byte(magicEarlier)) {
			return nil, errors.New("a model of earlier data has earlier data itself")
		}
		m := &Model{}
		if err := m.UnmarshalBinary(one); err != nil {
			return nil, err
		}
		if m.Columns() == nil {
			return nil, errors.New("a model does not say which columns its inputs are")
		}
		all = append(all, m)
	}
	if len(all) < 2 || len(rest) > 0 {
		return nil, fmt.Errorf("it has %d models, and %d bytes after them", len(all), len(rest))
	}
	all[0].Earlier = all[1:]
	return all[0], nil
}
