package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
)

func ExampleReadCSV() {
	text := "id,carat,cut\n007,0.23,ideal\n008,NA,fair\n"
	stones, err := source.ReadCSV(context.Background(), strings.NewReader(text), source.Options{
		Kinds: map[string]dataset.Kind{"id": dataset.KindText}, // keeps the zeros
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range stones.Columns() {
		fmt.Printf("%s is %v: %q, %q\n", c.Name(), c.Kind(), c.Format(0), c.Format(1))
	}
	// Output:
	// id is text: "007", "008"
	// carat is numeric: "0.23", ""
	// cut is categorical: "ideal", "fair"
}

func ExampleError() {
	_, err := source.ReadCSV(context.Background(), strings.NewReader("x,y\n1,2\n3\n"), source.Options{})
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", "\n"))
	if at := (*source.Error)(nil); errors.As(err, &at) && errors.Is(err, source.ErrRagged) {
		fmt.Println("the row on line", at.Line, "is incomplete")
	}
	// Output:
	// line 3, column 2 (y): the number of fields differs from that of the first row: 1 instead of 2
	// add or remove a field, or quote a field that contains the delimiter
	// the row on line 3 is incomplete
}

func ExampleRead() {
	text := "@relation stones\n@attribute carat numeric\n@attribute cut {fair, ideal}\n@data\n0.23, ideal\n"
	stones, err := source.Read(context.Background(), strings.NewReader(text), source.Options{Format: "arff"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stones.Names(), stones.Rows())
	// Output: [carat cut] 1
}

func ExampleWriteCSV() {
	batch, err := dataset.NewTable(dataset.NewText("id", "a", "b, c"), dataset.NewNumeric("score", 0.5, 12))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := source.WriteCSV(os.Stdout, batch); err != nil {
		fmt.Println(err)
	}
	// Output:
	// id,score
	// a,0.5
	// "b, c",12
}

func ExampleWriteNPY() {
	features := matrix.FromRows([][]float32{{1, 2}, {3, 4}, {5, 6}})
	var file bytes.Buffer // numpy.load reads it too
	if err := source.WriteNPY(&file, features); err != nil {
		fmt.Println(err)
		return
	}
	back, err := source.ReadNPY[float64](context.Background(), &file, source.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Shape(), back.Row(2))
	// Output: 3x2 [5 6]
}

func ExampleWriteJSONLines() {
	batch, err := dataset.NewTable(dataset.NewText("id", "a", ""), dataset.NewNumeric("score", 0.5, 12))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := source.WriteJSONLines(os.Stdout, batch); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"id":"a","score":0.5}
	// {"id":null,"score":12}
}
