package space

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formula is a number, a name, or an operation on formulas.
type formula struct {
	op     string // number, name, an operator, or a function
	number decimal
	name   string
	args   []*formula
}

// functions of formulas, and how many arguments they have.
var functions = map[string]int{"abs": 1, "exp": 1, "log": 1, "log10": 1, "max": 2, "min": 2, "sqrt": 1}

// relations between the sides of a constraint; the longer ones first.
var relations = []string{"<=", ">=", "==", "=", "<", ">"}

// tokens splits a formula into numbers, names and signs. A name in quotes begins with a quotation mark.
func tokens(text string) (list []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		size := 0
		first, width := utf8.DecodeRuneInString(text)
		switch {
		case first >= '0' && first <= '9' || first == '.':
			size = numberSize(text)
		case unicode.IsLetter(first) || first == '_':
			for i, r := range text {
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
					break
				}
				size = i + utf8.RuneLen(r)
			}
		case first == '\'' || first == '"' || first == '`':
			end := strings.IndexRune(text[1:], first)
			if end < 0 {
				return nil, fmt.Errorf("the quotation mark before %s is not closed", text[1:])
			}
			list, text = append(list, `"`+text[1:end+1]), text[end+2:]
			continue
		case strings.ContainsRune("+-*/^(),<>=", first):
			size = 1
			if slices.Contains(relations, text[:min(2, len(text))]) {
				size = min(2, len(text))
			}
		default:
			return nil, fmt.Errorf("%q cannot be part of a formula", text[:width])
		}
		list, text = append(list, text[:size]), text[size:]
	}
	return list, nil
}

// numberSize is the length of the number that a text begins with.
func numberSize(text string) int {
	size := 0
	for size < len(text) {
		c := text[size]
		sign := (c == '+' || c == '-') && size > 0 && (text[size-1] == 'e' || text[size-1] == 'E')
		exponent := (c == 'e' || c == 'E') && size+1 < len(text) && strings.IndexByte("+-0123456789", text[size+1]) >= 0 &&
			!strings.ContainsAny(text[:size], "eE")
		if c != '.' && (c < '0' || c > '9') && !sign && !exponent {
			break
		}
		size++
	}
	return size
}

// parser reads formulas.
type parser struct {
	tokens []string
	depth  int
}

// parse reads a formula without a relation.
func parse(text string) (*formula, error) {
	list, err := tokens(text)
	if err != nil {
		return nil, err
	}
	return whole(list)
}

// whole reads a formula of all these tokens.
func whole(list []string) (*formula, error) {
	p := &parser{tokens: list}
	f, err := p.sum()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%s is not expected there", p.next())
	}
	return f, err
}

// parseRelation reads two formulas and the relation between them.
func parseRelation(text string) (left *formula, relation string, right *formula, err error) {
	list, err := tokens(text)
	if err != nil {
		return nil, "", nil, err
	}
	at := slices.IndexFunc(list, func(token string) bool { return slices.Contains(relations, token) })
	if at < 0 {
		return nil, "", nil, errors.New("it needs <=, >=, <, > or = between two sides")
	}
	if left, err = whole(list[:at]); err == nil {
		right, err = whole(list[at+1:])
	}
	return left, strings.Replace(list[at], "==", "=", 1), right, err
}

// next is the token that follows, in words.
func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return "the end"
	}
	return strings.TrimPrefix(p.tokens[0], `"`)
}

func (p *parser) take(signs ...string) string {
	if len(p.tokens) > 0 && slices.Contains(signs, p.tokens[0]) {
		sign := p.tokens[0]
		p.tokens = p.tokens[1:]
		return sign
	}
	return ""
}

func (p *parser) sum() (*formula, error) { return p.chain(p.product, "+", "-") }

func (p *parser) product() (*formula, error) { return p.chain(p.signed, "*", "/") }

// chain reads operands with operators of one rank between them.
func (p *parser) chain(operand func() (*formula, error), signs ...string) (*formula, error) {
	left, err := operand()
	for err == nil {
		sign := p.take(signs...)
		if sign == "" {
			return left, nil
		}
		var right *formula
		right, err = operand()
		left = &formula{op: sign, args: []*formula{left, right}}
		p.depth++
		if p.depth > mostDepth {
			return nil, errTooLong
		}
	}
	return nil, err
}

// mostDepth bounds the operations of a formula, and so how deep one goes.
const mostDepth = 1000

var errTooLong = errors.New("the formula is too long")

func (p *parser) signed() (*formula, error) {
	if p.depth++; p.depth > mostDepth {
		return nil, errTooLong
	}
	switch p.take("-", "+") {
	case "-":
		of, err := p.signed()
		return &formula{op: "-", args: []*formula{{op: "number"}, of}}, err
	case "+":
		return p.signed()
	}
	base, err := p.atom()
	if err == nil && p.take("^") != "" {
		var power *formula
		power, err = p.signed()
		base = &formula{op: "^", args: []*formula{base, power}}
	}
	return base, err
}

