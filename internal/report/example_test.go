package report_test

import (
	"os"

	"github.com/nextbatch/nextbatch/internal/report"
)

func ExampleTable() {
	t := report.Table{
		Title:   "RMSE after the last batch",
		Note:    "2 methods x 1 data set x 5 splits: 10 runs.",
		Columns: []report.Heading{{Head: "Data set"}, {Head: "Random"}, {Head: "LCMD-TP"}},
		Rows: []report.Row{{Cells: []report.Cell{report.Text("sgemm"), report.Number(0.1003, 3),
			report.Number(0.0918, 3).Bold()}}},
	}
	if err := t.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// RMSE after the last batch
	//
	// Data set  Random  LCMD-TP
	// --------------------------
	// sgemm      0.100    0.092*
	//
	// 2 methods x 1 data set x 5 splits: 10 runs.
}

func ExampleCurves() {
	labels := []float64{256, 512, 1024, 2048}
	f := report.Curves("RMSE on held-out rows", "labelled rows", "RMSE", []report.Curve{
		{Name: "Random", X: labels, Y: []float64{1.51, 1.12, 0.85, 0.66}},
		{Name: "LCMD-TP", X: labels, Y: []float64{1.51, 0.93, 0.57, 0.36}, Low: []float64{1.45, 0.88, 0.53, 0.33},
			High: []float64{1.57, 0.98, 0.61, 0.39}},
	})
	f.Panels[0].X, f.Panels[0].Y = report.Log2, report.Log10
	f.Note = "2 methods, 5 runs each. Shaded: one standard error of the mean."
	file, err := os.CreateTemp("", "curves-*.svg")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := f.Write(file, "svg"); err != nil {
		panic(err)
	}
	// Output:
}
