package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/spec"
)

// benchReport is the command bench report.
type benchReport struct {
	run
	results, out, against string
	formats, sets, specs  []string
	quiet                 bool
}

func newBenchReport() *cobra.Command {
	b := &benchReport{}
	c := &cobra.Command{
		Use:   "report RESULTS",
		Short: "Make the paper's tables and figures from results",
		Example: `  nextbatch bench report results.db
  nextbatch bench report results.db --out report --format html,png,latex --against paper`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.results, b.run = args[0], newRun(cmd, b.quiet)
			return b.perform(cmd.Context(), steps{check: func() error { return b.check(cmd) }, compute: b.compute})
		},
		Long: `Reads a results file, even while runs are still being written to it, or a table
that bench export wrote, and prints
the tables as text, or writes tables, figures and a page index.html to a folder.

Means are over rounds, splits and data sets, as in the paper. Incomplete runs are
ignored. Methods are compared on the splits that all of them have; a mean over data
sets is over those with such a split. A table lists the missing runs, and each
table and figure says how many runs it is based on.`,
	}
	flags := c.Flags()
	flags.StringVar(&b.out, "out", "", "folder to write to; without it, the tables are printed")
	flags.StringSliceVar(&b.formats, "format", reportFormats(),
		"what to write: png, svg, pdf for figures; csv, latex, text for tables; html for a page with both")
	flags.StringVar(&b.against, "against", "", "numbers to compare with: paper")
	flags.StringSliceVar(&b.sets, "sets", nil, "only these data sets")
	flags.StringArrayVar(&b.specs, "specs", nil,
		"only these methods, separated by semicolons, such as 'random' or, with one learner, 'auto, random'; can be repeated")
	registerQuiet(c, &b.quiet)
	return c
}

func reportFormats() []string { return slices.Concat([]string{"html"}, figureFormats, tableFormats) }

var (
	figureFormats = []string{"png", "svg", "pdf"}
	tableFormats  = []string{"csv", "latex", "text"}
)

func (b *benchReport) check(cmd *cobra.Command) error {
	for _, f := range b.formats {
		if !slices.Contains(reportFormats(), f) {
			return usagef("--format %s: the formats are %s", f, strings.Join(reportFormats(), ", "))
		}
	}
	if b.against != "" && b.against != "paper" {
		return usagef("--against %s: only paper can be compared with", b.against)
	}
	if b.out == "" && cmd.Flags().Changed("format") {
		return usagef("--format needs --out, the folder to write to")
	}
	return nil
}

func (b *benchReport) compute(ctx context.Context) (*answer, error) {
	specs, err := b.methods()
	if err != nil {
		return nil, err
	}
	file, err := readResults(ctx, b.results)
	if err != nil {
		return nil, dataError{err}
	}
	if err := file.choose(b.sets, specs); err != nil {
		return nil, dataError{fmt.Errorf("%s %w", addressText(b.results), err)}
	}
	page, err := report.Benchmark(file.results, file.planned, b.against != "")
	if err != nil {
		return nil, err
	}
	if differences := file.settings.DifferencesFromPaper(); len(differences) > 0 {
		page.Intro = append(page.Intro, "These runs differ from the paper's experiments: "+
			strings.Join(differences, "; ")+".")
	}
	page.MarkStandIns(file.standIns, file.results)
	return b.output(ctx, page)
}

// output prints or writes the page.
func (b *benchReport) output(ctx context.Context, page *report.Page) (*answer, error) {
	for _, text := range page.Intro {
		b.progress.say("%s", text)
	}
	for _, s := range page.Sections {
		for _, text := range s.Text {
			b.progress.say("%s: %s", s.Title, text)
		}
	}
	tables := page.AllTables()
	if b.out == "" {
		return tablesAnswer(tables), nil
	}
	if err := b.write(ctx, page, b.progress); err != nil {
		return nil, err
	}
	var compared []*report.Table
	for _, t := range tables {
		if t.IsComparison() {
			compared = append(compared, t)
		}
		if strings.HasSuffix(t.Name, "-missing") {
			//warning:incomplete-table … See …
			b.progress.warn(t.Note + " See " + b.fileOf(t))
		}
	}
	return tablesAnswer(compared), nil
}

// fileOf is a file that contains the table.
func (b *benchReport) fileOf(t *report.Table) string {
	for _, f := range []struct{ format, extension string }{{"text", ".txt"}, {"csv", ".csv"}, {"latex", ".tex"}} {
		if slices.Contains(b.formats, f.format) {
			return filepath.Join(b.out, "tables", t.Name+f.extension)
		}
	}
	return filepath.Join(b.out, "index.html")
}

// resultsFile is what a report needs from a results file.
type resultsFile struct {
	results  benchmark.Results
	planned  []benchmark.Run
	settings benchmark.Settings
	standIns []string // data sets
}

