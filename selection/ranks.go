package selection

// A pool that several processes share. Each process, a rank, holds some blocks of the
// pool (blocks.go) and all that is kept for their rows; the training rows, the
// constraints and what is small, such as a covariance, every rank holds for itself.
//
// All ranks run the same selection and make the same calls at the seam (rows.go), each
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
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// Block is the number of rows that a pool is cut at multiples of.
const Block = sumBlock

// Ranks connects the processes that share a pool. All of them make the same calls in the
// same order, each from one goroutine at a time. A call that fails fails for good.
type Ranks interface {
	Rank() int // of this process, from 0
	Size() int // how many there are
	// Gather sends own, of the same length on all ranks, to all: all holds them in the
	// order of ranks.
	Gather(all, own []byte) error
	// Broadcast sends the data of one rank to all others.
	Broadcast(data []byte, from int) error
	Send(data []byte, to int) error
	Receive(data []byte, from int) error
}

// ErrLost means that the connection between ranks has failed.
var ErrLost = errors.New("selection: the ranks lost each other")

// Share returns the rows of a pool that a rank of several holds: whole blocks, as equal
// in number as they can be.
func Share(pool, rank, size int) (from, to int) {
	blocks := (pool + Block - 1) / Block
	return min(rank*blocks/size*Block, pool), min((rank+1)*blocks/size*Block, pool)
}

// CheckShares reports a pool that is too small for so many ranks.
func CheckShares(pool, size int) error {
	if blocks := (pool + Block - 1) / Block; size > blocks {
		return fmt.Errorf("the pool has %d rows, and a rank holds at least %d: use at most %s", pool, Block, words.Count(blocks, "rank", "ranks"))
	}
	return nil
}

// SelectAcross is Select for a pool that several ranks share. Pool holds the rows of this
// rank, which follow those of the rank before; all ranks but the last that has rows hold
// a multiple of Block. Everything else in p is about the whole pool, and the same on all
// ranks, as is the result. The method must be one of this package.
func SelectAcross[T matrix.Float](ctx context.Context, ranks Ranks, m Method[T], p Problem[T]) (*Result, error) {
	r := &network{Ranks: ranks, ctx: ctx}
	if err := r.meet(p.Pool.Rows, p.Pool.Cols, embeddedHash(&p), otherHash(m, &p)); err != nil {
		return nil, err
	}
	if p.Kernel != nil && CheckShares(r.size(), r.Size()) != nil {
		return nil, &ProblemError{"Pool", CheckShares(r.size(), r.Size()).Error()}
	}
	if _, ours := m.(spread); !ours {
		return nil, &MethodError{m.Name(), "it needs the whole pool in one process"}
	}
	return selectFrom(ctx, m, p, r, func(s *Space[T]) poolRows[T] { return newRankRows(s, r) })
}

// Agree returns the same error on all ranks if one of them has one, or if its context
// was cancelled. The others get its text.
func Agree(ctx context.Context, ranks Ranks, err error) error {
	r := &network{Ranks: ranks, ctx: ctx}
	return r.agree(err)
}

// spread is a method that reaches the pool through the seam alone.
type spread interface{ spread() }

func (Random[T]) spread()         {}
func (MaxDiag[T]) spread()        {}
func (MaxDist[T]) spread()        {}
func (LCMD[T]) spread()           {}
func (KMeansPP[T]) spread()       {}
func (GreedyKMeansPP[T]) spread() {}
func (MaxDet[T]) spread()         {}
func (BAIT[T]) spread()           {}
func (FrankWolfe[T]) spread()     {}

// network is the ranks of one selection.
type network struct {
	Ranks
	ctx    context.Context
	first  []int // row of each rank, and the size of the pool
	failed error // the same on all ranks, unless the connection itself is lost
}

