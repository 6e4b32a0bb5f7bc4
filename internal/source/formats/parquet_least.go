package formats

import (
	"context"
	"errors"
	"math"
	"os"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

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
func leastOfParquet(ctx context.Context, paths []string, opts sheets.Options) (least int64, err error) {
	p := &parquetReader{ctx: ctx, opts: opts, missing: sheets.MissingSet(opts, nil), first: paths[0]}
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
	for _, s := range p.Sinks {
		if s != nil && least <= math.MaxInt64-wideValue*mostRows {
			least += leastWidth(s.SoFar()) * rows
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
