package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/words"
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
		list = append(list, specEntry{Kind: "preset", Name: p.Name, Description: p.Description, Section: p.Section,
			Spec: p.Spec.String()})
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
		RunE: performs(func(_ context.Context, args []string) (*answer, error) {
			if len(args) == 1 {
				return checkSpec(args[0], asJSON)
			}
			return printed(asJSON, specEntries(), printSpecs), nil
		}),
		Long: `A method is written METHOD-MODE:KERNEL>TRANSFORM>TRANSFORM@OPTION, for example
lcmd-tp:grad>sketch(512), which is the default. Mode p selects from the pool
alone, mode tp counts the labelled rows as selected. Options: @compat follows the
published code where it differs from the paper, @sigma2(1e-4) sets the noise
variance.

With a spec as its argument, the command reports what is wrong with it, or prints
its canonical text.`,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkSpec(text string, asJSON bool) (*answer, error) {
	s, err := spec.Parse(text)
	if err != nil {
		return nil, err
	}
	return printed(asJSON, map[string]any{"spec": s.String(), "networks": s.TrainedNetworks()}, line(s)), nil
}

// specsWidth is the number of columns that the list of specs takes.
const specsWidth = 100

func printSpecs(out io.Writer) error {
	var b strings.Builder
	entries := specEntries()
	for i, e := range entries {
		if i == 0 || e.Kind != entries[i-1].Kind {
			fmt.Fprintf(&b, "%s%ss\n", strings.Repeat("\n", min(i, 1)), e.Kind)
		}
		indent := nameWidth(entries, e.Kind)
		lines := words.Wrap(e.text(), specsWidth-indent)
		fmt.Fprintf(&b, "%-*s%s\n", indent, "  "+e.title(), lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "%*s%s\n", indent, "", line)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// title is the name of the entry; a preset also shows what it stands for.
func (e specEntry) title() string {
	if e.Spec == "" {
		return e.Name
	}
	return e.Name + " = " + e.Spec
}

// text is the description with the number of the paper's section; JSON has its title.
func (e specEntry) text() string {
	number, _, _ := strings.Cut(e.Section, " ")
	if number == "" {
		return e.Description
	}
	return e.Description + " (§" + number + ")"
}

// nameWidth is the width of the column of names of this kind.
func nameWidth(entries []specEntry, kind string) (width int) {
	for _, e := range entries {
		if e.Kind == kind {
			width = max(width, utf8.RuneCountInString(e.title())+4)
		}
	}
	return width
}
