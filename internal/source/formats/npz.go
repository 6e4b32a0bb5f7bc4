package formats

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// ReadNPZ reads one array of an archive written by numpy.savez or savez_compressed, named by Options.Array, as
// ReadNPY does.
func ReadNPZ[T matrix.Float](ctx context.Context, r io.Reader, opts sheets.Options) (matrix.Dense[T], error) {
	_, m, err := readNPZ[T](ctx, r, arrayUse{Options: opts})
	return m, ended(ctx, err)
}

// ReadNPZTable reads the array named by the options as a table with the columns c0, c1, …, as ReadNPYTable does.
func ReadNPZTable(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	a, m, err := readNPZ[float64](ctx, r, arrayUse{opts, true})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return arrayTable(ctx, a, m, opts)
}

func readNPZ[T matrix.Float](ctx context.Context, r io.Reader, use arrayUse) (array, matrix.Dense[T], error) {
	none := matrix.Dense[T]{}
	content, held, err := randomAccess(ctx, r, use.Options)
	if err != nil {
		return array{}, none, err
	}
	use.Options = sheets.Holding(use.Options, held)
	archive, err := openArchive(content)
	if err != nil {
		return array{}, none, err
	}
	entry, err := findEntry(archive, use.Array)
	if err != nil {
		return array{}, none, err
	}
	file, err := entry.Open()
	if err != nil {
		return array{}, none, damaged(err)
	}
	defer file.Close()
	return readNPY[T](file, atMost(&entry.FileHeader), use)
}

// findEntry returns the entry of the named array.
func findEntry(archive *zip.Reader, name string) (*zip.File, error) {
	var names []string
	var found *zip.File
	for _, entry := range archive.File {
		array, ok := strings.CutSuffix(entry.Name, ".npy")
		if !ok {
			continue
		}
		names = append(names, array)
		if name == "" || array == name {
			found = entry
		}
	}
	return found, oneOf(names, name)
}

// oneOf rejects a name that no array of the file has, and an empty name if there is a choice.
func oneOf(names []string, name string) error {
	found := 0
	for _, n := range names {
		if name == "" || n == name {
			found++
		}
	}
	switch {
	case found == 1:
		return nil
	case len(names) == 0:
		return &sheets.Error{Kind: sheets.ErrEmpty, Detail: "it contains no array of numbers",
			Advice: "check that it is the right file"}
	case found == 0:
		return &sheets.Error{Kind: sheets.ErrArray, Detail: name, Advice: "the arrays are " + sheets.ShortList(names)}
	case name == "":
		return &sheets.Error{Kind: sheets.ErrArray, Detail: fmt.Sprintf("it has %d, and no name is given", len(names)),
			Advice: "name one of " + sheets.ShortList(names)}
	}
	return &sheets.Error{Kind: sheets.ErrArray, Detail: name + " is the name of several arrays",
		Advice: "rename all but one"}
}

// atMost bounds the bytes of an entry: the size it claims, but no more than its compressed bytes can expand to.
func atMost(h *zip.FileHeader) int64 {
	const deflateRatio = 1032
	if h.CompressedSize64 > math.MaxInt64/deflateRatio {
		return -1
	}
	return int64(min(h.UncompressedSize64, h.CompressedSize64*deflateRatio))
}
