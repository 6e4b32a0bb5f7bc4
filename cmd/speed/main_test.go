package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestUnknownSection(t *testing.T) {
	var out, log bytes.Buffer
	err := run([]string{"-section", "nonsense"}, &out, &log)
	if err == nil || !strings.Contains(err.Error(), "linalg") || out.Len() > 0 {
		t.Fatalf("error %v, output %q", err, out.String())
	}
}

// TestReport checks the machine-readable lines.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	b := &bench{print: jsonPrinter(&out), section: "features", ceilings: map[ceiling]float64{{fma32, 2}: 300}}
	b.report("grad>sketch(512)", "100000x512", fma32, 2, 1.5, "s", 150)
	if !strings.Contains(out.String(), `"op":"grad>sketch(512)"`) {
		t.Fatalf("the spec is not readable in %s", out.String())
	}
	var got line
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := line{"features", "grad>sketch(512)", "100000x512", 2, 1.5, "s", 50, ""}
	if got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

var fullSize = flag.Bool("fullsize", false,
	"compare the picks at 100000 x 512 with those of the plain versions: half a minute")

// TestPicksAtFullSize runs the selection section, which compares the picks of each
// method with those of its plain version.
func TestPicksAtFullSize(t *testing.T) {
	if !*fullSize {
		t.Skip("only with -fullsize")
	}
	selectionSection(&bench{section: "selection", print: func(l line) {
		t.Logf("%+v", l)
		if strings.Contains(l.Note, otherRows) {
			t.Errorf("%s: %s", l.Op, l.Note)
		}
	}})
}

// TestGrowth measures a small case as the child process does.
func TestGrowth(t *testing.T) {
	for method := range growthMethods {
		var out bytes.Buffer
		text := fmt.Sprintf(`{"Method": %q, "Pool": 600, "Train": 40, "Dim": 8}`, method)
		if err := growthChild(&out, text); err != nil {
			t.Fatal(err)
		}
		var g grown
		if err := json.Unmarshal(out.Bytes(), &g); err != nil || !(g.Seconds > 0 && g.Data > 0) {
			t.Errorf("%s: %s, error %v", method, out.String(), err)
		}
	}
	if err := growthChild(io.Discard, `{"Method": "none"}`); err == nil {
		t.Error("a nonexistent method was measured")
	}
	if err := growth(io.Discard, []string{"none"}); err == nil {
		t.Error("a nonexistent method is in the table")
	}
}

// TestMeasure times one product and one factorisation.
func TestMeasure(t *testing.T) {
	var lines []line
	b := &bench{print: func(l line) { lines = append(lines, l) }, section: "linalg",
		ceilings: map[ceiling]float64{{fma32, 1}: 1000, {fma64, 1}: 1000}}
	gemm[float32](b, "sgemm", 32, 16, 32, false, false, 1)
	cholesky(b, 40, 1)
	if len(lines) != 2 || lines[0].Shape != "32x16x32" || lines[1].Shape != "40x40" {
		t.Fatalf("lines %+v", lines)
	}
	for _, l := range lines {
		if !(l.Value > 0) || l.Percent != 100*l.Value/1000 {
			t.Errorf("line %+v", l)
		}
	}
}
