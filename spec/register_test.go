package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/selection"
)

// ours returns a method for tests under a given name.
func ours(name string) MethodInfo {
	return MethodInfo{Name: name, Description: "picks for a test", Modes: true}
}

var (
	oursMade      = func(selection.Settings) selection.Method { return selection.MaxDiag{} }
	kernelMade    = KernelMaker{Double: linear[float64]}
	transformMade = TransformMaker{Double: scale[float64]}
)

func TestMalformedRegistrationsPanic(t *testing.T) {
	method := func(change func(*MethodInfo)) func() {
		m := ours("test-malformed")
		change(&m)
		return func() { RegisterMethod(m, oursMade) }
	}
	kernel := func(change func(*KernelInfo)) func() {
		k := KernelInfo{Name: "test-malformed", Description: "nothing"}
		change(&k)
		return func() { RegisterKernel(k, kernelMade) }
	}
	transform := func(change func(*TransformInfo)) func() {
		tr := TransformInfo{Name: "test-malformed", Description: "nothing"}
		change(&tr)
		return func() { RegisterTransform(tr, transformMade) }
	}
	tests := map[string]struct {
		register func()
		reason   string
	}{
		"no name":             {method(func(m *MethodInfo) { m.Name = "" }), "lower-case letters"},
		"capital letters":     {method(func(m *MethodInfo) { m.Name = "Mine" }), "lower-case letters"},
		"spec punctuation":    {kernel(func(k *KernelInfo) { k.Name = "rbf(2)" }), "lower-case letters"},
		"an underscore":       {kernel(func(k *KernelInfo) { k.Name = "my_rbf" }), "lower-case letters"},
		"two hyphens":         {transform(func(tr *TransformInfo) { tr.Name = "a--b" }), "lower-case letters"},
		"a hyphen at the end": {transform(func(tr *TransformInfo) { tr.Name = "a-" }), "lower-case letters"},
		"a long name":         {transform(func(tr *TransformInfo) { tr.Name = strings.Repeat("a", 41) }), "at most 40"},
		"taken method":        {method(func(m *MethodInfo) { m.Name = "lcmd" }), "taken"},
		"taken kernel":        {kernel(func(k *KernelInfo) { k.Name = "grad" }), "taken"},
		"taken transform":     {transform(func(tr *TransformInfo) { tr.Name = "post" }), "taken"},
		"a preset":            {method(func(m *MethodInfo) { m.Name = "badge" }), "preset"},
		"a mode":              {method(func(m *MethodInfo) { m.Name = "mine-tp" }), "call it mine"},
		"no method":           {func() { RegisterMethod(ours("test-malformed"), nil) }, "the maker is missing"},
		"no kernel": {func() { RegisterKernel(KernelInfo{Name: "test-malformed"}, KernelMaker{}) },
			"Double is missing"},
		"no transform": {func() { RegisterTransform(TransformInfo{Name: "test-malformed"}, TransformMaker{}) },
			"Double is missing"},
		"no description":   {kernel(func(k *KernelInfo) { k.Description = "" }), "one line"},
		"two lines":        {method(func(m *MethodInfo) { m.Description = "a\nb" }), "one line"},
		"modes, no kernel": {method(func(m *MethodInfo) { m.NoKernel = true }), "without a kernel"},
		"parameter": {kernel(func(k *KernelInfo) { k.Parameter = Parameter{Whole: true} }),
			"its parameter is called"},
		"default":             {kernel(func(k *KernelInfo) { k.Parameter = Parameter{Name: "x", Default: 1} }), "optional"},
		"ensemble, no number": {transform(func(tr *TransformInfo) { tr.Ensemble = true }), "whole number"},
		"projects, no number": {transform(func(tr *TransformInfo) { tr.Projects = true }), "whole number"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				var refused *RegistrationError
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, test.reason) {
					t.Errorf("panicked with %v, want a *RegistrationError with %q", err, test.reason)
				}
			}()
			test.register()
		})
	}
	if Method("test-malformed").Info().Name != "" || (Kernel{Name: "test-malformed"}).Info().Name != "" {
		t.Error("a refused registration stayed")
	}
}

// Names are registered once per process, however often the tests run.
func init() {
	RegisterMethod(ours("test-own"), oursMade)
	RegisterKernel(KernelInfo{Name: "test-rbf", Description: "a kernel", Space: Infinite,
		Parameter: Parameter{Name: "width", Optional: true, Default: 2}}, kernelMade)
	RegisterTransform(TransformInfo{Name: "test-power", Description: "a transform", Needs: ExplicitFeatures,
		Parameter: Parameter{Name: "n", Whole: true, Most: 9}}, transformMade)
}

func TestRegisteredNamesAreKnownEverywhere(t *testing.T) {
	for text, want := range map[string]string{
		"test-own-tp:linear>test-power(3)":      "test-own-tp:linear>test-power(3)",
		"test-own-p : test-rbf ( 0.5 )":         "test-own-p:test-rbf(0.5)",
		"maxdet-p:test-rbf(2)>train":            "maxdet-p:test-rbf>train",
		"lcmd-p:ll>sketch(8)>test-power(1)":     "lcmd-p:ll>sketch(8)>test-power(1)",
		"test-own-p:ll>ens(3)>test-power(2)":    "test-own-p:ll>ens(3)>test-power(2)",
		"maxdiag:test-rbf(0.1)@compat":          "maxdiag:test-rbf(0.1)@compat",
		"test-own-p:grad>sketch(7)>train":       "test-own-p:grad>sketch(7)>train",
		"test-own-p:test-rbf>train@sigma2(0.5)": "test-own-p:test-rbf>train@sigma2(0.5)",
	} {
		s, err := Parse(text)
		if err != nil || s.String() != want {
			t.Errorf("%q parses to %v: %v", text, s, err)
		}
		if id, ok := s.PublishedID(); ok {
			t.Errorf("%s has the published id %s", s, id)
		}
		if again := MustParse(s.String()); !again.Equal(s) {
			t.Errorf("%s prints as %s", s, again)
		}
	}
	for text, reason := range map[string]string{
		"test-own:linear":                   "test-own-p selects",
		"test-own-p:test-rbf>test-power(2)": "test-rbf has infinitely many",
		"bait-f-p:test-rbf":                 "test-rbf has infinitely many",
		"test-own-p:linear>test-power(10)":  "whole number from 1 to 9",
		"test-own-p:linear>test-power":      "test-power(n)",
		"zzzzzzzz-p:linear":                 "test-own-tp",
		"lcmd-p:zzzzzzzz":                   "test-rbf",
		"lcmd-p:ll>zzzzzzzz":                "test-power",
		"NN_lcmd-p_test-rbf":                "unknown",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q parses to %v: %v, want %q", text, s, err, reason)
		}
	}
	if _, err := Parse("lcmd-p:test-rfb"); err == nil || !strings.Contains(err.Error(), "did you mean test-rbf?") {
		t.Errorf("no suggestion: %v", err)
	}
}
