package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/selection"
)

// goodSpecs are texts in canonical form, at least one for every part of the
// grammar.
var goodSpecs = []string{
	"random",
	"maxdiag:grad>train",
	"maxdiag:nngp>train",
	"lcmd-tp:grad>sketch(512)",
	"lcmd-dist-p:features",
	"lcmd-count-tp:laplace(0.3)",
	"greedy-kmeanspp-p:ll(2)>train",
	"bait-f-p:grad>sketch(512)>train",
	"bait-fb-tp:linear>scale",
	"maxdet-p:ll>ens(3)>sketch(512)>train",
	"maxdet-tp:ntk>scale(0.5)",
	"frankwolfe-p:grad>sketch(512)>acs-rf-hyper(512)",
	"frankwolfe-p:ll>acs-grad>sketch(512)",
	"frankwolfe-p:grad>sketch(512)>acs-grad>sketch(512)",
	"kmeanspp-p:grad>sketch(512)>acs-rf(512)@compat",
	"maxdist-p:grad>scale>post",
	"maxdist-tp:grad>ens(3)",
	"maxdet-p:grad>sketch(64)>train>ens(5)@compat@sigma2(0.0001)",
	"maxdet-p:grad>acs-grad",
	"lcmd-tp:grad>sketch(1024)>sketch(256)",
	"bait-f-p:matern>rff(1024)>train",
	"lcmd-tp:laplace>scale>rff(64)",
	"lcmd-tp:leaf>sketch(512)",
	"maxdet-p:leaf>train",
	"bait-f-p:predictions>train",
	"lcmd-tp:grad>sketch(512)+0.5*matern>rff(1024)",
	"lcmd-tp:grad+0.5*matern",
	"bait-f-p:(grad>sketch(512)+0.5*matern>rff(1024))>train",
	"lcmd-tp:(grad+leaf)>sketch(512)",
	"lcmd-tp:(2*matern+rbf)>rff(8)",
	"maxdet-p:(grad>ens(3)+1e-09*leaf+ll+10000000*linear)>scale(2)>train@compat@sigma2(0.1)",
}

func TestSpecsPrintBackToTheirText(t *testing.T) {
	t.Parallel()
	for _, text := range goodSpecs {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.String() != text {
			t.Errorf("%s prints as %s", text, s)
		}
	}
}

func TestCanonicalTextHasNoSpacesOrDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{" lcmd-tp : grad > sketch( 512 ) @ compat ", "lcmd-tp:grad>sketch(512)@compat"},
		{"maxdet-p:ll(1)>train@sigma2(1e-6)", "maxdet-p:ll>train"},
		{"maxdet-p:ll>train@sigma2(1E-4)@compat", "maxdet-p:ll>train@compat@sigma2(0.0001)"},
		{"maxdist-p:laplace(1)", "maxdist-p:laplace"},
		{"maxdist-p:linear>scale(1e7)", "maxdist-p:linear>scale(10000000)"},
		{"maxdet-p:ll>train@sigma2(1e-9)", "maxdet-p:ll>train@sigma2(1e-09)"},
		{"lcmd-p:grad>sketch(1048576)", "lcmd-p:grad>sketch(1048576)"},
		{"lcmd-p:grad>sketch(5.12e2)", "lcmd-p:grad>sketch(512)"},
		{"random@compat", "random@compat"},
		{"lcmd-tp : ( grad > sketch( 8 ) + 1 * ll + 5e-1 * linear ) @ compat", "lcmd-tp:grad>sketch(8)+ll+0.5*linear@compat"},
		{"bait-f-p:( 1*ll +linear )>train", "bait-f-p:(ll+linear)>train"},
		{"lcmd-tp:1e+1*grad+.5*ll", "lcmd-tp:10*grad+0.5*ll"},
		{"badge", "kmeanspp-p:ll>train"},
		{"bait@compat", "bait-fb-p:ll>train@compat"},
		{"batchbald @sigma2(0.01)", "maxdet-p:ll>train@sigma2(0.01)"},
		{"NN_fw-p_grad_rp-512_acs-rf-hyper-512", "frankwolfe-p:grad>sketch(512)>acs-rf-hyper(512)@compat"},
	}
	for _, test := range tests {
		s, err := Parse(test.text)
		if err != nil {
			t.Errorf("%v", err)
		} else if s.String() != test.want {
			t.Errorf("%q prints as %s, want %s", test.text, s, test.want)
		}
	}
}

