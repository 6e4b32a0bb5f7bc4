package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// Features in Parquet files, one column each. All columns of a group of rows are read side by
// side, so that memory holds a page of each, however large a group is.

func isParquet(path string) bool { return extensionOf(path) == ".parquet" }

// openParquet checks a file and counts its rows.
func (s *Shards) openParquet(file *os.File, path string) (err error) {
	defer panicAsDamage(&err)
	if s.parquet == nil {
		s.parquet = &parquetReader{first: path}
	}
	opened, err := s.parquet.openShard(context.Background(), file)
	if err != nil {
		return err
	}
	for j, c := range s.parquet.columns {
		if c.numbers == nil {
			return &sheets.Error{Column: j + 1, Name: s.parquet.Names[j], Kind: sheets.ErrNumber,
				Detail: "the column holds text",
				Advice: "write a file in which all columns are features"}
		}
		s.single = s.single && c.schema == parquet.FloatType.String()
	}
	s.add(shard{path: path, rows: int(opened.NumRows())}, len(s.parquet.columns))
	return nil
}

// openShard opens a file of features.
func (p *parquetReader) openShard(ctx context.Context, file *os.File) (*parquet.File, error) {
	p.ctx = ctx
	r, err := open(file)
	if err != nil {
		return nil, err
	}
	content, ok := r.(sized)
	if !ok {
		return nil, &sheets.Error{Kind: sheets.ErrFormat, Detail: "it is compressed as a whole",
			Advice: "decompress it; Parquet files are compressed inside"}
	}
	return p.openFile(watchedAt{content, ctx})
}

// eachOfParquet visits the rows from from to to-1 of a file.
func eachOfParquet[T matrix.Float](ctx context.Context, known *parquetReader, file *os.File, from, to int,
	visit func(matrix.Dense[T]) error) (err error) {
	defer panicAsDamage(&err)
	p := *known
	p.columns = slices.Clone(p.columns) // their places differ from file to file
	opened, err := p.openShard(ctx, file)
	if err != nil {
		return err
	}
	for _, group := range opened.RowGroups() {
		low, high := max(from-p.done, 0), min(to-p.done, int(group.NumRows()))
		if low < high {
			if err := eachOfGroup(&p, group, low, high, visit); err != nil {
				return err
			}
		}
		p.done += int(group.NumRows())
	}
	if p.done < to {
		return damaged(fmt.Errorf("it has %d rows, but had more before", p.done))
	}
	return nil
}

// eachOfGroup visits the rows from from to to-1 of a group.
func eachOfGroup[T matrix.Float](p *parquetReader, group parquet.RowGroup, from, to int,
	visit func(matrix.Dense[T]) error) error {
	chunks, columns := group.ColumnChunks(), make([]*columnValues, len(p.columns))
	defer func() {
		for _, c := range columns {
			c.close()
		}
	}()
	for j, c := range p.columns {
		if c.leaf >= len(chunks) {
			return p.at(j, 0, damaged(errors.New("a group of rows lacks the column")))
		}
		columns[j] = &columnValues{pages: chunks[c.leaf].Pages()}
		if err := p.eachValue(j, columns[j], 0, from, func(int, parquet.Value) *sheets.Error { return nil }); err != nil {
			return err
		}
	}
	block := matrix.New[T](min(shardBlock, to-from), len(p.columns))
	for ; from < to; from += block.Rows {
		block = block.Slice(0, min(block.Rows, to-from))
		for j := range columns {
			if err := p.eachValue(j, columns[j], from, block.Rows, func(i int, v parquet.Value) (err *sheets.Error) {
				block.Row(i)[j], err = featureOf[T](&p.columns[j], v)
				return err
			}); err != nil {
				return err
			}
		}
		if err := visit(block); err != nil {
			return err
		}
	}
	return nil
}

// featureOf returns a value as a feature, which is never missing.
func featureOf[T matrix.Float](c *parquetColumn, v parquet.Value) (T, *sheets.Error) {
	number, err := c.numberOf(v)
	switch {
	case err != nil:
		return 0, err
	case v.IsNull():
		return 0, &sheets.Error{Kind: sheets.ErrNumber, Detail: "the value is missing",
			Advice: "write a file without missing values"}
	case math.IsInf(float64(T(number)), 0) && !math.IsInf(number, 0):
		return 0, &sheets.Error{Kind: sheets.ErrRange, Detail: "it exceeds the largest float32", Advice: "scale the column"}
	}
	return T(number), nil
}

// eachValue passes on the next count values of the column j, which are those from the row from of the group on.
func (p *parquetReader) eachValue(j int, c *columnValues, from, count int,
	visit func(i int, v parquet.Value) *sheets.Error) error {
	for i := 0; i < count; {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		n, err := c.next(p.values[:min(len(p.values), count-i)])
		if err != nil {
			return p.at(j, from+i, damaged(err))
		}
		for _, v := range p.values[:n] {
			if err := visit(i, v); err != nil {
				return p.at(j, from+i, err)
			}
			i++
		}
	}
	return nil
}

// columnValues are the values of a column in a group of rows, one page after the other.
type columnValues struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader // of the page; nil at its end
}

// next reads at least one value. They are valid until the next call.
func (c *columnValues) next(dst []parquet.Value) (int, error) {
	for {
		if c.values == nil {
			if err := c.turn(); err != nil {
				return 0, err
			}
		}
		n, err := c.values.ReadValues(dst)
		if err == io.EOF {
			c.values, err = nil, nil
		} else if err == nil && n == 0 {
			err = io.ErrNoProgress
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// turn goes to the next page.
func (c *columnValues) turn() error {
	c.release()
	page, err := c.pages.ReadPage()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	c.page, c.values = page, page.Values()
	return nil
}

func (c *columnValues) release() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
}

func (c *columnValues) close() {
	if c != nil {
		c.release()
		_ = c.pages.Close()
	}
}
