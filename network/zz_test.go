package network
import ("github.com/nextbatch/nextbatch/matrix";"testing";"time";"fmt";"github.com/nextbatch/nextbatch/internal/rng";"github.com/nextbatch/nextbatch/internal/linalg")
func TestZ(t *testing.T) {
	for _, th := range []int{1,2} { for _, a := range []Activation{ReLU, SiLU} {
	linalg.SetThreads(th)
	inputs := 10
	c := Config{Architecture: Architecture{Activation: a}}.WithDefaults()
	d := wave[float32](1, 1024, 0, inputs, 1)
	tr := newTrainer(mustInit[float32](t, inputs, c), c.Training, d, rng.New(1, "order"))
	tr.order.Permute(tr.rows)
	tr.steps = 100000
	names := []string{"load","h0","h1","out","resid","begin","b2","l2","b1","l1","l0","total"}
	best := make([]float64, len(names)); for i := range best { best[i]=1 }
	for it := 0; it < 1500; it++ {
		rows := tr.rows[it%4*256:(it%4+1)*256]
		p := tr.pass
		t0 := time.Now(); last := t0; k := 0
		mark := func() { n := time.Now(); best[k] = min(best[k], n.Sub(last).Seconds()); last = n; k++ }
		p.inputs(tr.data.X, rows); mark()
		p.hidden(0); mark(); p.hidden(1); mark(); z := outOnly(p); mark()
		tr.residuals(z, rows); mark()
		tr.adam.begin(tr.rate()); tr.step++; mark()
		p.backward(2); mark()
		tr.learner.learn(p, 2); mark()
		p.backward(1); mark()
		tr.learner.learn(p, 1); mark()
		tr.learner.learn(p, 0); mark()
		last = t0; mark()
	}
	fmt.Print(th, a, ": ")
	for i := range names { fmt.Printf("%s %.0f  ", names[i], best[i]*1e6) }
	fmt.Println()
	}}
}

func outOnly(p *pass[float32]) matrix.Dense[float32] {
	last := p.net.Layers() - 1
	x, w, z := p.in[last].Slice(0, p.n), p.net.layer(p.net.parameters, last), p.out.Slice(0, p.n)
		p.product = rowProducts[float32]{p.set, z.Data, x, w.Data}
		linalg.Run(ceilDiv(p.n, piece), &p.product)
	return z
}
