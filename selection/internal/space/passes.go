package space

// Passes over rows of a file that exceeds memory. The system keeps what was read last, so
// every pass would read the whole file: what comes next has just been dropped for what came
// before. Here a pass first asks which blocks are in memory. The others are spread among
// them, so that they are read while those are visited, and dropped again after their
// visit. Thus they take the space of none that stays, and a pass reads little more than
// what does not fit.

import (
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	blocksAhead  = 4 // blocks that are read before they are visited
	fetchedParts = 4 // parts of a block that are read at the same time
)

// PassNumbers is how many numbers a block of a pass has. Tests set it.
var PassNumbers = 1 << 24

// pass visits all rows, in blocks, in any order, until stop holds.
func (w *rowsInFloat64) pass(stop func() bool, visit func(from, to int)) {
	p := w.newBlockPass(max(1, PassNumbers/w.Cols))
	p.visit(p.spread(), stop, visit)
}

// convertBlocks is pass for blocks of sumBlock rows, which it converts.
func (w *rowsInFloat64) convertBlocks(stop func() bool, team *linalg.Team,
	visit func(from int, rows matrix.Dense[float64])) {
	p := w.newBlockPass(sumBlock)
	p.visitConverted(p.spread(), stop, team, visit)
}

// convertBlocksInOrder is convertBlocks for sums that depend on the order.
func (w *rowsInFloat64) convertBlocksInOrder(stop func() bool, team *linalg.Team,
	visit func(from int, rows matrix.Dense[float64])) {
	p := w.newBlockPass(sumBlock)
	p.visitConverted(p.inOrder(), stop, team, visit)
}

// blockPass is a pass over all rows, one block at a time.
type blockPass struct {
	of      *rowsInFloat64
	rows    int    // of a block
	missing []bool // of each block: whether it has to be read
	again   bool   // it is not the first pass
}

func (w *rowsInFloat64) newBlockPass(rows int) *blockPass {
	p := &blockPass{of: w, rows: rows, missing: make([]bool, linalg.Pieces(w.Rows, rows)), again: w.latest != nil}
	for i := range p.missing {
		p.missing[i] = p.gone(i)
	}
	return p
}

// gone reports whether less than half of a block is in memory.
func (p *blockPass) gone(i int) bool { return p.file(i).Resident() < 0.5 }

// block returns where a block begins and ends.
func (p *blockPass) block(i int) (from, to int) { return i * p.rows, min((i+1)*p.rows, p.of.Rows) }

// file returns the memory of a block.
func (p *blockPass) file(i int) rowfile.Mapped { return p.of.file(p.block(i)) }

// inOrder returns the numbers of all blocks in order.
func (p *blockPass) inOrder() []int {
	order := make([]int, len(p.missing))
	for i := range order {
		order[i] = i
	}
	return order
}

// spread returns the numbers of all blocks, with the missing ones spread among the others.
func (p *blockPass) spread() []int {
	var there, missing []int
	for i, m := range p.missing {
		if m {
			missing = append(missing, i)
		} else {
			there = append(there, i)
		}
	}
	order, next := make([]int, 0, len(p.missing)), 0
	for k, i := range missing {
		end := (k + 1) * len(there) / len(missing)
		order = append(append(order, there[next:end]...), i)
		next = end
	}
	return append(order, there[next:]...)
}

// visitConverted is visit for rows in float64, which are valid until the next visit.
func (p *blockPass) visitConverted(order []int, stop func() bool, team *linalg.Team,
	visit func(from int, rows matrix.Dense[float64])) {
	if w := p.of; w.exact.Rows == 0 && w.block.Rows == 0 {
		w.block = matrix.New[float64](min(p.rows, w.Rows), w.Cols)
	}
	p.visit(order, stop, func(from, to int) { visit(from, p.of.convert(team, from, to)) })
}

// visit visits blocks, and has the system read the next ones meanwhile.
func (p *blockPass) visit(order []int, stop func() bool, visit func(from, to int)) {
	p.of.file(0, p.of.Rows).InSequence()
	defer p.of.file(0, p.of.Rows).AsUsual()
	var beside sync.WaitGroup
	defer beside.Wait()
	read, ended := make(chan struct{}, blocksAhead), make(chan struct{})
	defer close(ended)
	beside.Go(func() { p.fetch(order, read, ended) })
	for _, i := range order {
		if stop() {
			return
		}
		<-read
		visit(p.block(i))
		if p.missing[i] && p.again {
			beside.Go(p.file(i).Drop)
		}
	}
	p.of.latest = p
}

// fetch reads blocks until the pass has ended. What is in memory of a block that is missing
// are single rows: without them, the system takes larger pieces of memory.
func (p *blockPass) fetch(order []int, read chan<- struct{}, ended <-chan struct{}) {
	for _, i := range order {
		select {
		case <-ended:
			return
		default:
		}
		if p.missing[i] = p.missing[i] || p.gone(i); p.missing[i] {
			p.file(i).Drop()
		}
		p.fetchBlock(i)
		select {
		case read <- struct{}{}:
		case <-ended:
			return
		}
	}
}

// fetchBlock reads a block.
func (p *blockPass) fetchBlock(i int) {
	from, to := p.block(i)
	at := func(part int) int { return from + (to-from)*part/fetchedParts }
	var parts sync.WaitGroup
	defer parts.Wait()
	for part := range fetchedParts {
		parts.Go(p.of.file(at(part), at(part+1)).Fetch)
	}
}

// ask has the system read listed rows of a file, many at a time. One thread that waits for
// each of them would use a fraction of what a disk can do. Rows of blocks that were in
// memory in the latest pass are probably there still: to ask for them takes longer than to
// wait for the few that are not. If none was missing, it may be that the system does not tell.
func (w *rowsInFloat64) ask(list []int32) {
	if !w.inFile {
		return
	}
	all := w.latest == nil || !slices.Contains(w.latest.missing, true)
	for _, row := range list {
		if all || w.latest.missing[int(row)/w.latest.rows] {
			w.file(int(row), int(row)+1).ReadAhead()
		}
	}
}
