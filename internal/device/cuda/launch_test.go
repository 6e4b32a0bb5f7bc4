//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"
	"time"
)

// BenchmarkLaunch times launches of a small kernel: alone and awaited, in a row, and as the
// nodes of a graph; and a call of the driver that does next to nothing.
func BenchmarkLaunch(b *testing.B) {
	if n, err := Count(); err != nil || n == 0 {
		b.Skipf("there is no GPU here: %v", err)
	}
	card, err := Open(0, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer card.Close()
	q := card.newQueue()
	defer q.close()
	const many = 1000
	at := q.alloc(4 * 256)
	launch := func() {
		q.launch("fill_column_f32", grid{x: 1, threads: 256}, at, 1, int32(256), int32(0), 1.0)
	}
	graph := q.capture(func() {
		for range many {
			launch()
		}
	})
	defer q.dropGraph(graph)
	for _, c := range []struct {
		name  string
		calls int
		do    func()
	}{
		{"driver call", many, func() {
			q.card.locked(func() error {
				for range many {
					q.card.driver.call("cuCtxSetCurrent", card.context)
				}
				return nil
			})
		}},
		{"launch and wait", 1, launch},
		{"launches in a row", many, func() {
			for range many {
				launch()
			}
		}},
		{"nodes of a graph", many, func() { q.replay(graph) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			begin, count := time.Now(), 0
			for b.Loop() {
				c.do()
				q.wait()
				count += c.calls
			}
			b.ReportMetric(float64(time.Since(begin).Nanoseconds())/1000/float64(count), "us/call")
		})
	}
	if q.err != nil {
		b.Fatal(q.err)
	}
}
