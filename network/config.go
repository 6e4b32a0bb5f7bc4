package network

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/kernels"
)

// Config is everything that determines a network except the data. Fields that
// are not set take the paper's values (appendix "Neural Network Configuration"),
// so the zero Config is ReLUPreset.
//
// A number that may well be zero is a pointer, and nil means that it is not set:
// SigmaB: new(0.0) trains without biases. Elsewhere zero means not set.
type Config struct {
	Architecture Architecture `json:"architecture"`
	Training     Training     `json:"training"`
	Seed         uint64       `json:"seed"` // of the initial weights and the order of the rows
}

// Architecture is the shape of a network, except for the number of its inputs,
// and its constants.
type Architecture struct {
	Hidden     []int      `json:"hidden"`     // widths; nil means 512, 512, an empty slice a linear model
	Outputs    int        `json:"outputs"`    // 0 means 1
	Activation Activation `json:"activation"` // of the hidden layers; the output is linear
	SigmaW     float64    `json:"sigma_w"`    // σ_w; 0 means 0.2, for smooth activations 0.5
	SigmaB     *float64   `json:"sigma_b"`    // σ_b; nil means 0.2, for smooth activations 1
}

// Training determines how the loss is minimised: Adam on mini-batches.
type Training struct {
	Epochs   int      `json:"epochs"`   // 0 means 256
	Batch    int      `json:"batch"`    // rows of a mini-batch, at most all; 0 means 256
	Rate     float64  `json:"rate"`     // the highest learning rate; 0 means 0.375, for smooth activations 0.15
	Schedule Schedule `json:"schedule"` // over the steps
	Decay    float64  `json:"decay"`    // decoupled weight decay (AdamW): parameters shrink by rate·Decay per step
	Beta1    *float64 `json:"beta1"`    // nil means 0.9
	Beta2    *float64 `json:"beta2"`    // nil means 0.999
	Eps      float64  `json:"eps"`      // 0 means 1e-8
}

// ReLUPreset returns the configuration of the paper's main experiments.
func ReLUPreset() Config { return Config{}.WithDefaults() }

// SiLUPreset returns the paper's second configuration.
func SiLUPreset() Config {
	return Config{Architecture: Architecture{Activation: SiLU}}.WithDefaults()
}

// WithDefaults returns the configuration with every field set.
func (c Config) WithDefaults() Config {
	a, t := &c.Architecture, &c.Training
	*a = a.withDefaults()
	t.Epochs = cmp.Or(t.Epochs, 256)
	t.Batch = cmp.Or(t.Batch, 256)
	t.Rate = cmp.Or(t.Rate, a.Activation.choose(0.375, 0.15))
	t.Beta1 = cmp.Or(t.Beta1, new(0.9))
	t.Beta2 = cmp.Or(t.Beta2, new(0.999))
	t.Eps = cmp.Or(t.Eps, 1e-8)
	return c
}

func (a Architecture) withDefaults() Architecture {
	if a.Hidden == nil {
		a.Hidden = []int{512, 512}
	}
	a.Outputs = cmp.Or(a.Outputs, 1)
	a.SigmaW = cmp.Or(a.SigmaW, a.Activation.choose(0.2, 0.5))
	a.SigmaB = cmp.Or(a.SigmaB, new(a.Activation.choose(0.2, 1)))
	return a
}

// clone returns a copy that shares nothing with a, whose fields are all set.
func (a Architecture) clone() Architecture {
	a.Hidden, a.SigmaB = slices.Clone(a.Hidden), new(*a.SigmaB)
	return a
}

// choose returns the second value for smooth activations, the first for others.
func (a Activation) choose(relu, silu float64) float64 {
	if a.known() && activations[a].smooth {
		return silu
	}
	return relu
}

// Check reports everything that is wrong with the configuration, with fields that
// are not set at their defaults.
func (c Config) Check() error {
	c = c.WithDefaults()
	return errors.Join(c.Architecture.check(), c.Training.check())
}

// Limits that only a mistake exceeds. With them the size of a layer, and of the
// memory for a block of rows, cannot overflow.
const (
	maxWidth  = 1 << 20
	maxLayers = 1 << 10
)

// More limits that only a mistake exceeds.
const (
	MostMembers = kernels.MostMembers // networks of an ensemble
	MostEpochs  = 1 << 30             // of a training
)

func (a Architecture) check() error {
	var found complaints
	found.unless(len(a.Hidden) < maxLayers, "%d hidden layers are too many", len(a.Hidden))
	for i, width := range a.Hidden {
		if len(a.Hidden) >= maxLayers {
			break // one complaint is enough
		}
		found.unless(width > 0 && width <= maxWidth, "hidden layer %d has width %d", i+1, width)
	}
	found.unless(a.Outputs > 0 && a.Outputs <= maxWidth, "the network has %d outputs", a.Outputs)
	found.unless(a.Activation.known(), "there is no activation %d", uint8(a.Activation))
	found.unless(positive(a.SigmaW), "σ_w is %v, but must be positive and finite", a.SigmaW)
	found.unless(*a.SigmaB == 0 || positive(*a.SigmaB), "σ_b is %v, which is negative or not finite", *a.SigmaB)
	return errors.Join(found...)
}

func (t Training) check() error {
	var found complaints
	found.unless(t.Epochs > 0 && t.Epochs <= MostEpochs, "%d epochs, but from 1 to %d are possible", t.Epochs, MostEpochs)
	found.unless(t.Batch > 0, "%d rows in a mini-batch", t.Batch)
	found.unless(positive(t.Rate), "the learning rate is %v, but must be positive and finite", t.Rate)
	found.unless(t.Decay >= 0 && t.Rate*t.Decay < 1, "the decay is %v, which does not shrink the parameters", t.Decay)
	found.unless(*t.Beta1 >= 0 && *t.Beta1 < 1, "Beta1 is %v, which is not from 0 up and below 1", *t.Beta1)
	found.unless(*t.Beta2 >= 0 && *t.Beta2 < 1, "Beta2 is %v, which is not from 0 up and below 1", *t.Beta2)
	found.unless(positive(t.Eps), "Eps is %v, but must be positive and finite", t.Eps)
	if err := t.Schedule.check(); err != nil {
		found = append(found, err)
	}
	return errors.Join(found...)
}

// complaints collects what is wrong, so that all of it is reported together.
type complaints []error

func (c *complaints) unless(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Errorf(format, args...))
	}
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// sizes returns d_0 … d_L, the widths from the input to the output.
func (a Architecture) sizes(inputs int) []int {
	return slices.Concat([]int{inputs}, a.Hidden, []int{a.Outputs})
}

// Work counts the floating-point operations of one training: two for each
// multiplication and addition of the matrix products, forward and backward, of
// all steps, and forward of all validations.
func (c Config) Work(inputs, rows, validRows int) float64 {
	c = c.WithDefaults()
	sizes := c.Architecture.sizes(inputs)
	forward, backward := 0.0, 0.0
	for l, d := range sizes[:len(sizes)-1] {
		product := 2 * float64(d) * float64(sizes[l+1])
		forward += product
		backward += product
		if l > 0 {
			backward += product
		}
	}
	batch := max(1, min(c.Training.Batch, rows))
	trained := rows / batch * batch // the incomplete last batch is dropped
	return float64(c.Training.Epochs) * ((forward+backward)*float64(trained) + forward*float64(validRows))
}
