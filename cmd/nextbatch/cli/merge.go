package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/merge"
	"github.com/nextbatch/nextbatch/internal/plausible"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/tables"
)

// merging is a run of merge.
type merging struct {
	run
	columns columnFlags
	filled  formatFlags   // of the batch files
	style   dataset.Style // of the table
	out     string
	accept  bool
	json    bool
	quiet   bool
	result  mergeResult
}

// mergeResult is what merge prints as JSON.
type mergeResult struct {
	Out      string                 `json:"out"`
	New      int                    `json:"new"`     // labels that came into the table
	Known    int                    `json:"known"`   // that it had before
	Empty    int                    `json:"empty"`   // rows of the batches that have no label yet, for each target
	Waiting  []fitted.DoubtfulLabel `json:"waiting"` // labels that were left out
	Warnings []string               `json:"warnings"`
	Version  string                 `json:"version"`
}

func newMerge() *cobra.Command {
	m := &merging{}
	c := &cobra.Command{
		Use:        "merge TABLE FILLED…",
		SuggestFor: []string{"tell", "label", "join", "update"},
		Short:      "Bring the labels of a filled-in batch back into the table",
		Example:    "  nextbatch merge table.csv batch.csv --id name --target y --out table.csv",
		Args:       cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.run = newRun(cmd, m.quiet)
			return m.perform(cmd.Context(), steps{check: func() error { return m.check(args[0], args[1:]) },
				memory:  &m.columns.memory,
				compute: func(ctx context.Context) (*answer, error) { return m.merge(ctx, args[0], args[1:]) }})
		},
		Long: `Puts the labels of batch files, which 'nextbatch select --out' wrote and which
someone has filled in since, into the table that they come from. Rows are matched
by the column --id, or else by the column row of the batch file. Identical lines
count once.

Nothing is written unless everything matches: each id must be in the table, and
once in the batch; each column that both files have must have the same values, to nine
digits, as spreadsheets round; a label must be a number, and must not differ from one
that the table has already. What is measured together with the label comes into the
table with it. Rows that still have no label are counted.

A batch with the column replicate (select --replicates or --replicate-share) may have
an id several times. Each further measurement becomes a row of the table with the same id
and inputs; 'nextbatch select' takes the mean of such rows.

A label that is far from what 'nextbatch select' predicted, in the file that it left
beside the batch, or from the labels of the table waits for a second look: it is
left out, the message names it with the likely slip, and the exit code is 4. The batch
file keeps it. Correct it there, or merge again with --accept if it is right.

--out may be the table itself, which is replaced only once the new file is
complete. In CSV and tab-separated text all other cells keep their spelling, and the
file has the separator, the decimal mark and the line ends of the table, in UTF-8,
with a byte-order mark for Excel unless the table was in UTF-8 without one. A
workbook (.xlsx) is rewritten as one sheet with the values of the table, in
which the target column is coloured; a workbook that has formulas or several sheets is
not replaced.

How a text file is written is detected for each file separately, so Excel may have
saved the batch with ; and decimal commas. Where that fails, --sep and the like describe
the table, --filled-sep and the like the batch files.`,
	}
	f := c.Flags()
	m.columns.registerTarget(c)
	m.columns.registerLabelSD(f)
	f.StringVar(&m.columns.id, "id", "", "column that names the rows; without it, the column row of the batch file does")
	f.StringVarP(&m.out, "out", "o", "", "write the table to this file: "+strings.Join(tableExtensions(), ", "))
	f.BoolVar(&m.accept, "accept", false, "take labels that are far from what was expected, too")
	f.BoolVar(&m.json, "json", false, "print one JSON object")
	registerQuiet(c, &m.quiet)
	m.columns.format.register(c)
	m.filled.registerFor(c, "filled-", "of the batch files: ")
	m.columns.memory.register(c)
	return c
}

