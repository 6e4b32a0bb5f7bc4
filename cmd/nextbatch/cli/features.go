package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
)

func newFeatures() *cobra.Command {
	f := &selectFlags{batch: 1}
	trainOut := ""
	c := &cobra.Command{
		Use:   "features [TABLE]",
		Short: "Write the features of a kernel as NumPy arrays",
		Example: "  nextbatch features table.csv --target y --method 'lcmd-tp:grad>sketch(512)' --out pool.npy --train-out " +
			"train.npy",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" && trainOut == "" {
				return usagef("name an output file with --out (candidates) or --train-out (labelled rows)")
			}
			s := f.start(cmd, args)
			s.request.Streams = true
			room := func() error {
				return errors.Join(s.checkRoom(s.out, s.plan.FeatureBytes(s.plan.Pool)),
					s.checkRoom(trainOut, s.plan.FeatureBytes(s.plan.Labelled)))
			}
			return s.performKernel(cmd.Context(), []flagged{{"--out", s.out}, {"--train-out", trainOut}}, room,
				func(ctx context.Context) error {
					for _, file := range []struct{ path, rows string }{{s.out, "pool"}, {trainOut, "train"}} {
						path := file.path
						if path == "" {
							continue
						}
						if err := s.writeFeatures(ctx, path, file.rows); err != nil {
							return err
						}
					}
					return nil
				})
		},
		Long: `Trains a network as 'nextbatch select' does and writes the features of the
kernel: one row per candidate, in the order of the input, and likewise for the
labelled rows. Rows without a label are the candidates, as in select. The numbers
are float32, or float64 if the spec uses a noise variance. Only the kernel and the
transformations of the spec matter, not its method. Features are written as they are
computed, so there may be more of them than fit into memory. --device says where the
network is trained and where the features are computed.`,
	}
	f.registerKernel(c)
	f.registerTempDir(c)
	c.Flags().StringVarP(&f.out, "out", "o", "", "file for the candidates (.npy)")
	c.Flags().StringVar(&trainOut, "train-out", "", "file for the labelled rows (.npy)")
	return c
}

// choose returns the pool or the labelled rows.
func choose[T matrix.Float](name string, train, pool matrix.Dense[T]) matrix.Dense[T] {
	if name == "pool" {
		return pool
	}
	return train
}

// writeFeatures computes the features of the pool or of the labelled rows, from all digits
// that were read, and writes them block by block.
func (s *selecting) writeFeatures(ctx context.Context, path, rows string) error {
	p := s.plan.Problem()
	if e := p.Exact; rows == "train" && e.Train.Rows > 0 || rows == "pool" && e.Pool.Rows > 0 {
		return writeFeatures(ctx, s, path, p, choose(rows, e.Train, e.Pool))
	}
	return writeFeatures(ctx, s, path, p, choose(rows, p.Train, p.Pool))
}

func writeFeatures[T matrix.Float](ctx context.Context, s *selecting, path string, p nextbatch.Problem,
	rows matrix.Dense[T]) error {
	cols := 0
	err := formats.WriteMatrixRows(path, rows.Rows, func(file *formats.NPYRows) error {
		var full error // of writing, not of computing
		err := nextbatch.EachFeatures(ctx, s.request.Spec, p, rows, func(block nextbatch.Numbers) error {
			if cols == 0 {
				full = s.checkRoom(path, allBytes(rows.Rows, block))
			}
			cols = max(block.Single.Cols, block.Double.Cols)
			s.progress.warn(block.Warnings...)
			switch {
			case full != nil:
			case block.Double.Rows > 0:
				full = file.WriteDouble(block.Double)
			default:
				full = file.Write(block.Single)
			}
			return full
		})
		if err != nil && full == nil && ctx.Err() == nil && !errors.As(err, new(*rowfile.FaultError)) {
			return usageError{err}
		}
		return err
	})
	if err != nil {
		return err
	}
	s.progress.say("%s: %d x %d", path, rows.Rows, cols)
	return nil
}

// allBytes returns the bytes of all rows, given the first of them.
func allBytes(rows int, first nextbatch.Numbers) int64 {
	if first.Double.Rows == 0 {
		return rowfile.Bytes[float32](rows, first.Single.Cols)
	}
	return rowfile.Bytes[float64](rows, first.Double.Cols)
}

// checkRoom makes sure that there is disk space for an output of need bytes, if there is one.
func (s *selecting) checkRoom(path string, need int64) error {
	if path == "" || need == 0 {
		return nil
	}
	err := rowfile.CheckSpace(filepath.Dir(path), need)
	if errors.Is(err, rowfile.ErrUnsupported) {
		return nil
	}
	return err
}

