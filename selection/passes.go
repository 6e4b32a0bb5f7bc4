package selection

// Passes over rows of a file that exceeds memory. The system keeps what was read last, so
// every pass would read the whole file: what comes next has just been dropped for what came
// before. Here a pass first asks which blocks are in memory. The others are spread among
// them, so that they are read while those are visited, and most are dropped again after
// their visit. Thus they take the space of none that stays, and a pass reads little more
// than what does not fit. A few stay, in case that memory has become free.

import (
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	blocksAhead = 4 // so many blocks are read before they are visited
	stayBlocks  = 8 // of so many blocks that are read again, one stays in memory
)

// passNumbers is how many numbers a block of a pass has. Tests set it.
var passNumbers = 1 << 24

// pass visits all rows, in blocks of any order, until stop holds.
func (w *rowsInFloat64) pass(stop func() bool, visit func(from, to int)) {
	p := w.newBlockPass(max(1, passNumbers/w.Cols))
	p.visit(p.spread(), stop, visit)
}

// eachBlock visits all rows in order, in blocks of sumBlock, until stop holds.
func (w *rowsInFloat64) eachBlock(stop func() bool, team *linalg.Team, visit func(from int, rows matrix.Dense[float64])) {
	var buffer matrix.Dense[float64]
	if w.exact.Rows == 0 {
		buffer = matrix.New[float64](min(sumBlock, w.Rows), w.Cols)
	}
	p := w.newBlockPass(sumBlock)
	p.visit(p.inOrder(), stop, func(from, to int) { visit(from, w.convert(team, buffer, from, to)) })
}

// blockPass is a pass over all rows, so many at a time.
type blockPass struct {
	of      *rowsInFloat64
	rows    int    // of a block
	missing []bool // of each block: whether it was in memory for the smaller part
}

func (w *rowsInFloat64) newBlockPass(rows int) *blockPass {
	p := &blockPass{of: w, rows: rows, missing: make([]bool, linalg.Pieces(w.Rows, rows))}
	for i := range p.missing {
		p.missing[i] = p.file(i).Resident() < 0.5
	}
	return p
}

// block returns where a block begins and ends.
func (p *blockPass) block(i int) (from, to int) { return i * p.rows, min((i+1)*p.rows, p.of.Rows) }

// file returns the memory of a block.
func (p *blockPass) file(i int) matrix.Mapped { return p.of.file(p.block(i)) }

// inOrder returns the numbers of all blocks, the first first.
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

// visit visits blocks, and has the system read the next ones meanwhile.
func (p *blockPass) visit(order []int, stop func() bool, visit func(from, to int)) {
	var beside sync.WaitGroup
	defer beside.Wait()
	read, ended := make(chan struct{}, blocksAhead), make(chan struct{})
	defer close(ended)
	beside.Go(func() { p.fetch(order, read, ended) })
	again := 0
	for _, i := range order {
		if stop() {
			return
		}
		<-read
		visit(p.block(i))
		if p.missing[i] && p.of.passed {
			if again++; again%stayBlocks != 0 {
				beside.Go(p.file(i).Drop)
			}
		}
	}
	p.of.passed = true
}

// fetch reads blocks until the pass has ended. What is in memory of a block that is missing
// are single rows: without them, the system takes larger pieces of memory.
func (p *blockPass) fetch(order []int, read chan<- struct{}, ended <-chan struct{}) {
	for _, i := range order {
		if p.missing[i] {
			p.file(i).Drop()
		}
		p.file(i).Fetch()
		select {
		case read <- struct{}{}:
		case <-ended:
			return
		}
	}
}