func (m *merging) merge(ctx context.Context, path string, filled []string) (*answer, error) {
	m.filled.lod = m.columns.format.lod
	table, err := m.columns.read(ctx, path, true)
	if err != nil {
		return nil, err
	}
	m.style = table.Origin().Style
	m.progress.reportOrigin(path, table)
	if m.columns.id != "" {
		if _, err := table.Column(m.columns.id); err != nil {
			return nil, dataError{errorf("%s: %w", path, err)}
		}
	}
	if file, _ := splitArray(path); isWorkbook(path) && sameFile(file, m.out) {
		if err := formats.CheckRewrite(ctx, file); err != nil {
			return nil, dataError{err}
		}
	}
	written, err := m.asWritten(ctx, path, table)
	if err != nil {
		return nil, err
	}
	for _, from := range filled {
		m.columns.history = m.labelsOf(table)
		batch, err := m.columns.readBatch(ctx, from, m.filled)
		if err != nil {
			return nil, err
		}
		m.progress.reportOrigin(from, batch)
		predicted, err := readForecasts(ctx, from)
		if err != nil {
			return nil, err
		}
		targets := m.targetsIn(batch, table)
		room, err := m.makeRoom(table, batch, from, targets)
		if err != nil {
			return nil, err
		}
		together, err := m.together(ctx, table, batch, targets)
		if err != nil {
			return nil, err
		}
		table, written = room.With(merge.MarkLimits(table, targets...), targets...), room.With(written, targets...)
		for _, target := range targets {
			labels, err := m.fill(table, batch, room, from, target, slices.Concat(targets, together))
			if err != nil {
				return nil, err
			}
			labels = m.look(table, target, labels, predicted[target])
			table, written = labels.Into(table, target), labels.Into(written, target)
			for _, name := range together {
				table, written = m.bring(name, labels, batch, table, written, from)
			}
			m.report(from, target, labels)
		}
		if len(room.Copies) > 0 {
			kept := room.Kept(table, targets...)
			table, written = table.Select(kept), written.Select(kept)
		}
	}
	if err := m.write(path, written); err != nil {
		return nil, err
	}
	for _, target := range m.columns.targets(table.Names()) {
		m.progress.say("%d of %d rows have a label%s in %s", countLabels(table, target), table.Rows(), m.of(target), m.out)
	}
	return m.answer(), nil
}

