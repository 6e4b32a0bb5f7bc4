package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Count is how many candidates a space has.
type Count struct {
	N         *big.Int // nil if a factor takes any value of a range
	Estimated bool     // it is about N
}

// String is the number in words.
func (c Count) String() string {
	switch {
	case c.N == nil:
		return "unlimited, because factors take any value"
	case c.Estimated:
		return "about " + grouped(c.N)
	}
	return grouped(c.N)
}

// grouped writes a number with commas between thousands.
func grouped(n *big.Int) string {
	digits := n.String()
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// Counted is a space whose candidates have been counted, and can be listed or sampled.
type Counted struct {
	*Space
	Count    Count
	Notes    []string // in which steps candidates are, where the description has none
	diagrams []*diagram
	relaxed  bool // paths of some diagrams are no candidates
}

// Count counts the candidates without building them. That there are none is an error, which names the constraints that
// cannot hold together.
func (s *Space) Count(ctx context.Context) (*Counted, error) {
	c := &Counted{Space: s, Count: Count{N: big.NewInt(1)}}
	var none *ConflictError // the one with the fewest constraints
	for _, members := range s.groups() {
		d, found, err := s.solve(ctx, members)
		if conflict := (*ConflictError)(nil); errors.As(err, &conflict) {
			if none == nil || len(conflict.Constraints) < len(none.Constraints) {
				none = conflict
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		c.diagrams = append(c.diagrams, d)
		for _, s := range d.group.sums {
			c.relaxed = c.relaxed || s.round > 0
		}
		open := slices.ContainsFunc(d.group.variables, func(v *variable) bool { return v.open })
		if open {
			c.Count = Count{}
		} else if c.Count.N != nil {
			c.Count.N.Mul(c.Count.N, found.N)
			c.Count.Estimated = c.Count.Estimated || found.Estimated
		}
	}
	if none != nil {
		return nil, none
	}
	for _, v := range s.variables {
		if v.open && !v.log {
			step := v.runs[len(v.runs)-1].step
			c.Notes = append(c.Notes, fmt.Sprintf("candidates have %s in steps of %s", v.name, v.text(step)))
		}
	}
	return c, nil
}

// groups returns the variables that constraints link, group by group.
func (s *Space) groups() (list [][]int) {
	group := make([]int, len(s.variables))
	for i := range group {
		group[i] = i
	}
	for _, r := range s.rules {
		to := group[r.variables[0]]
		for _, v := range r.variables[1:] {
			from := group[v]
			for i := range group {
				if group[i] == from {
					group[i] = to
				}
			}
		}
	}
	at := map[int]int{}
	for v, g := range group {
		if _, seen := at[g]; !seen {
			at[g] = len(list)
			list = append(list, nil)
		}
		list[at[g]] = append(list[at[g]], v)
	}
	return list
}

// group makes a group of variables, the largest last: its values need no nodes of their own.
func (s *Space) group(members []int, rules []*rule) *group {
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b int) int { return s.variables[a].size().Cmp(s.variables[b].size()) })
	g := &group{at: members}
	for _, v := range members {
		g.variables = append(g.variables, s.variables[v])
	}
	for _, r := range rules {
		if r.logic != nil {
			g.logics = append(g.logics, r.logic)
			continue
		}
		one := &sum{slope: make([]int64, len(members)), present: make([]bool, len(members)), least: r.limit.least,
			most: r.limit.most}
		for i, v := range r.variables {
			at := slices.Index(members, v)
			one.slope[at], one.present[at] = r.limit.slope[i], r.limit.present
		}
		g.sums = append(g.sums, one)
	}
	return g
}

// effort is how a group is counted: with the steps of open variables so many times coarser, and with sums rounded to
// so many parts of their range; 0 for exact ones.
type effort struct{ coarser, parts int64 }

// solve counts the candidates of a group, with as little effort as it takes.
func (s *Space) solve(ctx context.Context, members []int) (*diagram, Count, error) {
	rules := slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool {
		return !slices.Contains(members, r.variables[0])
	})
	efforts := []effort{{1, 0}, {1, 1000}, {1, 200}, {1, 50}}
	if slices.ContainsFunc(members, func(v int) bool { return s.variables[v].open }) {
		efforts = []effort{{1, 0}, {2, 0}, {5, 0}, {10, 0}, {10, 500}, {10, 100}, {20, 0}, {50, 0}, {50, 50}}
	}
	for _, e := range efforts {
		for _, v := range members {
			s.variables[v].grid(e.coarser)
		}
		g := s.group(members, rules)
		if e.parts > 0 && !g.round(e.parts) {
			continue
		}
		d, err := g.build(ctx)
		switch {
		case errors.Is(err, errTooMany):
			continue
		case err != nil:
			return nil, Count{}, err
		case d.count.Sign() == 0 && e.coarser > 1:
			continue // finer steps may have some
		case d.count.Sign() == 0:
			return nil, Count{}, s.conflict(ctx, rules)
		case e.parts == 0:
			return d, Count{N: d.count}, nil
		}
		if found := d.estimate(); found.Sign() > 0 {
			return d, Count{N: found, Estimated: true}, nil
		}
	}
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.place())
	}
	return nil, Count{}, fmt.Errorf(
		"%s: it takes too long to find combinations for %s; use larger steps, or fewer constraints", s.path,
		words.List(texts))
}

