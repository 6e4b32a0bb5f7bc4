package space

// A pool that several processes share. Each process, a rank, holds some blocks of the
// pool (blocks.go) and all that is kept for their rows; the training rows, the
// constraints and what is small, such as a covariance, every rank holds for itself.
//
// All ranks run the same selection and make the same calls at the inner seam (rows.go), each
// of which is one of four exchanges:
//
//	best    every rank sends the best of its rows to all; each compares them, in the
//	        order of ranks, so that of equal rows the lowest number wins
//	lent    the rank that holds a row sends it, or a number of it, to all
//	chained rank 0 adds its blocks to a sum, hands it to rank 1, which adds its own,
//	        and so on; the last sends the total to all
//	local   nothing is sent
//
// A sum is thus added in the order of blocks.go, and a batch is that of one process to
// the last bit. What a rank decides, it decides by numbers that all ranks have; that
// includes the end by a cancelled context or by an error, which ranks tell each other of
// before each step and with each best row.

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Network is the ranks of one selection.
type Network struct {
	place.Ranks
	ctx    context.Context
	first  []int // row of each rank, and the size of the pool
	failed error // the same on all ranks, unless the connection itself is lost
}

// HashRows identifies the embedded rows that every rank holds. Ranks that embed with
// different networks differ in it.
func HashRows[T matrix.Float](sets ...matrix.Dense[T]) int64 {
	h := fnv.New64a()
	for _, rows := range sets {
		fmt.Fprintln(h, rows.Rows, rows.Cols)
		for i := range rows.Rows {
			h.Write(place.BytesOf(rows.Row(i)))
		}
	}
	return int64(h.Sum64())
}

// Agree returns the same error on all ranks if one of them has one, or if its context
// was cancelled. The others get its text.
func Agree(ctx context.Context, ranks place.Ranks, err error) error {
	r := &Network{Ranks: ranks, ctx: ctx}
	return r.agree(err)
}

// Meet determines how many rows each rank has, and whether all of them solve one problem with
// the same numbers: a hash of the embedded rows that each holds, and one of all else.
func Meet(ctx context.Context, ranks place.Ranks, rows, cols int, embedded, other int64) (*Network, error) {
	r := &Network{Ranks: ranks, ctx: ctx}
	return r, r.meet(rows, cols, embedded, other)
}

func (r *Network) meet(rows, cols int, embedded, other int64) error {
	set := int64(0)
	for _, c := range simd.For[float32]().Name() {
		set = set<<8 | int64(c)
	}
	own := []int64{int64(rows), int64(cols), set, embedded, other}
	all := gathered(r, own)
	if r.failed != nil {
		return r.failed
	}
	r.first = make([]int, r.Size()+1)
	for i := range r.Size() {
		one := all[i*len(own):][:len(own)]
		r.first[i+1] = r.first[i] + int(one[0])
		switch {
		case one[1] != all[1]:
			return &place.ProblemError{Field: "Pool",
				Reason: fmt.Sprintf("rank %d has rows of %d columns, rank 0 of %d", i, one[1], all[1])}
		case one[2] != all[2]:
			return &place.ProblemError{Field: "Pool",
				Reason: fmt.Sprintf("rank %d computes with other instructions than rank 0, which changes last digits: "+
					"set NEXTBATCH_SIMD=avx2, or to what all machines have, for all ranks", i)}
		case one[3] != all[3]:
			return &place.ProblemError{Field: "Train",
				Reason: fmt.Sprintf("rank %d has other labelled rows, or other features of them, than rank 0: "+
					"networks that a GPU trains differ from those of a CPU, "+
					"so let all ranks train on the CPU, and read the same files", i)}
		case one[4] != all[4]:
			return &place.ProblemError{Field: "Batch",
				Reason: fmt.Sprintf(
					"rank %d selects another batch than rank 0: start all ranks with the same command line and the same files", i)}
		case r.first[i]%place.Block != 0 && one[0] > 0:
			return &place.ProblemError{Field: "Pool", Reason: fmt.Sprintf("rank %d starts at row %d, which is not a multiple "+
				"of %d",
				i, r.first[i], place.Block)}
		}
	}
	return nil
}