// together returns the columns that come back filled in beside the labels: those of their noise, those that are
// measured together with them, or have no value in the table.
func (m *merging) together(ctx context.Context, table, batch *dataset.Table,
	targets []string) (names []string, err error) {
	known := slices.DeleteFunc(slices.Clone(targets), func(name string) bool { return !table.Has(name) })
	labelled := tables.Tables{Input: tables.Input{Table: table, TargetColumns: known, IDColumn: m.columns.id}}
	leaks := map[string]bool{}
	if len(known) > 0 && slices.ContainsFunc(known, func(name string) bool { return countLabels(table, name) > 0 }) {
		found, _, err := labelled.Leaks(ctx)
		if err != nil {
			return nil, err
		}
		for _, leak := range found {
			leaks[leak.Column] = true
		}
	}
	for _, c := range table.Columns() {
		empty := true
		for row := 0; empty && row < c.Len(); row++ {
			empty = c.Missing(row)
		}
		name := c.Name()
		if comes := empty || leaks[name] || slices.Contains(m.columns.labelSD, name); comes && batch.Has(name) &&
			name != m.columns.id && !slices.Contains(targets, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// bring brings the values of a column into the rows whose labels have come.
func (m *merging) bring(name string, labels merge.Filled, batch, table, written *dataset.Table,
	from string) (_, _ *dataset.Table) {
	column, err := batch.Column(name)
	there, wrong := table.Column(name)
	if err != nil || wrong != nil { // they are in both, as together found
		return table, written
	}
	known, spelt := map[int]string{}, map[int]string{}
	for i, row := range labels.Rows {
		at := labels.From[i]
		if text := column.Format(at); !column.Missing(at) && !encode.SameCell(text, there.Format(row)) {
			known[row], spelt[row] = text, text
			if column.Kind() == dataset.KindNumeric && isText(m.out) && m.style.Decimal == ',' {
				spelt[row] = strings.Replace(text, ".", ",", 1)
			}
		}
	}
	if len(known) == 0 {
		return table, written
	}
	m.progress.say("%s: %s into column %q beside the labels", from,
		words.Count(len(known), "value comes", "values come"), name)
	return merge.WithCells(table, name, known), merge.WithCells(written, name, spelt)
}

// look leaves out the labels that should get a second look.
func (m *merging) look(table *dataset.Table, target string, labels merge.Filled,
	predicted map[string]*plausible.Expected) merge.Filled {
	if m.accept {
		return labels
	}
	names, list := tables.IDs{Table: table, Column: m.columns.id}, make([]plausible.Arrived, len(labels.Rows))
	for i, row := range labels.Rows {
		name := names.Name(row)
		list[i] = plausible.Arrived{Row: name, Value: labels.Labels[i], Expected: predicted[name]}
	}
	kept := labels
	kept.Rows, kept.Labels, kept.From, kept.Sides = nil, nil, nil, nil
	for i, doubt := range plausible.Learn(labelsOf(table, target)).ExamineAll(list) {
		if doubt == nil || doubt.Agrees(labels.Labels[i], labels.Sides[i]) {
			kept.Rows, kept.Labels = append(kept.Rows, labels.Rows[i]), append(kept.Labels, labels.Labels[i])
			kept.From, kept.Sides = append(kept.From, labels.From[i]), append(kept.Sides, labels.Sides[i])
			continue
		}
		one := fitted.DoubtfulLabel{ID: list[i].Row, Row: labels.Rows[i], Value: number(list[i].Value),
			Doubt: *doubt, Side: labels.Sides[i]}
		if target != m.columns.target {
			one.Target = target
		}
		m.result.Waiting = append(m.result.Waiting, one)
	}
	return kept
}

// answer names the labels that wait, and is the result as JSON.
func (m *merging) answer() *answer {
	const most = 5
	for _, d := range m.result.Waiting[:min(most, len(m.result.Waiting))] {
		//warning:waiting-label
		m.progress.warn("a label waits for a second look: " + d.String())
	}
	found := &answer{}
	if m.json {
		m.result.Out, m.result.Warnings, m.result.Version = m.out,
			append([]string{}, m.progress.warnings...), thisBuild().Version
		m.result.Waiting = append([]fitted.DoubtfulLabel{}, m.result.Waiting...)
		found.json = m.result
	}
	if n := len(m.result.Waiting); n > 0 {
		found.short = someError{error: errorf("%s for a second look and did not come into the table; correct what is wrong "+
			"in the batch file and merge it again, with --accept once the labels are right",
			words.Count(n, "label waits", "labels wait"))}
	}
	return found
}

// targetsIn returns the target columns that a batch file has: of several, some may be left
// out.
func (m *merging) targetsIn(batch, table *dataset.Table) []string {
	all := m.columns.targets(slices.Concat(table.Names(), batch.Names()))
	here := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !batch.Has(name) })
	if len(here) == 0 {
		return all[:1] // whose absence is an error
	}
	return here
}

// of names a target in messages, if there may be several.
func (m *merging) of(target string) string {
	if target == m.columns.target {
		return ""
	}
	return fmt.Sprintf(" of %s", shown(target))
}

// report counts and prints what a batch file brought.
func (m *merging) report(from, target string, labels merge.Filled) {
	m.result.New, m.result.Known, m.result.Empty = m.result.New+len(labels.Rows), m.result.Known+labels.Known,
		m.result.Empty+labels.Empty
	m.progress.say("%s: %s new, %d known before; %s none yet%s", from,
		words.Count(len(labels.Rows), "label is", "labels are"), labels.Known,
		words.Count(labels.Empty, "row has", "rows have"), m.of(target))
}

func (m *merging) check(path string, filled []string) error {
	_, ofTable := m.columns.format.options()
	_, ofFilled := m.filled.options()
	if err := errors.Join(ofTable, ofFilled); err != nil {
		return err
	}
	if _, err := m.columns.targetItems(); err != nil {
		return err
	}
	switch {
	case path == standardInput || slices.Contains(filled, standardInput):
		return usagef("merge reads files, and not standard input")
	case m.columns.target == "":
		return usagef("name the target column with --target")
	case m.out == "":
		return usagef("name the file to write with --out; it may be the table itself")
	}
	var inputs []flagged
	for _, path := range filled {
		inputs = append(inputs, flagged{"FILLED", path})
	}
	if err := checkDistinct(inputs, []flagged{{"--out", m.out}}); err != nil {
		return err
	}
	if err := m.columns.memory.check(); err != nil {
		return err
	}
	return checkOutput("--out", m.out, tableExtensions()...)
}

// asWritten is the table as it will be written: in text with the spelling of its cells,
// otherwise with columns of the kinds that the file has, ids too. What text and workbooks hold becomes numbers where
// that loses nothing (withNumbers).
func (m *merging) asWritten(ctx context.Context, path string, t *dataset.Table) (*dataset.Table, error) {
	opts, err := m.columns.format.options()
	if err != nil {
		return nil, err
	}
	text := isText(path) || isWorkbook(path)
	if text {
		// cells keep their spelling
		opts.Missing, opts.Delimiter, opts.Encoding = []string{}, m.style.Delimiter, m.style.Encoding
		// the file lacks the marks of censored values
		opts.Lenient = true
	}
	opts.Kinds, opts.MaxMemory = map[string]dataset.Kind{}, m.columns.memory.left()
	declared, kind := t.Names(), dataset.KindText
	if !text {
		declared, kind = slices.DeleteFunc(m.columns.targets(declared),
			func(name string) bool { return !t.Has(name) }), dataset.KindNumeric
	}
	for _, name := range declared {
		opts.Kinds[name] = kind
	}
	written, err := m.columns.format.readTable(ctx, path, opts)
	if err != nil {
		return nil, dataError{err}
	}
	switch {
	case !text || isText(m.out):
		return written, nil
	case isWorkbook(m.out):
		return withNumbers(written, t)
	}
	return withLabels(written, t, m.columns.targets(t.Names()))
}

// isText reports whether a file has separated fields, by its name.
func isText(path string) bool {
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	return slices.Contains([]string{".csv", ".tsv", ".tab"}, extension)
}

// write writes the table, text as it was written before.
func (m *merging) write(path string, t *dataset.Table) error {
	if !isText(m.out) {
		return formats.WriteToFill(m.out, t, m.columns.targets(t.Names())...)
	}
	if !strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), filepath.Ext(strings.TrimSuffix(m.out, ".gz"))) {
		m.style.Delimiter = 0
	}
	return formats.WriteStyled(m.out, t, m.style)
}

