package plate

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// Measurement is what goes into one well: those with the same Row are replicates.
type Measurement struct {
	Row   int
	Group int // rows of a group are kept apart; negative: none
	Run   int // has plates of its own
}

const (
	empty = -1
	reach = 2           // rows and columns within which members of a group, and all replicates, count
	most  = 100         // starts
	work  = 10_000_000  // pairs after which a plate gets no further start, a fraction of a second
	limit = 100_000_000 // pairs after which it is as good as it gets: only hundreds of replicates of a row take so many
)

// Place returns the well of each measurement. Plates are numbered in the order of the runs, which is that of their
// first measurements.
func (p *Plate) Place(list []Measurement, seed uint64) []Well {
	wells := make([]Well, len(list))
	number := 0
	for _, run := range byRun(list) {
		for _, members := range p.share(list, run) {
			number++
			random := rng.New(seed, "plate", uint64(number))
			for i, well := range p.best(list, members, random) {
				wells[members[i]] = Well{number, p.Name(well/p.Columns, well%p.Columns)}
			}
		}
	}
	return wells
}

// byRun returns the measurements of each run.
func byRun(list []Measurement) (runs [][]int) {
	at := map[int]int{}
	for i, m := range list {
		r, ok := at[m.Run]
		if !ok {
			r = len(runs)
			at[m.Run], runs = r, append(runs, nil)
		}
		runs[r] = append(runs[r], i)
	}
	return runs
}

// share divides a run among the fewest plates, equally. The first replicates of all rows come first, then the
// second ones, and so on.
func (p *Plate) share(list []Measurement, run []int) (plates [][]int) {
	seen, replicate := map[int]int{}, map[int]int{}
	for _, i := range run {
		replicate[i] = seen[list[i].Row]
		seen[list[i].Row]++
	}
	dealt := slices.Clone(run)
	slices.SortStableFunc(dealt, func(a, b int) int { return replicate[a] - replicate[b] })
	count := (len(dealt) + p.Wells() - 1) / p.Wells()
	for k := range count {
		plates = append(plates, dealt[k*len(dealt)/count:(k+1)*len(dealt)/count])
	}
	return plates
}

// best returns the wells of the measurements on one plate.
func (p *Plate) best(list []Measurement, members []int, random *rng.Stream) []int {
	b := p.board(list, members)
	b.improve()
	kept, pairs := b.wells(), b.pairs()
	for starts := 1; starts < most && b.seen < work && !b.indifferent(); starts++ {
		b.shuffle(random)
		b.improve()
		if other := b.pairs(); slices.Compare(other, pairs) < 0 {
			kept, pairs = b.wells(), other
		}
	}
	return kept
}

// board is a layout of one plate.
type board struct {
	*Plate
	list       []Measurement // of this plate
	replicates [][]int       // of each measurement, the others
	far        []int         // the squared distance from which on they no longer count
	row        []int         // of each well
	column     []int         // of each well
	at         []int         // the measurement in each well, or empty
	well       []int         // of each measurement
	seen       int           // pairs, over all swaps
	farthest   int           // more than any squared distance on the plate
	changes    []int         // by how many a swap changes the pairs of each key; zero between swaps
	changed    []int         // their keys, with repeats
}

func (p *Plate) board(list []Measurement, members []int) *board {
	b := &board{Plate: p, at: make([]int, p.Rows*p.Columns), farthest: p.Rows*p.Rows + p.Columns*p.Columns}
	b.changes = make([]int, b.keys())
	for well := range b.at {
		b.at[well] = empty
		b.row, b.column = append(b.row, well/p.Columns), append(b.column, well%p.Columns)
	}
	for i, m := range members {
		b.list = append(b.list, list[m])
		b.well = append(b.well, p.free[i])
		b.at[p.free[i]] = i
	}
	ofRow := map[int][]int{}
	for i, m := range b.list {
		ofRow[m.Row] = append(ofRow[m.Row], i)
	}
	for i, m := range b.list {
		others := slices.DeleteFunc(slices.Clone(ofRow[m.Row]), func(k int) bool { return k == i })
		b.replicates = append(b.replicates, others)
		b.far = append(b.far, max(2*reach*reach+1, len(p.free)/(2*len(ofRow[m.Row]))))
	}
	return b
}