// caretAt finds the byte that the caret points to.
func caretAt(t *testing.T, e *Error) int {
	t.Helper()
	lines := strings.Split(e.Caret(), "\n")
	if len(lines) != 2 {
		t.Fatalf("caret of %q has %d lines", e.Text, len(lines))
	}
	return strings.IndexByte(lines[1], '^')
}

func TestErrorsPointAtTheCharacter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		offset int
		reason string // a part of it
		meant  string
	}{
		{"", 0, "a method is missing", ""},
		{"  ", 2, "a method is missing", ""},
		{"lmcd-tp:grad", 0, "method", "lcmd-tp"},
		{"LCMD-TP:grad", 0, "method", "lcmd-tp"},
		{"fw-p:ll", 0, "method", ""},
		{"zzz:ll", 0, "choose from random", ""},
		{"lcmd:grad>sketch(512)", 0, "needs a mode: lcmd-p", ""},
		{"maxdiag-tp:ll", 0, "it has no mode: write maxdiag", ""},
		{"random-p", 0, "it has no mode: write random", ""},
		{"random:grad", 7, "random uses no kernel", ""},
		{"lcmd-tp", 7, "a kernel is missing", ""},
		{"lcmd-tp:", 8, "a kernel is missing", ""},
		{"lcmd-tp:>sketch(3)", 8, "a kernel is missing", ""},
		{"lcmd-tp:grda", 8, "kernel", "grad"},
		{"lcmd-tp:gradient", 8, "kernel", "grad"},
		{"lcmd-tp:grad>", 13, "a transform is missing", ""},
		{"lcmd-tp:grad>skech(512)", 13, "transform", "sketch"},
		{"lcmd-tp:grad>rp(512)", 13, "transform", "sketch"},
		{"lcmd-tp:grad>sketch", 19, "a number is missing: sketch(p)", ""},
		{"lcmd-tp:grad>sketch()", 20, "a number is missing: sketch(p)", ""},
		{"lcmd-tp:grad>sketch(512", 19, "not closed", ""},
		{"lcmd-tp:grad>sketch(0)", 20, "must be positive", ""},
		{"lcmd-tp:grad>sketch(-3)", 20, "must be positive", ""},
		{"lcmd-tp:grad>sketch(2.5)", 20, "must be whole", ""},
		{"lcmd-tp:grad>sketch(1e300)", 20, "must be whole", ""},
		{"lcmd-tp:grad>sketch(1e400)", 20, "not a number within range", ""},
		{"lcmd-tp:grad>sketch(2000000)", 13, "from 1 to 1048576", ""},
		{"lcmd-tp:grad>ens(2000)>sketch(3)", 13, "from 1 to 1000", ""},
		{"lcmd-tp:grad>train(3)", 18, "train takes no number", ""},
		{"lcmd-tp:grad→sketch(512)", 12, "not expected", ">"},
		{"lcmd-tp:grad)", 12, "not expected", ""},
		{"lcmd-tp:ll\xff", 10, "not expected", ""},
		{"lcmd-tp:grad@kompat", 13, "option", "compat"},
		{"lcmd-tp:grad@compat@compat", 20, "given twice", ""},
		{"lcmd-tp:grad@sigma2(0.1)", 12, "nothing in this spec uses a noise variance", ""},
		{"maxdet-p:ll@sigma2", 18, "a number is missing", ""},
		{"maxdet-p:nngp>acs-rf(512)", 14, "nngp has infinitely many", ""},
		{"maxdet-p:laplace>acs-rf-hyper(512)", 17, "laplace has infinitely many", ""},
		{"maxdet-p:ntk>sketch(512)", 13, "ntk has infinitely many", ""},
		{"maxdet-p:nngp>train>sketch(512)", 20, "nngp has infinitely many", ""},
		{"maxdet-p:grad>acs-rf(512)", 14, "put sketch(p) before", ""},
		{"maxdet-p:grad>train>sketch(512)", 20, "sketch(p) before post", ""},
		{"frankwolfe-p:nngp>train", 0, "nngp has infinitely many", ""},
		{"frankwolfe-p:grad>train", 0, "put sketch(p) before", ""},
		{"frankwolfe-p:ll>acs-grad", 0, "too many to write down", ""},
		{"frankwolfe-p:ll(2)", 0, "too many to write down", ""},
		{"maxdet-p:ll(2)>train>sketch(8)", 21, "sketch(p) before post", ""},
		{"bait-f-p:nngp>train", 0, "infinitely many", ""},
		{"bait-fb-tp:grad", 0, "too many to write down", ""},
		{"maxdet-p:ll>train>post", 18, "count them twice", ""},
		{"maxdet-p:ll>train>acs-rf(64)", 18, "count them twice", ""},
		{"maxdet-p:ll>acs-rf(64)>train", 23, "after acs-rf the kernel is no longer one", ""},
		{"maxdet-p:ll>ens(3)>ens(3)", 19, "already been combined", ""},
		{"maxdet-p:linear>ens(3)", 16, "does not depend on the network", ""},
		{"NN_lcmd-tp_grad_rp-0512", 16, "not a transform of a published id", ""},
		{"NN_lcmd-tp_grad_post", 16, "not a transform of a published id", ""},
		{"NN_lcmd-tp_grads", 11, "kernel", "grad"},
		{"NN_lcmd-dist-tp_grad", 3, "not a method of a published id", ""},
		{"NN_lcmd_grad", 3, "needs a mode", ""},
		{"NN_", 3, "not a method of a published id", ""},
		{"bald:grad", 0, "method", ""},
		{"kmeans++-p:ll", 0, "method", "kmeanspp-p"},
		{"lcmd-tp:linear>rff(64)", 15, "linear is not stationary", ""},
		{"lcmd-tp:matern>post>rff(64)", 20, "put it right after matern", ""},
		{"lcmd-tp:matern>rff(63)", 15, "an even number from 2 to 1048576", ""},
		{"lcmd-tp:matern>rff", 18, "a number is missing: rff(n)", ""},
		{"bait-f-p:matern>train", 0, "matern has infinitely many: put rff(n) right after matern", ""},
		{"bait-f-p:leaf", 0, "leaf has too many to write down: put sketch(p)", ""},
		{"lcmd-tp:leaf>ens(3)", 13, "leaf does not depend on the network", ""},
		{"lcmd-tp:grad+", 13, "a kernel is missing", ""},
		{"lcmd-tp:+grad", 8, "a kernel is missing", ""},
		{"lcmd-tp:grad+gard", 13, "kernel", "grad"},
		{"lcmd-tp:grad+0*ll", 13, "must be positive: 0.5*grad", ""},
		{"lcmd-tp:grad+-2*ll", 13, "must be positive: 0.5*grad", ""},
		{"lcmd-tp:grad+2ll", 14, "a * is missing", ""},
		{"lcmd-tp:grad+1e999*ll", 13, "not a number within range", ""},
		{"lcmd-tp:0.5*grad", 8, "for sums of kernels", ""},
		{"lcmd-tp:(grad)>sketch(3)", 8, "for sums of kernels", ""},
		{"lcmd-tp:(grad+ll>sketch(3)", 8, "not closed", ""},
		{"lcmd-tp:(grad+ll)+linear", 17, "not expected", ""},
		{"lcmd-tp:((grad+ll)+linear)", 9, "a kernel is missing", ""},
		{"lcmd-tp:grad+ll)", 15, "not expected", ""},
		{"lcmd-tp:grad>train+ll", 13, "put the sum in parentheses, and train after it", ""},
		{"lcmd-tp:(grad+ll)>ens(3)", 18, "put it into a term of the sum", ""},
		{"lcmd-tp:(grad+ll>ens(3))>train>post", 31, "count them twice", ""},
		{"lcmd-tp:(grad+matern)>rff(8)", 22, "not all terms of the sum are stationary", ""},
		{"bait-f-p:(grad>sketch(8)+matern)>train", 0, "put rff(n) right after matern", ""},
		{"bait-f-p:matern+nngp+ll", 0, "nngp has infinitely many", ""},
		{"bait-f-p:linear+leaf", 0, "leaf has too many to write down", ""},
		{"lcmd-tp:grad+ll+linear+leaf+ntk", 28, "at most 4 terms", ""},
		{"random:grad+ll", 7, "random uses no kernel", ""},
	}
	for _, test := range tests {
		s, err := Parse(test.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q parses to %q", test.text, s)
			continue
		}
		if e.Offset != test.offset || !strings.Contains(e.Reason, test.reason) ||
			test.meant != "" && e.Suggest != test.meant {
			t.Errorf("%q: offset %d, want %d\n%v\n%s", test.text, e.Offset, test.offset, e, e.Caret())
		}
		if at := caretAt(t, e); at != test.offset {
			t.Errorf("%q: the caret is under character %d\n%s", test.text, at, e.Caret())
		}
	}
}