// labelsOf returns what is known of the labels of a table.
func (m *merging) labelsOf(table *dataset.Table) func(target string) *dataset.History {
	return func(target string) *dataset.History {
		labels, err := table.Numeric(target)
		if err != nil || !m.columns.isTarget(target) {
			return nil
		}
		h := &dataset.History{Unit: labels.Unit().Name}
		if m.style.Decimal == ',' {
			h.Decimal = ","
		}
		for row := range labels.Len() {
			h.Add(labels.Float(row))
		}
		return h
	}
}

// makeRoom finds rows for the replicates of a batch file. Without any, the room is empty.
func (m *merging) makeRoom(table, filled *dataset.Table, path string, targets []string) (merge.Room, error) {
	replicate := words.FreeName(campaign.ReplicateColumn, table.Names()...)
	if !filled.Has(replicate) {
		return merge.Room{}, nil
	}
	if m.columns.id == "" {
		return merge.Room{},
			usagef("%s has replicates, which become rows with the same id: name the column of ids with --id", path)
	}
	room, err := merge.MakeRoom(table, filled, m.columns.id, replicate, targets...)
	if err != nil {
		return room, dataError{unfilled(path, filled.Placed(err, m.columns.id))}
	}
	return room, nil
}

// fill finds the labels of a target in a batch file.
func (m *merging) fill(table, filled *dataset.Table, room merge.Room, path, target string,
	targets []string) (merge.Filled, error) {
	find := func() (merge.Filled, error) {
		if room.At != nil {
			return merge.FillRows(table, filled, room.At, m.columns.id, target, targets...)
		}
		return merge.Fill(table, filled, m.columns.id, rowColumn(table), target, targets...)
	}
	labels, err := find()
	if err != nil {
		return labels, dataError{unfilled(path, filled.Placed(err, m.columns.id))}
	}
	for _, text := range labels.Said {
		m.progress.warn(path + ": " + text)
	}
	unit := ""
	if len(m.style.Units) == 0 && dataset.HeaderUnit(target) == "" {
		unit = strings.TrimSuffix(" "+labels.Unit, " ")
	}
	labels.Text = func(v float64) string {
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if m.style.Decimal == ',' {
			text = strings.Replace(text, ".", ",", 1)
		}
		return text + unit
	}
	return labels, nil
}

// unfilled reports all rows of a batch file that are wrong.
func unfilled(path string, err error) error {
	const most = 20
	joined, several := err.(interface{ Unwrap() []error })
	if !several {
		return errorf("%s: %w", path, err)
	}
	wrong := joined.Unwrap()
	if len(wrong) == 1 {
		return errorf("%s: %w", path, wrong[0])
	}
	list := []error{errorf("%s: %s wrong; nothing was written", path, words.Count(len(wrong), "line is", "lines are"))}
	for _, err := range wrong[:min(most, len(wrong))] {
		list = append(list, errorf("%s: %w", path, err))
	}
	if len(wrong) > most {
		list = append(list, errorf("… and %s", words.Count(len(wrong)-most, "further line", "further lines")))
	}
	return errors.Join(list...)
}

func countLabels(t *dataset.Table, target string) int { return len(labelsOf(t, target)) }

// labelsOf returns the labels that a table has.
func labelsOf(t *dataset.Table, target string) (labels []float64) {
	column, err := t.Numeric(target)
	if err != nil {
		return nil
	}
	for row := range column.Len() {
		if !column.Missing(row) {
			labels = append(labels, column.Float(row))
		}
	}
	return labels
}