// PoolSize is that of the whole pool.
func (r *Network) PoolSize() int { return r.first[len(r.first)-1] }

// rows is how many rows each rank has.
func (r *Network) rows() []int {
	list := make([]int, r.Size())
	for i := range list {
		list[i] = r.first[i+1] - r.first[i]
	}
	return list
}

// own is the first row of this rank.
func (r *Network) own() int { return r.first[r.Rank()] }

// holder returns the rank that holds a row. Ranks without rows start where the next one
// does.
func (r *Network) holder(row int) int {
	for i := range r.Size() {
		if row < r.first[i+1] {
			return i
		}
	}
	return r.Size() - 1
}

// lose records that the connection failed. Nothing is sent after that.
func (r *Network) lose(err error) {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("%w: rank %d of %d: %w", place.ErrLost, r.Rank(), r.Size(), err)
	}
}

// gathered returns the numbers of all ranks.
func gathered[E any](r *Network, own []E) []E {
	all := make([]E, r.Size()*len(own))
	if r.failed == nil {
		r.lose(r.Gather(place.BytesOf(all), place.BytesOf(own)))
	}
	return all
}

// lend sends numbers from one rank to all others.
func lend[E any](r *Network, data []E, from int) {
	if r.failed == nil {
		r.lose(r.Broadcast(place.BytesOf(data), from))
	}
}

// chain has every rank add to numbers, in order.
func chain[E any](r *Network, data []E, add func()) {
	rank, last := r.Rank(), r.Size()-1
	if r.failed == nil && rank > 0 {
		r.lose(r.Receive(place.BytesOf(data), rank-1))
	}
	add()
	if r.failed == nil && rank < last {
		r.lose(r.Send(place.BytesOf(data), rank+1))
	}
	lend(r, data, last)
}

// largest replaces each number by the largest of all ranks. NaN counts as the largest.
func (r *Network) largest(own ...float64) []float64 {
	all := gathered(r, own)
	for i := range own {
		for rank := range r.Size() {
			if v := all[rank*len(own)+i]; v > own[i] || v != v {
				own[i] = v
			}
		}
	}
	return own
}

// What a rank sends with its best row.
const (
	isWell = iota
	isCancelled
	hasFailed
)

// message is how long the text of another rank's error may be.
const message = 1 << 12

// agree returns the same error on all ranks if one of them has one, or was cancelled.
func (r *Network) agree(err error) error {
	r.hear(gathered(r, []int64{r.condition(err)}), err)
	return r.failed
}

func (r *Network) condition(err error) int64 {
	switch {
	case r.ctx.Err() != nil:
		return isCancelled
	case err != nil:
		return hasFailed
	}
	return isWell
}

// hear ends the selection on all ranks if one of them is not well.
func (r *Network) hear(conditions []int64, own error) {
	for rank, c := range conditions {
		if r.failed != nil || c == isWell {
			continue
		}
		if c == isCancelled {
			if r.failed = r.ctx.Err(); r.failed == nil {
				r.failed = fmt.Errorf("selection: rank %d was cancelled: %w", rank, context.Canceled)
			}
			return
		}
		text, row := make([]byte, message), make([]int64, 1)
		if rank == r.Rank() {
			copy(text, own.Error())
			row[0] = int64(place.PoolRow(own))
		}
		lend(r, row, rank)
		if lend(r, text, rank); r.failed == nil {
			r.failed = own
			if rank != r.Rank() {
				r.failed = &place.RankError{Rank: rank, Text: untilZero(text), Row: int(row[0])}
			}
		}
	}
}

func untilZero(text []byte) string {
	for i, b := range text {
		if b == 0 {
			return string(text[:i])
		}
	}
	return string(text)
}

// rankRows are the rows of a pool that ranks share.
type rankRows[T matrix.Float] struct {
	*Network
	space *space[T]
	part  poolRows[T] // those of this rank; nil if it has none
}

