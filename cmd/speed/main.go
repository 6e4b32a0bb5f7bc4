// Command speed measures how close the engine comes to the limits of this
// machine. It first measures the limits themselves (multiply-adds in registers,
// reads from cache and from memory, on one thread and on all), then prints one
// line per operation: shape, threads, speed, and the percentage of the limit
// that binds it, measured in the same run.
//
//	go run ./cmd/speed [-json] [-section NAME]
//
// With -growth it instead measures how the time and memory of selections grow with
// the pool and with the training rows:
//
//	go run ./cmd/speed -growth [METHOD...]
//
// With -answers it measures how long a program lets people wait:
//
//	go run ./cmd/speed -answers bin/nextbatch
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/nextbatch/nextbatch/internal/simd"
)

// sections lists what can be measured, in the order of printing.
var sections = []struct {
	name string
	run  func(*bench)
}{
	{"linalg", linalgSection},
	{"training", trainingSection},
	{"features", featuresSection},
	{"selection", selectionSection},
}

// usageExit is the exit code for a wrong command line.
const usageExit = 2

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(usageExit)
	}
}

func run(args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	flags.SetOutput(log)
	asJSON := flags.Bool("json", false, "print JSON lines")
	section := flags.String("section", "", "measure only this `section`: "+sectionNames())
	grow := flags.Bool("growth", false, "measure how time and memory of selections grow, for all methods or those listed")
	program := flags.String("answers", "", "measure how long this `program` lets people wait")
	growCase := flags.String("growth-case", "", "for internal use by -growth: measure one `case`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *grow {
		return growth(out, flags.Args())
	}
	if *program != "" {
		return answers(context.Background(), out, *program)
	}
	if *growCase != "" {
		return growthChild(out, *growCase)
	}
	if *section != "" && !known(*section) {
		return fmt.Errorf("-section %s: there is no such section; choose one of %s", *section, sectionNames())
	}
	if err := simd.OverrideError(); err != nil {
		return err
	}
	b := &bench{print: textPrinter(out), alone: *section != ""}
	if *asJSON {
		b.print = jsonPrinter(out)
	}
	b.measureCeilings()
	for _, s := range sections {
		if *section == "" || *section == s.name {
			b.section = s.name
			s.run(b)
		}
	}
	return nil
}

func sectionNames() string {
	names := ""
	for i, s := range sections {
		if i > 0 {
			names += ", "
		}
		names += s.name
	}
	return names
}

func known(section string) bool {
	for _, s := range sections {
		if s.name == section {
			return true
		}
	}
	return false
}

// line is one measurement.
type line struct {
	Section string  `json:"section"`
	Op      string  `json:"op"`
	Shape   string  `json:"shape"`
	Threads int     `json:"threads"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Percent float64 `json:"percent"`        // of the limit measured in this run
	Note    string  `json:"note,omitempty"` // further measurements
}

func textPrinter(w io.Writer) func(line) {
	section := ""
	return func(l line) {
		if l.Section != section {
			section = l.Section
			fmt.Fprintf(w, "\n%s (%s)\n%-24s %-16s %7s %12s %-8s %8s\n",
				section, simd.For[float32]().Name(), "op", "shape", "threads", "value", "unit", "percent")
		}
		fmt.Fprintf(w, "%-24s %-16s %7d %12.4g %-8s %8.1f  %s\n", l.Op, l.Shape, l.Threads, l.Value,
			l.Unit, l.Percent, l.Note)
	}
}

func jsonPrinter(w io.Writer) func(line) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)                  // ops are named as in specs, with >
	return func(l line) { _ = encoder.Encode(l) } // a closed pipe ends the program anyway
}