// embeddedHash identifies the embedded rows that every rank holds. Ranks that embed with
// different networks differ in it.
func embeddedHash[T matrix.Float](p *Problem[T]) int64 {
	h := fnv.New64a()
	for _, rows := range []matrix.Dense[T]{p.Train, p.Aims.Rows} {
		fmt.Fprintln(h, rows.Rows, rows.Cols)
		for i := range rows.Rows {
			h.Write(bytesOf(rows.Row(i)))
		}
	}
	return int64(h.Sum64())
}

// otherHash identifies everything else that is the same on all ranks.
func otherHash[T matrix.Float](m Method[T], p *Problem[T]) int64 {
	h := fnv.New64a()
	fmt.Fprintln(h, m.Name(), p.Mode, p.Batch, p.Seed, p.Pending, p.Resume)
	c := p.Constraints
	fmt.Fprintln(h, c.Exclude, c.Require, c.Budget, c.PerCost, c.PerGroup, len(c.Cost), len(c.Group), len(p.Aims.Weights))
	for _, numbers := range [][]byte{bytesOf(c.Cost), bytesOf(c.Group), bytesOf(p.Aims.Weights)} {
		h.Write(numbers)
	}
	return int64(h.Sum64())
}

// meet finds out how many rows each rank has, and whether all of them solve one problem with
// the same numbers.
func (r *network) meet(rows, cols int, embedded, other int64) error {
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
			return &ProblemError{"Pool", fmt.Sprintf("rank %d has rows of %d columns, rank 0 of %d", i, one[1], all[1])}
		case one[2] != all[2]:
			return &ProblemError{"Pool", fmt.Sprintf("rank %d computes with other instructions than rank 0, which changes last digits: "+
				"set NEXTBATCH_SIMD=avx2, or to what all machines have, for all ranks", i)}
		case one[3] != all[3]:
			return &ProblemError{"Train", fmt.Sprintf("rank %d has other labelled rows, or other features of them, than rank 0: networks that a GPU trains differ from those of a CPU, "+
				"so write --device cpu for all ranks, and let all of them read the same files", i)}
		case one[4] != all[4]:
			return &ProblemError{"Batch", fmt.Sprintf("rank %d selects another batch than rank 0: start all ranks with the same command line and the same files", i)}
		case r.first[i]%Block != 0 && one[0] > 0:
			return &ProblemError{"Pool", fmt.Sprintf("rank %d starts at row %d, which is no multiple of %d", i, r.first[i], Block)}
		}
	}
	return nil
}

// size is that of the pool.
func (r *network) size() int { return r.first[len(r.first)-1] }

// rows is how many rows each rank has.
func (r *network) rows() []int {
	list := make([]int, r.Size())
	for i := range list {
		list[i] = r.first[i+1] - r.first[i]
	}
	return list
}

// own is the first row of this rank.
func (r *network) own() int { return r.first[r.Rank()] }

// holder returns the rank that holds a row. Ranks without rows start where the next one
// does.
func (r *network) holder(row int) int {
	for i := range r.Size() {
		if row < r.first[i+1] {
			return i
		}
	}
	return r.Size() - 1
}

// lose remembers that the connection failed. Nothing is sent after that.
func (r *network) lose(err error) {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("%w: rank %d of %d: %w", ErrLost, r.Rank(), r.Size(), err)
	}
}

// bytesOf returns the memory of numbers.
func bytesOf[E any](v []E) []byte {
	var zero E
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}

// gathered returns the numbers of all ranks.
func gathered[E any](r *network, own []E) []E {
	all := make([]E, r.Size()*len(own))
	if r.failed == nil {
		r.lose(r.Gather(bytesOf(all), bytesOf(own)))
	}
	return all
}

// lend sends numbers from one rank to all others.
func lend[E any](r *network, data []E, from int) {
	if r.failed == nil {
		r.lose(r.Broadcast(bytesOf(data), from))
	}
}

