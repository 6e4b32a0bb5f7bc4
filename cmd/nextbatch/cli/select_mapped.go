package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// Tables, inputs and features that exceed memory are in files, which are mapped.

// registerTempDir registers the flag of commands that can use such features.
func (s *selectFlags) registerTempDir(c *cobra.Command) {
	s.mayUseFiles = true
	c.Flags().StringVar(&s.tempDir, "temp-dir", "",
		"folder of temporary files, for tables and features that exceed memory (default TMPDIR, or /var/tmp)")
}

// overflow makes tables that are large for the memory go to a temporary file, unless only memory
// would hold that.
func (s *selecting) overflow() {
	onDisk := s.tempDir != "" || !rowfile.InMemory(s.folder())
	if s.ranks == nil && s.mayUseFiles && rowfile.Supported && onDisk {
		s.columns.memory.overflow = rowfile.NewStore(s.folder())
		s.unmap = append(s.unmap, s.columns.memory.overflow.Close)
	}
}

// checkSpace rejects tables, before any is read, that find space neither in memory nor in the
// folder of temporary files.
func (s *selecting) checkSpace(ctx context.Context, files []tableFile) error {
	if s.columns.memory.overflow == nil {
		return nil
	}
	var names []string
	need := int64(0)
	for _, file := range files {
		opts, err := s.columns.options(file.optional)
		if err != nil {
			return err
		}
		if file.path != standardInput {
			path, _ := splitArray(file.path)
			need += formats.LeastBytes(ctx, path, opts)
		}
		names = append(names, nameOf(file.path))
	}
	limits := source.Options{MaxMemory: s.columns.memory.left(), Overflow: s.columns.memory.overflow}
	err := limits.CheckSpace("one copy of "+words.List(names), need)
	if err == nil || len(files) > 1 && limits.Overflow.CheckSpace(need-limits.MaxMemory) == nil {
		return nil // some of several tables may stay in memory
	}
	return dataError{otherFolder(err)}
}

// folder is where temporary files go; empty if there are none.
func (s *selectFlags) folder() string {
	if !s.mayUseFiles {
		return ""
	}
	return cmp.Or(s.tempDir, rowfile.Folder())
}

// beyondMemory returns the files of the candidates if their features exceed memory, and what a
// selection keeps beside them is less; otherwise nil, and for files that have to be read as a
// whole.
func (s *selecting) beyondMemory() *formats.Shards {
	if s.ranks != nil || s.columns.memory.bytes == 0 || !s.mayUseFiles || !rowfile.Supported {
		return nil
	}
	shards, err := s.openShards(s.poolFeatures)
	if err != nil {
		return nil // reading it reports what is wrong
	}
	sizes := forecast.Sizes{Pool: shards.Rows, Inputs: shards.Cols, Train: rowsOf(s.trainFeatures),
		Aims: rowsOf(s.targets)}
	inMemory := s.request.Memory(sizes)
	sizes.InFile = true
	if inMemory <= s.columns.memory.bytes || s.request.Memory(sizes) >= inMemory {
		return nil
	}
	return shards
}

// rowsOf returns the number of rows of a .npy or .parquet file, or 0 where reading it will tell.
func rowsOf(path string) int {
	shards, err := formats.OpenShards(path)
	if err != nil {
		return 0
	}
	return shards.Rows
}

// mapFeatures maps the candidates and reads the other rows. A method that computes in
// float64 reads candidates in float32 as they are: that loses no digit.
func (s *selecting) mapFeatures(ctx context.Context, shards *formats.Shards) (err error) {
	r := &s.request
	r.InFile, r.RowName = true, shards.RowName
	switch double := needs.ComputesInDouble(r.Spec); {
	case !double:
		if r.Features.Pool, err = mapPool[float32](ctx, s, shards); err == nil {
			err = readOthers(ctx, s, &r.Features, shards.Rows, shards.Cols)
		}
		return err
	case shards.InSingle():
		r.Features.Pool, err = mapPool[float32](ctx, s, shards)
	default:
		r.Exact.Pool, err = mapPool[float64](ctx, s, shards)
	}
	if err == nil {
		err = readOthers(ctx, s, &r.Exact, shards.Rows, shards.Cols)
	}
	return err
}

func mapPool[T matrix.Float](ctx context.Context, s *selecting, shards *formats.Shards) (matrix.Dense[T], error) {
	m, err := formats.MapShards[T](ctx, shards, s.folder())
	if wrong := (*source.Error)(nil); errors.As(err, &wrong) {
		return matrix.Dense[T]{}, dataError{err}
	}
	if err != nil {
		return matrix.Dense[T]{}, errorf("%s exceeds memory: %w; --temp-dir names another folder", s.poolFeatures, err)
	}
	s.unmap = append(s.unmap, m.Close)
	return m.Rows, nil
}

// closeFiles takes what is in files out of memory.
func (s *selecting) closeFiles() {
	for _, unmap := range s.unmap {
		unmap()
	}
	s.unmap = nil
}
