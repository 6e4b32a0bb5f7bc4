package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/spec"
)

// specEntry is a line of the list of methods, kernels and transforms.
type specEntry struct {
	Kind        string `json:"kind"` // method, kernel, transform or preset
	Name        string `json:"name"` // as it is written in a spec
	Description string `json:"description"`
	Section     string `json:"section"` // of the paper; empty if the paper does not cover it
	Spec        string `json:"spec,omitempty"`
}

func specEntries() (list []specEntry) {
	for _, m := range spec.Methods() {
		name := m.Name
		if m.Modes {
			name += "-p, " + m.Name + "-tp"
		}
		list = append(list, specEntry{Kind: "method", Name: name, Description: m.Description, Section: m.Section})
	}
	for _, k := range spec.Kernels() {
		list = append(list, specEntry{Kind: "kernel", Name: k.Syntax(), Description: k.Description, Section: k.Section})
	}
	for _, t := range spec.Transforms() {
		list = append(list, specEntry{Kind: "transform", Name: t.Syntax(), Description: t.Description, Section: t.Section})
	}
	for _, p := range spec.Presets() {
		list = append(list, specEntry{Kind: "preset", Name: p.Name, Description: p.Description, Section: p.Section, Spec: p.Spec.String()})
	}
	return list
}

func newSpecs() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "specs [SPEC]",
		Short:   "List methods, kernels and transforms, or check a spec",
		Example: "  nextbatch specs\n  nextbatch specs 'bait-f-p:grad>sketch(512)>train'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				return checkSpec(out, args[0], asJSON)
			}
			if asJSON {
				return printJSON(out, specEntries())
			}
			return printSpecs(out)
		},
		Long: `A method is written METHOD-MODE:KERNEL>TRANSFORM>TRANSFORM@OPTION, for example
lcmd-tp:grad>sketch(512), which is the default. Mode p selects from the pool
alone, mode tp counts the labelled rows as selected. Options: @compat follows the
published code where it differs from the paper, @sigma2(1e-4) sets the noise
variance.

=With a spec as its argument, the command reports what is wrong with it, or prints
its canonical text.`,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkSpec(out io.Writer, text string, asJSON bool) error {
	s, err := spec.Parse(text)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, map[string]any{"spec": s.String(), "networks": s.TrainedNetworks()})
	}
	fmt.Fprintln(out, s)
	return nil
}

func printSpecs(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	kind := ""
	for _, e := range specEntries() {
		if e.Kind != kind {
			if kind != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%ss\n", e.Kind)
			kind = e.Kind
		}
		section := e.Section
		if section != "" {
			section = "§" + section
		}
		name := e.Name
		if e.Spec != "" {
			name += " = " + e.Spec
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", name, e.Description, section)
	}
	return w.Flush()
}
