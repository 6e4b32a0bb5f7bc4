package network

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Resumable trains as CPU does. When the context ends, it hands over the state of its trainings;
// from that state, the same calls resume and return the bits that they
// would have returned without the interruption. Trainings that were not among them start
// from scratch.
type Resumable struct {
	// Stopped receives the state of the trainings, once the context has ended.
	Stopped func(state []byte)

	mu    sync.Mutex
	known []standing
}

// Resume returns a trainer that resumes from a state that Stopped received. An empty state, one
// of other trainings, or one that cannot be read is as good as none.
func Resume(state []byte, stopped func(state []byte)) *Resumable {
	r := &Resumable{Stopped: stopped}
	if gob.NewDecoder(bytes.NewReader(state)).Decode(&r.known) != nil {
		r.known = nil
	}
	return r
}

// standing is the state of the training of one member, in its present layout.
type standing struct {
	Training string // see fingerprint
	Member   int
	Ended    bool // no step is left

	Now   Epoch // the epoch under way, with the sum of its losses so far
	Taken int   // its mini-batches so far
	Alive [][]bool

	Parameters, First, Second []Real
	Units                     arrangement

	Best      []Real
	BestOrder arrangement
	BestRMSE  float64
	History   History
}

// Train implements Trainer.
func (r *Resumable) Train(ctx context.Context, c Config, members int, d Data,
	progress func(Epoch)) (Ensemble, []History, error) {
	id := fingerprint(c.WithDefaults(), d)
	e, histories, err := trainMembers(members, func(member int) (*MLP, History, error) {
		t, err := newMember(ctx, c, member, d, progress)
		if err != nil {
			return nil, History{}, err
		}
		if s := r.find(id, member); s != nil && t.accepts(s) {
			t.goOn(s)
		}
		err = t.advance(ctx)
		if diverged := (*DivergedError)(nil); !errors.As(err, &diverged) {
			r.keep(t.stands(id))
		}
		t.finish()
		return t.net, t.history, err
	})
	if stopped := (*StoppedError)(nil); errors.As(err, &stopped) {
		r.handOver()
	}
	return e, histories, err
}

// find returns where the training of a member stood, or nil.
func (r *Resumable) find(id string, member int) *standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.known {
		if s := &r.known[i]; s.Training == id && s.Member == member {
			return s
		}
	}
	return nil
}

// keep stores the state of the training of a member.
func (r *Resumable) keep(s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = slices.DeleteFunc(r.known, func(k standing) bool { return k.Training == s.Training && k.Member == s.Member })
	r.known = append(r.known, s)
}

func (r *Resumable) handOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var state bytes.Buffer
	if err := gob.NewEncoder(&state).Encode(r.known); err != nil {
		panic(err) // a buffer takes everything, and the type is fixed
	}
	r.Stopped(state.Bytes())
}

// fingerprint names a training on some data: only the same training resumes from its state. Other
// vector instructions round in another way.
func fingerprint(c Config, d Data) string {
	sum := sha256.New()
	settings, err := json.Marshal(c)
	if err != nil {
		panic(err) // a Config holds numbers and texts alone
	}
	fmt.Fprintln(sum, simd.Name(), string(settings))
	row := []byte{}
	parts := []matrix.Dense[Real]{d.X, d.Y, d.ValidX, d.ValidY}
	if d.Weights.Rows > 0 {
		parts = append(parts, d.Weights)
	}
	for _, m := range parts {
		fmt.Fprintln(sum, m.Rows, m.Cols)
		for i := range m.Rows {
			row = row[:0]
			for _, v := range m.Row(i) {
				bits := math.Float64bits(float64(v))
				row = append(row, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24), byte(bits>>32), byte(bits>>40),
					byte(bits>>48), byte(bits>>56))
			}
			sum.Write(row)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// stands returns the state of a training.
func (t *training) stands(id string) standing {
	s := standing{Training: id, Member: t.member, Ended: t.now.Number > t.how.Epochs, Now: t.now, Taken: t.taken,
		Best: slices.Clone(t.best), BestOrder: t.bestOrder, BestRMSE: t.bestRMSE, History: t.history}
	if !s.Ended {
		s.Parameters, s.First, s.Second = slices.Clone(t.net.parameters), slices.Clone(t.adam.first),
			slices.Clone(t.adam.second)
		s.Units = t.units
		if v := t.pass.activity; v != nil {
			s.Alive = v.alive
		}
	}
	return s
}

// accepts reports whether a training can resume from s, which may be damaged. It is not a method of
// standing, a field of Resumable, so that packages that use one do not compile what a training consists of.
func (t *training) accepts(s *standing) bool {
	n := len(t.net.parameters)
	if len(s.Best) != n || !s.BestOrder.like(t.bestOrder) || s.Now.Number < 1 || s.Taken < 0 ||
		s.Taken > len(t.rows)/t.batch {
		return false
	}
	if s.Ended {
		return true
	}
	if v := t.pass.activity; v != nil && len(s.Alive) != len(v.alive) {
		return false
	}
	return s.Now.Number <= t.how.Epochs && len(s.Parameters) == n && len(s.First) == n &&
		len(s.Second) == n && s.Units.like(t.units)
}

// like reports whether a orders the units of the same layers as b.
func (a arrangement) like(b arrangement) bool {
	return slices.EqualFunc(a, b, func(x, y []int) bool {
		x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
		return slices.Equal(x, y)
	})
}

// goOn continues from where the training stood.
func (t *training) goOn(s *standing) {
	t.now, t.taken = s.Now, s.Taken
	copy(t.best, s.Best)
	t.bestOrder.set(s.BestOrder)
	t.bestRMSE, t.history = s.BestRMSE, s.History
	if s.Ended {
		t.now.Number = t.how.Epochs + 1
		return
	}
	copy(t.net.parameters, s.Parameters)
	copy(t.adam.first, s.First)
	copy(t.adam.second, s.Second)
	t.units.set(s.Units)
	if v := t.pass.activity; v != nil {
		for l := range v.alive {
			copy(v.alive[l], s.Alive[l])
		}
	}
	for range s.Now.Number { // of this epoch, too
		t.order.Permute(t.rows)
	}
	t.drawn = true
	t.step = (s.Now.Number-1)*(len(t.rows)/t.batch) + s.Taken
	t.adam.taken = t.step
}
