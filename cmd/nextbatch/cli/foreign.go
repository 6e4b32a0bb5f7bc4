package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/network/onnx"
)

// foreignFlags determine how to use a network that was trained elsewhere.
type foreignFlags struct {
	inputs string
	output string
	tensor string // registered where there is a kernel
	flags  *pflag.FlagSet
}

func (f *foreignFlags) register(c *cobra.Command) {
	f.flags = c.Flags()
	f.flags.StringVar(&f.inputs, "inputs", "raw",
		"what a network from elsewhere takes: raw numbers, or scaled ones (mean 0 and deviation 1 among the labelled rows)")
	f.flags.StringVar(&f.output, "model-output", "", "output of a network from elsewhere, if it has several")
}

// isForeign reports whether a network comes from elsewhere.
func isForeign(model string) bool {
	return strings.EqualFold(filepath.Ext(model), ".onnx") || isDescription(model)
}

// isDescription reports whether a network is described in one file, and its weights are in another.
func isDescription(model string) bool { return strings.EqualFold(filepath.Ext(model), ".json") }

func (f *foreignFlags) check(model string) error {
	if f.inputs != "raw" && f.inputs != "scaled" {
		return usagef("--inputs must be raw or scaled, not %q", f.inputs)
	}
	if isForeign(model) {
		return nil
	}
	for _, name := range []string{"inputs", "model-output", "tensor"} {
		if f.flags.Changed(name) {
			return usagef("--%s is for a network from elsewhere, as in --model net.onnx", name)
		}
	}
	return nil
}

// network reads a network from elsewhere.
func (f *foreignFlags) network(path string) (*onnx.Network, *nextbatch.Foreign, error) {
	read := onnx.Load
	if isDescription(path) {
		read = onnx.LoadDescribed
	}
	net, err := read(path, onnx.Options{Output: f.output})
	if err != nil {
		return nil, nil, dataError{err}
	}
	if net.Columns() != nil && f.inputs == "scaled" {
		return nil, nil, usagef("%s scales its inputs itself: leave out --inputs", path)
	}
	return net, &nextbatch.Foreign{Model: net, Columns: net.Columns(), Standardise: f.inputs == "scaled"}, nil
}

// readForeign puts the network into the request.
func (s *selecting) readForeign() error {
	net, foreign, err := s.foreign.network(s.model)
	if err != nil {
		return err
	}
	if s.foreign.tensor != "" {
		for _, k := range s.request.Spec.BaseKernels() {
			if k.String() != "ll" {
				return usagef("--tensor is for the kernel ll, but the method uses %v", k)
			}
		}
		if foreign.Model, err = net.Hidden(s.foreign.tensor); err != nil {
			return dataError{errorf("%s: %w", s.model, err)}
		}
	} else if err := net.CheckGradients(); err != nil {
		return dataError{errorf("%s: %w", s.model, err)}
	}
	s.request.Foreign = foreign
	return nil
}
