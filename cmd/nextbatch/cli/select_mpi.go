package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// A selection by several processes. All of them run the same command; each reads its share
// of the features, or computes those of its share of a table. Rank 0 prints and writes.

// checkMPI reports flags that do not go with --mpi.
func (s *selecting) checkMPI() error {
	switch {
	case !s.mpi:
		return nil
	case s.dryRun:
		return usagef("--dry-run tries out one process: leave out --mpi")
	case s.page != "" && s.poolFeatures != "":
		return usagef("--report shows candidates of the whole pool, but with --mpi each process holds a share: leave out " +
			"one of the two")
	}
	return nil
}

// join connects the processes. Only rank 0 prints and writes.
func (s *selecting) join() (err error) {
	if !s.mpi {
		return nil
	}
	if s.ranks, err = device.ConnectRanks(); err != nil {
		if errors.Is(err, device.ErrNoRanks) {
			return usagef("--mpi: %w; use nextbatch-hpc, which is the same program with MPI", err)
		}
		return errorf("--mpi: %w", err)
	}
	s.request.Ranks = s.ranks
	if s.ranks.Rank() == 0 {
		s.progress.say("%d processes, connected by %s", s.ranks.Size(), s.ranks.Describe())
		return nil
	}
	s.out, s.page, s.stdout = "", "", io.Discard
	s.progress.log, s.progress.quiet, s.progress.terminal = io.Discard, true, false
	return nil
}

// leave parts from the other processes. An error that all have is printed by rank 0 alone, and
// before it leaves: the others cannot leave earlier, and once one has ended with an error, the
// launcher kills the rest.
func (s *selecting) leave(err error) error {
	if s.ranks == nil {
		return err
	}
	if errors.Is(err, place.ErrLost) {
		explain(os.Stderr, err)
		s.ranks.Abort(exitFailure)
	}
	if err != nil && s.ranks.Rank() == 0 {
		explain(os.Stderr, err)
	}
	closed := s.ranks.Close()
	switch {
	case err != nil:
		return unsaid{err}
	case closed != nil:
		return errorf("--mpi: %w", closed)
	}
	return nil
}

// agree ends all processes with one error if one of them has one.
func (s *selecting) agree(ctx context.Context, err error) error {
	if s.ranks == nil {
		return err
	}
	return selection.Agree(ctx, s.ranks, err)
}

// fromRank0 returns the data of rank 0 on all processes.
func (s *selecting) fromRank0(data []byte) ([]byte, error) {
	if s.ranks == nil {
		return data, nil
	}
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	err := s.ranks.Broadcast(size, 0)
	if err == nil && s.ranks.Rank() > 0 {
		data = make([]byte, binary.LittleEndian.Uint64(size))
	}
	if err == nil {
		err = s.ranks.Broadcast(data, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", place.ErrLost, err)
	}
	return data, nil
}

// readPool reads the features of the candidates; with other processes, those of its share.
func readPool[T matrix.Float](ctx context.Context, s *selecting) (matrix.Dense[T], error) {
	if s.ranks == nil {
		return readMatrix[T](ctx, s, s.poolFeatures)
	}
	shards, err := s.openShards(s.poolFeatures)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	if err := place.CheckShares(shards.Rows, s.ranks.Size()); err != nil {
		return matrix.Dense[T]{}, dataError{err}
	}
	from, to := place.Share(shards.Rows, s.ranks.Rank(), s.ranks.Size())
	s.request.Shared = shards.Rows
	return readShards[T](ctx, s, s.poolFeatures, shards, from, to)
}

// isPattern reports whether a name stands for several files.
func isPattern(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	return strings.ContainsAny(name, "*?[")
}
