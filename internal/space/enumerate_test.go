package space

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// small is a random small space: its description, and the same as lists of values and functions of a row.
type small struct {
	text  strings.Builder
	line  int
	names []string
	size  map[string][]any // float64, string, or nil where the factor does not exist
	rules map[int]func(row map[string]any) bool
}

func (s *small) write(format string, args ...any) int {
	fmt.Fprintf(&s.text, format+"\n", args...)
	s.line++
	return s.line
}

func (s *small) add(name string, values ...any) {
	s.names = append(s.names, name)
	s.size[name] = values
}

func randomSmall(r *rand.Rand) *small {
	s := &small{size: map[string][]any{}, rules: map[int]func(map[string]any) bool{}}
	for i := range 1 + r.IntN(4) {
		s.factor(r, "f"+strconv.Itoa(i))
	}
	if r.IntN(2) == 0 {
		s.mixture(r)
	}
	for range r.IntN(4) {
		s.write("[[constraint]]")
		switch r.IntN(3) {
		case 0:
			s.linear(r)
		case 1:
			text, holds := s.conditions(r, 1+r.IntN(3), "")
			s.rules[s.write("forbid = %s", text)] = func(row map[string]any) bool { return !holds(row) }
		default:
			text, holds := s.conditions(r, 1+r.IntN(2), "")
			line := s.write("require = %s", text)
			s.rules[line] = holds
			if r.IntN(3) > 0 {
				text, when := s.conditions(r, 1+r.IntN(2), "")
				s.write("when = %s", text)
				s.rules[line] = func(row map[string]any) bool { return !when(row) || holds(row) }
			}
		}
	}
	return s
}

func (s *small) factor(r *rand.Rand, name string) {
	s.write("[[factor]]")
	s.write("name = %q", name)
	values := []any{}
	switch r.IntN(6) {
	case 0:
		step := []float64{0.1, 0.25, 5}[r.IntN(3)]
		n := 1 + r.IntN(4)
		s.write("range = [%v, %v]\nstep = %v", -step, math.Round(1000*(-step+step*(float64(n)+0.5)))/1000, step)
		s.line++
		for i := range n + 1 {
			values = append(values, math.Round((-step+step*float64(i))*100)/100)
		}
	case 1:
		s.write("range = [0.3, 1.3]\nresolution = 0.25\nlog = true")
		s.line += 2
		values = []any{0.5, 0.75, 1.0, 1.25}
	case 2:
		s.write("integers = [-1, 2]")
		values = []any{-1.0, 0.0, 1.0, 2.0}
	case 3:
		s.write("levels = [7, 0.5, -2]")
		values = []any{-2.0, 0.5, 7.0}
	case 4:
		s.write("value = 1.5")
		values = []any{1.5}
	default:
		s.write(`categories = ["a", "b", "c"]`)
		values = []any{"a", "b", "c"}
	}
	if len(s.names) > 0 && r.IntN(3) == 0 {
		text, holds := s.conditions(r, 1+r.IntN(2), name)
		values = append(values, nil)
		s.rules[s.write("when = %s", text)] = func(row map[string]any) bool { return holds(row) == (row[name] != nil) }
	}
	s.add(name, values...)
}

func (s *small) mixture(r *rand.Rand) {
	s.write("[[mixture]]")
	s.write("name = \"blend\"")
	s.write("sum = 2")
	sum := s.line
	s.write("step = 0.5")
	parts, most := 2+r.IntN(2), 0
	if r.IntN(2) == 0 {
		most = 1 + r.IntN(2)
		line := s.write("at_most = %d", most)
		s.rules[line] = func(row map[string]any) bool {
			present := 0
			for name, v := range row {
				if strings.HasPrefix(name, "p") && v.(float64) > 0 {
					present++
				}
			}
			return present <= most
		}
	}
	list := []string{}
	for i := range parts {
		name := "p" + strconv.Itoa(i)
		if r.IntN(2) == 0 {
			list = append(list, strconv.Quote(name))
			s.add(name, 0.0, 0.5, 1.0, 1.5, 2.0)
			continue
		}
		list = append(list, fmt.Sprintf("{ name = %q, range = [0.5, 1.5] }", name))
		values := []any{0.5, 1.0, 1.5}
		if most > 0 {
			values = append(values, 0.0)
		}
		s.add(name, values...)
	}
	s.write("parts = [%s]", strings.Join(list, ", "))
	s.rules[sum] = func(row map[string]any) bool {
		total := 0.0
		for name, v := range row {
			if strings.HasPrefix(name, "p") {
				total += v.(float64)
			}
		}
		return total == 2
	}
}

