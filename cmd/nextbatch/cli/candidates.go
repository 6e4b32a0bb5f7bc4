package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/space"
	"github.com/nextbatch/nextbatch/internal/words"
)

// candidatesFlags are the flags of candidates.
type candidatesFlags struct {
	out      string
	rows     int
	seed     uint64
	targets  []string
	describe bool
	json     bool
	quiet    bool
	memory   memory
}

// listing is a run of candidates.
type listing struct {
	candidatesFlags
	run
	path  string
	space *space.Counted
}

// candidatesResult is what candidates prints as JSON.
type candidatesResult struct {
	Candidates  *string        `json:"candidates"` // a number of any size, as text; null if it is unlimited
	Estimated   bool           `json:"estimated"`
	Factors     []space.Column `json:"factors"`
	Constraints []string       `json:"constraints"`
	Cost        string         `json:"cost,omitempty"`
	Notes       []string       `json:"notes"`
	Out         string         `json:"out,omitempty"`
	Rows        int            `json:"rows"` // of the table
	All         bool           `json:"all"`  // the table has all candidates
	Seed        uint64         `json:"seed"`
	Warnings    []string       `json:"warnings"`
}

func newCandidates() *cobra.Command {
	f := &candidatesFlags{}
	c := &cobra.Command{
		Use:        "candidates SPACE",
		SuggestFor: []string{"space", "factors", "design", "doe"},
		Short:      "Make a table of candidates from factors, mixtures and constraints",
		Example: "  nextbatch candidates space.toml --describe\n" +
			"  nextbatch candidates space.toml --target yield --out table.csv",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l := &listing{candidatesFlags: *f, run: newRun(cmd, f.quiet), path: args[0]}
			return l.perform(cmd.Context(), steps{check: l.check, memory: &l.memory, read: l.read, compute: l.compute})
		},
		Long: `Reads a space, a description of factors in TOML, and writes a table for 'nextbatch
select' and 'nextbatch campaign new': all candidates if there are at most --rows of them,
otherwise a sample that fills the space, whose first rows do so, too. The same seed gives
the same rows.

  cost = "3*time"                             # above all else, if costs matter
  [[factor]]
  name = "temperature"                        # range alone: any value of it
  range = [20, 120]                           # step counts from its lower end,
  step = 5                                    # resolution from 0; log = true
  unit = "°C"
  [[factor]]                                  # or integers = [1, 9], levels = [1, 5],
  name = "solvent"                            # value = 3 for a fixed one,
  categories = ["DMF", "water"]               # descriptors = "ligands.csv"
  [[factor]]
  name = "pressure"
  range = [1, 10]
  when = { solvent = "water" }                # otherwise there is none
  [[mixture]]
  name = "blend"                              # sum = 1 unless it says another one
  parts = ["A", "B", { name = "C", range = [0.1, 0.5] }]
  step = 0.05
  at_most = 2                                 # parts that are not 0
  [[constraint]]
  linear = "A + 2*B <= 1.5"                   # also >=, <, > and =
  [[constraint]]
  forbid = { solvent = "water", temperature = ">= 100" }
  [[constraint]]
  require = { C = 0 }
  when = { solvent = "DMF" }

Exit codes: 3 the description is wrong, or there are no candidates, and the message names
the fewest constraints that cannot hold together; 4 fewer rows than asked for were found.`,
	}
	c.Flags().StringVarP(&f.out, "out", "o", "",
		"table to write (.csv, .tsv, .xlsx, .jsonl or .parquet, perhaps with .gz after it); standard output if empty")
	c.Flags().IntVar(&f.rows, "rows", 10_000, "write at most so many candidates")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the sample")
	c.Flags().StringSliceVar(&f.targets, "target", nil, "add empty columns of these names for labels: y, or y1,y2")
	c.Flags().BoolVar(&f.describe, "describe", false, "describe the space and count the candidates, without a table")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.memory.register(c)
	registerQuiet(c, &f.quiet)
	return c
}

