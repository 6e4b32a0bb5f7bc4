package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// publishedPrefix begins the id of every published configuration, as in
// NN_lcmd-tp_grad_rp-512.
const publishedPrefix = "NN_"

// published reads an id. Its parts stand between underscores; a transform's
// number follows its name after a hyphen.
func (p *parser) published(id span) {
	p.spec.Compat = true
	p.where.compat = id
	at := id.from + len(publishedPrefix)
	for i, part := range strings.Split(p.text[at:id.to], "_") {
		where := span{at, at + len(part)}
		switch i {
		case 0:
			p.publishedHead(part, where)
		case 1:
			p.publishedKernel(part, where)
		default:
			p.publishedTransform(part, where)
		}
		at = where.to + 1
	}
}

func (p *parser) publishedHead(part string, at span) {
	base, mode := cutMode(part)
	info, ok := findMethod(func(m MethodInfo) bool { return m.published == base && base != "" })
	if !ok {
		p.fail(wrong(p.text, at, "%q is no method of a published id, such as fw-p or lcmd-tp", part))
	}
	p.spec.Method, p.spec.Mode = info.Method, mode
	p.where.method = at
}

func (p *parser) publishedKernel(part string, at span) {
	i := kernelIndex(part)
	if i < 0 {
		p.fail(unknown(p.text, at, "kernel", kernelNames()))
		return
	}
	p.spec.Kernel, p.where.kernel = kernels[i].zero, at
}

func (p *parser) publishedTransform(part string, at span) {
	t, ok := publishedTransformNamed(part)
	if !ok {
		p.fail(wrong(p.text, at, "%q is no transform of a published id, such as rp-512, ens-3 or train", part))
		return
	}
	p.spec.Transforms = append(p.spec.Transforms, t)
	p.where.transforms = append(p.where.transforms, at)
}

// publishedTransformNamed finds the transform whose published form is part.
func publishedTransformNamed(part string) (Transform, bool) {
	name, n := part, 0
	if cut := strings.LastIndexByte(part, '-'); cut >= 0 {
		if v, err := strconv.Atoi(part[cut+1:]); err == nil {
			name, n = part[:cut], v
		}
	}
	if name == "rp" { // random projection
		name = Sketch{}.Info().Name
	}
	i := transformIndex(name)
	if i < 0 {
		return nil, false
	}
	t := transforms[i].zero
	if transforms[i].parameter == count {
		t = transforms[i].with(float64(n))
	}
	form, ok := publishedForm(t)
	return t, ok && form == part // which refuses rp-0512, post and scale(2)
}

// PublishedID returns the id under which the published benchmark knows the spec.
// There is none, and ok is false, without Compat, with another σ², or for parts
// that the published configurations do not have.
func (s Spec) PublishedID() (id string, ok bool) {
	method := s.Method.Info().published
	if method == "" || !s.Compat || s.NoiseVariance() != DefaultSigma2 || s.Validate() != nil {
		return "", false
	}
	if s.Method == Random {
		return publishedPrefix + method, true
	}
	if s.Mode != NoMode {
		method += "-" + s.Mode.String()
	}
	kernel := s.Kernel.String()
	if kernelIndex(kernel) < 0 { // it has a parameter
		return "", false
	}
	parts := []string{method, kernel}
	for _, t := range s.Transforms {
		form, ok := publishedForm(t)
		if !ok {
			return "", false
		}
		parts = append(parts, form)
	}
	return publishedPrefix + strings.Join(parts, "_"), true
}

// publishedForm is a transform as it stands in a published id.
func publishedForm(t Transform) (string, bool) {
	switch t := t.(type) {
	case Scale:
		return "scale", t.Factor == 0
	case Train:
		return "train", true
	case ACSGrad:
		return "acs-grad", true
	case Sketch:
		return fmt.Sprintf("rp-%d", t.P), t.fault() == ""
	case Ensemble:
		return fmt.Sprintf("ens-%d", t.Members), t.fault() == ""
	case ACSRandomFeatures:
		return fmt.Sprintf("acs-rf-%d", t.P), t.fault() == ""
	case ACSRandomFeaturesHyper:
		return fmt.Sprintf("acs-rf-hyper-%d", t.P), t.fault() == ""
	}
	return "", false
}

// The published experiments ran every selection method on these kernels; see the
// tables of all results in the paper's appendix.
var (
	posteriors = []string{"ll_train", "grad_rp-512_train"}
	acsKernels = []string{"grad_rp-512_acs-rf-512", "grad_rp-512_acs-grad", "grad_rp-512_acs-rf-hyper-512", "ll_acs-rf-512"}
	plainTP    = []string{"linear", "nngp", "ll", "grad", "grad_rp-512", "grad_ens-3_rp-512", "ll_ens-3_rp-512"}
	forDist    = []string{"maxdist", "kmeanspp", "lcmd"}
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
	return parsePublished(ids)
}

// Selected returns the configuration of each selection method that the
// paper shows in its figures (its table of selected kernels and modes), with
// Compat set; random first.
func Selected() []Spec {
	return parsePublished([]string{
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

func parsePublished(ids []string) []Spec {
	specs := make([]Spec, len(ids))
	for i, id := range ids {
		specs[i] = MustParse(publishedPrefix + id)
	}
	return specs
}