func TestValidateFindsWhatTheParserFinds(t *testing.T) {
	t.Parallel()
	bad := []Spec{
		{},
		{Method: "lcmdd", Mode: TP, Kernel: gradientKernel()},
		{Method: lcmd, Mode: 7, Kernel: gradientKernel()},
		{Method: lcmd, Mode: TP},
		{Method: lcmd, Kernel: gradientKernel()},
		{Method: lcmd, Mode: TP, Kernel: Kernel{Name: "gard"}},
		{Method: lcmd, Mode: TP, Kernel: Kernel{Name: "grad", Number: 2}},
		{Method: random, Transforms: []Transform{trainTransform()}},
		{Method: lcmd, Mode: TP, Kernel: gradientKernel(), Transforms: []Transform{{}}},
		{Method: lcmd, Mode: TP, Kernel: gradientKernel(), Transforms: []Transform{{Name: "skech", Number: 3}}},
		{Method: lcmd, Mode: TP, Kernel: gradientKernel(), Transforms: []Transform{sketchTransform(0)}},
		{Method: lcmd, Mode: TP, Kernel: gradientKernel(), Transforms: []Transform{{Name: "sketch", Number: 2.5}}},
		{Method: lcmd, Mode: TP, Kernel: Kernel{Name: "ll", Number: -1}},
		{Method: lcmd, Mode: TP, Kernel: laplaceKernel(-1)},
		{Method: lcmd, Mode: TP, Kernel: laplaceKernel(math.NaN())},
		{Method: lcmd, Mode: TP, Kernel: nngpKernel(), Transforms: []Transform{Transform{Name: "scale", Number: -1}}},
		{Method: maxDet, Mode: P, Kernel: nngpKernel(), Sigma2: -1},
		{Method: baitForward, Mode: P, Kernel: nngpKernel()},
		{Method: lcmd, Mode: TP, Kernel: gradientKernel(), Terms: []Term{{Kernel: linearKernel()}, {Kernel: leafKernel()}}},
		{Method: lcmd, Mode: TP, Terms: []Term{{Kernel: linearKernel()}}},
		{Method: lcmd, Mode: TP, Terms: []Term{{Kernel: linearKernel()}, {}}},
		{Method: lcmd, Mode: TP, Terms: []Term{{Kernel: linearKernel()}, {Weight: -1, Kernel: leafKernel()}}},
		{Method: lcmd, Mode: TP, Terms: []Term{{Kernel: linearKernel()}, {Weight: math.NaN(), Kernel: leafKernel()}}},
		{Method: lcmd, Mode: TP, Terms: []Term{{Kernel: linearKernel()},
			{Kernel: leafKernel(), Transforms: []Transform{{}}}}},
		{Method: random, Terms: []Term{{Kernel: linearKernel()}, {Kernel: leafKernel()}}},
	}
	for _, s := range bad {
		var e *Error
		if !errors.As(s.Validate(), &e) || e.Text != s.String() {
			t.Errorf("%#v: %v", s, s.Validate())
		}
	}
	for _, p := range Presets() {
		if err := p.Spec.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestPresetsAreThePapersTable(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"default":   Default,
		"bald":      "maxdiag:ll>train",
		"batchbald": "maxdet-p:ll>train",
		"bait":      "bait-fb-p:ll>train",
		"acs-fw":    "frankwolfe-p:ll>acs-rf-hyper(512)",
		"coreset":   "maxdist-tp:ll",
		"ff-active": "maxdist-tp:ll",
		"badge":     "kmeanspp-p:ll>train",
	}
	for _, p := range Presets() {
		if p.Spec.String() != want[p.Name] {
			t.Errorf("%s is %s, want %s", p.Name, p.Spec, want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestMethodsAreThoseOfSelection(t *testing.T) {
	t.Parallel()
	settings := selection.Settings{Sigma2: 0.5, Compat: true}
	for _, want := range selection.Methods() {
		got := Method(want.Name).Info()
		if got.Name != want.Name || got.Description != want.Description || got.Section != want.Section ||
			got.Modes != want.Modes || got.Aims != want.Aims || got.Draws != want.Random || want.Features && !got.Features {
			t.Errorf("%s is described as %+v", want.Name, got)
		}
		if MakerOfMethod(Method(want.Name))(settings) != want.New(settings) {
			t.Errorf("%s constructs another method", want.Name)
		}
		if got.Noise != got.DoubleOnly {
			t.Errorf("%s: the noise variance needs float64", want.Name)
		}
	}
}

func TestRegistriesAreComplete(t *testing.T) {
	t.Parallel()
	for i, m := range Methods() {
		if builtIn := i < len(selection.Methods()); Method(m.Name).Order() != i || builtIn && m.Section == "" {
			t.Errorf("method %d: %+v", i, m)
		}
	}
	for _, tr := range Transforms() {
		made := MakerOfTransform(Transform{Name: tr.Name})
		if tr.Noise && !tr.DoubleOnly || made.Double == nil || tr.DoubleOnly != (made.Single == nil) {
			t.Errorf("transform %s: in float64 alone: %v, but %+v; the noise variance needs float64",
				tr.Name, tr.DoubleOnly, made)
		}
	}
	for _, k := range Kernels() {
		made := MakerOfKernel(Kernel{Name: k.Name})
		if made.Double == nil || k.DoubleOnly != (made.Single == nil) {
			t.Errorf("kernel %s: in float64 alone: %v, but %+v", k.Name, k.DoubleOnly, made)
		}
	}
}

func TestSpecInJSON(t *testing.T) {
	t.Parallel()
	s := MustParse("maxdet-p:ll>train@compat")
	raw, err := json.Marshal(map[string]Spec{"spec": s})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]Spec
	if err := json.Unmarshal(raw, &back); err != nil || !back["spec"].Equal(s) {
		t.Errorf("%s: %v, %v", raw, back, err)
	}
	if err := json.Unmarshal([]byte(`{"spec":"lcmd"}`), &back); err == nil {
		t.Error("a spec without a mode was accepted")
	}
}

// goldenConfig is an entry of golden/configs.json.
type goldenConfig struct {
	Name       string              `json:"alg_name"`
	Models     int                 `json:"n_models"`
	Method     string              `json:"selection_method"`
	Over       float64             `json:"overselection_factor"`
	WithTrain  *bool               `json:"sel_with_train"`
	Kernel     string              `json:"base_kernel"`
	Transforms [][]json.RawMessage `json:"kernel_transforms"`
}

func TestPublishedConfigurations(t *testing.T) {
	t.Parallel()
	var configs map[string][]goldenConfig
	golden.JSON(t, "configs.json", &configs)
	for activation, list := range configs {
		var ids []string
		for _, c := range list {
			ids = append(ids, c.Name)
			s, err := Parse(c.Name)
			if err != nil {
				t.Errorf("%s: %v", activation, err)
				continue
			}
			mustMean(t, s, c)
			if id, ok := s.PublishedID(); id != c.Name || !ok {
				t.Errorf("%s prints as %q", c.Name, id)
			}
			again, err := Parse(s.String())
			if err != nil || !again.Equal(s) {
				t.Errorf("%s prints as %s, which parses to %s: %v", c.Name, s, again, err)
			}
		}
		mustList(t, activation, ids)
	}
}

// mustList compares Published with the ids of the golden list.
func mustList(t *testing.T, activation string, ids []string) {
	t.Helper()
	var ours []string
	for _, s := range Published() {
		id, _ := s.PublishedID()
		ours = append(ours, id)
	}
	slices.Sort(ours)
	slices.Sort(ids)
	if !slices.Equal(ours, ids) {
		t.Errorf("%s: Published has %d configurations, the list %d, or they differ", activation, len(ours), len(ids))
	}
}

// mustMean compares a spec with the configuration that its id stands for.
func mustMean(t *testing.T, s Spec, c goldenConfig) {
	t.Helper()
	if !s.Compat || s.Members() != c.Models {
		t.Errorf("%s: compat %v, %d members", c.Name, s.Compat, s.Members())
	}
	method := map[Method]string{baitForward: "bait", baitForwardBackward: "bait", frankWolfe: "fw"}[s.Method]
	if method == "" {
		method = string(s.Method)
	}
	if method != c.Method || (c.Over == 2) != (s.Method == baitForwardBackward) {
		t.Errorf("%s: method %s, want %s", c.Name, s.Method, c.Method)
	}
	if c.WithTrain != nil && *c.WithTrain != (s.Mode == TP) {
		t.Errorf("%s: mode %s", c.Name, s.Mode)
	}
	if s.UsesKernel() && s.Kernel.String() != c.Kernel {
		t.Errorf("%s: kernel %s", c.Name, s.Kernel)
	}
	if len(s.Transforms) != len(c.Transforms) {
		t.Fatalf("%s: transforms %v", c.Name, s.Transforms)
	}
	for i, raw := range c.Transforms {
		var name string
		if err := json.Unmarshal(raw[0], &name); err != nil {
			t.Fatal(err)
		}
		form, _ := publishedForm(s.Transforms[i])
		if !strings.HasPrefix(form, name) {
			t.Errorf("%s: transform %d is %s, want %s", c.Name, i, form, name)
		}
	}
}

func TestSelectedSpecs(t *testing.T) {
	t.Parallel()
	specs := Selected()
	if len(specs) != 8 || !specs[7].Compat || specs[7].String() != Default+"@compat" {
		t.Errorf("got %v", specs)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range goodSpecs {
		f.Add(text)
	}
	for _, s := range Published() {
		id, _ := s.PublishedID()
		f.Add(id)
	}
	f.Add("badge@compat")
	f.Add("test-own-tp:test-rbf(0.5)>train@sigma2(0.5)") // registered by tests
	f.Add("test-own-p:linear>test-power(3)")
	f.Add("lcmd-tp : grad→sketch( 5e2 )")
	f.Add(strings.Repeat("→", longestText))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !shows(e, text) || e.Offset < 0 || e.Offset+e.Length > len(e.Text) || e.Reason == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			_ = e.Error() + e.Caret()
			return
		}
		printed := s.String()
		again, err := Parse(printed)
		if err != nil || again.String() != printed {
			t.Fatalf("%q prints as %q, which parses to %q: %v", text, printed, again, err)
		}
		if id, ok := s.PublishedID(); ok {
			if back, err := Parse(id); err != nil || !back.Equal(s) {
				t.Fatalf("%q has the id %q, which parses to %q: %v", text, id, back, err)
			}
		}
	})
}

// shows reports whether an error quotes the text, or the start of one that is
// too long to quote.
func shows(e *Error, text string) bool {
	start, cut := strings.CutSuffix(e.Text, "…")
	return e.Text == text || len(text) > longestText && cut && strings.HasPrefix(strings.ToValidUTF8(text, ""), start)
}

// TestChainsAreBounded has chains that would take minutes to evaluate, as each
// transformation wraps the kernel of the one before.
func TestChainsAreBounded(t *testing.T) {
	t.Parallel()
	chain := func(n int) string { return "maxdist-p:linear" + strings.Repeat(">scale(2)", n) }
	if _, err := Parse(chain(mostTransforms)); err != nil {
		t.Error(err)
	}
	for n, reason := range map[int]string{
		mostTransforms + 1: "at most 32 transformations",
		60_000:             "the text goes on for 540016 bytes",
	} {
		_, err := Parse(chain(n))
		wrong := (*Error)(nil)
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), reason) || len(err.Error())+len(wrong.Caret()) > 2000 {
			t.Errorf("%d transformations: %.2000v", n, err)
		}
	}
	sum := "maxdist-p:(linear>scale(2)>scale(2)+ll" + strings.Repeat(">scale(2)", mostTransforms-3) + ")>scale(3)"
	if _, err := Parse(sum); err != nil {
		t.Error(err)
	}
	if _, err := Parse(sum + ">scale(4)"); err == nil || !strings.Contains(err.Error(), "at most 32 transformations") ||
		!strings.Contains(err.Error(), fmt.Sprint("character ", len(sum)+2)) {
		t.Errorf("a sum: %v", err)
	}
	s := Spec{Method: maxDist, Mode: P, Kernel: linearKernel(),
		Transforms: slices.Repeat([]Transform{scaleTransform()}, mostTransforms+1)}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "at most 32") {
		t.Errorf("a spec that was not parsed: %v", err)
	}
	if _, err := Parse(strings.Repeat("→", 2000)); err == nil ||
		!strings.Contains(err.Error(), "the text goes on for 6000 bytes") {
		t.Errorf("a long text that is not a spec: %v", err)
	}
}