func readResults(ctx context.Context, path string) (file resultsFile, err error) {
	if !isDatabase(path) && isTableFile(path) {
		return readExported(ctx, path)
	}
	store, err := openResults(ctx, path)
	if err != nil {
		return file, err
	}
	defer store.Close()
	if file.results, err = benchmark.ReadResults(ctx, store); err != nil {
		return file, err
	}
	status, err := store.Status(ctx)
	if err != nil {
		return file, err
	}
	if file.settings, err = store.Settings(ctx); err != nil {
		return file, err
	}
	sets, err := store.Sets(ctx)
	if err != nil {
		return file, err
	}
	file.standIns = benchmark.StandIns(sets)
	for _, s := range status {
		file.planned = append(file.planned, s.Run)
	}
	return file, nil
}

// readExported reads results that bench export wrote. All runs in them are taken for planned.
func readExported(ctx context.Context, path string) (file resultsFile, err error) {
	t, err := source.ReadFile(ctx, path, source.Options{})
	if err != nil {
		return file, err
	}
	if file.results, err = benchmark.FromTable(t); err != nil {
		return file, fmt.Errorf("%s was not written by nextbatch bench export: %w", path, err)
	}
	for _, r := range file.results {
		if n := len(file.planned); n == 0 || file.planned[n-1] != r.Run {
			file.planned = append(file.planned, r.Run)
		}
	}
	return file, nil
}

// choose keeps the requested data sets and methods; an empty list means all.
func (f *resultsFile) choose(sets, specs []string) error {
	if len(f.results) == 0 {
		return errors.New("holds no results yet; nextbatch bench run computes them")
	}
	unwanted := func(r benchmark.Run) bool {
		return len(sets) > 0 && !slices.Contains(sets, r.DataSet) || len(specs) > 0 && !named(specs, r.Spec)
	}
	f.results = slices.DeleteFunc(f.results, func(r benchmark.Round) bool { return unwanted(r.Run) })
	f.planned = slices.DeleteFunc(f.planned, unwanted)
	if len(f.results) == 0 {
		return errors.New("holds no results for the data sets and methods that --sets and --specs name")
	}
	return nil
}

// named reports whether a list names a method with its learner, or for any learner.
func named(specs []string, text string) bool {
	kind, method := benchmark.SplitSpec(text)
	return slices.Contains(specs, method) || slices.Contains(specs, string(kind)+", "+method)
}

// methods returns the requested specs in the form that results have. A learner may precede one.
func (b *benchReport) methods() (texts []string, err error) {
	for _, list := range b.specs {
		for text := range strings.SplitSeq(list, ";") {
			_, method := benchmark.SplitSpec(strings.TrimSpace(text))
			s, err := spec.Parse(method)
			if err != nil {
				return nil, err
			}
			prefix := strings.TrimSuffix(strings.TrimSpace(text), method)
			texts = append(texts, prefix+benchmark.WithoutCompat(s.String()))
		}
	}
	return texts, nil
}

func tablesAnswer(tables []*report.Table) *answer {
	return &answer{text: func(out io.Writer) error {
		for i, t := range tables {
			if i > 0 {
				fmt.Fprintln(out)
			}
			if err := printTable(out, t); err != nil {
				return err
			}
		}
		return nil
	}}
}

// write writes everything to the folder: index.html, tables and figures. File names
// come from the results, so nothing outside the folder may be opened.
func (b *benchReport) write(ctx context.Context, page *report.Page, p *progress) error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(b.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer root.Close()
	files := 0
	put := func(folder, name string, write func(io.Writer) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("--out %s: %w", b.out, err)
		}
		files++
		return atomicfile.WriteIn(root, filepath.Join(folder, name), write)
	}
	if slices.Contains(b.formats, "html") {
		if err := put(".", "index.html", page.Write); err != nil {
			return err
		}
	}
	for _, s := range page.Sections {
		if err := b.writeSection(s, put); err != nil {
			return err
		}
	}
	p.say("%s written to %s", words.Count(files, "file", "files"), b.out)
	return nil
}

func (b *benchReport) writeSection(s report.Section, put func(folder, name string,
	write func(io.Writer) error) error) error {
	for _, t := range s.Tables {
		for _, f := range []struct {
			format, extension string
			write             func(io.Writer) error
		}{{"csv", ".csv", t.WriteCSV}, {"latex", ".tex", t.WriteLaTeX}, {"text", ".txt", t.WriteText}} {
			if !slices.Contains(b.formats, f.format) {
				continue
			}
			if err := put("tables", t.Name+f.extension, f.write); err != nil {
				return err
			}
		}
	}
	for _, figure := range s.Figures {
		for _, format := range figureFormats {
			if !slices.Contains(b.formats, format) {
				continue
			}
			if err := put("figures", figure.Name+"."+format, func(w io.Writer) error {
				return figure.Write(w,
					format)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