// gram computes a kernel matrix in the same way.
func (s *selecting) gram(ctx context.Context, rows, columns string) (nextbatch.Numbers, error) {
	p := s.plan.Problem()
	if e := p.Exact; e.Pool.Rows > 0 {
		return nextbatch.Gram(ctx, s.request.Spec, p, choose(rows, e.Train, e.Pool), choose(columns, e.Train, e.Pool))
	}
	return nextbatch.Gram(ctx, s.request.Spec, p, choose(rows, p.Train, p.Pool), choose(columns, p.Train, p.Pool))
}

func newGram() *cobra.Command {
	rows, columns := "", ""
	f := &selectFlags{batch: 1}
	c := &cobra.Command{
		Use:   "gram [TABLE]",
		Short: "Write a kernel matrix as a NumPy array",
		Example: "  nextbatch gram table.csv --target y --method 'maxdet-p:ntk>train' --rows pool --columns train --out " +
			"k.npy",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return usagef("name an output file with --out")
			}
			if columns == "" {
				columns = rows
			}
			for _, name := range []string{rows, columns} {
				if name != "pool" && name != "train" {
					return usagef("--rows and --columns must be pool or train, not %q", name)
				}
			}
			s := f.start(cmd, args)
			s.request.Output = func(z forecast.Sizes) int64 {
				of := map[string]int{"pool": z.Pool, "train": z.Train}
				return footprint.Bytes(8 * float64(of[rows]) * float64(of[columns]))
			}
			room := func() error {
				of := map[string]int{"pool": s.plan.Pool, "train": s.plan.Labelled}
				return s.checkRoom(s.out, rowfile.Bytes[float32](of[rows], of[columns]))
			}
			return s.performKernel(cmd.Context(), []flagged{{"--out", s.out}}, room, func(ctx context.Context) error {
				numbers, err := s.gram(ctx, rows, columns)
				if err != nil {
					return usageError{err}
				}
				return s.writeNumbers(ctx, s.out, numbers)
			})
		},
		Long: `Trains a network as 'nextbatch select' does, unless the kernel uses none, and
writes the values of the kernel between rows: candidates (pool) or labelled rows
(train), in the order of the input. --device says where the network is trained and
where features are computed; the CPU multiplies them.`,
	}
	f.registerKernel(c)
	c.Flags().StringVarP(&f.out, "out", "o", "", "file for the matrix (.npy)")
	c.Flags().StringVar(&rows, "rows", "pool", "rows of the matrix: pool or train")
	c.Flags().StringVar(&columns, "columns", "", "columns of the matrix: pool or train (default: the same as --rows)")
	return c
}

// registerKernel registers the flags that determine a kernel.
func (s *selectFlags) registerKernel(c *cobra.Command) {
	s.registerInputs(c)
	s.columns.registerRandom(c)
	s.columns.register(c)
	s.columns.registerInputs(c)
	s.net.register(c)
	s.learner = learner.NetworkAlone
	registerLearner(c.Flags(), &s.learner)
}

// performKernel reads, checks whether the outputs have space, trains and then does the work.
func (s *selecting) performKernel(ctx context.Context, outputs []flagged, room func() error,
	work func(ctx context.Context) error) error {
	return s.perform(ctx, steps{
		check: func() error { return s.checkKernel(outputs) }, threads: s.net.threads,
		memory: &s.columns.memory, around: s.withFiles,
		read: func(ctx context.Context) error {
			if err := s.read(ctx); err != nil {
				return err
			}
			return room()
		},
		compute: func(ctx context.Context) (*answer, error) {
			if err := s.trainNetworks(ctx); err != nil {
				return nil, err
			}
			defer s.progress.done()
			return &answer{}, work(ctx)
		},
	})
}

// checkKernel reads the flags of a command that writes numbers of a kernel.
func (s *selecting) checkKernel(outputs []flagged) error {
	out := s.out
	s.out = "" // here it is not a table
	err := s.check()
	s.out = out
	if err != nil {
		return err
	}
	if !s.request.Spec.UsesKernel() {
		return usagef("%v uses no kernel", s.request.Spec)
	}
	if err := checkDistinct(s.inputFiles(), outputs); err != nil {
		return err
	}
	for _, o := range outputs {
		if err := checkOutput(o.flag, o.path, ".npy"); err != nil {
			return err
		}
	}
	return nil
}

func (s *selecting) writeNumbers(ctx context.Context, path string, n nextbatch.Numbers) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.progress.warn(n.Warnings...)
	s.progress.say("%s: %d x %d", path, max(n.Single.Rows, n.Double.Rows), max(n.Single.Cols, n.Double.Cols))
	if n.Double.Rows > 0 {
		return source.WriteMatrix(path, n.Double)
	}
	return source.WriteMatrix(path, n.Single)
}