// round lets the states of sums with one limit be multiples of a part of their range; false if there is no such sum.
func (g *group) round(parts int64) (some bool) {
	for _, s := range g.sums {
		if s.least != -unlimited && s.most != unlimited {
			continue
		}
		size := int64(0)
		for i, v := range g.variables {
			least, most := int64(0), int64(0)
			for _, r := range v.runs {
				c, slope := s.contribution(i, r)
				least, most = min(least, c, c+slope*(r.n-1)), max(most, c, c+slope*(r.n-1))
			}
			size += most - least
		}
		s.round = size / parts
		some = some || s.round > 1
	}
	return some
}

// trials is how many paths of a diagram with rounded sums estimate the share of candidates among them.
const trials = 20_000

// estimate returns about how many candidates there are where sums are rounded.
func (d *diagram) estimate() *big.Int {
	stream := rng.New(0, "space estimate")
	values := make([]int64, len(d.group.variables))
	mean := 0.0
	for range trials {
		d.walk(func(int) float64 { return stream.Float64() }, values)
		if d.group.allows(values) {
			mean += d.weight() / d.density(values) / trials
		}
	}
	if math.IsInf(mean, 0) || math.IsNaN(mean) {
		return new(big.Int)
	}
	digits, _ := new(big.Float).SetFloat64(mean).Int(nil)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(0, len(digits.String())-2))), nil) // two digits
	return digits.Mul(digits.Div(digits.Add(digits, new(big.Int).Rsh(unit, 1)), unit), unit)
}

// place names a rule for messages.
func (r *rule) place() string { return fmt.Sprintf("%q (line %d)", r.text, r.line) }

// ConflictError reports that no candidate meets some constraints, the fewest that are enough.
type ConflictError struct {
	Path        string
	Constraints []string // in words, with their lines
	Steps       bool     // a factor takes any value, and only its steps were tried
}

func (e *ConflictError) Error() string {
	text := e.Path + ": there are no candidates: " + words.List(e.Constraints)
	switch len(e.Constraints) {
	case 1:
		text += " cannot be met"
	case 2:
		text += " cannot both hold"
	default:
		text += " cannot hold together"
	}
	if e.Steps {
		text += ", at least in steps of a thousandth of the ranges without a step"
	}
	return text
}

// mostBuilds bounds how many sets of constraints are tried for the smallest one that leaves no candidates.
const mostBuilds = 2000

// conflict finds the smallest set of rules that leaves no candidates, among rules that do.
func (s *Space) conflict(ctx context.Context, rules []*rule) error {
	left := mostBuilds
	impossible := func(some []*rule) (bool, error) {
		left--
		var members []int
		for _, r := range some {
			for _, v := range r.variables {
				if !slices.Contains(members, v) {
					members = append(members, v)
				}
			}
		}
		d, err := s.group(members, some).build(ctx)
		if errors.Is(err, errTooMany) {
			return false, nil
		}
		return err == nil && d.count.Sign() == 0, err
	}
	fewest := slices.Clone(rules)
	for i := 0; i < len(fewest); { // none of these can be left out
		rest := slices.Delete(slices.Clone(fewest), i, i+1)
		none, err := impossible(rest)
		switch {
		case err != nil:
			return err
		case none:
			fewest = rest
		default:
			i++
		}
	}
	for size := 1; size < len(fewest); size++ { // but others may be fewer
		found, err := smaller(rules, size, func(some []*rule) (bool, error) {
			if left <= 0 {
				return false, nil
			}
			return impossible(some)
		})
		if err != nil {
			return err
		}
		if found != nil {
			fewest = found
			break
		}
	}
	slices.SortStableFunc(fewest, func(a, b *rule) int { return cmp.Compare(a.line, b.line) })
	e := &ConflictError{Path: s.path}
	for _, r := range fewest {
		e.Constraints = append(e.Constraints, r.place())
		for _, v := range r.variables {
			e.Steps = e.Steps || s.variables[v].open
		}
	}
	return e
}

// smaller returns the first set of so many rules for which the function is true; nil if there is none.
func smaller(rules []*rule, size int, is func([]*rule) (bool, error)) ([]*rule, error) {
	at := make([]int, size)
	for i := range at {
		at[i] = i
	}
	for {
		some := make([]*rule, size)
		for i, r := range at {
			some[i] = rules[r]
		}
		if yes, err := is(some); yes || err != nil {
			return some, err
		}
		i := size - 1
		for i >= 0 && at[i] == len(rules)-size+i {
			i--
		}
		if i < 0 {
			return nil, nil
		}
		for at[i]++; i+1 < size; i++ {
			at[i+1] = at[i] + 1
		}
	}
}
