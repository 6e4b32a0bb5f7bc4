package report

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/spec"
)

// literature is a method of the paper's table of existing methods.
type literature struct{ name, spec string }

// literatureMethods lists the paper's methods from the literature under their
// original names.
func literatureMethods() []literature {
	list := []literature{{"Random", "random"}}
	titles := map[string]string{"bald": "BALD", "batchbald": "BatchBALD", "bait": "BAIT", "acs-fw": "ACS-FW",
		"coreset": "Core-Set", "badge": "BADGE"}
	for _, p := range spec.Presets() {
		if title := titles[p.Name]; title != "" {
			list = append(list, literature{title, p.Spec.String()})
		}
	}
	return append(list, literature{"LCMD-TP", spec.Default})
}

// literatureIn returns the methods from the literature with runs in the study,
// and their names; nil if there are too few to compare.
func literatureIn(s *benchmark.Study) (methods []string, names map[string]string) {
	names = map[string]string{}
	for _, l := range literatureMethods() {
		if method, ok := s.Find(l.spec); ok && s.Runs(method, s.DataSets...) > 0 {
			methods = append(methods, method)
			names[method] = l.name
		}
	}
	if len(methods) < 4 { // beside random and LCMD
		return nil, nil
	}
	return methods, names
}

// literatureTable is the paper's comparison with existing methods.
func literatureTable(v view, methods []string, names map[string]string) *Table {
	fair := v.OnCommonSplits(methods...)
	sets := fair.Common(methods...)
	t := &Table{Name: v.name + "-literature", Title: "Methods from the literature: " + settingTitle(v.Setting),
		Columns: slices.Concat([]Heading{{Head: "Method"}}, methodColumns,
			[]Heading{{Head: "mean log RMSE"}, {Head: "std. err."}, {Head: "runs"}})}
	for _, m := range methods {
		mean := fair.Mean(benchmark.MeanLog(benchmark.RMSE), m, sets...)
		cells := append([]Cell{Text(names[m])}, v.methodCells(m)...)
		t.Rows = append(t.Rows, Row{Cells: append(cells, Number(mean.Value, 3), Number(mean.StdErr, 4), Count(mean.Runs))})
	}
	t.boldColumn(3)
	t.Note = meanRunsNote(fair, methods, sets) + unusedRunsNote(v.Study, fair, methods, sets)
	return t
}

// literatureCurve compares with methods from the literature, as the paper's
// first figure does.
func literatureCurve(v view, methods []string, names map[string]string) *Figure {
	fair := v.OnCommonSplits(methods...)
	sets := fair.Common(methods...)
	f := &Figure{Name: v.name + "-literature", Title: "Methods from the literature: " + settingTitle(v.Setting),
		Order: styleOrder(methods, names), Note: v.meanNote(fair, methods, sets)}
	f.Panels = []Panel{learningPanel(fair, benchmark.RMSE, methods, names, sets...)}
	return f
}