func (p *parser) atom() (*formula, error) {
	if p.take("(") != "" {
		inner, err := p.sum()
		if err == nil && p.take(")") == "" {
			err = fmt.Errorf("a bracket is not closed before %s", p.next())
		}
		return inner, err
	}
	if len(p.tokens) == 0 {
		return nil, errors.New("the formula ends where a number or a name is expected")
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	first, _ := utf8.DecodeRuneInString(token)
	switch {
	case first == '"':
		return &formula{op: "name", name: token[1:]}, nil
	case first >= '0' && first <= '9' || first == '.':
		v, err := strconv.ParseFloat(token, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", token)
		}
		d, err := decimalOf(v)
		return &formula{op: "number", number: d}, err
	case !unicode.IsLetter(first) && first != '_':
		return nil, fmt.Errorf("%s is not expected there", token)
	case p.take("(") != "":
		return p.call(token)
	}
	return &formula{op: "name", name: token}, nil
}

// call reads the arguments of a function.
func (p *parser) call(name string) (*formula, error) {
	count, known := functions[name]
	if !known {
		return nil, fmt.Errorf("there is no function %s; there are abs, exp, log, log10, max, min and sqrt", name)
	}
	f := &formula{op: name}
	for {
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		f.args = append(f.args, arg)
		if p.take(",") == "" {
			break
		}
	}
	switch {
	case p.take(")") == "":
		return nil, fmt.Errorf("a bracket is not closed before %s", p.next())
	case len(f.args) != count:
		return nil, fmt.Errorf("%s has %d arguments, not %d", name, count, len(f.args))
	}
	return f, nil
}

// names visits the names in a formula.
func (f *formula) names(visit func(name string)) {
	if f.op == "name" {
		visit(f.name)
	}
	for _, arg := range f.args {
		arg.names(visit)
	}
}

// value computes the formula.
func (f *formula) value(of func(name string) float64) float64 {
	var x, y float64
	if len(f.args) > 0 {
		x = f.args[0].value(of)
	}
	if len(f.args) > 1 {
		y = f.args[1].value(of)
	}
	switch f.op {
	case "number":
		return f.number.float()
	case "name":
		return of(f.name)
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "^":
		return math.Pow(x, y)
	case "abs":
		return math.Abs(x)
	case "exp":
		return math.Exp(x)
	case "log":
		return math.Log(x)
	case "log10":
		return math.Log10(x)
	case "max":
		return max(x, y)
	case "min":
		return min(x, y)
	}
	return math.Sqrt(x)
}

// linear is a sum of names with coefficients, and a constant under the empty name.
type linear map[string]*big.Rat

func (l linear) constant() bool {
	_, own := l[""]
	return len(l) == 0 || own && len(l) == 1
}

// add adds another one, times a factor.
func (l linear) add(other linear, times *big.Rat) linear {
	sum := linear{}
	for name, v := range l {
		sum[name] = v
	}
	for name, v := range other {
		v = new(big.Rat).Mul(v, times)
		if sum[name] != nil {
			v.Add(v, sum[name])
		}
		if sum[name] = v; v.Sign() == 0 {
			delete(sum, name)
		}
	}
	return sum
}

// linear returns the formula as a linear one, exactly.
func (f *formula) linear() (linear, error) {
	switch f.op {
	case "number":
		return linear{}.add(linear{"": f.number.rat()}, big.NewRat(1, 1)), nil
	case "name":
		return linear{f.name: big.NewRat(1, 1)}, nil
	case "+", "-", "*", "/":
	default:
		return nil, fmt.Errorf("only linear sums of factors can be used, not %s", f.op)
	}
	left, err := f.args[0].linear()
	if err != nil {
		return nil, err
	}
	right, err := f.args[1].linear()
	if err != nil {
		return nil, err
	}
	constant := new(big.Rat)
	if right[""] != nil {
		constant = right[""]
	}
	switch {
	case f.op == "+":
		return left.add(right, big.NewRat(1, 1)), nil
	case f.op == "-":
		return left.add(right, big.NewRat(-1, 1)), nil
	case f.op == "/" && right.constant() && constant.Sign() == 0:
		return nil, errors.New("a division by zero")
	case f.op == "/" && right.constant():
		return linear{}.add(left, new(big.Rat).Inv(constant)), nil
	case f.op == "*" && right.constant():
		return linear{}.add(left, constant), nil
	case f.op == "*" && left.constant():
		if constant = left[""]; constant == nil {
			return linear{}, nil
		}
		return linear{}.add(right, constant), nil
	}
	return nil, errors.New("only linear sums of factors can be used, no products of them")
}
