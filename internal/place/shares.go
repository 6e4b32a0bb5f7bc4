package place

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// Share returns the rows of a pool that a rank of several holds: whole blocks, as equal
// in number as they can be.
func Share(pool, rank, size int) (from, to int) {
	blocks := (pool + Block - 1) / Block
	return min(rank*blocks/size*Block, pool), min((rank+1)*blocks/size*Block, pool)
}

// CheckShares reports a pool that is too small for size ranks.
func CheckShares(pool, size int) error {
	if blocks := (pool + Block - 1) / Block; size > blocks {
		return fmt.Errorf("the pool has %d rows, and a rank holds at least %d: use at most %s", pool, Block,
			words.Count(blocks, "rank", "ranks"))
	}
	return nil
}

// ShareInOrder exchanges rows between ranks, each of which holds its share of a pool: then each has the rows of its
// share of the pool in the order. All of them call it, at the same time.
func ShareInOrder[T matrix.Float](ranks Ranks, share matrix.Dense[T], order []int) (matrix.Dense[T], error) {
	me, pool := ranks.Rank(), len(order)
	first, _ := Share(pool, me, ranks.Size())
	moved := matrix.New[T](share.Rows, share.Cols)
	places := func(of, at int) (list []int) { // in the share of a rank, of the rows that another one holds
		from, to := Share(pool, of, ranks.Size())
		low, high := Share(pool, at, ranks.Size())
		for place, row := range order[from:to] {
			if row >= low && row < high {
				list = append(list, place)
			}
		}
		return list
	}
	send := func(to int) error {
		start, _ := Share(pool, to, ranks.Size())
		var own []int
		for _, place := range places(to, me) {
			own = append(own, order[start+place]-first)
		}
		return ranks.Send(BytesOf(share.SelectRows(own).Data), to)
	}
	receive := func(from int) error {
		at := places(me, from)
		rows := matrix.New[T](len(at), share.Cols)
		if err := ranks.Receive(BytesOf(rows.Data), from); err != nil {
			return err
		}
		for i, place := range at {
			copy(moved.Row(place), rows.Row(i))
		}
		return nil
	}
	for _, place := range places(me, me) {
		copy(moved.Row(place), share.Row(order[first+place]-first))
	}
	for other := range ranks.Size() { // of two ranks the lower one sends first; all meet the others in the same order
		steps := []func(int) error{send, receive}
		if other < me {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if other == me {
				break
			}
			if err := step(other); err != nil {
				return moved, err
			}
		}
	}
	return moved, nil
}

// BytesOf returns the memory of numbers.
func BytesOf[E any](v []E) []byte {
	var zero E
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}
