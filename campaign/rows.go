package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/tables"
)

// Rows are kept as Parquet files of at most 2^16 rows: blobs that no store limits, and
// small enough to be written and read by several threads. A block has the id column,
// if there is one, and the columns of Created, in that order.
const (
	blockRows  = 1 << 16
	blockBytes = 64 << 20
)

// RowsError reports rows that a campaign cannot accept.
type RowsError struct{ Reason string }

func (e *RowsError) Error() string { return e.Reason }

func refuseRows(format string, args ...any) error { return &RowsError{fmt.Sprintf(format, args...)} }

func parseKind(text string) (dataset.Kind, error) {
	for _, kind := range []dataset.Kind{dataset.KindNumeric, dataset.KindCategorical, dataset.KindText} {
		if kind.String() == text {
			return kind, nil
		}
	}
	return 0, fmt.Errorf("there is no kind %q of columns", text)
}

// describe returns the columns of a table apart from ids, targets and the marks of targets that are limits.
func describe(t *dataset.Table, id string, targets []string) (list []Column) {
	not := append([]string{id}, targets...)
	for _, name := range targets {
		not = append(not, dataset.CensoredColumn(name))
	}
	for _, c := range t.Columns() {
		if !slices.Contains(not, c.Name()) {
			list = append(list, Column{c.Name(), c.Kind().String(), cellUnit(c)})
		}
	}
	return list
}

// RowOptions returns how to read rows for a campaign: its columns have their kinds.
func (c *Created) RowOptions() source.Options {
	o := source.Options{RowNames: c.IDColumn, Lenient: true, Kinds: map[string]dataset.Kind{}}
	if c.IDColumn != "" {
		o.Kinds[c.IDColumn] = dataset.KindText
	}
	for _, column := range c.Columns {
		switch column.Kind {
		case dataset.KindNumeric.String():
			o.Kinds[column.Name] = dataset.KindNumeric
		case dataset.KindCategorical.String():
			o.Kinds[column.Name] = dataset.KindCategorical
		}
	}
	return o.WithLabels(c.Targets)
}

// RowOptions returns how to read further rows for the campaign: like its columns, and labels like those so far.
func (s *State) RowOptions() source.Options {
	o := s.Created.RowOptions()
	o.History = s.History
	o.Lod, _ = sheets.ParseLod(s.Settings.Lod) // which was checked
	return o
}

// idsOf returns the id column of a table as text. Every row must have an id; oneRowEach checks whether it is its own.
func idsOf(t *dataset.Table, name string) (*dataset.Text, error) {
	column, err := t.Column(name)
	if err != nil {
		return nil, refuseRows("the ids of the rows: %v", err)
	}
	ids := textOf(column)
	for row := range ids.Len() {
		if !utf8.ValidString(ids.Format(row)) {
			return nil, refuseRows("column %q, %s: the id is not valid UTF-8", name, t.Place(row, ""))
		}
	}
	return ids, nil
}

// oneRowEach makes one row of those with the same id if all of them have labels, which become measurements of that row.
// Rows and labels are those of a table, with rows counted from 0.
func oneRowEach(t, rows *dataset.Table, labels []Label, created *Created) (*dataset.Table, []Label, error) {
	if created.IDColumn == "" {
		return rows, labels, nil
	}
	labelled := make(map[int]bool, len(labels))
	groups := make(map[string][]int, len(labels)) // rows with labels
	for _, l := range labels {
		labelled[int(l.Row)] = true
		groups[l.ID] = append(groups[l.ID], int(l.Row))
	}
	ids := tables.IDs{Table: t, Column: created.IDColumn}
	if err := ids.Check(func(row int) bool { return labelled[row] }, "the column of ids"); err != nil {
		return nil, nil, refuseRows("%v", err)
	}
	if len(groups) == len(labels) {
		return rows, labels, nil
	}
	var kept []int
	place := make([]int64, t.Rows()) // of the row that a line belongs to, among those that are kept
	for row := range t.Rows() {
		group := []int{row}
		if labelled[row] {
			group = groups[ids.Name(row)]
		}
		if row != group[0] {
			place[row] = place[group[0]]
			continue
		}
		best, err := tables.MergeReplicates(t, rows.Columns(), group)
		if err != nil {
			return nil, nil, refuseRows("id %q: %v", ids.Name(row), err)
		}
		place[row] = int64(len(kept))
		kept = append(kept, best)
	}
	labels = slices.Clone(labels)
	for i := range labels {
		labels[i].Row = place[labels[i].Row]
	}
	return rows.Select(kept), labels, nil
}

