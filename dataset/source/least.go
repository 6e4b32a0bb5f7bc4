package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// LeastBytes returns how many bytes the table in a file, or in the files that a name stands for, will
// take at least, as far as can be seen quickly: the footers of Parquet files have the number of rows, and
// the first rows of a text file suggest it. It returns 0 where nothing can be seen quickly, such as for
// files that cannot be read, and for arrays, which do not go to Overflow.
func LeastBytes(ctx context.Context, name string, opts Options) int64 {
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

// What a row of a column takes at least, for columns of numbers and of levels, and for those of text
// or of numbers that float32 does not hold.
const (
	leastValue = 4
	wideValue  = 8
)

// openRegular opens a regular file: to open a pipe would wait.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errNoGlance
	}
	file, err := os.Open(path)
	return file, info.Size(), err
}

var errNoGlance = errors.New("a glance at the file tells nothing")

// leastOfParquet reads the footers.
func leastOfParquet(ctx context.Context, paths []string, opts Options) (least int64, err error) {
	p := &parquetReader{ctx: ctx, opts: opts, missing: opts.missingSet(nil), first: paths[0]}
	rows := int64(0)
	for _, path := range paths {
		n, err := p.countRows(path)
		if err != nil {
			return 0, err
		}
		if rows += n; rows > mostRows {
			return 0, errNoGlance
		}
	}
	for _, s := range p.sinks {
		if s != nil && least <= math.MaxInt64-wideValue*mostRows {
			least += leastWidth(s.soFar()) * rows
		}
	}
	return least, nil
}

// countRows returns the number of rows of a file, by its footer.
func (p *parquetReader) countRows(path string) (rows int64, err error) {
	defer panicAsDamage(&err)
	file, _, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	r, err := open(file)
	if err != nil {
		return 0, err
	}
	content, ok := r.(sized)
	if !ok {
		return 0, errNoGlance
	}
	opened, err := p.openFooter(watchedAt{content, p.ctx})
	if err != nil {
		return 0, err
	}
	for _, group := range opened.Metadata().RowGroups {
		if group.NumRows < 0 || group.NumRows > mostRows-rows {
			return 0, errNoGlance
		}
		rows += group.NumRows
	}
	return rows, nil
}

// glance is how much of a text is read to estimate what all of it takes.
const glance = 1 << 20

// leastOfText reads the first rows. As others may be longer, and are fewer then, half of what these
// suggest counts, and no more than a quarter of the file. A compressed file counts with its size, as
// text is larger than that.
func leastOfText(ctx context.Context, path string, opts Options) (int64, error) {
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

// leastWidth is what a row of a column takes at least, given its first rows.
func leastWidth(c dataset.Column) int64 {
	switch c := c.(type) {
	case *dataset.Text:
		return wideValue
	case *dataset.Numeric:
		for row := range c.Len() {
			if v := c.Float(row); float64(float32(v)) != v && !math.IsNaN(v) {
				return wideValue
			}
		}
	}
	return leastValue
}
