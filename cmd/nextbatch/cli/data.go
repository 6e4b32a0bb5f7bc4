package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/sets"
)

func newData() *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "Fetch and prepare the data sets of the benchmark",
		Example: "  nextbatch data fetch fried diamonds\n  nextbatch data prepare fried diamonds\n  nextbatch bench run " +
			"--data data --sets fried,diamonds --results results.db",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: `The 15 data sets of the paper's benchmark come from UCI, OpenML and the page of
a book; nextbatch downloads their files into a folder and prepares them as the paper
does.

Next to each raw file is its SHA-256, recorded when the file was first seen
(NAME.sha256, which sha256sum -c reads). A file that no longer has this hash is
rejected; to accept it as it is, remove the file with the hash.`,
	}
	c.AddCommand(newDataList(), newDataFetch(), newDataPrepare(), newDataInfo())
	return c
}

// dataFlags are the flags that all these commands share.
type dataFlags struct {
	dir   string
	all   bool
	quiet bool
	json  bool
}

func (f *dataFlags) registerDir(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "data", "data", "folder with the files of the data sets")
}

func (f *dataFlags) registerSets(c *cobra.Command) {
	f.registerDir(c)
	c.Flags().BoolVar(&f.all, "all", false, "all data sets")
	registerQuiet(c, &f.quiet)
}

// named returns the sets that the arguments name.
func (f *dataFlags) named(names []string) ([]sets.Set, error) {
	if f.all {
		if len(names) > 0 {
			return nil, usagef("name data sets, or give --all")
		}
		return sets.All(), nil
	}
	if len(names) == 0 {
		return nil, usagef("name data sets, or give --all; nextbatch data list shows them")
	}
	found := make([]sets.Set, len(names))
	for i, name := range names {
		s, err := sets.Find(name)
		if err != nil {
			return nil, usageError{err}
		}
		found[i] = s
	}
	return found, nil
}

// someError reports that some data sets failed.
type someError struct {
	failed, asked int
	error
}

func (e someError) Unwrap() error { return e.error }

// forEach does the work for each set. A failure does not stop the others.
func forEach(ctx context.Context, asked []sets.Set, work func(sets.Set) error) error {
	var failures []error
	for _, s := range asked {
		err := dataFailure(work(s))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failures = append(failures, errorf("%s: %w", s.Name, err))
		}
	}
	all := errors.Join(failures...)
	if n := len(failures); n > 0 && n < len(asked) {
		return someError{n, len(asked), errors.Join(errorf("%d of %d data sets failed:", n, len(asked)), all)}
	}
	return all
}

// dataFailure distinguishes faults of files from those of the network or the
// disk.
func dataFailure(err error) error {
	var disk *fs.PathError
	if err == nil || errors.Is(err, sets.ErrFetch) || errors.As(err, &disk) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return dataError{err}
}

func newDataFetch() *cobra.Command {
	var f dataFlags
	mirror := ""
	c := &cobra.Command{
		Use:     "fetch NAME...",
		Short:   "Download the raw files of data sets into a folder",
		Example: "  nextbatch data fetch sgemm protein\n  nextbatch data fetch --all --mirror /media/datasets",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := f.named(args)
			if err != nil {
				return err
			}
			if err := checkMirror(mirror); err != nil {
				return err
			}
			r := newRun(cmd, f.quiet)
			defer r.progress.done()
			return r.perform(cmd.Context(), steps{compute: func(ctx context.Context) (*answer, error) {
				return nil, forEach(ctx, asked, func(s sets.Set) error { return fetchSet(ctx, s, f.dir, mirror, r.progress) })
			}})
		},
		Long: `Downloads missing files. An interrupted download resumes where it stopped, at once
or with the next fetch. Existing files are compared with the hash that was recorded
when they were first seen.`,
	}
	f.registerSets(c)
	c.Flags().StringVar(&mirror, "mirror", "",
		"folder with the files or their archives, or address of a server that has them, instead of the sources")
	return c
}

// checkMirror rejects a folder that does not exist.
func checkMirror(mirror string) error {
	if mirror == "" || strings.Contains(mirror, "://") {
		return nil
	}
	if info, err := os.Stat(mirror); err != nil || !info.IsDir() {
		return usagef("--mirror %s: there is no such folder", mirror)
	}
	return nil
}

func fetchSet(ctx context.Context, s sets.Set, dir, mirror string, p *progress) error {
	const kB = 1000
	name := "kB of " + s.Name + " fetched"
	f := sets.Fetcher{Mirror: mirror, Progress: func(done, total int64) { p.step(name, int(done/kB), int(total/kB), "") }}
	got, err := f.Fetch(ctx, s, dir)
	p.done()
	if err != nil {
		return err
	}
	verb := "fetched"
	if got.Already {
		verb = "already there"
	}
	if s.IsStandIn(got.Path) {
		p.warn(s.Name + ": " + got.Path + standIn)
	}
	p.say("%s: %s: %s, %s, SHA-256 %s", s.Name, verb, got.Path, megabytes(got.Size), got.Hash)
	return nil
}

//warning:stand-in …: … is a stand-in that looks like the file of the source
const standIn = " is a stand-in that looks like the file of the source"

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func newDataPrepare() *cobra.Command {
	var f dataFlags
	c := &cobra.Command{
		Use:     "prepare NAME...",
		Short:   "Prepare data sets as the paper does",
		Example: "  nextbatch data prepare sgemm protein",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := f.named(args)
			if err != nil {
				return err
			}
			r := newRun(cmd, f.quiet)
			return r.perform(cmd.Context(), steps{compute: func(ctx context.Context) (*answer, error) {
				return nil, forEach(ctx, asked, func(s sets.Set) error { return prepareSet(ctx, s, f.dir, r.progress) })
			}})
		},
		Long: `Drops rows with a missing value, then random rows beyond 500000, then columns with
a single value, and one-hot encodes categories. A category that a file declares but
no row has becomes no column. The result is NAME.prepared.npz in the same folder,
which numpy.load reads too: X, y, and the numbers of their rows in the raw file.
Commands that need the data set read it from there.`,
	}
	f.registerSets(c)
	return c
}

func prepareSet(ctx context.Context, s sets.Set, dir string, p *progress) error {
	got, err := s.Prepare(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return errorf("%w; nextbatch data fetch %s downloads it", err, s.Name)
	}
	if err != nil {
		return err
	}
	verb := "prepared"
	if got.Already {
		verb = "already prepared"
	}
	p.say("%s: %s: %d of %d rows, %d features, %s", s.Name, verb, got.Rows, got.RawRows, len(got.Features), got.Path)
	if c := countsOf(got.Rows, len(got.Features)); c != paperCounts(s) {
		//warning:other-counts
		p.warn(fmt.Sprintf("%s: pool %d, test %d and %d features, where the paper has %d, %d and %d",
			s.Name, c.Pool, c.Test, c.Features, s.Pool, s.Test, s.Features))
	}
	return nil
}