func textOf(c dataset.Column) *dataset.Text {
	if text, ok := c.(*dataset.Text); ok {
		return text
	}
	text := dataset.NewText(c.Name())
	for row := range c.Len() {
		text.Append([]byte(c.Format(row)))
	}
	return text
}

// conform returns the columns of a table that a campaign keeps, with their kinds and units, ids
// first, and what was converted.
func conform(t *dataset.Table, c *Created) (rows *dataset.Table, said []string, err error) {
	if err := sameColumns(t, c); err != nil {
		return nil, nil, err
	}
	var columns []dataset.Column
	if c.IDColumn != "" {
		ids, err := idsOf(t, c.IDColumn)
		if err != nil {
			return nil, nil, err
		}
		columns = append(columns, ids)
	}
	for _, want := range c.Columns {
		column, err := t.Column(want.Name)
		if err != nil {
			return nil, nil, err
		}
		if column, err = as(column, want.Kind); err != nil {
			return nil, nil, err
		}
		text := ""
		if column, text, err = dataset.InUnit(column, want.unit()); err != nil {
			return nil, nil, refuseRows("%v", t.Placed(err, c.IDColumn))
		}
		if text != "" {
			said = append(said, text)
		}
		if err := checkInputs(column, func(row int) string { return t.Place(row, c.IDColumn) }); err != nil {
			return nil, nil, err
		}
		columns = append(columns, column)
	}
	rows, err = dataset.NewTable(columns...)
	return rows, said, err
}

// checkInputs rejects numbers that are infinite for a network, which computes in float32, and those that differ by too
// little.
func checkInputs(c dataset.Column, place func(row int) string) error {
	numbers, ok := c.(*dataset.Numeric)
	if !ok {
		return nil
	}
	for row := range numbers.Len() {
		if v := numbers.Float(row); math.Abs(v) > math.MaxFloat32 {
			return refuseRows("column %q, %s: %v cannot be used as an input; correct it, or leave it empty if it is missing",
				c.Name(), place(row), v)
		}
	}
	if err := encode.CheckInput(numbers); err != nil {
		return refuseRows("%v", err)
	}
	return nil
}

// sameColumns reports columns that are missing in a table or do not belong there.
func sameColumns(t *dataset.Table, c *Created) error {
	var missing, extra []string
	known := map[string]bool{c.IDColumn: true}
	for _, name := range c.Targets {
		known[name], known[dataset.CensoredColumn(name)] = true, true
	}
	for _, want := range c.Columns {
		known[want.Name] = true
		if _, err := t.Column(want.Name); err != nil {
			missing = append(missing, strconv.Quote(want.Name))
		}
	}
	for _, name := range t.Names() {
		if !known[name] {
			extra = append(extra, strconv.Quote(name))
		}
	}
	var faults []string
	if len(missing) > 0 {
		faults = append(faults, "columns are missing: "+strings.Join(missing, ", "))
	}
	if len(extra) > 0 {
		faults = append(faults, "columns are not those of the campaign: "+strings.Join(extra, ", "))
	}
	if len(faults) > 0 {
		return refuseRows("%s; new rows need the columns of the campaign", strings.Join(faults, "; "))
	}
	return nil
}

// as returns a column in the kind that the campaign has it in.
func as(c dataset.Column, kind string) (dataset.Column, error) {
	want, err := parseKind(kind)
	if err != nil {
		return nil, err
	}
	if c.Kind() == want {
		return c, nil
	}
	switch want {
	case dataset.KindText:
		return textOf(c), nil
	case dataset.KindCategorical:
		return dataset.AsCategorical(c)
	}
	numbers := dataset.NewNumeric(c.Name())
	for row := range c.Len() {
		if !c.Missing(row) {
			return nil, refuseRows("column %q has numbers, but row %d has %q", c.Name(), row, c.Format(row))
		}
		numbers.Append(math.NaN())
	}
	return numbers, nil
}

// encodeRows returns the rows of a table, as conform returned it, as blocks. The id
// column, if there is one, comes first.
func encodeRows(t *dataset.Table, hasIDs bool) (blocks []Block, blobs []Blob, err error) {
	size := min(blockRows, max(1, int(int64(t.Rows())*blockBytes/max(1, t.Bytes()))))
	count := (t.Rows() + size - 1) / size
	blocks, blobs = make([]Block, count), make([]Blob, count)
	ids := make([]Blob, count)
	err = parallel(count, func(i int) error {
		rows := make([]int, 0, size)
		for row := i * size; row < min((i+1)*size, t.Rows()); row++ {
			rows = append(rows, row)
		}
		part := t.Select(rows)
		var err error
		if blobs[i], err = parquetBlob("rows-", part); err != nil {
			return err
		}
		blocks[i] = Block{Rows: int64(len(rows)), Blob: blobs[i].Key}
		if !hasIDs {
			return nil
		}
		alone, err := dataset.NewTable(part.Columns()[0])
		if err != nil {
			return err
		}
		ids[i], err = parquetBlob("ids-", alone)
		blocks[i].IDs = ids[i].Key
		return err
	})
	if hasIDs {
		blobs = append(blobs, ids...)
	}
	return blocks, blobs, err
}

