package network

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// ending is a context that ends after a number of checks.
type ending struct {
	context.Context
	left *int
}

func (e ending) Err() error {
	if *e.left--; *e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A training that is stopped again and again, at any step, returns the bits of one that is not.
func TestResume(t *testing.T) {
	r := rng.New(5, "stops")
	for name, c := range map[string]Config{
		"relu": {Architecture: Architecture{Hidden: []int{64, 96}}, Training: Training{Epochs: 12, Batch: 16}, Seed: 1},
		"silu": {Architecture: Architecture{Hidden: []int{20}, Activation: SiLU},
			Training: Training{Epochs: 7, Batch: 33}, Seed: 2},
		"targets": {Architecture: Architecture{Hidden: []int{40, 40}, Outputs: 3},
			Training: Training{Epochs: 9, Batch: 32}, Seed: 3},
		"linear": {Architecture: Architecture{Hidden: []int{}}, Training: Training{Epochs: 5, Batch: 64}, Seed: 4},
	} {
		for _, valid := range []int{0, 30} {
			const members = 3
			d := wave(7, 130, valid, 6, max(1, c.Architecture.Outputs))
			want, wantHistory, err := CPU{}.Train(t.Context(), c, members, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			var state []byte
			stops := 0
			for {
				steps := 1 + r.IntN(11)
				trainer := Resume(state, func(s []byte) { state = slices.Clone(s) })
				got, gotHistory, err := trainer.Train(ending{t.Context(), &steps}, c, members, d, nil)
				if stopped := (*StoppedError)(nil); errors.As(err, &stopped) && stops < 1000 {
					stops++
					continue
				}
				if err != nil || stops < 3 {
					t.Fatal(name, stops, err)
				}
				for i := range want {
					if !slices.EqualFunc(got[i].parameters, want[i].parameters,
						func(a, b Real) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) }) {
						t.Errorf("%s, %d rows for validation: network %d differs after %d stops", name, valid, i, stops)
					}
				}
				if valid > 0 && !reflect.DeepEqual(gotHistory, wantHistory) || len(gotHistory) != members {
					t.Errorf("%s: the history is\n%v, want\n%v", name, gotHistory, wantHistory)
				}
				break
			}
		}
	}
}

// Progress resumes where it was, and finished members are not trained again.
func TestResumeRepeatsNothing(t *testing.T) {
	c := Config{Architecture: Architecture{Hidden: []int{8}}, Training: Training{Epochs: 5, Batch: 50}}
	d := wave(7, 100, 20, 4, 1)
	var epochs []Epoch
	progress := func(e Epoch) { epochs = append(epochs, Epoch{Member: e.Member, Number: e.Number}) }
	var state []byte
	keep := func(s []byte) { state = slices.Clone(s) }
	steps := 2*5 + 2*2 + 1 // the second member is in its third epoch
	if _, _, err := Resume(nil, keep).Train(ending{t.Context(), &steps}, c, 2, d, progress); err == nil {
		t.Fatal("it is not stopped")
	}
	if _, _, err := Resume(state, keep).Train(t.Context(), c, 2, d, progress); err != nil {
		t.Fatal(err)
	}
	var want []Epoch
	for i := range 10 {
		want = append(want, Epoch{Member: i / 5, Number: 1 + i%5})
	}
	if !slices.Equal(epochs, want) {
		t.Errorf("epochs %v", epochs)
	}
}

// What belongs to another training, or is damaged, is not used.
func TestResumeOfAnotherTraining(t *testing.T) {
	c := Config{Architecture: Architecture{Hidden: []int{8}}, Training: Training{Epochs: 3, Batch: 50}}
	d := wave(7, 100, 20, 4, 1)
	var state []byte
	steps := 3
	if _, _, err := Resume(nil, func(s []byte) { state = s }).Train(ending{t.Context(), &steps}, c,
		1, d, nil); err == nil {
		t.Fatal("it is not stopped")
	}
	others := map[string]Config{"seed": c, "epochs": c}
	change := others["seed"]
	change.Seed = 9
	others["seed"] = change
	change = others["epochs"]
	change.Training.Epochs = 2
	others["epochs"] = change
	states := map[string][]byte{"whole": state, "half": state[:len(state)/2], "text": []byte("text")}
	for what, s := range states {
		for name, other := range others {
			want, _, err := CPU{}.Train(t.Context(), other, 1, d, nil)
			got, _, err2 := Resume(s, nil).Train(t.Context(), other, 1, d, nil)
			if err != nil || err2 != nil || !slices.Equal(got[0].parameters, want[0].parameters) {
				t.Errorf("%s state, other %s: %v, %v", what, name, err, err2)
			}
		}
	}
	moved := d
	moved.X = d.X.Clone()
	moved.X.Row(3)[1]++
	want, _, _ := CPU{}.Train(t.Context(), c, 1, moved, nil)
	if got, _, err := Resume(state, nil).Train(t.Context(), c, 1, moved, nil); err != nil ||
		!slices.Equal(got[0].parameters, want[0].parameters) {
		t.Errorf("other rows: %v", err)
	}
}
