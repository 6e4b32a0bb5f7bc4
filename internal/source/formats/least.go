package formats

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// LeastBytes returns how many bytes the table in a file, or in the files that a name stands for, will take at least,
// as far as can be seen quickly: the footers of Parquet files have the number of rows, and the first rows of a text
// file suggest it.
func LeastBytes(ctx context.Context, name string, opts sheets.Options) int64 {
	paths, err := Files(name)
	if err != nil {
		return 0
	}
	format := extensionOf(paths[0])
	if opts.Format != "" {
		format = "." + strings.ToLower(opts.Format)
	}
	var least int64
	switch format {
	case ".parquet":
		least, err = leastOfParquet(ctx, paths, opts)
	case ".csv", ".data", ".dat", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".arff":
		least, err = leastOfText(ctx, paths[0], opts)
	}
	if err != nil {
		return 0 // reading it reports what is wrong
	}
	return least
}

// glance is how much of a text is read to estimate what all of it takes.
const glance = 1 << 20

// leastOfText reads the first rows. As others may be longer, and are fewer then, half of what these suggest counts,
// and no more than a quarter of the file. A compressed file counts with its size, as text is larger than that.
func leastOfText(ctx context.Context, path string, opts sheets.Options) (int64, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	content, err := open(file)
	if err != nil {
		return 0, err
	}
	head := make([]byte, glance)
	if _, err := io.ReadFull(content, head); err != nil {
		return 0, err // it is small
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	read, err := readerFor(extensionOf(path), opts)
	if err != nil {
		return 0, err
	}
	opts.MaxMemory, opts.Overflow = 0, nil
	t, err := read(ctx, bytes.NewReader(head), opts, nil)
	if err != nil {
		return 0, err
	}
	width := int64(0)
	for _, c := range t.Columns() {
		width += leastWidth(c)
	}
	return int64(float64(size) * min(float64(width)*float64(t.Rows())/float64(len(head))/2, 0.25)), nil
}