// numeric lists the factors with numbers.
func (s *small) numeric() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		_, text := s.size[name][0].(string)
		return text
	})
}

func (s *small) linear(r *rand.Rand) {
	names := s.numeric()
	if len(names) == 0 {
		s.write(`forbid = { f0 = "b" }`)
		s.rules[s.line] = func(row map[string]any) bool { return row["f0"] != "b" }
		return
	}
	slopes, text := map[string]float64{}, []string{}
	for range 1 + r.IntN(3) {
		name := names[r.IntN(len(names))]
		slope := []float64{1, -2, 0.5, 3}[r.IntN(4)]
		slopes[name] += slope
		text = append(text, fmt.Sprintf("%v*%s", slope, name))
	}
	if all := slices.Collect(maps.Values(slopes)); !slices.ContainsFunc(all, func(v float64) bool { return v != 0 }) {
		slopes[names[0]]++
		text = append(text, names[0])
	}
	relation, bound := []string{"<=", ">=", "<", ">", "="}[r.IntN(5)], float64(r.IntN(9)-4)/2
	s.rules[s.write("linear = \"%s %s %v\"", strings.Join(text, " + "), relation, bound)] = func(row map[string]any) bool {
		total := new(big.Rat)
		for name, slope := range slopes {
			if v, ok := row[name].(float64); ok {
				hundredths := int64(math.Round(v * 100 * slope * 2))
				total.Add(total, big.NewRat(hundredths, 200))
			}
		}
		sign := total.Cmp(new(big.Rat).SetFloat64(bound))
		return map[string]bool{"<=": sign <= 0, ">=": sign >= 0, "<": sign < 0, ">": sign > 0, "=": sign == 0}[relation]
	}
}

// conditions returns a table of conditions on factors, and whether they hold for a row.
func (s *small) conditions(r *rand.Rand, most int, not string) (string, func(row map[string]any) bool) {
	tests, texts := map[string]func(v any) bool{}, map[string]string{}
	for range most {
		name := s.names[r.IntN(len(s.names))]
		values := slices.DeleteFunc(slices.Clone(s.size[name]), func(v any) bool { return v == nil })
		one := values[r.IntN(len(values))]
		number, isNumber := one.(float64)
		switch {
		case isNumber && r.IntN(2) == 0:
			relation := []string{"<=", ">=", "<", ">"}[r.IntN(4)]
			if r.IntN(2) == 0 {
				number = math.Round(1000*number+125) / 1000
			}
			texts[name] = fmt.Sprintf("%q", fmt.Sprintf("%s %v", relation, number))
			tests[name] = func(v any) bool {
				x, ok := v.(float64)
				return ok && map[string]bool{"<=": x <= number, ">=": x >= number, "<": x < number, ">": x > number}[relation]
			}
		case r.IntN(2) == 0:
			other := values[r.IntN(len(values))]
			texts[name] = "[" + literal(one) + ", " + literal(other) + "]"
			tests[name] = func(v any) bool { return v == one || v == other }
		default:
			texts[name] = literal(one)
			tests[name] = func(v any) bool { return v == one }
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, name+" = "+texts[name])
	}
	return "{ " + strings.Join(list, ", ") + " }", func(row map[string]any) bool {
		for name, holds := range tests {
			if !holds(row[name]) {
				return false
			}
		}
		return true
	}
}

func literal(v any) string {
	if text, ok := v.(string); ok {
		return strconv.Quote(text)
	}
	return strconv.FormatFloat(v.(float64), 'f', -1, 64)
}

