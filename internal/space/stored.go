package space

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// stored is a description with the tables of descriptors that it names, by these names.
type stored struct {
	Name   string                 `json:"name"`
	Text   string                 `json:"text"`
	Tables map[string]storedTable `json:"tables,omitempty"`
}

// storedTable is a table of descriptors, of which columns that are not numbers are text.
type storedTable struct {
	Numeric []string `json:"numeric,omitempty"`
	Parquet []byte   `json:"parquet"`
}

// MarshalBinary implements encoding.BinaryMarshaler: Stored reads the space again, without its files.
func (s *Space) MarshalBinary() ([]byte, error) {
	all := stored{Name: filepath.Base(s.path), Text: s.text, Tables: map[string]storedTable{}}
	for name, t := range s.tables {
		var file bytes.Buffer
		if err := source.WriteParquet(&file, t); err != nil {
			return nil, err
		}
		one := storedTable{Parquet: file.Bytes()}
		for _, c := range t.Columns() {
			if c.Kind() == dataset.KindNumeric {
				one.Numeric = append(one.Numeric, c.Name())
			}
		}
		all.Tables[name] = one
	}
	return json.Marshal(all)
}

// Stored reads what MarshalBinary returned.
func Stored(ctx context.Context, raw []byte) (*Space, error) {
	var all stored
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the stored space is damaged: %w", err)
	}
	return parseSpace(all.Name, []byte(all.Text), func(name string) (*dataset.Table, error) {
		one, there := all.Tables[name]
		if !there {
			return nil, fmt.Errorf("the table %s is missing", name)
		}
		schema, err := source.ReadParquet(ctx, bytes.NewReader(one.Parquet), source.Options{})
		if err != nil {
			return nil, err
		}
		o := source.Options{Kinds: map[string]dataset.Kind{}}
		for _, name := range schema.Names() {
			o.Kinds[name] = dataset.KindText
		}
		for _, name := range one.Numeric {
			o.Kinds[name] = dataset.KindNumeric
		}
		return source.ReadParquet(ctx, bytes.NewReader(one.Parquet), o)
	})
}
