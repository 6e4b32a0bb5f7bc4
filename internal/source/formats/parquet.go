package formats

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// ReadParquet reads a table from a Parquet file.
func ReadParquet(ctx context.Context, r io.Reader, opts sheets.Options) (t *dataset.Table, err error) {
	p := &parquetReader{ctx: ctx, opts: opts, missing: sheets.MissingSet(opts, nil)}
	if err := p.addFile(r); err != nil {
		return nil, ended(ctx, err)
	}
	if t, err = p.Table(); err != nil {
		return nil, err
	}
	p.setUnits(t)
	t.SetOrigin(dataset.Origin{Stored: true})
	return sheets.WithIDs(opts, t)
}

// addFile adds the rows of a file, which must have the columns of those before.
func (p *parquetReader) addFile(r io.Reader) (err error) {
	defer panicAsDamage(&err)
	content, held, err := randomAccess(p.ctx, r, p.opts)
	if err != nil {
		return err
	}
	limit := p.opts
	p.opts = sheets.Holding(p.opts, held)
	defer func() { p.opts = limit }()
	file, err := p.openFile(content)
	if err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := p.addGroup(group); err != nil {
			return err
		}
	}
	if text, ok := file.Lookup(unitsKey); ok && p.units == nil {
		if err := json.Unmarshal([]byte(text), &p.units); err != nil {
			return damaged(err)
		}
	}
	return nil
}

// unitsKey is the entry in the metadata of a Parquet file with the units of columns, by name, in JSON.
const unitsKey = "nextbatch.units"

// setUnits tells columns of numbers their units.
func (p *parquetReader) setUnits(t *dataset.Table) {
	for name, unit := range p.units {
		if numbers, err := t.Numeric(name); err == nil {
			numbers.OwnUnit = dataset.Unit{Name: unit, Row: -1}
		}
	}
}

// unitsOption returns the option of a writer that keeps the units of columns whose names do not say them, if there are
// any.
func unitsOption(t *dataset.Table) []parquet.WriterOption {
	units := map[string]string{}
	for _, c := range t.Columns() {
		if numbers, ok := c.(*dataset.Numeric); ok && numbers.Unit().Name != dataset.HeaderUnit(c.Name()) {
			units[c.Name()] = numbers.Unit().Name
		}
	}
	if len(units) == 0 {
		return nil
	}
	text, _ := json.Marshal(units) // of texts
	return []parquet.WriterOption{parquet.KeyValueMetadata(unitsKey, string(text))}
}

// panicAsDamage turns a panic into an error: the library panics on some damaged files. That
// of a mapped file is about rows that were read before, and goes on.
func panicAsDamage(err *error) {
	switch damage := recover(); {
	case damage == nil:
	case rowfile.IsFault(damage):
		panic(damage)
	default:
		*err = damaged(fmt.Errorf("%v", damage))
	}
}

// openFile opens a file, which must have the columns of those before, and checks it.
func (p *parquetReader) openFile(content sized) (*parquet.File, error) {
	file, err := p.openFooter(content)
	if err != nil {
		return nil, err
	}
	p.done = 0
	return file, p.checkChunks(content, file.Metadata())
}

// openFooter is openFile without the check of the rows.
func (p *parquetReader) openFooter(content sized) (*parquet.File, error) {
	length, err := checkParquet(content)
	if err != nil {
		return nil, err
	}
	if err := checkFooter(content, length, p.opts); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(content, content.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, damaged(err)
	}
	if p.Names == nil {
		err = p.open(file.Root())
	} else {
		err = p.sameColumns(file.Root())
	}
	return file, err
}

func damaged(cause error) *sheets.Error {
	return &sheets.Error{Kind: sheets.ErrRead, Cause: cause, Advice: "check that the file is complete"}
}

// sized is content with random access, such as a bytes.Reader.
type sized interface {
	io.ReaderAt
	Size() int64
}

// randomAccess returns the contents of r, and how many bytes of them it had to read into memory.
func randomAccess(ctx context.Context, r io.Reader, opts sheets.Options) (content sized, held int64, err error) {
	if content, ok := r.(sized); ok {
		return watchedAt{content, ctx}, 0, nil
	}
	const growth = 3 // a growing buffer exists twice, and the new one is up to twice as large
	var all bytes.Buffer
	for {
		_, err := io.CopyN(&all, ctxio.Reader(ctx, r), bufferSize)
		if err == io.EOF {
			return bytes.NewReader(all.Bytes()), int64(all.Cap()), nil
		}
		if err != nil {
			return nil, 0, damaged(err)
		}
		if all.Available() < bufferSize+bytes.MinRead {
			if err := sheets.Allow(opts, growth*int64(all.Cap()), "the archive, which must be in memory,"); err != nil {
				return nil, 0, err
			}
		}
	}
}

