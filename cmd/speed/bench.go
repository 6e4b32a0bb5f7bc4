package main

import (
	"math"
	"time"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// bench takes measurements, and holds the limits of the machine once it has
// measured them.
type bench struct {
	print    func(line)
	section  string
	note     string // for the next line
	alone    bool   // only one section runs, so it may take longer
	ceilings map[ceiling]float64
}

// ceiling identifies a limit: a resource on a number of threads.
type ceiling struct {
	resource string
	threads  int
}

// The resources that have limits.
const (
	fma32  = "fma-f32"     // multiply-adds on float32, GFLOP/s
	fma64  = "fma-f64"     // multiply-adds on float64, GFLOP/s
	cache  = "read-cache"  // reads of 1 MiB per thread, GB/s
	memory = "read-memory" // reads of 1 GiB, GB/s
)

// budget is how long one measurement is repeated. The machine may be shared, and
// the best of many runs shows what it can do undisturbed.
const budget = 120 * time.Millisecond

// best returns the shortest time of body in seconds, on the given number of threads.
func best(threads int, body func(*linalg.Team)) float64 { return bestAfter(threads, func() {}, body) }

// bestAfter is best for a body that overwrites its input. prepare restores the
// input and is not timed.
func bestAfter(threads int, prepare func(), body func(*linalg.Team)) float64 {
	team := linalg.NewTeam(threads)
	timed := func() float64 {
		prepare()
		begin := time.Now()
		body(team)
		return time.Since(begin).Seconds()
	}
	shortest, rounds := timed(), 1
	if shortest < budget.Seconds() {
		shortest, rounds = math.Inf(1), 0 // the first round warmed up caches and scratch memory
	}
	for start := time.Now(); rounds < 2 || time.Since(start) < budget; rounds++ {
		shortest = min(shortest, timed())
	}
	return shortest
}

// rate reports work of the given amount (flops or bytes) as a share of a limit.
func (b *bench) rate(op, shape, resource string, threads int, work float64, body func(*linalg.Team)) {
	b.rateAfter(op, shape, resource, threads, work, func() {}, body)
}

// rateAfter is rate for a body whose input prepare restores, which is not timed.
func (b *bench) rateAfter(op, shape, resource string, threads int, work float64, prepare func(),
	body func(*linalg.Team)) {
	speed := work / bestAfter(threads, prepare, body) / 1e9
	unit := "GFLOP/s"
	if resource == memory || resource == cache {
		unit = "GB/s"
	}
	b.report(op, shape, resource, threads, speed, unit, speed)
}

// seconds reports work of the given amount by its time, and as a share of a
// limit.
func (b *bench) seconds(op, shape, resource string, threads int, work float64, body func(*linalg.Team)) {
	time := best(threads, body)
	b.report(op, shape, resource, threads, time, "s", work/time/1e9)
}

func (b *bench) report(op, shape, resource string, threads int, value float64, unit string, speed float64) {
	limit := b.ceilings[ceiling{resource, threads}]
	b.print(line{Section: b.section, Op: op, Shape: shape, Threads: threads,
		Value: value, Unit: unit, Percent: 100 * speed / limit, Note: b.note})
	b.note = ""
}

func allThreads() int { return (*linalg.Team)(nil).Threads() }

// threadCounts is one thread and all threads.
func threadCounts() []int {
	if all := allThreads(); all > 1 {
		return []int{1, all}
	}
	return []int{1}
}

// measureCeilings measures and prints the limits of the machine.
func (b *bench) measureCeilings() {
	b.section = "ceilings"
	b.ceilings = map[ceiling]float64{}
	big := matrix.Alloc[float32](1 << 28)
	for i := range big {
		big[i] = 1 // pages that were never written share one page of zeros
	}
	for _, threads := range threadCounts() {
		b.ceiling(fma32, "registers", threads, "GFLOP/s", fmaCeiling[float32](threads))
		b.ceiling(fma64, "registers", threads, "GFLOP/s", fmaCeiling[float64](threads))
		b.ceiling(cache, "1MiB", threads, "GB/s", readCeiling(threads, big[:threads<<18], 1<<18, 32))
		b.ceiling(memory, "1GiB", threads, "GB/s", readCeiling(threads, big, 1<<18, 1))
	}
}

func (b *bench) ceiling(resource, shape string, threads int, unit string, value float64) {
	b.ceilings[ceiling{resource, threads}] = value
	b.print(line{Section: b.section, Op: resource, Shape: shape, Threads: threads,
		Value: value, Unit: unit, Percent: 100})
}

// fmaJob runs multiply-adds on every thread.
type fmaJob[T matrix.Float] struct{ rounds int }

func (j fmaJob[T]) Do(_, _ int) { simd.For[T]().FMALoop(j.rounds) }

func fmaCeiling[T matrix.Float](threads int) float64 {
	const rounds = 100_000
	flops := simd.For[T]().FMALoop(1) * rounds * threads
	job := fmaJob[T]{rounds}
	return float64(flops) / best(threads, func(team *linalg.Team) { team.Run(threads, job) }) / 1e9
}

// readJob reads pieces of an array, each several times, as four rows at once or as
// one sequence: the faster of the two is the limit of the memory.
type readJob struct {
	data          []float32
	piece, passes int
	fourRows      bool
	query         []float32
	sums          []float32
}

func (j *readJob) Do(part, _ int) {
	set := simd.For[float32]()
	piece := j.data[part*j.piece:][:j.piece]
	for range j.passes {
		if j.fourRows {
			rows := len(piece) / len(j.query)
			set.DotRows(j.sums[part*rows:][:rows], j.query, piece, len(j.query))
		} else {
			j.sums[part] = set.Sum(piece)
		}
	}
}

func readCeiling(threads int, data []float32, piece, passes int) float64 {
	fastest := 0.0
	for _, fourRows := range []bool{false, true} {
		job := &readJob{data: data, piece: piece, passes: passes, fourRows: fourRows,
			query: make([]float32, 4096), sums: make([]float32, len(data)/4096)}
		seconds := best(threads, func(team *linalg.Team) { team.Run(len(data)/piece, job) })
		fastest = max(fastest, float64(4*len(data)*passes)/seconds/1e9)
	}
	return fastest
}
