package nextbatch_test

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// TestFeaturesAgreeWithGram: inner products of features are the kernel's values.
func TestFeaturesAgreeWithGram(t *testing.T) {
	t.Parallel()
	rows, err := tables.Tables{Input: tables.Input{Table: asked(t).Table, TargetColumns: []string{"y"}},
		NotInputs: []string{"id", "site"}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := network.Config{Architecture: network.Architecture{Hidden: []int{16}}, Training: network.Training{Epochs: 3}}
	sample := fitted.Sample(rows)
	model, err := network.Fit(t.Context(), sample, network.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	p, err := nextbatch.NewProblem(t.Context(), rows, fitted.Of(learner.OfNetwork(model), rows, nil), config.Architecture)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"lcmd-tp:linear", "lcmd-tp:ll", "lcmd-tp:grad>sketch(32)",
		"bait-f-p:grad>sketch(8)>train", "frankwolfe-p:ll>acs-rf-hyper(8)"} {
		spec := spec.MustParse(text)
		f, err := nextbatch.Features(t.Context(), spec, p, p.Pool)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		g, err := nextbatch.Gram(t.Context(), spec, p, p.Pool, p.Pool)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		features, gram := f.Double, g.Double
		if f.Double.Rows == 0 {
			features, gram = matrix.Converted[float64](f.Single), matrix.Converted[float64](g.Single)
		}
		largest := 0.0
		for i := range gram.Rows {
			largest = max(largest, gram.At(i, i))
		}
		for i := range gram.Rows {
			for j := range gram.Cols {
				sum := 0.0
				for c, v := range features.Row(i) {
					sum += v * features.At(j, c)
				}
				if math.Abs(sum-gram.At(i, j)) > 1e-4*largest {
					t.Fatalf("%s: %d, %d: %v, but the kernel is %v", text, i, j, sum, gram.At(i, j))
				}
			}
		}
	}
	for _, text := range []string{"lcmd-tp:ntk", "random"} {
		if _, err := nextbatch.Features(t.Context(), spec.MustParse(text), p, p.Pool); err == nil {
			t.Errorf("%s has features", text)
		}
	}
	if _, err := nextbatch.Gram(t.Context(), spec.MustParse("random"), p, p.Pool, p.Pool); err == nil {
		t.Error("random has a kernel")
	}
}