func newRankRows[T matrix.Float](s *space[T], r *Network) *rankRows[T] {
	f := &rankRows[T]{Network: r, space: s}
	from, to := r.own(), r.own()+s.pool.rows.Rows
	if from == to {
		return f
	}
	part := newMemoryRows(s, &s.pool, nil)
	if s.weights != nil {
		part.weights = s.weights[from:to]
	}
	if s.price != nil {
		part.price = s.price[from:to]
	}
	f.part = part
	return f
}

// local is a row as this rank numbers it; -1 if another holds it.
func (f *rankRows[T]) local(row int) int {
	if row < 0 || f.holder(row) != f.Rank() {
		return -1
	}
	return row - f.own()
}

func (f *rankRows[T]) Mark(row int, open, selected bool) {
	if at := f.local(row); at >= 0 {
		f.part.Mark(at, open, selected)
	}
}

func (f *rankRows[T]) Row(row int) (matrix.Dense[T], T) {
	data := make([]T, f.space.pool.rows.Cols+1)
	if at := f.local(row); at >= 0 {
		own, diag := f.part.Row(at)
		data[copy(data, own.Row(0))] = diag
	}
	lend(f.Network, data, f.holder(row))
	cols := len(data) - 1
	return matrix.View(1, cols, data[:cols]), data[cols]
}

func (f *rankRows[T]) Block(from, to int) matrix.Dense[T] {
	rows := matrix.New[T](to-from, f.space.pool.rows.Cols)
	if at := f.local(from); at >= 0 {
		matrix.Copy(rows, f.part.Block(at, at+to-from))
	}
	lend(f.Network, rows.Data, f.holder(from))
	return rows
}

// candidate is the best row of a rank.
type candidate struct {
	condition int64
	row       int64
	score     float64
	per       float64 // the score, per price if there are prices
	extra     float64 // of the search
}

// best returns the best row of all ranks, and that of each.
func (f *rankRows[T]) best(find func() (one Found, extra float64,
	err error)) (top candidate, all []candidate, err error) {
	own := candidate{row: -1}
	if f.part != nil && f.failed == nil {
		var one Found
		if one, own.extra, err = find(); err == nil && one.Row >= 0 {
			own.row, own.score = int64(f.own()+one.Row), one.Score
			own.per = f.space.perCost(int(own.row), one.Score)
		}
	}
	own.condition = f.condition(err)
	all = gathered(f.Network, []candidate{own})
	conditions := make([]int64, len(all))
	top = candidate{row: -1, score: math.Inf(-1)}
	for i, c := range all {
		conditions[i] = c.condition
		if c.row >= 0 && (top.row < 0 || c.per > top.per) {
			top = c
		}
	}
	if f.hear(conditions, inPool(err, f.own())); f.failed != nil {
		top = candidate{row: -1, score: math.Inf(-1)}
	}
	return top, all, f.failed
}

func (c candidate) found() Found { return Found{int(c.row), c.score} }

// bestRow is best for searches that return a row alone.
func (f *rankRows[T]) bestRow(find func() (Found, error)) (Found, error) {
	top, _, err := f.best(func() (Found, float64, error) {
		one, err := find()
		return one, 0, err
	})
	return top.found(), err
}

// bestDirection is best for directions. The score of every row that has one is 0 if that
// holds for the rows of each rank.
func (f *rankRows[T]) bestDirection(find func() (Found, bool, error)) (best Found, zero bool, err error) {
	top, all, err := f.best(func() (Found, float64, error) {
		one, zero, err := find()
		if zero || math.IsInf(one.Score, -1) {
			return one, 0, err
		}
		return one, 1, err
	})
	other := slices.ContainsFunc(all, func(c candidate) bool { return c.extra != 0 })
	return top.found(), !other, err
}

// inPool numbers the row of an error as the whole pool does.
func inPool(err error, first int) error {
	if row, ok := err.(*place.RowError); ok && row.Set == "pool" {
		moved := *row
		moved.Row += first
		return &moved
	}
	return err
}

func (f *rankRows[T]) Largest() (Found, error) {
	return f.bestRow(func() (Found, error) { return f.part.Largest() })
}

// perCost divides a score by the cost of its row, if the problem asks for that.
func (s *space[T]) perCost(row int, score float64) float64 {
	if s.price == nil || row < 0 {
		return score
	}
	return score / s.price[row]
}
