package formats

import (
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// TestPlainNumbersOfWorkbook: in a workbook, numbers that people typed as text stand beside those that it stores.
func TestPlainNumbersOfWorkbook(t *testing.T) {
	c := dataset.NewText("y", "12.5", "9,75", "ca. 8,5", "0.125", "n.d.", "kaputt")
	read, err := sheets.PlainNumbers(c, sheets.Options{}, dataset.Origin{Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(tableOf(t, read.Plain)); !strings.Contains(got, "[12.5] [9.75] [8.5] [0.125] [n.d.] [kaputt]") {
		t.Error(got)
	}
}

// TestInfiniteLabels are listed with the other labels that cannot be used.
func TestInfiniteLabels(t *testing.T) {
	opts := sheets.Options{Kinds: map[string]dataset.Kind{"y": dataset.KindNumeric},
		Label: func(name string) bool { return name == "y" }}
	_, err := ReadCSV(t.Context(), strings.NewReader("x;y\n1,5;2,5\n2,5;lost\n3,5;-Inf\n"), opts)
	if err == nil || !strings.Contains(err.Error(), `"lost" (line 3), "-Inf" (line 4)`) {
		t.Error(err)
	}
}

// TestTotalOfOneLine: the id says it, too.
func TestTotalOfOneLine(t *testing.T) {
	read, err := ReadCSV(t.Context(), strings.NewReader("x,name,y\n1,a,2\n2,b,3\n3, total :,5\n"),
		sheets.Options{ID: "name"})
	if err != nil || len(read.Origin().Warnings) != 1 ||
		read.Origin().Warnings[0] != `"total :" (line 4) at the end looks like a total, but is taken as a row; remove it `+
			`if it is a total` {
		t.Error(err, read.Origin().Warnings)
	}
}
