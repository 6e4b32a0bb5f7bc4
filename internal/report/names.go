package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/spec"
)

// Names of methods in tables and figures follow the paper: selection method and
// mode, and the kernel where it has a column.

// families lists the families of selection methods, which tables group. In figures
// each family has its own style.
func families() (names []string) {
	for _, m := range spec.Methods() {
		if name := familyOf(m); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func familyOf(m spec.MethodInfo) string { return cmp.Or(m.Family, m.Name) }

// family returns the index of a method's family, or len(families()) if it has none.
func family(method string) int {
	s, err := parse(method)
	names := families()
	i := slices.Index(names, familyOf(s.Method.Info()))
	if err != nil || i < 0 {
		return len(names)
	}
	return i
}

// parse returns the spec of a method, which may follow a learner.
func parse(method string) (spec.Spec, error) {
	_, text := benchmark.SplitSpec(method)
	return spec.Parse(text)
}

// methodTitle names the learner, unless it is a network, the selection method and its mode.
func methodTitle(method string) string {
	name, mode := titleParts(method)
	kind, _ := benchmark.SplitSpec(method)
	return benchmark.JoinSpec(kind, name+mode)
}

func methodLaTeX(method string) string {
	name, mode := titleParts(method)
	kind, _ := benchmark.SplitSpec(method)
	return benchmark.JoinSpec(kind, `\textsc{`+escapeLaTeX(name)+`}`+mode)
}

// learnerWord names the learner of methods that have a network, where others have another one.
func learnerWord(method string, several bool) string {
	if kind, _ := benchmark.SplitSpec(method); several && !kind.Blends() {
		return string(kind) + ", "
	}
	return ""
}

// haveLearners reports whether a method has another learner than a network.
func haveLearners(methods []string) bool {
	return slices.ContainsFunc(methods, func(m string) bool {
		kind, _ := benchmark.SplitSpec(m)
		return kind.Blends()
	})
}

func titleParts(method string) (name, mode string) {
	s, err := parse(method)
	if err != nil {
		_, name = benchmark.SplitSpec(method)
		return name, ""
	}
	name = cmp.Or(s.Method.Info().Title, string(s.Method))
	if s.Mode != spec.NoMode {
		mode = "-" + strings.ToUpper(s.Mode.String())
	}
	return name, mode
}

// kernelTitle names the kernel and its transformations.
func kernelTitle(method string) string {
	_, method = benchmark.SplitSpec(method)
	_, kernel, found := strings.Cut(benchmark.WithoutCompat(method), ":")
	if !found {
		return missing
	}
	return strings.ReplaceAll(kernel, ">", " > ")
}

// formulas are the transformations that the paper writes with the training rows.
var formulas = map[spec.Transform]string{
	{Name: "train"}: `\mathcal{X}_{\operatorname{train}}`,
	{Name: "scale"}: `\operatorname{scale}(\mathcal{X}_{\operatorname{train}})`,
}

// kernelLaTeX writes the kernel as a formula.
func kernelLaTeX(method string) string {
	s, err := parse(method)
	if err != nil || !s.UsesKernel() {
		return "---"
	}
	if len(s.Terms) == 0 {
		return `$k_{` + chainLaTeX(baseLaTeX(s.Kernel), s.Transforms) + `}$`
	}
	terms := make([]string, len(s.Terms))
	for i, t := range s.Terms {
		if w := t.Factor(); w != 1 {
			terms[i] = fmt.Sprintf(`%v\,`, w)
		}
		terms[i] += `k_{` + chainLaTeX(baseLaTeX(t.Kernel), t.Transforms) + `}`
	}
	sum := strings.Join(terms, ` + `)
	if len(s.Transforms) > 0 {
		sum = chainLaTeX(`(`+sum+`)`, s.Transforms)
	}
	return `$` + sum + `$`
}

func baseLaTeX(k spec.Kernel) string {
	return formula("mathrm", strings.Replace(k.String(), "linear", "lin", 1))
}

// chainLaTeX writes a kernel with its transformations.
func chainLaTeX(kernel string, transforms []spec.Transform) string {
	parts := []string{kernel}
	for _, t := range transforms {
		parts = append(parts, cmp.Or(formulas[t], formula("operatorname", t.String())))
	}
	return strings.Join(parts, ` \to `)
}

// formula sets the name of "name(parameter)" in a font.
func formula(font, call string) string {
	name, parameter, found := strings.Cut(call, "(")
	if found {
		parameter = "(" + parameter
	}
	return fmt.Sprintf(`\%s{%s}%s`, font, name, parameter)
}

// shortNames returns names for a legend: the method's title if it is unique, else
// with the kernel, and with compat if even that is ambiguous.
func shortNames(methods []string) map[string]string {
	names, several := map[string]string{}, haveLearners(methods)
	title := func(m string) string { return learnerWord(m, several) + methodTitle(m) }
	for _, level := range []func(string) string{
		title,
		func(m string) string { return title(m) + " " + kernelTitle(m) },
		func(m string) string { return title(m) + " " + kernelTitle(m) + compatWord(m) },
	} {
		count := map[string]int{}
		for _, m := range methods {
			count[level(m)]++
		}
		for _, m := range methods {
			if names[m] == "" && count[level(m)] == 1 {
				names[m] = level(m)
			}
		}
	}
	for _, m := range methods {
		names[m] = cmp.Or(names[m], m)
	}
	return names
}

// compatWord marks a method that follows the published code.
func compatWord(method string) string {
	if method == benchmark.WithoutCompat(method) {
		return ""
	}
	return ", compat"
}

// styleOrder orders names so that each gets the style of its family, unless a
// family occurs twice.
func styleOrder(methods []string, names map[string]string) []string {
	order := make([]string, len(families())+1)
	for i := range order {
		order[i] = fmt.Sprintf("style %d is unused", i)
	}
	taken := map[int]bool{}
	for _, m := range methods {
		i := family(m)
		if taken[i] {
			order = nil
			break
		}
		taken[i] = true
		order[i] = names[m]
	}
	if order != nil {
		return order
	}
	for _, m := range methods {
		order = append(order, names[m])
	}
	return order
}

// activationTitle spells an activation function as people do.
func activationTitle(activation string) string {
	switch activation {
	case "relu":
		return "ReLU"
	case "silu":
		return "SiLU"
	}
	return activation
}

// fileName turns any text into a file name: lower-case letters and digits stay,
// every other byte becomes an underscore and two hexadecimal digits, and a long
// text ends in a hash. Different texts get different names, even on a
// case-insensitive file system, and no name leads to another folder.
func fileName(text string) string {
	const longest = 48
	if text == "" {
		return "_"
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
		if b.Len() > longest {
			return fmt.Sprintf("%s__%x", b.String()[:longest/2], sha256.Sum256([]byte(text)))
		}
	}
	return b.String()
}

func settingTitle(s benchmark.Setting) string {
	return fmt.Sprintf("%s, %s of %d rows", activationTitle(s.Activation),
		words.Count(s.Rounds, "batch", "batches"), s.BatchSize)
}
