package benchmark

import (
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/spec"
)

// Experiment is a grid and the settings of its runs.
type Experiment struct {
	Grid
	Settings Settings `toml:"settings"`
}

// Preset is an experiment with a name.
type Preset struct {
	Name, Description string
	Experiment        Experiment
}

// GeneratedSet is the data set of the preset quick, which needs no files:
// Friedman's test function.
const GeneratedSet = "friedman"

// Presets lists the experiments of the paper, and a small one.
//
// The paper's numbers for maxdiag:ll>acs-rf(512) come from a network with other
// constants (σ_w 0.25, σ_b 0.1, learning rate 0.3) than its text states, for both
// activations. Here it has the same network as all others, so its row cannot be
// compared with the paper's.
func Presets() []Preset {
	all, selected := spec.Published(), spec.Selected()
	one := []Schedule{PaperSchedule()}
	var halved []Schedule
	for m := range 7 {
		halved = append(halved, Schedule{Rounds: 1 << m, Batch: 1 << (12 - m)})
	}
	return []Preset{
		{"paper-relu", "15 data sets, 76 methods, 20 splits, ReLU, 16 rounds of 256 rows", paper("relu", all, one)},
		{"paper-silu", "the same with SiLU", paper("silu", all, one)},
		{"paper-batch-sizes", "15 data sets, the selected methods, 20 splits, ReLU, 1 to 64 rounds, 4096 rows in total",
			paper("relu", selected, halved)},
		{"quick", "generated data, 3 methods, 3 splits, 6 rounds of 128 rows; about two minutes on two cores", quick()},
	}
}

func paper(activation string, specs []spec.Spec, schedules []Schedule) Experiment {
	g := Grid{Activations: []string{activation}, Compat: true, Schedules: schedules}
	for _, s := range sets.All() {
		g.Sets = append(g.Sets, s.Name)
	}
	for _, s := range specs {
		g.Specs = append(g.Specs, specText(s))
	}
	for i := range PaperSplits {
		g.Splits = append(g.Splits, i)
	}
	return Experiment{Grid: g}
}

func quick() Experiment {
	return Experiment{
		Grid: Grid{
			Sets: []string{GeneratedSet}, Activations: []string{"relu"}, Splits: []int{0, 1, 2},
			Specs:     []string{"random", spec.Default, "bait-f-p:grad>sketch(512)>train"},
			Schedules: []Schedule{{Rounds: 6, Batch: 128}},
		},
		Settings: Settings{Start: 128, Valid: 512},
	}
}

// FindPreset returns the preset with the given name.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("there is no preset %q; choose from %s", name, strings.Join(names, ", "))
}
