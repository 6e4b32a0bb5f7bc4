package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/benchmark"
)

// paperTables sets our numbers beside the paper's: one table for data sets, one
// for all methods. What there is nothing to compare in is left out.
func paperTables(v view) (tables []*Table) {
	sets := &Table{Name: v.name + "-paper-data-sets", Title: "RMSE against the paper's: " + settingTitle(v.Setting),
		Columns: slices.Concat([]Column{{Head: "Number"}, {Head: "Data set"}}, paperColumns())}
	all := &Table{Name: v.name + "-paper-all-methods", Title: "Mean log errors against the paper's: " + settingTitle(v.Setting),
		Columns: slices.Concat([]Column{{Head: "Number"}}, paperColumns())}
	list := v.AgainstPaper()
	for i, a := range list {
		t, cells := all, []Cell{Text(a.What)}
		begins := i > 0 && a.Method != list[i-1].Method
		if a.DataSet != "" {
			t, cells = sets, append(cells, Text(a.DataSet))
			begins = i > 0 && (a.DataSet != list[i-1].DataSet)
		}
		cells = append(append(cells, v.methodCells(a.Method)...), Number(a.Ours.Value, 3), Number(a.Paper, 3), Number(a.Difference, 3),
			Number(a.StdErr, 4), Number(100*a.Relative, 1), Count(a.Ours.Runs))
		t.Rows = append(t.Rows, Row{Cells: cells, Rule: begins && len(t.Rows) > 0})
	}
	note := "Difference: ours less the paper's. Its standard error takes the paper's 20 splits to spread as ours do, and counts the rounding to three digits."
	sets.Note = note + largestDifference(list)
	all.Note = note + " In %, for the error itself, not its logarithm. The paper's maxdiag:ll>acs-rf(512) ran with other network parameters."
	for _, t := range []*Table{sets, all} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// largestDifference says where a data set's number is farthest from the paper's.
func largestDifference(list []benchmark.Against) string {
	worst := benchmark.Against{}
	for _, a := range list {
		if a.DataSet != "" && math.Abs(a.Relative) > math.Abs(worst.Relative) {
			worst = a
		}
	}
	if worst.DataSet == "" {
		return ""
	}
	return fmt.Sprintf(" Largest difference: %.1f%% (%s of %s on %s).", 100*worst.Relative, worst.What, methodTitle(worst.Method), worst.DataSet)
}

func paperColumns() []Column {
	return slices.Concat(methodColumns, []Column{{Head: "ours"}, {Head: "paper"}, {Head: "difference"}, {Head: "std. err."}, {Head: "in %"}, {Head: "runs"}})
}
