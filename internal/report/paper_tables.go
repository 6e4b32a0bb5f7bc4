package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// paperTables sets our numbers beside the paper's: one table by data set, one of
// all methods. A table with nothing to compare is omitted.
func paperTables(v view) (tables []*Table) {
	sets := &Table{Name: v.name + "-paper-data-sets", Title: "RMSE compared with the paper: " + settingTitle(v.Setting),
		Columns: slices.Concat([]Heading{{Head: "Number"}, {Head: "Data set"}}, paperColumns())}
	all := &Table{Name: v.name + "-paper-all-methods", Title: "Mean log errors compared with the paper: " +
		settingTitle(v.Setting),
		Columns: slices.Concat([]Heading{{Head: "Number"}}, paperColumns())}
	list := v.CompareWithPaper()
	for i, a := range list {
		t, cells := all, []Cell{Text(a.What)}
		begins := i > 0 && a.Method != list[i-1].Method
		if a.DataSet != "" {
			t, cells = sets, append(cells, Text(a.DataSet))
			begins = i > 0 && (a.DataSet != list[i-1].DataSet)
		}
		cells = append(append(cells, v.methodCells(a.Method)...), Number(a.Ours.Value, 3), Number(a.Paper, 3),
			Number(a.Difference, 3),
			Number(a.StdErr, 4), Number(100*a.Relative, 1), Count(a.Ours.Runs))
		t.Rows = append(t.Rows, Row{Cells: cells, Rule: begins && len(t.Rows) > 0})
	}
	note := "Difference: ours minus the paper's. Its standard error assumes that the paper's 20 splits vary as much as " +
		"ours do, and includes the rounding to three digits."
	sets.Note = note + largestDifference(list)
	all.Note = note +
		" The percentage is that of the error itself, not of its logarithm. The paper ran maxdiag:ll>acs-rf(512) with " +
		"other network parameters."
	for _, t := range []*Table{sets, all} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// largestDifference names the data set's number that is farthest from the paper's.
func largestDifference(list []benchmark.PaperComparison) string {
	worst := benchmark.PaperComparison{}
	for _, a := range list {
		if a.DataSet != "" && math.Abs(a.Relative) > math.Abs(worst.Relative) {
			worst = a
		}
	}
	if worst.DataSet == "" {
		return ""
	}
	return fmt.Sprintf(" Largest difference: %.1f%% (%s of %s on %s).", 100*worst.Relative, worst.What,
		methodTitle(worst.Method), worst.DataSet)
}

func paperColumns() []Heading {
	return slices.Concat(methodColumns, []Heading{{Head: "ours"}, {Head: "paper"}, {Head: "difference"},
		{Head: "std. err."}, {Head: "in %"}, {Head: "runs"}})
}
