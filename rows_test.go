package nextbatch_test

import (
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// TestRowsToBatch: with and without a network, tables become a batch whose reasons name
// rows.
func TestRowsToBatch(t *testing.T) {
	t.Parallel()
	rows, err := tables.Tables{Input: tables.Input{Table: asked(t).Table, TargetColumns: []string{"y"}},
		NotInputs: []string{"id", "site"}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := network.Config{Architecture: network.Architecture{Hidden: []int{16}}, Training: network.Training{Epochs: 3}}
	for _, text := range []string{"lcmd-tp:grad>sketch(16)", "lcmd-tp:linear", "maxdet-p:ntk>train", "random",
		"frankwolfe-p:ll>acs-rf-hyper(8)"} {
		spec := spec.MustParse(text)
		var fit *fitted.Fitted
		if spec.TrainedNetworks() > 0 {
			var err error
			options := fitted.Options{Choices: fitted.Choices{Network: config}}
			if fit, err = fitted.Fit(t.Context(), rows, options, 1, strconv.Itoa); err != nil {
				t.Fatal(err)
			}
		}
		p, err := nextbatch.NewProblem(t.Context(), rows, fit, config.Architecture)
		if err != nil {
			t.Fatal(err)
		}
		p.Batch = 5
		batch, err := nextbatch.Select(t.Context(), spec, p)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range batch.Picks {
			if batch.Reason(i, func(selection.Set, int) string { return "r" }) == "" {
				t.Errorf("%s: no reason", text)
			}
		}
	}
}
