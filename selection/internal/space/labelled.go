package space

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
)

// Labelled returns the training row that is nearest to each of some pool rows, and
// how far it is.
func (s *space[T]) Labelled(rows []int) (at []int, distance []float64, err error) {
	at, distance = make([]int, len(rows)), make([]float64, len(rows))
	sq := make([]T, len(rows))
	if device, ok := s.rows.(*deviceRows[T]); ok {
		if at, sq = device.on.Labelled(s.train.rows, rows); device.on.Err() != nil {
			return nil, nil, device.on.Err()
		}
	} else if err := s.nearestInMemory(at, sq, rows); err != nil {
		return nil, nil, err
	}
	for i, v := range sq {
		distance[i] = s.InUnits(math.Sqrt(float64(v)), 1)
	}
	return at, distance, nil
}

// nearestInMemory finds the nearest training rows: one by one with a kernel, otherwise for some
// rows at a time, which share training rows in the cache.
func (s *space[T]) nearestInMemory(at []int, sq []T, rows []int) error {
	if s.kernel == nil {
		s.nearestByFeatures(at, sq, rows)
		return nil
	}
	dist := make([]T, s.TrainSize())
	for i, row := range rows {
		if s.Cancelled() {
			return nil
		}
		if err := s.sqDist(dist, &s.train, row); err != nil {
			return err
		}
		for j, v := range dist {
			if v < dist[at[i]] {
				at[i] = j
			}
		}
		sq[i] = dist[at[i]]
	}
	return nil
}

// reportedRows is the number of rows after which the report checks the context.
const reportedRows = 512

func (s *space[T]) nearestByFeatures(at []int, sq []T, rows []int) {
	train, set := s.train.rows, simd.For[T]()
	for block := 0; block < len(rows) && !s.Cancelled(); block += reportedRows {
		queries, _ := s.gather(rows[block:min(block+reportedRows, len(rows))])
		at, sq := at[block:], sq[block:]
		s.team.OverPieces(queries.Rows, cachedRows, func(_, from, to int) {
			var dist [cachedRows]T
			for first := 0; first < train.Rows; first += cachedRows {
				part := train.Slice(first, min(first+cachedRows, train.Rows))
				for i := from; i < to; i++ {
					set.SqDistRows(dist[:part.Rows], queries.Row(i), part.Data, part.Stride)
					for j, v := range dist[:part.Rows] {
						if first+j == 0 || v < sq[i] {
							at[i], sq[i] = first+j, v
						}
					}
				}
			}
		})
	}
}
