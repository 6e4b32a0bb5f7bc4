package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// growthCase is one selection, whose time and memory are measured in a separate
// process.
type growthCase struct {
	Method           string
	Pool, Train, Dim int
}

// grown is the result of a measurement.
type grown struct {
	Seconds float64
	Peak    float64 // peak memory of the process in GiB; 0 if the system does not report it
	Data    float64 // GiB of features
}

// growthMethods are the methods of the table, by name and mode.
var growthMethods = map[string]func(c growthCase) grown{
	"lcmd-tp":      distanceGrowth(selection.LCMD{}),
	"maxdist-tp":   distanceGrowth(selection.MaxDist{}),
	"kmeanspp-tp":  distanceGrowth(selection.KMeansPP{}),
	"maxdet-p":     varianceGrowth(selection.MaxDet{}),
	"bait-f-p":     varianceGrowth(selection.BAIT{}),
	"frankwolfe-p": varianceGrowth(selection.FrankWolfe{}),
}

// growthCases are growing pools, then, if the method uses training rows, growing
// training sets.
func growthCases(method string) []growthCase {
	trains := []int{256, 1024, 4096}
	if strings.HasSuffix(method, "-p") {
		trains = []int{0}
	}
	var list []growthCase
	for _, dim := range []int{64, 512} {
		for _, train := range trains {
			for _, pool := range []int{25_000, 100_000, 400_000, 1_600_000} {
				if pool == poolRows || train == trains[len(trains)/2] {
					list = append(list, growthCase{method, pool, train, dim})
				}
			}
		}
	}
	return list
}

// growth prints the table for the given methods, or for all if none is given.
func growth(out io.Writer, methods []string) error {
	if len(methods) == 0 {
		methods = []string{"lcmd-tp", "maxdist-tp", "kmeanspp-tp", "maxdet-p", "bait-f-p", "frankwolfe-p"}
	}
	fmt.Fprintf(out, "%-14s %9s %6s %4s %9s %9s %9s\n", "method", "pool", "train", "dim", "seconds",
		"peak GiB", "data GiB")
	for _, m := range methods {
		if growthMethods[m] == nil {
			return fmt.Errorf("-growth %s: the table has no such method", m)
		}
		for _, c := range growthCases(m) {
			g, err := inOwnProcess(c)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-14s %9d %6d %4d %9.3f %9.2f %9.2f\n", c.Method, c.Pool, c.Train, c.Dim,
				g.Seconds, g.Peak, g.Data)
		}
	}
	return nil
}

// inOwnProcess runs this program again, so that its peak memory is that of one
// selection.
func inOwnProcess(c growthCase) (grown, error) {
	self, err := os.Executable()
	if err != nil {
		return grown{}, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return grown{}, err
	}
	command := exec.Command(self, "-growth-case", string(text))
	command.Stderr = os.Stderr
	result, err := command.Output()
	if err != nil {
		return grown{}, fmt.Errorf("%s: %w", text, err)
	}
	var g grown
	return g, json.Unmarshal(result, &g)
}

// growthChild measures the case that the text describes.
func growthChild(out io.Writer, text string) error {
	var c growthCase
	if err := json.Unmarshal([]byte(text), &c); err != nil || growthMethods[c.Method] == nil {
		return fmt.Errorf("-growth-case %s: not a case", text)
	}
	g := growthMethods[c.Method](c)
	g.Peak = peakMemory()
	return json.NewEncoder(out).Encode(g)
}

func distanceGrowth(m selection.Method) func(growthCase) grown {
	return func(c growthCase) grown {
		return timeSelection(m, selection.Problem[float32]{Pool: decaying[float32](c.Pool, c.Dim, 1),
			Train: decaying[float32](c.Train, c.Dim, 2), Mode: selection.TP}, 4)
	}
}

// varianceGrowth omits training rows: in mode P they enter earlier, through the
// posterior.
func varianceGrowth(m selection.Method) func(growthCase) grown {
	return func(c growthCase) grown {
		return timeSelection(m, selection.Problem[float64]{Pool: decaying[float64](c.Pool, c.Dim, 1), Mode: selection.P}, 8)
	}
}

func timeSelection[T matrix.Float](m selection.Method, p selection.Problem[T], size int) grown {
	p.Batch, p.Seed = batchRows, 1
	start := time.Now()
	_, err := selection.Select(context.Background(), m, p)
	must(err)
	return grown{Seconds: time.Since(start).Seconds(),
		Data: float64((len(p.Pool.Data)+len(p.Train.Data))*size) / (1 << 30)}
}

// decaying returns rows whose features have standard deviations 1/(1 + j/8), which
// fall off like those of a sketched network. Each row combines two of a few normal
// rows, which is faster than drawing them all.
func decaying[T matrix.Float](rows, cols int, seed uint64) matrix.Dense[T] {
	const drawn = 4096
	r := rand.New(rand.NewPCG(seed, 0))
	base, m := matrix.New[T](drawn, cols), matrix.New[T](rows, cols)
	for i := range base.Data {
		base.Data[i] = T(r.NormFloat64() / (1 + float64(i%cols)/8))
	}
	(*linalg.Team)(nil).Run((rows+drawn-1)/drawn, &combineJob[T]{base: base, to: m})
	return m
}

// combineJob combines rows, in blocks of as many rows as there are to combine.
type combineJob[T matrix.Float] struct{ base, to matrix.Dense[T] }

func (j *combineJob[T]) Do(part, _ int) {
	n := j.base.Rows
	weights := rand.New(rand.NewPCG(uint64(part), 1))
	for i := part * n; i < min((part+1)*n, j.to.Rows); i++ {
		a, b, w := weights.IntN(n), weights.IntN(n), weights.Float64()
		copy(j.to.Row(i), j.base.Row(a))
		simd.For[T]().ScaleAdd(j.to.Row(i), j.base.Row(b), T(w), T(1-w))
	}
}

// peakMemory returns the peak memory of this process in GiB.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0 // not Linux
	}
	fields := strings.Fields(string(status))
	at := slices.Index(fields, "VmHWM:")
	if at < 0 || at+1 >= len(fields) {
		return 0
	}
	kib, err := strconv.ParseFloat(fields[at+1], 64)
	if err != nil {
		return 0
	}
	return kib / (1 << 20)
}
