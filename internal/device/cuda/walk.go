//go:build linux && (amd64 || arm64)

package cuda

// Walks: steps of a selection that the card does without the host. A step is a graph. It takes
// the row that the step before has found, adds it and finds the next one.

import (
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	mostSteps   = 64   // of a walk
	walkBytes   = 16   // of Walk in selection.cu
	mostColumns = 2048 // for which a covariance is kept on the card, in 32 MB
	unanswered  = -2   // the row of an answer that is still to come
)

// goAhead finds the best row and then does ahead steps: add takes the row of the walk and adds
// it, find finds the next one. name is that of the graph; before is the number of centres or
// steps so far. All rows of the answer but the last have been taken.
func (r *rows[T]) goAhead(name string, ahead, before int, add, find func(walk pointer)) ([]place.DeviceBest, error) {
	r.sendMarks()
	ahead = max(0, min(ahead, mostSteps))
	for i := range r.best[:ahead+1] {
		r.best[i].row = unanswered
	}
	r.launch("walk_from", grid{x: 1, threads: 1}, r.walk, int32(before))
	find(r.walk)
	if ahead > 0 && r.graphs[name] == 0 {
		r.graphs[name] = r.capture(func() {
			add(r.walk)
			find(r.walk)
		})
	}
	for range ahead {
		r.replay(r.graphs[name])
	}
	return r.answers(ahead + 1)
}

// answers waits for the answers of a walk.
func (r *rows[T]) answers(most int) (list []place.DeviceBest, err error) {
	if err := r.wait(); err != nil {
		return []place.DeviceBest{{Row: -1}}, err
	}
	for _, b := range r.best[:most] {
		if b.row == unanswered {
			break
		}
		best, err := b.found()
		list = append(list, best)
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// dropStep frees the graph of a step, whose arguments have changed.
func (r *rows[T]) dropStep(name string) {
	if exec, ok := r.graphs[name]; ok {
		r.dropGraph(exec)
		delete(r.graphs, name)
	}
}

// walkTo sets the row that is added by itself.
func (r *rows[T]) walkTo(row, before int) {
	r.launch("walk_to", grid{x: 1, threads: 1}, r.walk, row, int32(before))
}

// take takes the row of a walk, and copies its features to phi unless that is null.
func (r *rows[T]) take(walk, phi pointer) {
	clusters, dist, labels := r.clusterSizes()
	r.launch("take_row_"+r.kind, grid{x: 1, threads: 256}, walk, r.x, r.ld, phi, r.flags, dist,
		labels, r.weights, clusters)
}

// clusterSizes returns the sizes of clusters and what they are computed from, if there are any.
func (r *rows[T]) clusterSizes() (of sizes, dist, labels pointer) {
	if r.nearest == nil {
		return sizes{kind: -1}, 0, 0
	}
	return r.nearest.sizes, r.nearest.dist, r.nearest.labels
}

// times computes y = A·x + plus for vectors; plus may be null.
func (r *rows[T]) times(walk, a, x, y, plus pointer, vectors int) {
	g := r.warps(r.ld)
	g.y = vectors
	r.launch("times_vector", g, walk, a, r.ld, int32(r.ld), x, y, plus)
}

// setCovariance sets S to the identity, minus a product unless that is null.
func (r *rows[T]) setCovariance(s, product pointer) {
	r.launch("set_covariance", r.over(r.ld*r.ld, 256), s, r.ld, product)
}

// transposed returns a matrix whose rows are the columns of another, padded with zeros to the
// given number of rows.
func transposed(m matrix.Dense[float64], rows int) matrix.Dense[float64] {
	t := matrix.New[float64](rows, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			t.Row(j)[i] = v
		}
	}
	return t
}