// checkParquet checks both ends of the file, and returns the length of the footer.
func checkParquet(content sized) (length int64, err error) {
	const magic, ends = "PAR1", 12
	var start [4]byte
	var end [8]byte
	size := content.Size()
	if size >= ends {
		_, errStart := content.ReadAt(start[:], 0)
		_, errEnd := content.ReadAt(end[:], size-int64(len(end)))
		if errEnd == io.EOF {
			errEnd = nil
		}
		if err := errors.Join(errStart, errEnd); err != nil {
			return 0, damaged(err)
		}
	}
	length = int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case string(start[:]) == "PARE" || string(end[4:]) == "PARE":
		return 0, &sheets.Error{Kind: sheets.ErrFormat, Detail: "it is encrypted", Advice: "write it without encryption"}
	case string(start[:]) != magic:
		return 0, &sheets.Error{Kind: sheets.ErrFormat, Detail: "it does not start as a Parquet file does: " +
			cells.QuoteShort(start[:]),
			Advice: "check the file's format"}
	case string(end[4:]) != magic || length > size-ends:
		return 0, &sheets.Error{Kind: sheets.ErrRead, Detail: "there is no footer at its end",
			Advice: "check that the file is complete"}
	}
	return length, nil
}

// parquetReader passes the values of the file to the sinks of their columns.
type parquetReader struct {
	sheets.Rows
	ctx     context.Context
	opts    sheets.Options
	missing map[string]bool
	first   string          // the first of several files
	columns []parquetColumn // one per name; without a sink if ignored
	done    int             // rows of the file's groups read so far
	others  int64           // bytes that all columns but the current one take
	values  []parquet.Value
	text    []byte
	units   map[string]string // of columns, by name
}

// parquetColumn is where a column is in the file, and what its values are.
type parquetColumn struct {
	leaf    int
	schema  string           // its type in the file
	numbers *dataset.Numeric // receives the values unless the sink takes them as text
	parquetType
}

// open decides on the kinds of the columns.
func (p *parquetReader) open(root *parquet.Column) error {
	taken := map[string]bool{}
	for j, c := range root.Columns() {
		p.Names = append(p.Names, c.Name())
		if taken[c.Name()] {
			return &sheets.Error{Column: j + 1, Name: c.Name(), Kind: sheets.ErrHeader,
				Detail: "another column has the same name", Advice: "rename one"}
		}
		taken[c.Name()] = true
	}
	if len(p.Names) == 0 {
		return &sheets.Error{Kind: sheets.ErrEmpty, Detail: "it has no columns", Advice: "check that it is the right file"}
	}
	if err := sheets.CheckNames(p.opts, p.Names); err != nil {
		return err
	}
	p.values = make([]parquet.Value, 1024)
	p.columns = make([]parquetColumn, len(p.Names))
	p.Sinks = make([]sheets.Sink, len(p.Names))
	ignored := sheets.IgnoredSet(p.opts)
	for j, c := range root.Columns() {
		if ignored[p.Names[j]] {
			continue
		}
		if err := p.openColumn(j, c); err != nil {
			return err
		}
	}
	return nil
}

func (p *parquetReader) openColumn(j int, c *parquet.Column) error {
	name := p.Names[j]
	e := &sheets.Error{Column: j + 1, Name: name, Kind: sheets.ErrFormat,
		Advice: "ignore the column, or write it as numbers or text"}
	if !c.Leaf() || c.Repeated() {
		e.Detail = "the column holds lists or groups"
		return e
	}
	typ, known := parquetTypeOf(c.Type())
	if !known {
		e.Detail = "the column holds values of type " + c.Type().String()
		return e
	}
	p.columns[j] = parquetColumn{leaf: c.Index(), schema: c.Type().String(), parquetType: typ}
	kind, declared := sheets.DeclaredKind(p.opts, name)
	switch {
	case typ.number != nil && (kind == dataset.KindNumeric || !declared):
		numbers := dataset.NewNumeric(name)
		if c.Type().Kind() == parquet.Float {
			numbers.FromSingle = true
		}
		p.columns[j].numbers = numbers
		p.Sinks[j] = &sheets.NumberSink{Into: numbers}
	case kind == dataset.KindText:
		p.Sinks[j] = sheets.NewSink(kind, name, nil) // NA may be an id
	case declared:
		p.Sinks[j] = sheets.NewSink(kind, name, p.missing)
	case typ.time:
		p.Sinks[j] = sheets.NewSink(dataset.KindText, name, p.missing)
	default:
		p.Sinks[j] = sheets.NewWordSink(name, p.missing)
	}
	return nil
}

// mostRows are more than any group has.
const mostRows = math.MaxInt32 << 16

