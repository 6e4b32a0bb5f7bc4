package forecast_test

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// TestForecastsDoNotOverflow forecasts sizes that nobody has, the largest that are accepted
// among them.
func TestForecastsDoNotOverflow(t *testing.T) {
	deep := make([]int, 1023)
	for i := range deep {
		deep[i] = 1 << 20
	}
	huge := forecast.Sizes{Train: math.MaxInt32, Pool: math.MaxInt32, Inputs: 1 << 20, Hidden: deep,
		Outputs: 1 << 20, Batch: math.MaxInt32}
	for _, text := range []string{
		spec.Default, "random", "lcmd-tp:grad", "lcmd-tp:ll(1000)>ens(1000)", "maxdet-p:grad>ens(1000)",
		"bait-f-p:ll>ens(1000)>acs-rf(1048576)",
		"frankwolfe-p:grad>sketch(1048576)>ens(1000)", "lcmd-tp:grad>acs-grad", "lcmd-tp:linear>train",
		"lcmd-tp:grad>ens(1000)+ll(1000)>ens(1000)", "bait-f-p:(grad>sketch(1048576)+matern>rff(1048576))>train",
	} {
		s := spec.MustParse(text)
		if got := forecast.Memory(s, huge); got <= 1<<50 || got > footprint.Most {
			t.Errorf("%s: %d bytes", text, got)
		}
		if got := forecast.FileBytes(s, huge); got < 0 || got > footprint.Most {
			t.Errorf("%s: %d bytes in a file", text, got)
		}
		r := nextbatch.Request{Spec: s,
			Options: fitted.Options{Choices: fitted.Choices{Members: network.MostMembers,
				Network: network.Config{Architecture: network.Architecture{Hidden: deep}}}}, Ask: limits.Ask{Batch: 1}}
		if got := r.Memory(huge); got <= 1<<50 || got > footprint.Most {
			t.Errorf("%s: %d bytes for a request", text, got)
		}
	}
	config := network.Config{Architecture: network.Architecture{Hidden: deep, Outputs: 1 << 20}}
	if fit, kept := config.Memory(1<<20, math.MaxInt32, math.MaxInt32); fit != footprint.Most || kept != footprint.Most {
		t.Errorf("a network takes %d and %d bytes", fit, kept)
	}
}

// TestForecastCountsProjectionsAndPosteriors compares forecasts with the one matrix that
// dominates them.
func TestForecastCountsProjectionsAndPosteriors(t *testing.T) {
	z := forecast.Sizes{Train: 100, Pool: 1000, Inputs: 4, Hidden: []int{16}, Batch: 10}
	for text, least := range map[string]float64{
		"lcmd-tp:grad>sketch(1048576)>sketch(1048576)":            4 * (1 << 20) * (1 << 20), // one random matrix
		"lcmd-tp:grad>sketch(65536)>acs-rf(512)":                  8 * (1 << 16) * (1 << 16), // a factor in feature space
		"lcmd-tp:ll>acs-rf(1048576)":                              8 * (1 << 20) * 17,        // a random matrix in float64
		"lcmd-tp:linear+grad>sketch(1048576)>sketch(1048576)":     4 * (1 << 20) * (1 << 20), // that of a term
		"lcmd-tp:(linear>sketch(1048576)+linear)>sketch(1048576)": 4 * (1 << 20) * (1 << 20), // that of a sum
		"bait-f-p:(grad>sketch(32768)+matern>rff(32768))>train":   8 * (1 << 16) * (1 << 16), // a factor of all features
	} {
		if got := forecast.Memory(spec.MustParse(text), z); float64(got) < least {
			t.Errorf("%s: %d bytes, but one of its matrices has %g", text, got, least)
		}
	}
	z.Train = 20000
	if got := forecast.Memory(spec.MustParse("lcmd-tp:grad>train"), z); got < 2*8*20000*20000 {
		t.Errorf("a posterior in kernel space: %d bytes", got)
	}
}
