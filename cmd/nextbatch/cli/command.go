package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/report"
)

// steps are those of a command that reads rows and computes something, in their order. Flags are
// checked before anything is read, and memory is limited before anything large is.
type steps struct {
	check   func() error // nil for nothing
	threads int
	memory  *memory                                    // nil where nothing large is read
	around  func(rest func() error) error              // opens what the rest needs, and closes it; nil for nothing
	read    func(ctx context.Context) error            // nil where that is part of what follows
	compute func(ctx context.Context) (*answer, error) // nil: there is nothing to write or print
}

// answer is what a command found, in the forms in which it goes out.
type answer struct {
	save  []func() error            // write files, in this order
	json  any                       // printed instead of the text, unless nil
	text  func(out io.Writer) error // nil prints nothing
	short error                     // of the whole run, after all of that is out
	done  func(err error)           // called at the very end, unless nil
}

// run is a run of a command: what all of them have beside their flags.
type run struct {
	begin    time.Time
	stdout   io.Writer
	progress *progress
}

func newRun(cmd *cobra.Command, quiet bool) run {
	return run{time.Now(), cmd.OutOrStdout(), newProgress(cmd.ErrOrStderr(), quiet)}
}

// seconds is how long the run has taken so far.
func (r *run) seconds() float64 { return time.Since(r.begin).Seconds() }

// about is what an answer says about the run.
func (r *run) about(seed uint64) report.About {
	return report.About{Seed: seed, Warnings: append([]string{}, r.progress.warnings...), Seconds: r.seconds(),
		Version: thisBuild().Version}
}

// perform takes the steps.
func (r *run) perform(ctx context.Context, s steps) error {
	if s.check != nil {
		if err := s.check(); err != nil {
			return err
		}
	}
	ctx, err := withThreads(ctx, s.threads)
	if err != nil {
		return err
	}
	rest := func() error {
		if s.memory != nil {
			defer s.memory.begin()()
		}
		if s.read != nil {
			if err := s.read(ctx); err != nil {
				return err
			}
		}
		a, err := s.compute(ctx)
		if err != nil || a == nil {
			return err
		}
		return a.give(r.stdout)
	}
	if s.around == nil {
		return rest()
	}
	return s.around(rest)
}

// performs runs a command that computes an answer from its arguments alone.
func performs(compute func(ctx context.Context, args []string) (*answer, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r := newRun(cmd, true)
		return r.perform(cmd.Context(),
			steps{compute: func(ctx context.Context) (*answer, error) { return compute(ctx, args) }})
	}
}

// printed is an answer that is printed as JSON, if that is wanted, or as text, unless that is nil.
func printed(asJSON bool, value any, text func(out io.Writer) error) *answer {
	if asJSON {
		return &answer{json: value}
	}
	return &answer{text: text}
}

// line is a text of one line.
func line(of any) func(out io.Writer) error {
	return func(out io.Writer) error {
		_, err := fmt.Fprintln(out, of)
		return err
	}
}

// tableAnswer is a table, in a file or, without one, as CSV.
func tableAnswer(path string, t *dataset.Table) *answer {
	if path == "" {
		return &answer{text: func(out io.Writer) error { return source.WriteCSV(out, t) }}
	}
	return &answer{save: []func() error{func() error { return source.WriteFile(path, t) }}}
}

// give writes the files of an answer and prints it.
func (a *answer) give(out io.Writer) (err error) {
	if a.done != nil {
		defer func() { a.done(err) }()
	}
	for _, save := range a.save {
		if err := save(); err != nil {
			return err
		}
	}
	switch {
	case a.json != nil:
		err = printJSON(out, a.json)
	case a.text != nil:
		err = a.text(out)
	}
	if err != nil {
		return err
	}
	return a.short
}

// savePage adds a page to the files of the answer, if it has a path.
func (a *answer) savePage(path string, p *progress, page func() (*report.Page, error)) {
	if path == "" {
		return
	}
	a.save = append(a.save, func() error {
		made, err := page()
		if err != nil {
			return err
		}
		return writePage(path, p, made)
	})
}

// writePage writes a page to a file, and says so.
func writePage(path string, p *progress, page *report.Page) error {
	if err := atomicfile.Write(path, page.Write); err != nil {
		return err
	}
	p.say("page written to %s", path)
	return nil
}
