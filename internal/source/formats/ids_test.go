package formats

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func TestIDs(t *testing.T) {
	const csv = "id,x\n007,1\nNA,2\n7,3\n"
	read, err := ReadCSV(t.Context(), strings.NewReader(csv), sheets.Options{ID: "id",
		Kinds: map[string]dataset.Kind{"id": dataset.KindNumeric}})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "id text [007] [NA] [7]\nx numeric [1] [2] [3]\n" {
		t.Error(got)
	}
	numbers := parquetFile(t, []struct{ ID int64 }{{1 << 60}, {1<<60 + 1}})
	if _, err := ReadParquet(t.Context(), bytes.NewReader(numbers), sheets.Options{ID: "ID"}); err != nil {
		t.Error(err)
	}
}

func TestIDsRefused(t *testing.T) {
	dir := t.TempDir()
	array := npyFile(1, npyHeaderText("<i8", "False", "(3, 2)"), []int64{4, 1, 5, 1, 6, 1})
	for name, test := range map[string]struct {
		content []byte
		id      string
		kind    error
		says    string
	}{
		"twice.csv": {[]byte("x,id\n1,a\n\n2,b\n3,\" a\"\n4,a\n"), "id", sheets.ErrID,
			`row 3 (from 0), column 2 (id): the id does not identify one row: "a" is also the id of row 0`},
		"missing.csv": {[]byte("x,id\n1,a\n2,\n"), "id", sheets.ErrID,
			"row 1 (from 0), column 2 (id): the id does not identify one row: it is missing"},
		"absent.csv": {[]byte("x,id\n1,a\n2,\n"), "ID", sheets.ErrColumn, "the columns are x, id"},
		"twice.npy": {array, "c1", sheets.ErrID,
			`row 1 (from 0), column 2 (c1): the id does not identify one row: "1" is also the id of row 0`},
		"absent.npy": {array, "c2", sheets.ErrColumn, "c0, c1"},
		"missing.arff": {[]byte("@relation r\n@attribute id string\n@data\na\n?\n"), "id", sheets.ErrID,
			"row 1 (from 0), column 1 (id)"},
		"twice.parquet":  {parquetFile(t, []struct{ ID int32 }{{7}, {7}}), "ID", sheets.ErrID, `"7" is also the id of row 0`},
		"absent.parquet": {parquetFile(t, []struct{ ID int32 }{{7}, {7}}), "id", sheets.ErrColumn, "ID"},
	} {
		path := writeFile(t, dir, name, test.content)
		_, err := ReadFile(t.Context(), path, sheets.Options{ID: test.id})
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.File != path || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) || at.Advice == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCSV(t.Context(), strings.NewReader("id,x\n1,2\n"),
		sheets.Options{ID: "id", Ignore: []string{"id"}}); !errors.Is(err, sheets.ErrColumn) {
		t.Error(err)
	}
	table, err := dataset.NewTable(dataset.NewNumeric("x", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := sheets.CheckIDs(table, "x"); err != nil {
		t.Error(err)
	}
	if err := sheets.CheckIDs(table, "y"); !errors.Is(err, sheets.ErrColumn) {
		t.Error(err)
	}
}