// parquetBlob returns a table as a blob, whose key follows from its bytes.
func parquetBlob(prefix string, t *dataset.Table) (Blob, error) {
	var file bytes.Buffer
	err := source.WriteParquet(&file, t)
	sum := sha256.Sum256(file.Bytes())
	return Blob{prefix + hex.EncodeToString(sum[:16]), file.Bytes()}, err
}

// parallel calls a function for 0 … n-1 on all threads. A panic in any of them is passed on to
// the caller.
func parallel(n int, do func(i int) error) error {
	errs, faults := make([]error, n), make([]any, n)
	next := make(chan int)
	var workers sync.WaitGroup
	one := func(i int) {
		defer func() { faults[i] = recover() }()
		errs[i] = do(i)
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				one(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, fault := range faults {
		if fault != nil {
			panic(fault)
		}
	}
	return errors.Join(errs...)
}

// decodeRows reads a block; with names, only these columns.
func decodeRows(ctx context.Context, c *Created, b Block, file []byte, names []string) (*dataset.Table, error) {
	o := source.Options{Format: "parquet", Kinds: map[string]dataset.Kind{}, Lenient: true}
	chosen := make(map[string]bool, len(names))
	for _, name := range names {
		chosen[name] = true
	}
	wanted := func(name string) bool { return names == nil || chosen[name] }
	var order []string
	if c.IDColumn != "" && wanted(c.IDColumn) {
		order = append(order, c.IDColumn)
	}
	for _, column := range c.Columns {
		if !wanted(column.Name) {
			o.Ignore = append(o.Ignore, column.Name)
			continue
		}
		kind, err := parseKind(column.Kind)
		if err != nil {
			return nil, err
		}
		o.Kinds[column.Name] = kind
		order = append(order, column.Name)
	}
	if c.IDColumn != "" {
		if wanted(c.IDColumn) {
			o.Kinds[c.IDColumn] = dataset.KindText
		} else {
			o.Ignore = append(o.Ignore, c.IDColumn)
		}
	}
	t, err := source.ReadParquet(ctx, bytes.NewReader(file), o)
	if err != nil {
		return nil, fmt.Errorf("block %q of the rows: %w", b.Blob, err)
	}
	for _, column := range c.Columns {
		if numbers, err := t.Numeric(column.Name); err == nil && column.Unit != "" {
			numbers.OwnUnit = dataset.Unit{Name: column.Unit, Row: -1}
		}
	}
	if !slices.Equal(t.Names(), order) {
		return nil, fmt.Errorf("block %q has the columns %q, not %q", b.Blob, t.Names(), order)
	}
	if int64(t.Rows()) != b.Rows {
		return nil, fmt.Errorf("block %q has %d rows, but the log says %d", b.Blob, t.Rows(), b.Rows)
	}
	return t, nil
}

// table is all rows of a campaign.
type table struct {
	rows    *dataset.Table
	numbers []int64 // row i has this number
	spans   []span  // that it was read from
	byID    *idIndex
}

// at returns the position of a row by its number.
func (t *table) at(row int64) int {
	at, _ := slices.BinarySearch(t.numbers, row)
	return at
}

// readRows returns the named columns of all rows, or all columns.
func (c *Campaign) readRows(ctx context.Context, s *State, names []string) (*table, error) {
	if len(s.spans) == 0 && s.fromSpace() {
		return noRows(&s.Created)
	}
	if len(s.spans) == 0 {
		return nil, refuseRows("the campaign has no rows")
	}
	parts := make([]*dataset.Table, len(s.spans))
	onlyIDs := len(names) == 1 && names[0] == s.Created.IDColumn
	err := parallel(len(s.spans), func(i int) error {
		key := s.spans[i].Blob
		if onlyIDs && s.spans[i].IDs != "" {
			key = s.spans[i].IDs
		}
		file, err := c.store.Blob(ctx, c.name, key)
		if err != nil {
			return fmt.Errorf("block %q of the rows: %w", key, err)
		}
		parts[i], err = decodeRows(ctx, &s.Created, s.spans[i].Block, file, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &table{numbers: make([]int64, 0, s.Total()), spans: s.spans}
	for _, b := range s.spans {
		for row := b.First; row < b.First+b.Rows; row++ {
			t.numbers = append(t.numbers, row)
		}
	}
	if t.rows = parts[0]; len(parts) > 1 {
		t.rows, err = dataset.Concat(parts[0].Names(), parts...)
	}
	return t, err
}

// noRows returns the columns of a campaign without rows.
func noRows(c *Created) (*table, error) {
	var columns []dataset.Column
	for _, column := range c.Columns {
		switch column.Kind {
		case dataset.KindNumeric.String():
			columns = append(columns, dataset.NewNumeric(column.Name))
		case dataset.KindCategorical.String():
			columns = append(columns, dataset.NewCategorical(column.Name))
		default:
			columns = append(columns, dataset.NewText(column.Name))
		}
	}
	rows, err := dataset.NewTable(columns...)
	return &table{rows: rows}, err
}

// allRows returns all rows with all columns. The handle keeps them until rows are added or
// removed, because a loop requests them repeatedly.
func (c *Campaign) allRows(ctx context.Context, s *State) (*table, error) {
	c.rowsMu.Lock()
	defer c.rowsMu.Unlock()
	if c.kept.isOf(s) {
		return c.kept, nil
	}
	t, err := c.readRows(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	if c.keptIDs.isOf(s) {
		t.byID = c.keptIDs.byID
	}
	c.kept, c.keptIDs = t, nil
	return t, nil
}

// isOf reports whether the table has the rows of a state.
func (t *table) isOf(s *State) bool { return t != nil && slices.Equal(t.spans, s.spans) }

// keyOf names a list of blocks.
func keyOf(spans []span) string {
	var text strings.Builder
	for _, b := range spans {
		fmt.Fprintf(&text, "%d %s\n", b.First, b.Blob)
	}
	return text.String()
}

// find returns the numbers of rows by their ids; ids that no row has are ignored.
func (c *Campaign) find(ctx context.Context, s *State, ids []string) (map[string]int64, error) {
	found := make(map[string]int64, len(ids))
	if s.Created.IDColumn == "" {
		for _, id := range ids {
			if row, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(row, 10) == id && s.Exists(row) {
				found[id] = row
			}
		}
		return found, nil
	}
	if len(ids) == 0 || len(s.spans) == 0 {
		return found, nil
	}
	t, err := c.ids(ctx, s)
	if err != nil {
		return nil, err
	}
	column := t.rows.Columns()[0]
	for _, id := range ids {
		if at, ok := t.byID.find(column, id); ok {
			found[id] = t.numbers[at]
		}
	}
	return found, nil
}

// ids returns a table whose first column is the ids, with their index. The handle keeps it,
// too.
func (c *Campaign) ids(ctx context.Context, s *State) (*table, error) {
	c.rowsMu.Lock()
	defer c.rowsMu.Unlock()
	t := c.kept
	if !t.isOf(s) {
		t = c.keptIDs
	}
	if !t.isOf(s) {
		var err error
		if t, err = c.readRows(ctx, s, []string{s.Created.IDColumn}); err != nil {
			return nil, err
		}
		c.keptIDs = t
	}
	if t.byID == nil {
		t.byID = indexIDs(t.rows.Columns()[0])
	}
	return t, nil
}

// idIndex finds rows by their ids. It is a hash table of rows with linear probing, at most
// half full, which takes 8 to 16 bytes per row.
type idIndex struct {
	seed  maphash.Seed
	slots []int32 // rows plus 1; 0 where there is none
}

func indexIDs(column dataset.Column) *idIndex {
	x := &idIndex{maphash.MakeSeed(), make([]int32, 2<<bits.Len(uint(column.Len())))}
	for row := range column.Len() {
		*x.slot(column, column.Format(row)) = int32(row) + 1
	}
	return x
}

// slot returns the slot of an id, or the free one that it would get.
func (x *idIndex) slot(column dataset.Column, id string) *int32 {
	mask := uint64(len(x.slots) - 1)
	for i := maphash.String(x.seed, id); ; i++ {
		slot := &x.slots[i&mask]
		if *slot == 0 || column.Format(int(*slot)-1) == id {
			return slot
		}
	}
}

func (x *idIndex) find(column dataset.Column, id string) (row int, ok bool) {
	row = int(*x.slot(column, id)) - 1
	return row, row >= 0
}

// idOf returns the id of row i of a table.
func idOf(t *table, created *Created, i int) string {
	if created.IDColumn == "" {
		return strconv.FormatInt(t.numbers[i], 10)
	}
	return t.rows.Columns()[0].Format(i)
}