// rows visits the rows that some rules allow, by the text of their values.
func (s *small) rows(rules ...int) iter.Seq[string] {
	row := map[string]any{}
	text := func() string {
		texts := make([]string, len(s.names))
		for i, name := range s.names {
			if row[name] != nil {
				texts[i] = strings.Trim(literal(row[name]), `"`)
			}
		}
		return strings.Join(texts, "|")
	}
	return func(yield func(string) bool) {
		var visit func(at int) bool
		visit = func(at int) bool {
			if at == len(s.names) {
				return slices.ContainsFunc(rules, func(r int) bool { return !s.rules[r](row) }) || yield(text())
			}
			for _, v := range s.size[s.names[at]] {
				row[s.names[at]] = v
				if !visit(at + 1) {
					return false
				}
			}
			return true
		}
		visit(0)
	}
}

// none reports whether some rules allow no row.
func (s *small) none(rules ...int) bool {
	for range s.rows(rules...) {
		return false
	}
	return true
}

// TestRandomSpaces compares counts, whole products and samples of 1,000 random small spaces with an enumeration, and
// what is said about those without candidates with all subsets of their constraints.
func TestRandomSpaces(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	empty, sampled := 0, 0
	for i := range 1000 {
		s := randomSmall(r)
		lines := slices.Sorted(maps.Keys(s.rules))
		want := map[string]bool{}
		for row := range s.rows(lines...) {
			want[row] = true
		}
		space, err := parseSpace("space.toml", []byte(s.text.String()), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.text.String())
		}
		counted, err := space.Count(t.Context())
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			empty++
			s.checkConflict(t, conflict, lines)
			continue
		}
		if err != nil || len(want) == 0 || counted.Count.String() != grouped(big.NewInt(int64(len(want)))) {
			t.Fatalf("%v, %v, want %d\n%s", counted, err, len(want), s.text.String())
		}
		compare(t, build(t, counted, len(want), 0), want, len(want))
		if len(want) > 1 {
			sampled++
			compare(t, build(t, counted, len(want)/2, uint64(i)), want, len(want)/2)
		}
	}
	if empty < 50 || sampled < 500 {
		t.Errorf("%d spaces without candidates, %d samples", empty, sampled)
	}
}

// checkConflict requires that the constraints of a conflict leave no rows, and that fewer ones leave some.
func (s *small) checkConflict(t *testing.T, conflict *ConflictError, lines []int) {
	t.Helper()
	var named []int
	for _, m := range regexp.MustCompile(`\(line (\d+)\)`).FindAllStringSubmatch(conflict.Error(), -1) {
		line, _ := strconv.Atoi(m[1])
		named = append(named, line)
	}
	if len(named) == 0 || !s.none(named...) {
		t.Fatalf("%v: there are candidates\n%s", conflict, s.text.String())
	}
	for set := range 1 << len(lines) {
		var some []int
		for i, line := range lines {
			if set>>i&1 == 1 {
				some = append(some, line)
			}
		}
		if len(some) < len(named) && s.none(some...) {
			t.Fatalf("%v: lines %d are fewer\n%s", conflict, some, s.text.String())
		}
	}
}

func build(t *testing.T, c *Counted, rows int, seed uint64) *dataset.Table {
	t.Helper()
	table, err := c.Table(t.Context(), Build{Rows: rows, Seed: seed, Progress: func(int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// compare requires so many different rows of those that are wanted.
func compare(t *testing.T, table *dataset.Table, want map[string]bool, rows int) {
	t.Helper()
	seen := map[string]bool{}
	for row := range table.Rows() {
		var texts []string
		for _, c := range table.Columns() {
			texts = append(texts, c.Format(row))
		}
		text := strings.Join(texts, "|")
		if !want[text] || seen[text] {
			t.Fatalf("row %d, %s: wanted %v, seen %v", row, text, want[text], seen[text])
		}
		seen[text] = true
	}
	if len(seen) != rows {
		t.Fatalf("%d rows, want %d", len(seen), rows)
	}
}
