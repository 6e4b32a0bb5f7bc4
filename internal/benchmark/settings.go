package benchmark

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// Settings holds what all runs of a store have in common. Zero fields mean the
// paper's values.
type Settings struct {
	Seed  uint64 `json:"seed" toml:"seed"`   // of everything except the splits, which are those of the published code
	Start int    `json:"start" toml:"start"` // labelled rows of the first round; 0 means that of sets.PaperSizes
	// validation rows of networks; 0 means those of sets.PaperSizes, see NoValidation
	Valid  int   `json:"valid" toml:"valid"`
	Hidden []int `json:"hidden" toml:"hidden"` // widths of the network's layers; nil means those of network.Config
	Epochs int   `json:"epochs" toml:"epochs"` // of each training; 0 means those of network.Config

	// Weights are those of several targets in the kernels of the networks and in kernels that
	// are fitted to labels; nil means 1 for each. Data sets must have as many targets.
	Weights []float64 `json:"weights,omitempty" toml:"weights"`

	// Blend is how blends are fitted, apart from their kind and their networks. Stores do not keep it.
	Blend learner.Options `json:"-" toml:"-"`

	noDimension bool // rounds need no effective dimension, which takes as long as the selection

	// Trainer trains the networks; nil means network.OnDevice. Stores do not keep it.
	Trainer network.Trainer `json:"-" toml:"-"`
}

// NoValidation as Settings.Valid means that there are no validation rows: a network is fitted like any
// learner, and holds out some of its labelled rows to choose the epoch. Learners then learn from the same
// labels.
const NoValidation = -1

// WithDefaults returns the settings with the paper's values in place of zeros.
func (s Settings) WithDefaults() Settings {
	paper := sets.PaperSizes(0)
	s.Start, s.Valid = cmp.Or(s.Start, paper.Train), cmp.Or(s.Valid, paper.Valid)
	c := network.Config{Architecture: network.Architecture{Hidden: s.Hidden},
		Training: network.Training{Epochs: s.Epochs}}.WithDefaults()
	s.Hidden, s.Epochs = c.Architecture.Hidden, c.Training.Epochs
	if s.Trainer == nil {
		s.Trainer = network.OnDevice{}
	}
	return s
}

// Batches returns how many batches a data set with so many rows has rows for, at least 0.
func (s Settings) Batches(rows, batch int) int {
	s = s.WithDefaults()
	return max(0, rows-sets.PaperSizes(rows).Test-s.Start-max(0, s.Valid)) / batch
}

// Check reports everything that is wrong with the settings.
func (s Settings) Check() error {
	s = s.WithDefaults()
	var found error
	if s.Start < encode.FewestToLearn {
		found = fmt.Errorf("%d labelled rows to start with are too few; there must be at least %d",
			s.Start, encode.FewestToLearn)
	}
	if s.Valid < 1 && s.Valid != NoValidation {
		found = errors.Join(found, fmt.Errorf("%d validation rows are too few; there must be at least 1", s.Valid))
	}
	for i, w := range s.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			found = errors.Join(found, fmt.Errorf("the weight of target %d is %v, but must be positive and finite", i+1, w))
		}
	}
	return errors.Join(found, s.network(choice.DefaultChoice().Activation, 0, 0).Check())
}

// network returns the configuration of the networks of a round. The seed does not
// depend on the method, so in the first round all methods have the same network.
func (s Settings) network(activation string, split, round int) network.Config {
	a, _ := network.ParseActivation(activation) // checked with the run
	return network.Config{
		Architecture: network.Architecture{Hidden: s.Hidden, Activation: a},
		Training:     network.Training{Epochs: s.Epochs},
		Seed:         rng.New(s.Seed, "benchmark network", uint64(split), uint64(round)).Uint64(),
	}
}

// methodSeed is the seed of a method's random draws in a round.
func (s Settings) methodSeed(spec string, split, round int) uint64 {
	return rng.New(s.Seed, "benchmark method "+spec, uint64(split), uint64(round)).Uint64()
}

// Text is the form in which a store keeps and compares settings: JSON, with the
// paper's values in place of zeros.
func (s Settings) Text() string {
	raw, err := json.Marshal(s.WithDefaults())
	if err != nil {
		panic(err) // a struct of numbers
	}
	return string(raw)
}