// chain has every rank add to numbers, in order.
func chain[E any](r *network, data []E, add func()) {
	rank, last := r.Rank(), r.Size()-1
	if r.failed == nil && rank > 0 {
		r.lose(r.Receive(bytesOf(data), rank-1))
	}
	add()
	if r.failed == nil && rank < last {
		r.lose(r.Send(bytesOf(data), rank+1))
	}
	lend(r, data, last)
}

// largest replaces each number by the largest of all ranks. NaN counts as the largest.
func (r *network) largest(own ...float64) []float64 {
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

// What a rank has to say with its best row.
const (
	isWell = iota
	isCancelled
	hasFailed
)

// message is how long the text of another rank's error may be.
const message = 1 << 12

// agree returns the same error on all ranks if one of them has one, or was cancelled.
func (r *network) agree(err error) error {
	r.hear(gathered(r, []int64{r.condition(err)}), err)
	return r.failed
}

func (r *network) condition(err error) int64 {
	switch {
	case r.ctx.Err() != nil:
		return isCancelled
	case err != nil:
		return hasFailed
	}
	return isWell
}

// hear ends the selection on all ranks if one of them is not well.
func (r *network) hear(conditions []int64, own error) {
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
			row[0] = int64(PoolRow(own))
		}
		lend(r, row, rank)
		if lend(r, text, rank); r.failed == nil {
			r.failed = own
			if rank != r.Rank() {
				r.failed = &RankError{rank, untilZero(text), int(row[0])}
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
	*network
	space *Space[T]
	part  poolRows[T] // those of this rank; nil if it has none
}

func newRankRows[T matrix.Float](s *Space[T], r *network) *rankRows[T] {
	f := &rankRows[T]{network: r, space: s}
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
	lend(f.network, data, f.holder(row))
	cols := len(data) - 1
	return matrix.View(1, cols, data[:cols]), data[cols]
}

func (f *rankRows[T]) Block(from, to int) matrix.Dense[T] {
	rows := matrix.New[T](to-from, f.space.pool.rows.Cols)
	if at := f.local(from); at >= 0 {
		matrix.Copy(rows, f.part.Block(at, at+to-from))
	}
	lend(f.network, rows.Data, f.holder(from))
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
func (f *rankRows[T]) best(find func() (one found, extra float64, err error)) (top candidate, all []candidate, err error) {
	own := candidate{row: -1}
	if f.part != nil && f.failed == nil {
		var one found
		if one, own.extra, err = find(); err == nil && one.row >= 0 {
			own.row, own.score = int64(f.own()+one.row), one.score
			own.per = f.space.perCost(int(own.row), one.score)
		}
	}
	own.condition = f.condition(err)
	all = gathered(f.network, []candidate{own})
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

func (c candidate) found() found { return found{int(c.row), c.score} }

// bestRow is best for searches that return a row alone.
func (f *rankRows[T]) bestRow(find func() (found, error)) (found, error) {
	top, _, err := f.best(func() (found, float64, error) {
		one, err := find()
		return one, 0, err
	})
	return top.found(), err
}

// bestDirection is best for directions. The score of every row that has one is 0 if that
// holds for the rows of each rank.
func (f *rankRows[T]) bestDirection(find func() (found, bool, error)) (best found, zero bool, err error) {
	top, all, err := f.best(func() (found, float64, error) {
		one, zero, err := find()
		if zero || math.IsInf(one.score, -1) {
			return one, 0, err
		}
		return one, 1, err
	})
	other := slices.ContainsFunc(all, func(c candidate) bool { return c.extra != 0 })
	return top.found(), !other, err
}

// inPool numbers the row of an error as the whole pool does.
func inPool(err error, first int) error {
	if row, ok := err.(*RowError); ok && row.Set == "pool" {
		moved := *row
		moved.Row += first
		return &moved
	}
	return err
}

func (f *rankRows[T]) Largest() (found, error) {
	return f.bestRow(func() (found, error) { return f.part.Largest() })
}
