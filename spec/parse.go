package spec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads a spec: its text as described at Spec, the name of a preset
// with or without options, or the id of a published configuration. The error is
// an *Error.
func Parse(text string) (Spec, error) {
	if len(text) > longestText {
		return Spec{}, tooLong(text)
	}
	p := parser{text: text}
	p.parse()
	if p.err != nil {
		return Spec{}, p.err
	}
	if err := p.spec.check(text, p.where); err != nil {
		return Spec{}, err
	}
	return p.spec, nil
}

// longestText is far longer than a spec of mostTransforms transformations.
const longestText = 4096

// tooLong rejects a text that no message should repeat.
func tooLong(text string) *Error {
	const shown = 60
	start := strings.ToValidUTF8(text[:shown], "")
	return wrong(start+"…", extent{len(start), len(start)}, "the text goes on for %d bytes, and a spec has at most %d",
		len(text), longestText)
}

// UnmarshalText parses what Parse parses.
func (s *Spec) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// MustParse is Parse for texts that are part of the program: it panics on an
// error.
func MustParse(text string) Spec {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// parser reads from left to right and stops at the first error.
type parser struct {
	text  string
	at    int
	spec  Spec
	where layout
	err   *Error
}

func (p *parser) fail(err *Error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) parse() {
	name := p.methodName()
	if p.err != nil {
		return
	}
	if strings.HasPrefix(p.text[name.from:], publishedPrefix) {
		var err *Error
		if p.spec, p.where, err = readPublished(p.text, name); err != nil {
			p.fail(err)
		}
	} else {
		p.head(name)
		if p.err == nil && p.take(':') {
			p.chain()
		}
		p.options()
	}
	if p.err == nil && p.at < len(p.text) {
		p.unexpected()
	}
}

// head reads a preset, or a method with its mode.
func (p *parser) head(name extent) {
	p.where.method = name
	written := p.text[name.from:name.to]
	if preset, ok := presetNamed(written); ok && p.peek() != ':' {
		p.spec = preset.Spec
		p.where = presetLayout(name, len(preset.Spec.Transforms))
		return
	}
	base, mode := cutMode(written)
	if Method(base).Info().Name == "" {
		p.fail(unknown(p.text, name, "method", append(heads(), presetNames()...)))
	}
	p.spec.Method, p.spec.Mode = Method(base), mode
}

// chain reads a kernel, or a sum of kernels, and its transforms.
func (p *parser) chain() {
	p.skip()
	from := p.at
	inside := p.take('(')
	terms, where := p.sum()
	if p.err == nil && inside && !p.take(')') {
		p.fail(wrong(p.text, extent{from, from + 1}, "the parenthesis is not closed"))
	}
	if p.err != nil {
		return
	}
	if all := (extent{from, p.at}); len(terms) > 1 {
		p.spec.Terms, p.where.terms, p.where.kernel = terms, where, all
	} else if inside || where[0].weight != (extent{}) {
		p.fail(wrong(p.text, all, "parentheses and weights are for sums of kernels, as in grad+0.5*matern"))
	} else {
		p.spec.Kernel, p.where.chainLayout = terms[0].Kernel, where[0]
		p.spec.Transforms = terms[0].Transforms
	}
	if inside {
		p.spec.Transforms, p.where.transforms = p.transforms()
	}
}

// sum reads terms.
func (p *parser) sum() (terms []Term, where []chainLayout) {
	for {
		t, at := p.term()
		terms, where = append(terms, t), append(where, at)
		if p.err != nil || !p.take('+') {
			return terms, where
		}
	}
}

// term reads a weight, which may be omitted, a kernel and its transforms.
func (p *parser) term() (t Term, where chainLayout) {
	if strings.IndexByte("0123456789.-", p.peek()) >= 0 {
		const syntax = "0.5*grad"
		from := p.at
		t.Weight = weight.canonical(p.number(false, syntax))
		where.weight = extent{from, p.at}
		if p.err == nil && !p.take('*') {
			p.fail(wrong(p.text, extent{p.at, p.at}, "a * is missing between the weight and its kernel: %s", syntax))
		}
	}
	t.Kernel, where.kernel = p.kernel()
	t.Transforms, where.transforms = p.transforms()
	return t, where
}

func (p *parser) kernel() (Kernel, extent) {
	name := p.name("a kernel")
	if p.err != nil {
		return Kernel{}, name
	}
	info, ok := allKernels.find(p.text[name.from:name.to])
	if !ok {
		p.fail(unknown(p.text, name, "kernel", allKernels.names()))
		return Kernel{}, name
	}
	k := Kernel{Name: info.Name, Number: p.argument(name, info.Parameter)}
	return k, extent{name.from, p.at}
}

func (p *parser) transforms() (list []Transform, where []extent) {
	for p.err == nil && p.take('>') {
		name := p.name("a transform")
		if p.err != nil {
			break
		}
		info, ok := transforms.find(p.text[name.from:name.to])
		if !ok {
			p.fail(unknown(p.text, name, "transform", transforms.names()))
			break
		}
		list = append(list, Transform{Name: info.Name, Number: p.argument(name, info.Parameter)})
		where = append(where, extent{name.from, p.at})
	}
	return list, where
}

// options reads what follows @ signs.
func (p *parser) options() {
	for p.err == nil && p.peek() == '@' {
		from := p.at
		p.at++
		name := p.name("an option")
		if p.err != nil {
			return
		}
		switch p.text[name.from:name.to] {
		case "compat":
			p.once(name, &p.where.compat)
			p.spec.Compat = true
			p.where.compat = extent{from, p.at}
		case "sigma2":
			p.once(name, &p.where.sigma2)
			p.sigma2(name)
			p.where.sigma2 = extent{from, p.at}
		default:
			p.fail(unknown(p.text, name, "option", []string{"compat", "sigma2"}))
		}
	}
}

func (p *parser) once(name extent, seen *extent) {
	if *seen != (extent{}) {
		p.fail(wrong(p.text, name, "this option is given twice"))
	}
}

func (p *parser) sigma2(name extent) {
	variance := Parameter{Name: "variance"}
	p.spec.Sigma2 = Parameter{Default: DefaultSigma2}.canonical(p.argument(name, variance))
}

// argument reads a number in parentheses; it returns zero if there is none, or
// if it is the default. An explicit zero is rejected, because zero stands for
// the default.
func (p *parser) argument(name extent, want Parameter) float64 {
	open, syntax := p.at, want.syntax(p.text[name.from:name.to])
	given := p.peek() == '('
	switch {
	case !given && want.Name != "" && !want.Optional:
		p.fail(wrong(p.text, extent{name.to, name.to}, "a number is missing: %s", syntax))
	case given && want.Name == "":
		p.fail(wrong(p.text, extent{p.at, p.at + 1}, "%s takes no number", syntax))
	}
	if !given || p.err != nil {
		return 0
	}
	p.at++
	v := p.number(want.Whole, syntax)
	if p.err == nil && !p.take(')') {
		p.fail(wrong(p.text, extent{open, open + 1}, "the parenthesis is not closed"))
	}
	return want.canonical(v)
}

func (p *parser) number(whole bool, syntax string) float64 {
	p.skip()
	from := p.at
	for p.at < len(p.text) && strings.IndexByte("0123456789.eE+-", p.text[p.at]) >= 0 {
		p.at++
	}
	at := extent{from, p.at}
	v, err := strconv.ParseFloat(p.text[from:p.at], 64)
	switch {
	case from == p.at:
		p.fail(wrong(p.text, at, "a number is missing: %s", syntax))
	case err != nil:
		p.fail(wrong(p.text, at, "%q is not a number within range", p.text[from:p.at]))
	case v <= 0:
		p.fail(wrong(p.text, at, "the number must be positive: %s", syntax))
	case whole && (v != float64(int(v)) || v > 1<<40):
		p.fail(wrong(p.text, at, "the number must be whole and at most 2^40: %s", syntax))
	}
	return v
}

// methodName reads the name of a method. People may write k-means++ for one.
func (p *parser) methodName() extent {
	return p.nameOf("a method", func(c byte) bool { return inName(c) || c == '+' })
}

// name reads letters, digits and the punctuation that names may contain.
func (p *parser) name(what string) extent { return p.nameOf(what, inName) }

func (p *parser) nameOf(what string, has func(c byte) bool) extent {
	p.skip()
	from := p.at
	for p.at < len(p.text) && has(p.text[p.at]) {
		p.at++
	}
	if from == p.at {
		p.fail(wrong(p.text, extent{from, from}, "%s is missing", what))
	}
	return extent{from, p.at}
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// take moves past the character c, if it comes next.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// peek returns the next character that is not a space, 0 at the end.
func (p *parser) peek() byte {
	p.skip()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) skip() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

func (p *parser) unexpected() {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	at := extent{p.at, p.at + size}
	err := wrong(p.text, at, "%q is not expected here", p.text[at.from:at.to])
	if r == '→' {
		err.Suggest = ">"
	}
	p.fail(err)
}
