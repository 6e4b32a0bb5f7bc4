package spec

import (
	"slices"
	"strconv"
	"strings"
)

// publishedPrefix starts the id of every published configuration, as in
// NN_lcmd-tp_grad_rp-512.
const publishedPrefix = "NN_"

// readPublished reads the id at a place in a text. Underscores separate its
// parts; a transform's number follows its name after a hyphen.
func readPublished(text string, id extent) (s Spec, where layout, err *Error) {
	s.Compat, where.compat = true, id
	at := id.from + len(publishedPrefix)
	for i, part := range strings.Split(text[at:id.to], "_") {
		here := extent{at, at + len(part)}
		switch i {
		case 0:
			where.method = here
			s.Method, s.Mode, err = publishedHead(text, here)
		case 1:
			where.kernel = here
			s.Kernel, err = publishedKernel(text, here)
		default:
			var t Transform
			t, err = publishedTransform(text, here)
			s.Transforms, where.transforms = append(s.Transforms, t), append(where.transforms, here)
		}
		if err != nil {
			return Spec{}, layout{}, err
		}
		at = here.to + 1
	}
	return s, where, nil
}

func publishedHead(text string, at extent) (Method, Mode, *Error) {
	part := text[at.from:at.to]
	base, mode := cutMode(part)
	for _, m := range Methods() {
		if m.published == base && base != "" {
			return Method(m.Name), mode, nil
		}
	}
	return "", NoMode, wrong(text, at, "%q is not a method of a published id, such as fw-p or lcmd-tp", part)
}

func publishedKernel(text string, at extent) (Kernel, *Error) {
	var known []string
	for _, k := range Kernels() {
		if k.published {
			known = append(known, k.Name)
		}
	}
	name := text[at.from:at.to]
	if !slices.Contains(known, name) {
		return Kernel{}, unknown(text, at, "kernel", known)
	}
	return Kernel{Name: name}, nil
}

func publishedTransform(text string, at extent) (Transform, *Error) {
	part := text[at.from:at.to]
	name, n := part, 0
	if cut := strings.LastIndexByte(part, '-'); cut >= 0 {
		if v, err := strconv.Atoi(part[cut+1:]); err == nil {
			name, n = part[:cut], v
		}
	}
	for _, info := range Transforms() {
		t := Transform{Name: info.Name, Number: float64(n)}
		if form, ok := publishedForm(t); ok && info.published == name && form == part { // which refuses rp-0512
			return t, nil
		}
	}
	return Transform{}, wrong(text, at, "%q is not a transform of a published id, such as rp-512, ens-3 or train", part)
}

// publishedForm writes a transform as published ids do: with a number if and
// only if one is required.
func publishedForm(t Transform) (string, bool) {
	info := t.canonical().Info()
	number := info.Parameter.Name != "" && !info.Parameter.Optional
	if info.published == "" || number != (t.Number != 0) || info.Parameter.fault(t.Name, t.Number) != "" {
		return "", false
	}
	if !number {
		return info.published, true
	}
	return info.published + "-" + strconv.Itoa(int(t.Number)), true
}

// PublishedID returns the id that the published benchmark uses for the spec.
// There is none, and ok is false, without Compat, with another σ², or for parts
// that no published configuration has.
func (s Spec) PublishedID() (id string, ok bool) {
	method := s.Method.Info().published
	if method == "" || !s.Compat || s.NoiseVariance() != DefaultSigma2 || s.Validate() != nil {
		return "", false
	}
	if !s.UsesKernel() {
		return publishedPrefix + method, true
	}
	if s.Mode != NoMode {
		method += "-" + s.Mode.String()
	}
	kernel := s.Kernel.canonical()
	if !kernel.Info().published || kernel.Number != 0 {
		return "", false
	}
	parts := []string{method, kernel.Name}
	for _, t := range s.Transforms {
		form, ok := publishedForm(t)
		if !ok {
			return "", false
		}
		parts = append(parts, form)
	}
	return publishedPrefix + strings.Join(parts, "_"), true
}

// The published experiments ran every selection method on these kernels; see the
// tables of all results in the paper's appendix.
var (
	posteriors = []string{"ll_train", "grad_rp-512_train"}
	acsKernels = []string{"grad_rp-512_acs-rf-512", "grad_rp-512_acs-grad",
		"grad_rp-512_acs-rf-hyper-512", "ll_acs-rf-512"}
	plainTP = []string{"linear", "nngp", "ll", "grad", "grad_rp-512", "grad_ens-3_rp-512", "ll_ens-3_rp-512"}
	forDist = []string{"maxdist", "kmeanspp", "lcmd"}
)

// Published returns the 76 configurations of the published benchmark, with
// Compat set.
func Published() []Spec {
	ids := []string{"random"}
	add := func(head string, kernels ...string) {
		for _, k := range kernels {
			ids = append(ids, head+"_"+k)
		}
	}
	add("bait-f-p", posteriors...)
	add("bait-f-p", "linear_train", "grad_ens-3_rp-512_train", "ll_ens-3_rp-512_train")
	add("bait-fb-p", posteriors...)
	add("maxdet-p", posteriors...)
	add("maxdet-p", "grad_ens-3_rp-512_train", "ll_ens-3_rp-512_train", "linear_train")
	add("maxdet-p", acsKernels...)
	add("maxdet-tp", "grad_scale", "nngp_scale")
	for _, m := range forDist {
		add(m+"-tp", plainTP...)
		add(m+"-p", slices.Concat(posteriors, acsKernels)...)
	}
	add("maxdiag", slices.Concat(posteriors, acsKernels)...)
	add("maxdiag", "grad_ens-3_rp-512_train", "linear_train", "nngp_train", "grad_train")
	add("fw-p", posteriors...)
	add("fw-p", "ll_acs-grad_rp-512", "grad_rp-512_acs-grad_rp-512", "ll_acs-rf-512", "grad_rp-512_acs-rf-512",
		"ll_acs-rf-hyper-512", "grad_rp-512_acs-rf-hyper-512")
	return readAll(ids)
}

// Selected returns the configuration of each selection method that the
// paper shows in its figures (its table of selected kernels and modes), with
// Compat set; random first.
func Selected() []Spec {
	return readAll([]string{
		"random",
		"maxdiag_grad_rp-512_acs-rf-512",
		"maxdet-p_grad_rp-512_train",
		"bait-f-p_grad_rp-512_train",
		"fw-p_grad_rp-512_acs-rf-hyper-512",
		"maxdist-p_grad_rp-512_train",
		"kmeanspp-p_grad_rp-512_acs-rf-512",
		"lcmd-tp_grad_rp-512",
	})
}

func readAll(ids []string) []Spec {
	specs := make([]Spec, len(ids))
	for i, id := range ids {
		text := publishedPrefix + id
		s, _, err := readPublished(text, extent{0, len(text)})
		if err != nil {
			panic(err) // the lists above are constant
		}
		specs[i] = s
	}
	return specs
}