func (l *listing) check() error {
	switch {
	case l.rows < 1:
		return usagef("--rows must be at least 1, not %d", l.rows)
	case l.describe && l.out != "":
		return usagef("--describe writes no table; leave out --out, or --describe")
	case l.json && l.out == "" && !l.describe:
		return usagef("--json describes a table; name its file with --out, or give --describe")
	}
	return errors.Join(l.memory.check(), checkDistinct([]flagged{{"SPACE", l.path}}, []flagged{{"--out", l.out}}),
		checkOutput("--out", l.out, tableExtensions()...))
}

// read reads the space and counts its candidates.
func (l *listing) read(ctx context.Context) error {
	described, err := space.Read(ctx, l.path)
	if err != nil {
		return dataError{err}
	}
	if l.space, err = described.Count(ctx); err != nil {
		return dataError{err}
	}
	return nil
}

// candidateBytes is the memory of a value of a candidate: while it is made, in its column, and as it is written.
const candidateBytes = 40

func (l *listing) compute(ctx context.Context) (*answer, error) {
	if l.describe {
		return l.answer(nil, nil), nil
	}
	need := int64(l.rows) * int64(len(l.space.Columns())+len(l.targets)+1) * candidateBytes
	if !l.space.Fits(l.rows) {
		if err := l.memory.admit("the table", need, "fewer rows (--rows)"); err != nil {
			return nil, err
		}
	}
	defer l.progress.done()
	table, err := l.space.Table(ctx, space.Build{Rows: l.rows, Seed: l.seed, Targets: l.targets,
		Progress: func(done, of int) { l.progress.step("candidates", done, of, "") }})
	short := error(nil)
	if errors.Is(err, space.ErrFewer) {
		short = someError{l.rows - table.Rows(), l.rows, errorf("the table has %d of %d rows: %w", table.Rows(), l.rows, err)}
	} else if err != nil {
		return nil, dataError{err}
	}
	return l.answer(table, short), nil
}

// answer writes the table or, without one, describes the space.
func (l *listing) answer(table *dataset.Table, short error) *answer {
	a := &answer{text: l.text}
	result := candidatesResult{Estimated: l.space.Count.Estimated, Factors: l.space.Columns(),
		Constraints: l.space.Constraints(), Cost: l.space.Cost(), Notes: append([]string{}, l.space.Notes...), Out: l.out,
		Seed: l.seed, Warnings: append([]string{}, l.progress.warnings...)}
	if n := l.space.Count.N; n != nil {
		result.Candidates = new(n.String())
	}
	if table != nil {
		result.Rows, result.All = table.Rows(), l.space.Fits(l.rows)
		a = tableAnswer(l.out, table)
		a.short = short
		l.sayRows(table.Rows())
	}
	if l.json {
		a.json = result
	}
	return a
}

// sayRows says how the rows of the table stand to the candidates.
func (l *listing) sayRows(rows int) {
	for _, note := range l.space.Notes {
		l.progress.say("%s", note)
	}
	l.progress.say("candidates  %s", l.space.Count)
	if l.space.Fits(l.rows) {
		l.progress.say("rows        %s, all candidates", words.Whole(rows))
		return
	}
	l.progress.say("rows        %s, spread over the space by seed %d", words.Whole(rows), l.seed)
}

// text describes the space.
func (l *listing) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FACTOR\tVALUES")
	for _, column := range l.space.Columns() {
		fmt.Fprintf(w, "%s\t%s\n", shown(column.Name), shown(column.Values))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	lines := l.space.Constraints()
	if cost := l.space.Cost(); cost != "" {
		lines = append(lines, cost)
	}
	if lines = append(lines, l.space.Notes...); len(lines) > 0 {
		fmt.Fprintln(out)
	}
	for _, line := range lines {
		fmt.Fprintln(out, shown(line))
	}
	_, err := fmt.Fprintf(out, "\ncandidates: %s\n", l.space.Count)
	return err
}
