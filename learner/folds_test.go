package learner

import (
	"slices"
	"testing"
)

// TestFoldsAndOnly: a blend cuts as many folds as it is told, networks hold out all of them if they are told so, and
// only the named candidates are fitted.
func TestFoldsAndOnly(t *testing.T) {
	t.Parallel()
	s := made(60)
	o := small()
	o.Kind, o.Folds, o.NetworkFolds, o.Only = Auto, 4, 4, []string{"network", "extra-trees"}
	fits := map[string][]int{}
	o.Shown = func(name string, fold, folds int) {
		if fits[name] = append(fits[name], fold); folds != 4 {
			t.Errorf("%s: fold %d of %d", name, fold, folds)
		}
	}
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Candidates() {
		names = append(names, c.Name)
		if c.Name == "network" && c.Left == "" && !slices.Equal(fits[c.Name], []int{1, 2, 3, 4}) {
			t.Errorf("the folds of networks are %v", fits[c.Name])
		}
	}
	if !slices.Equal(names, []string{"extra-trees", "network"}) || len(fits["extra-trees"]) != 5 || len(fits) != 2 {
		t.Errorf("candidates %v, fits %v", names, fits)
	}
	residuals, deviations := m.Residuals(), m.HeldDeviations()
	if len(residuals) != 60 || len(deviations) != 60 || slices.Min(deviations) <= 0 {
		t.Errorf("%d residuals and %d deviations, at least %v", len(residuals), len(deviations), slices.Min(deviations))
	}
	for _, folds := range []int{-1, 1} {
		o.Folds = folds
		if _, err := Fit(t.Context(), s, o); err == nil {
			t.Errorf("%d folds are accepted", folds)
		}
	}
	o.Folds, o.Only = 0, []string{"nobody"}
	if _, err := Fit(t.Context(), s, o); err == nil {
		t.Error("a blend without candidates is accepted")
	}
}

// TestProcessesOfFewLabels: with few labels there are processes with several prior beliefs.
func TestProcessesOfFewLabels(t *testing.T) {
	t.Parallel()
	for labels, want := range map[int]int{5: 3, fewForSparse: 3, fewForSparse + 1: 1} {
		for _, kind := range []Kind{GaussianOnly, Auto} {
			names := map[string]bool{}
			for _, l := range kind.candidates(labels, networkLearner{}, nil) {
				if _, ok := l.(processLearner); ok {
					names[l.Name()] = true
				}
			}
			if len(names) != want {
				t.Errorf("%s with %d labels has the processes %v", kind, labels, names)
			}
		}
	}
}