// indifferent reports whether all layouts are equally good.
func (b *board) indifferent() bool {
	groups := map[int]int{}
	for i, m := range b.list {
		if len(b.replicates[i]) > 0 {
			return false
		}
		if m.Group >= 0 {
			groups[m.Group]++
		}
	}
	for _, rows := range groups {
		if rows > 1 {
			return false
		}
	}
	return true
}

// wells returns the wells of the measurements.
func (b *board) wells() []int { return slices.Clone(b.well) }

// shuffle moves the measurements to random wells.
func (b *board) shuffle(random *rng.Stream) {
	for i := len(b.free) - 1; i > 0; i-- {
		b.swap(b.free[i], b.free[random.IntN(i+1)])
	}
}

// swap exchanges the contents of two wells.
func (b *board) swap(u, v int) {
	b.at[u], b.at[v] = b.at[v], b.at[u]
	for _, well := range []int{u, v} {
		if m := b.at[well]; m != empty {
			b.well[m] = well
		}
	}
}

// improve swaps wells as long as a swap makes the layout better.
func (b *board) improve() {
	if b.indifferent() {
		return
	}
	for better := true; better; {
		better = false
		for i, u := range b.free {
			if b.seen > limit {
				return
			}
			for _, v := range b.free[i+1:] {
				if b.at[u] != empty || b.at[v] != empty {
					better = b.swapIfBetter(u, v) || better
				}
			}
		}
	}
}

// swapIfBetter swaps two wells if that makes the layout better.
func (b *board) swapIfBetter(u, v int) bool {
	b.count(u, v, -1)
	b.swap(u, v)
	b.count(u, v, 1)
	b.seen += len(b.changed)
	if b.fewer() {
		return true
	}
	b.swap(u, v)
	return false
}

// fewer reports whether the changes leave fewer pairs at the smallest key where their number changes, and forgets them.
func (b *board) fewer() bool {
	first, by := b.keys(), 0
	for _, key := range b.changed {
		if b.changes[key] != 0 && key < first {
			first, by = key, b.changes[key]
		}
	}
	for _, key := range b.changed {
		b.changes[key] = 0
	}
	b.changed = b.changed[:0]
	return by < 0
}

// count adds the pairs that the measurements in two wells are part of to the changes.
func (b *board) count(u, v, by int) {
	for _, well := range [...]int{u, v} {
		b.around(well, func(key int) {
			b.changes[key] += by
			b.changed = append(b.changed, key)
		})
	}
}

// around calls seen with the key of each pair that the measurement in a well is part of: smaller keys matter more.
func (b *board) around(well int, seen func(key int)) {
	m := b.at[well]
	if m == empty {
		return
	}
	for _, other := range b.replicates[m] {
		if d := b.distance(well, b.well[other]); d < b.far[m] {
			seen(d)
		}
	}
	if b.list[m].Group < 0 {
		return
	}
	row, column := b.row[well], b.column[well]
	for r := max(0, row-reach); r <= min(b.Rows-1, row+reach); r++ {
		for c := max(0, column-reach); c <= min(b.Columns-1, column+reach); c++ {
			other := b.at[r*b.Columns+c]
			if other != empty && b.list[other].Group == b.list[m].Group && b.list[other].Row != b.list[m].Row {
				seen(b.farthest + b.distance(well, r*b.Columns+c))
			}
		}
	}
}

// keys is the number of keys of pairs: those of replicates are squared distances, those of groups follow them.
func (b *board) keys() int { return b.farthest + 2*reach*reach + 1 }

// distance is the squared distance of two wells, in wells.
func (b *board) distance(u, v int) int {
	rows, columns := b.row[u]-b.row[v], b.column[u]-b.column[v]
	return rows*rows + columns*columns
}

// pairs counts the pairs of each key twice. A better layout has the smaller list.
func (b *board) pairs() []int {
	counts := make([]int, b.keys())
	for _, well := range b.well {
		b.around(well, func(key int) { counts[key]++ })
	}
	return counts
}
