package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/sets"
)

// dataCounts are the counts in the paper's table of data set characteristics.
type dataCounts struct {
	Pool     int `json:"pool"`
	Test     int `json:"test"`
	Features int `json:"features"`
}

func paperCounts(s sets.Set) dataCounts { return dataCounts{s.Pool, s.Test, s.Features} }

// countsOf returns the counts of a split as in the paper.
func countsOf(rows, features int) dataCounts {
	sizes := sets.PaperSizes(rows)
	return dataCounts{Pool: rows - sizes.Train - sizes.Valid - sizes.Test, Test: sizes.Test, Features: features}
}

// dataEntry describes a data set.
type dataEntry struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"`
	Source   string        `json:"source"`
	Licence  string        `json:"licence,omitempty"`
	Citation string        `json:"citation,omitempty"`
	Label    string        `json:"label"`
	Dropped  []string      `json:"dropped,omitempty"` // columns that are not inputs
	Paper    dataCounts    `json:"paper"`
	State    string        `json:"state"` // missing, raw, prepared or changed
	Raw      *rawEntry     `json:"raw,omitempty"`
	Prepared *preparedFile `json:"prepared,omitempty"`
	Problem  string        `json:"problem,omitempty"`
}

type rawEntry struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256,omitempty"` // as it is now
	Pinned  string `json:"pinned,omitempty"` // as first seen
	StandIn bool   `json:"stand_in,omitempty"`
}

type preparedFile struct {
	Path     string     `json:"path"`
	Size     int64      `json:"size"`
	RawRows  int        `json:"raw_rows"`
	Rows     int        `json:"rows"`
	Counts   dataCounts `json:"counts"`
	Features []string   `json:"features"`
}

// describe inspects a data set and its folder. Faults of the folder are part of
// the description.
func describe(s sets.Set, dir string) (dataEntry, error) {
	e := dataEntry{Name: s.Name, Title: s.Title, Source: s.Source.Page(), Licence: s.Licence, Citation: s.Citation,
		Label: labelOf(s), Dropped: columnsOf(s.Drop), Paper: paperCounts(s), State: "missing"}
	state, err := s.State(dir)
	if err != nil {
		e.Problem = err.Error()
	}
	if state.Raw != "" {
		e.State = "raw"
		e.Raw = &rawEntry{Path: state.Raw, Size: state.RawSize, Pinned: state.Pinned, StandIn: s.IsStandIn(state.Raw)}
	}
	if p := state.Prepared; p != nil {
		e.State = "prepared"
		e.Prepared = &preparedFile{Path: p.Path, Size: sizeOf(p.Path), RawRows: p.RawRows, Rows: p.Rows,
			Counts: countsOf(p.Rows, len(p.Features)), Features: p.Features}
	}
	return e, err
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func columnsOf(c sets.Columns) []string {
	columns := append([]string(nil), c.Names...)
	for _, i := range c.Index {
		columns = append(columns, fmt.Sprintf("column %d", i))
	}
	return columns
}

func labelOf(s sets.Set) string {
	columns := columnsOf(s.Label)
	label := strings.Join(columns, ", ")
	if len(columns) > 1 {
		label = "median of " + label
	}
	if s.Log {
		label = "logarithm of the " + label
	}
	return label
}

func newDataList() *cobra.Command {
	var f dataFlags
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the data sets and which of their files a folder has",
		Example: "  nextbatch data list --data data",
		Args:    cobra.NoArgs,
		RunE: performs(func(context.Context, []string) (*answer, error) {
			var entries []dataEntry
			for _, s := range sets.All() {
				e, _ := describe(s, f.dir) // the error is in the entry
				entries = append(entries, e)
			}
			return printed(f.json, entries, func(out io.Writer) error { return printDataList(out, entries) }), nil
		}),
	}
	f.registerDir(c)
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func printDataList(out io.Writer, entries []dataEntry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPOOL\tTEST\tFEATURES\tSTATE\tTITLE")
	for _, e := range entries {
		state := e.State
		if e.Problem != "" {
			state = "damaged"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", e.Name, e.Paper.Pool, e.Paper.Test,
			e.Paper.Features, shown(state), e.Title)
	}
	return w.Flush()
}

func newDataInfo() *cobra.Command {
	var f dataFlags
	c := &cobra.Command{
		Use:     "info NAME",
		Short:   "Describe a data set, and check its files",
		Example: "  nextbatch data info sgemm --data data --json",
		Args:    cobra.ExactArgs(1),
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			s, err := sets.Find(args[0])
			if err != nil {
				return nil, usageError{err}
			}
			e, problem := describe(s, f.dir)
			hash, err := s.Verify(ctx, f.dir)
			if problem == nil && err != nil {
				problem, e.Problem, e.State = err, err.Error(), "changed"
			}
			if e.Raw != nil {
				e.Raw.SHA256 = hash
			}
			found := printed(f.json, e, func(out io.Writer) error { return printDataInfo(out, e) })
			found.short = dataFailure(problem)
			return found, nil
		}),
	}
	f.registerDir(c)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return c
}

func printDataInfo(out io.Writer, e dataEntry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, shown(fmt.Sprintf(format, args...)))
	}
	line("name", "%s", e.Name)
	line("title", "%s", e.Title)
	line("source", "%s", e.Source)
	line("licence", "%s", orUnknown(e.Licence))
	line("citation", "%s", orUnknown(e.Citation))
	line("label", "%s", e.Label)
	if len(e.Dropped) > 0 {
		line("dropped", "%s", strings.Join(e.Dropped, ", "))
	}
	line("in the paper", "pool %d, test %d, %d features", e.Paper.Pool, e.Paper.Test, e.Paper.Features)
	line("state", "%s", e.State)
	if r := e.Raw; r != nil {
		line("raw file", "%s, %s", r.Path, megabytes(r.Size))
		if r.StandIn {
			line("", "it%s", standIn)
		}
		line("SHA-256", "%s", r.SHA256)
		line("pinned", "%s", orUnknown(r.Pinned))
	}
	if p := e.Prepared; p != nil {
		line("prepared", "%s, %s", p.Path, megabytes(p.Size))
		line("rows", "%d of %d", p.Rows, p.RawRows)
		line("counts", "pool %d, test %d, %d features", p.Counts.Pool, p.Counts.Test, p.Counts.Features)
		line("features", "%s", shorten(p.Features))
	}
	return w.Flush()
}

func orUnknown(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func shorten(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