// checkChunks checks the chunks of the columns to read.
func (p *parquetReader) checkChunks(content sized, file *format.FileMetaData) error {
	need := p.others // the files before
	for _, group := range file.RowGroups {
		if group.NumRows < 0 || group.NumRows > mostRows {
			return damaged(fmt.Errorf("a group of %d rows", group.NumRows))
		}
		for j, c := range p.columns {
			if p.Sinks[j] == nil || c.leaf >= len(group.Columns) {
				continue
			}
			chunk := &group.Columns[c.leaf].MetaData
			err := checkCodec(chunk.Codec)
			if err == nil {
				err = checkPages(content, chunk, group.NumRows, p.opts, p.ctx.Err)
			}
			if need += leastValue * group.NumRows; err == nil {
				err = p.opts.CheckSpace("the table", need)
			}
			if at := (*sheets.Error)(nil); errors.As(err, &at) && at.Kind != sheets.ErrMemory {
				at.Column, at.Name = j+1, p.Names[j]
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCodec rejects LZ4_RAW. The library silently loses pages compressed with it, and never returns on damaged ones:
// https://github.com/parquet-go/parquet-go/issues/608
func checkCodec(codec format.CompressionCodec) error {
	if codec != format.Lz4Raw {
		return nil
	}
	return &sheets.Error{Kind: sheets.ErrFormat, Detail: "the column is compressed with LZ4_RAW",
		Advice: "write the file with Snappy, Zstandard or gzip"}
}

func (p *parquetReader) addGroup(group parquet.RowGroup) error {
	chunks := group.ColumnChunks()
	for j, s := range p.Sinks {
		if s == nil {
			continue
		}
		if p.columns[j].leaf >= len(chunks) {
			return p.at(j, 0, damaged(errors.New("a group of rows lacks the column")))
		}
		p.others -= s.SoFar().Bytes()
		n, err := p.addChunk(j, chunks[p.columns[j].leaf])
		if err != nil {
			return err
		}
		p.others += s.SoFar().Bytes()
		if int64(n) != group.NumRows() {
			return p.at(j, n, damaged(fmt.Errorf("a group of %d rows has %d values", group.NumRows(), n)))
		}
	}
	p.done += int(group.NumRows())
	return nil
}

// addChunk returns the number of values in a chunk of a column.
func (p *parquetReader) addChunk(j int, chunk parquet.ColumnChunk) (n int, err error) {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		if err := p.ctx.Err(); err != nil {
			return n, err
		}
		if err := p.allowPage(j, n); err != nil {
			return n, err
		}
		page, err := pages.ReadPage()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, p.at(j, n, damaged(err))
		}
		n, err = p.addPage(j, n, page)
		parquet.Release(page)
		if err != nil {
			return n, err
		}
	}
}

// allowPage rejects another page of a column, of which n values of the current group have
// been read, if the table has grown beyond what the options allow.
func (p *parquetReader) allowPage(j, n int) error {
	column := p.Sinks[j].SoFar()
	var full error
	if sheets.Overflows(p.opts, p.others+column.Bytes()) {
		full = p.MoveTo(p.opts.Overflow)
		p.others = p.Bytes() - column.Bytes()
	}
	return sheets.Because(full, sheets.Allow(p.opts, p.others+column.Bytes(),
		fmt.Sprintf("the table up to row %d of column %s",
			p.done+n, p.Names[j])))
}

func (p *parquetReader) addPage(j, n int, page parquet.Page) (int, error) {
	values := page.Values()
	for {
		got, err := values.ReadValues(p.values)
		for _, v := range p.values[:got] {
			if e := p.addValue(j, v); e != nil {
				return n, p.at(j, n, e)
			}
			n++
		}
		if err == io.EOF {
			return n, nil
		}
		if err == nil && got == 0 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return n, p.at(j, n, damaged(err))
		}
	}
}

// at adds the position of the n-th value of the current group, from 0.
func (p *parquetReader) at(j, n int, e *sheets.Error) error {
	e.Row, e.Column, e.Name = p.done+n+1, j+1, p.Names[j]
	return e
}

func (p *parquetReader) addValue(j int, v parquet.Value) *sheets.Error {
	c := &p.columns[j]
	if c.numbers != nil {
		return p.addNumber(c, v)
	}
	p.text = p.text[:0]
	if !v.IsNull() {
		p.text = c.text(p.text, v)
	}
	kind := p.Sinks[j].Add(p.text)
	if kind == nil {
		return nil
	}
	e := &sheets.Error{Kind: kind, Detail: cells.QuoteShort(p.text), Advice: sheets.Advice[kind]}
	if kind == sheets.ErrEncoding {
		e.Detail, e.Advice = e.Detail+cells.NotUTF8, "ignore the column, or write it as text"
	}
	return e
}

func (p *parquetReader) addNumber(c *parquetColumn, v parquet.Value) *sheets.Error {
	number, err := c.numberOf(v)
	if err == nil {
		c.numbers.Append(number)
	}
	return err
}

// numberOf returns a value of a column of numbers; NaN stands for a null.
func (c *parquetColumn) numberOf(v parquet.Value) (float64, *sheets.Error) {
	if v.IsNull() {
		return math.NaN(), nil
	}
	number := c.number(v)
	if c.whole && math.Abs(number) >= exactBelow {
		return 0, &sheets.Error{Kind: sheets.ErrRange, Detail: string(c.text(nil, v)) +
			" is an integer of 2^53 or more, which float64 may not represent",
			Advice: "declare the column text if it holds ids, or ignore it"}
	}
	return number, nil
}
