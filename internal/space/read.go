package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Space is a set of candidates: all combinations of the values of factors and mixtures that constraints allow.
type Space struct {
	path      string
	text      string                    // of the description
	tables    map[string]*dataset.Table // of descriptors, by their names in it
	variables []*variable               // in the order of columns
	mixtures  []string                  // in words
	rules     []*rule
	cost      *formula
	costText  string
}

// rule is a constraint, by its sum or its logic.
type rule struct {
	line      int
	text      string // in words
	variables []int
	limit     *limit
	logic     *logic
	implied   bool // it is part of a factor or a mixture, which describe it
}

// limit is a sum of variables, or of how many are present, and its limits.
type limit struct {
	slope       []int64 // of each of the variables
	present     bool
	least, most int64
}

// mostBytes bounds a description.
const mostBytes = 16 << 20

// Read reads the description of a space, and the tables of descriptors that it names, relative to its folder.
func Read(ctx context.Context, path string) (*Space, error) {
	return read(path, func(name string) (*dataset.Table, error) { return source.ReadFile(ctx, name, source.Options{}) })
}

// Tables returns the paths of the tables of descriptors that a description names, as far as it can be read.
func Tables(path string) (list []string) {
	_, _ = read(path, func(name string) (*dataset.Table, error) { // who reads the space says what is wrong with it
		list = append(list, name)
		return nil, errors.New("it is not read")
	})
	return list
}

// read reads a description; table reads a file that it names.
func read(path string, table func(path string) (*dataset.Table, error)) (*Space, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > mostBytes:
		return nil, fmt.Errorf("%s is not a description of a space: it has more than %s", path, words.Memory(mostBytes))
	}
	return parseSpace(path, raw, func(name string) (*dataset.Table, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return table(name)
	})
}

// reader makes a space of a description.
type reader struct {
	*Space
	entry *entry
	table func(name string) (*dataset.Table, error)
	whens map[int]*entry // of factors that do not always exist
}

func parseSpace(path string, raw []byte, table func(name string) (*dataset.Table, error)) (*Space, error) {
	d, top, err := parseDocument(path, raw)
	if err != nil {
		return nil, err
	}
	r := &reader{Space: &Space{path: path, text: string(raw), tables: map[string]*dataset.Table{}}, entry: top,
		table: table, whens: map[int]*entry{}}
	for _, e := range top.tables("factor") {
		r.factor(e)
	}
	for _, e := range top.tables("mixture") {
		r.mixture(e)
	}
	r.cost = r.costOf()
	if len(r.variables) == 0 {
		top.add(0, "there are no factors: [[factor]] begins one")
	}
	r.names()
	for i := range r.variables {
		if e := r.whens[i]; e != nil {
			r.existence(i, e)
		}
	}
	for _, e := range top.tables("constraint") {
		r.constraint(e)
	}
	top.rest()
	return r.Space, d.err()
}

// factor reads a factor.
func (r *reader) factor(e *entry) {
	v := &variable{line: e.line}
	if v.name = e.text("name"); v.name != "" {
		e.what = fmt.Sprintf("factor %q", v.name)
	} else if !e.has("name") {
		e.fault("name", "it has no name")
	}
	v.unit = e.text("unit")
	ways := map[string]func(*entry, *variable){"range": r.rangeOf, "integers": r.integers, "levels": levels,
		"categories": categories, "descriptors": r.descriptors, "value": fixed}
	names := []string{"range", "integers", "levels", "categories", "descriptors", "value"}
	var given []string
	for _, way := range names {
		if e.has(way) {
			given = append(given, way)
		}
	}
	switch {
	case len(given) == 1:
		ways[given[0]](e, v)
		for _, key := range []string{"step", "resolution", "log"} {
			if e.has(key) && !e.used[key] {
				e.fault(key, "%s does not go with %s", key, given[0])
			}
		}
	case len(given) == 0:
		e.fault("name", "it needs one of %s", words.List(names))
	default:
		e.fault(given[1], "%s cannot be combined; a factor has one of them", words.List(given))
	}
	for _, key := range append(names, "step", "resolution", "log", "when") {
		e.used[key] = true
	}
	if e.has("when") {
		if v.open {
			v.extra = []progression{{first: absent, step: 1, n: 1, absent: true}}
		} else {
			v.runs = slices.Insert(v.runs, 0, progression{first: absent, step: 1, n: 1, absent: true})
		}
		r.whens[len(r.variables)] = e
	}
	e.rest("cost")
	v.grid(1)
	r.variables = append(r.variables, v)
}

// bounds reads the ends of a range, in units that the other numbers fit into.
func bounds(e *entry, key string, v *variable, others ...decimal) (low, high int64, ok bool) {
	ends, ok := e.numbers(key)
	switch {
	case !ok:
		return 0, 0, false
	case len(ends) != 2 || ends[0].rat().Cmp(ends[1].rat()) >= 0:
		e.fault(key, "%s must be two numbers, the smaller one first", key)
		return 0, 0, false
	}
	for _, d := range append(others, ends...) {
		v.digits = max(v.digits, d.digits)
	}
	low, fitsLow := ends[0].in(v.digits)
	high, fitsHigh := ends[1].in(v.digits)
	if !fitsLow || !fitsHigh {
		e.fault(key, "the numbers have too many digits before and after the point; at most %d can be used", mostDigits)
	}
	return low, high, fitsLow && fitsHigh
}

// stepOf reads a step; 0 if there is none.
func stepOf(e *entry, key string) (step decimal, ok bool) {
	step, has := e.number(key)
	if has && step.value <= 0 {
		e.fault(key, "%s must be positive", key)
		return decimal{}, false
	}
	return step, has || !e.has(key)
}

// rangeOf reads a continuous factor.
func (r *reader) rangeOf(e *entry, v *variable) {
	step, fine := stepOf(e, "step")
	resolution, also := stepOf(e, "resolution")
	v.log = e.flag("log")
	if step.value > 0 && resolution.value > 0 {
		e.fault("resolution", "step counts from the lower end, and resolution from 0: give one of them")
		return
	}
	low, high, ok := bounds(e, "range", v, step, resolution)
	switch {
	case !ok || !fine || !also:
		return
	case v.log && low <= 0:
		e.fault("range", "on a log scale, a range must begin above 0")
		return
	case step.value == 0 && resolution.value == 0:
		r.openRange(e, v, low, high)
		return
	}
	each, _ := cmp.Or(step, resolution).in(v.digits)
	if each > high-low {
		e.fault("range", "the step is larger than the range")
		return
	}
	block := progression{first: low, step: each, n: (high-low)/each + 1}
	if resolution.value > 0 {
		some := false
		if block, some = multiples(low, high, each); !some {
			e.fault("range", "the range has no multiple of the resolution")
			return
		}
	}
	v.runs = []progression{block}
	v.words = v.span(block.first, block.last()) + " in steps of " + v.text(each)
}

// openRange is a range without steps. Candidates have at least a thousand values in it, or a hundred in each power of
// ten on a log scale.
func (r *reader) openRange(e *entry, v *variable, low, high int64) {
	size := float64(high - low)
	if v.log {
		size = float64(low) * 10
	}
	v.step = 1
	for ; size < 1000 && v.digits < mostDigits && high < mostValue/10; size *= 10 {
		v.digits++
		low, high = low*10, high*10
	}
	if !v.log {
		for ; size >= 10_000; size /= 10 {
			v.step *= 10
		}
	}
	v.open, v.bounds = true, [2]int64{low, high}
	v.words = v.span(low, high) + ", any value"
}

// integers reads whole numbers.
func (r *reader) integers(e *entry, v *variable) {
	step, fine := stepOf(e, "step")
	v.log = e.flag("log")
	low, high, ok := bounds(e, "integers", v, step)
	switch {
	case !ok || !fine:
		return
	case v.digits > 0:
		e.fault("integers", "integers and their step must be whole numbers; range takes others")
		return
	case v.log && low <= 0:
		e.fault("integers", "on a log scale, integers must begin above 0")
		return
	}
	each := max(step.value, 1)
	v.runs = []progression{{first: low, step: each, n: (high-low)/each + 1}}
	v.words = v.span(low, v.runs[0].last()) + ", whole numbers"
	if each > 1 {
		v.words += " in steps of " + v.text(each)
	}
}

// levels reads a list of numbers.
func levels(e *entry, v *variable) {
	list, ok := e.numbers("levels")
	if !ok {
		return
	}
	for _, d := range list {
		v.digits = max(v.digits, d.digits)
	}
	var values []int64
	for _, d := range list {
		value, fits := d.in(v.digits)
		if !fits {
			e.fault("levels", "the numbers have too many digits before and after the point; at most %d can be used", mostDigits)
			return
		}
		values = append(values, value)
	}
	slices.Sort(values)
	for i, value := range values {
		if i > 0 && value == values[i-1] {
			e.fault("levels", "%s is there twice", v.text(value))
			return
		}
		v.runs = append(v.runs, progression{first: value, step: 1, n: 1})
	}
	v.words = words.List(texts(values, v.text)) + v.inUnit()
}

// categories reads a list of names.
func categories(e *entry, v *variable) {
	list, ok := e.texts("categories")
	if ok {
		v.named(e, "categories", list)
		v.words = words.Some(list)
		if n := len(list); n > 5 {
			v.words = fmt.Sprintf("%d categories: %s", n, v.words)
		}
	}
}

// named sets the names of categories.
func (v *variable) named(e *entry, key string, list []string) {
	seen := map[string]bool{}
	for _, name := range list {
		if seen[name] {
			e.fault(key, "%q is there twice", name)
			return
		}
		seen[name] = true
	}
	if v.unit != "" {
		e.fault("unit", "categories have no unit")
	}
	v.levels = list
	v.runs = []progression{{first: 0, step: 1, n: int64(len(list))}}
}

// descriptors reads categories with a table: their names are in its first column.
func (r *reader) descriptors(e *entry, v *variable) {
	name := e.text("descriptors")
	if name == "" {
		return
	}
	table, err := r.table(name)
	if err != nil {
		e.fault("descriptors", "%v", err)
		return
	}
	if columns := table.Columns(); len(columns) < 2 || table.Rows() == 0 {
		e.fault("descriptors", "%s needs a column of names, and then columns of descriptors", name)
		return
	}
	var list []string
	for row := range table.Rows() {
		level := table.Columns()[0].Format(row)
		if level == "" {
			e.fault("descriptors", "%s, %s: there is no name", name, table.Place(row, ""))
			return
		}
		list = append(list, level)
	}
	v.named(e, "descriptors", list)
	v.table, r.tables[name] = table, table
	v.words = fmt.Sprintf("%s of %s, with %s", words.Count(len(list), "category", "categories"), name,
		words.Count(len(table.Columns())-1, "descriptor", "descriptors"))
}

// fixed reads a factor with one value.
func fixed(e *entry, v *variable) {
	value, _ := e.get("value")
	if text, isText := value.(string); isText && strings.TrimSpace(text) != "" {
		v.named(e, "value", []string{text})
		v.words = "always " + text
		return
	}
	d, ok := e.decimal("value", value)
	n, fits := d.in(d.digits)
	if !ok || !fits {
		return
	}
	v.digits, v.runs = d.digits, []progression{{first: n, step: 1, n: 1}}
	v.words = "always " + v.text(n) + v.inUnit()
}

// text writes a value.
func (v *variable) text(value int64) string {
	if v.levels != nil {
		return v.levels[value]
	}
	return strconv.FormatFloat(v.number(value), 'f', -1, 64)
}

func (v *variable) inUnit() string {
	if v.unit == "" {
		return ""
	}
	return " " + v.unit
}

// span writes the ends of a range.
func (v *variable) span(low, high int64) string {
	text := v.text(low) + " to " + v.text(high) + v.inUnit()
	if v.log {
		text += " on a log scale"
	}
	return text
}

func texts(values []int64, write func(int64) string) (list []string) {
	for _, value := range values {
		list = append(list, write(value))
	}
	return list
}

// mixture reads a mixture.
func (r *reader) mixture(e *entry) {
	name := e.text("name")
	if name == "" && !e.has("name") {
		name = "mixture"
	}
	e.what = fmt.Sprintf("mixture %q", name)
	unit := e.text("unit")
	step, stepFine := stepOf(e, "step")
	most := e.count("at_most")
	total, fine := e.number("sum")
	switch {
	case !e.has("sum"):
		total, fine = decimal{value: 1}, true
	case fine && total.value <= 0:
		e.fault("sum", "sum must be positive")
		fine = false
	}
	list := r.parts(e)
	e.rest("cost")
	if !fine || !stepFine {
		return
	}
	var texts []string
	var parts []int
	for _, part := range list {
		v := r.part(part, unit, total, step, most > 0)
		parts = append(parts, len(r.variables))
		r.variables = append(r.variables, v)
		texts = append(texts, v.name)
	}
	text := strings.TrimRight(fmt.Sprintf("%s sum to %s %s", words.List(texts), total, unit), " ")
	r.limit(e, "sum", &rule{line: e.lineOf("sum"), text: text, variables: parts, implied: true}, nil, "=", total.rat())
	if most > 0 {
		slope := make([]int64, len(parts))
		r.rules = append(r.rules, &rule{line: e.lineOf("at_most"), variables: parts, implied: true,
			text:  fmt.Sprintf("at most %d of %s are present", most, words.List(texts)),
			limit: &limit{slope: slope, present: true, least: -unlimited, most: int64(most)}})
		text += fmt.Sprintf(", at most %d of them present", most)
	}
	r.mixtures = append(r.mixtures, text)
}

// parts returns the tables of the parts of a mixture, which may be given by their names alone.
func (r *reader) parts(e *entry) []*entry {
	if !e.has("parts") && !e.has("part") {
		e.fault("name", `it has no parts, such as parts = ["a", "b"]`)
		return nil
	}
	value, _ := e.values["parts"].([]any)
	if len(value) < 2 {
		e.used["parts"] = true
		e.fault("parts", "a mixture needs two parts or more")
		return nil
	}
	for i, item := range value {
		if name, isText := item.(string); isText {
			value[i] = map[string]any{"name": name}
		}
	}
	return e.tables("parts")
}

// part reads a part of a mixture. With sometimes, it may also be missing, whatever its range.
func (r *reader) part(e *entry, unit string, total, step decimal, sometimes bool) *variable {
	v := &variable{line: e.line, unit: unit}
	if v.name = e.text("name"); v.name != "" {
		e.what = fmt.Sprintf("part %q", v.name)
	} else if !e.has("name") {
		e.fault("name", "it has no name")
	}
	own, fine := stepOf(e, "step")
	step = cmp.Or(own, step)
	v.digits = max(step.digits, total.digits)
	if !e.has("range") {
		e.values["range"] = []any{int64(0), total.float()}
	}
	low, high, ok := bounds(e, "range", v, step, total)
	e.rest()
	if !ok || !fine {
		return v
	}
	if low < 0 {
		e.fault("range", "a part cannot be negative")
		return v
	}
	zero := progression{first: 0, step: 1, n: 1}
	if step.value == 0 {
		whole, _ := total.in(v.digits)
		for ; whole < 1000 && v.digits < mostDigits; whole *= 10 {
			v.digits++
			low, high = low*10, high*10
		}
		for v.step = 1; whole >= 10_000; whole /= 10 {
			v.step *= 10
		}
		v.open, v.bounds = true, [2]int64{low, high}
		if sometimes && low > 0 {
			v.extra = []progression{zero}
		}
		v.words = v.span(low, high) + ", any value"
		v.grid(1)
		return v
	}
	each, _ := step.in(v.digits)
	if sometimes && low > 0 {
		v.runs = []progression{zero}
	}
	v.runs = append(v.runs, progression{first: low, step: each, n: (high-low)/each + 1})
	v.words = v.span(low, v.runs[len(v.runs)-1].last()) + " in steps of " + v.text(each)
	if sometimes && low > 0 {
		v.words = "none, or " + v.words
	}
	return v
}

// costOf reads the formula of costs.
func (r *reader) costOf() *formula {
	text := r.entry.text("cost")
	if text == "" {
		return nil
	}
	f, err := parse(text)
	if err != nil {
		r.entry.fault("cost", "cost: %v", err)
		return nil
	}
	r.costText = text
	known := r.numericColumns()
	f.names(func(name string) {
		if !slices.Contains(known, name) {
			r.entry.fault("cost", "cost: %s", unknown(name, known))
		}
	})
	return f
}

func unknown(name string, known []string) string {
	return strings.TrimSpace(fmt.Sprintf("there is no factor %q with numbers; %s", name,
		cmp.Or(words.DidYouMean(name, known), "there are "+words.Some(words.Quoted(known)))))
}

// numericColumns are the columns that formulas can use.
func (r *reader) numericColumns() (list []string) {
	for _, v := range r.variables {
		if v.levels == nil {
			list = append(list, v.name)
		}
		for _, c := range v.descriptorColumns() {
			if c.Kind() == dataset.KindNumeric {
				list = append(list, v.columnOf(c))
			}
		}
	}
	return list
}

func (v *variable) descriptorColumns() []dataset.Column {
	if v.table == nil {
		return nil
	}
	return v.table.Columns()[1:]
}

// columnOf is the name of the column of a descriptor.
func (v *variable) columnOf(descriptor dataset.Column) string {
	return v.name + " " + descriptor.Name()
}

// CostColumn is the name of the column of costs.
const CostColumn = "cost"

// names rejects columns of the same name.
func (r *reader) names() {
	seen := map[string]bool{}
	if r.cost != nil {
		seen[CostColumn] = true
	}
	for _, v := range r.variables {
		list := []string{v.column()}
		for _, c := range v.descriptorColumns() {
			list = append(list, v.columnOf(c))
		}
		for _, name := range list {
			if v.name != "" && seen[name] {
				r.entry.add(v.line, "there are two columns %q; rename one", name)
			}
			seen[name] = true
		}
	}
}

// find returns the number of a variable; -1 if there is none, which is reported.
func (r *reader) find(e *entry, key, name string) int {
	var known []string
	for i, v := range r.variables {
		if v.name == name {
			return i
		}
		if v.name != "" {
			known = append(known, v.name)
		}
	}
	e.fault(key, "there is no factor %q; %s", name, strings.TrimSpace(cmp.Or(words.DidYouMean(name, known),
		"there are "+words.Some(words.Quoted(known)))))
	return -1
}

// existence reads when a factor exists.
func (r *reader) existence(i int, e *entry) {
	list, said, ok := r.conditions(e, "when")
	if !ok {
		return
	}
	v := r.variables[i]
	if slices.ContainsFunc(list, func(c condition) bool { return c.variable == i }) {
		e.fault("when", "whether a factor exists cannot depend on the factor itself")
		return
	}
	own := condition{variable: i, low: -unlimited, high: unlimited}
	if v.words != "" {
		v.words += ", only if " + said
	}
	r.rules = append(r.rules, &rule{line: e.lineOf("when"), text: fmt.Sprintf("%s exists only if %s", v.name, said),
		variables: variablesOf(list, []condition{own}), implied: true,
		logic: &logic{a: list, b: []condition{own}, same: true}})
}

func variablesOf(lists ...[]condition) (all []int) {
	for _, list := range lists {
		for _, c := range list {
			if !slices.Contains(all, c.variable) {
				all = append(all, c.variable)
			}
		}
	}
	return all
}

// conditions reads a table of factors and the values that they must have, in words, too.
func (r *reader) conditions(e *entry, key string) (list []condition, said string, ok bool) {
	value, _ := e.get(key)
	table, isTable := value.(map[string]any)
	if !isTable || len(table) == 0 {
		e.fault(key, `%s must be a table of factors and values, such as { solvent = "water", temperature = ">= 80" }`, key)
		return nil, "", false
	}
	ok = true
	texts := make([]string, len(r.variables))
	for name := range table {
		at := r.find(e, key, name)
		if at < 0 {
			ok = false
			continue
		}
		c, text, fine := r.condition(e, key, at, table[name])
		list, ok, texts[at] = append(list, c), ok && fine, text
	}
	slices.SortFunc(list, func(a, b condition) int { return cmp.Compare(a.variable, b.variable) })
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return list, strings.Join(texts, " and "), ok
}

// condition reads the values that a factor must have.
func (r *reader) condition(e *entry, key string, at int, value any) (c condition, said string, ok bool) {
	v := r.variables[at]
	c = condition{variable: at}
	if text, isText := value.(string); isText && v.levels == nil {
		return r.comparison(e, key, c, text)
	}
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	if len(items) == 0 {
		e.fault(key, "%s has no values", v.name)
		return c, "", false
	}
	if v.open {
		e.fault(key, `%s takes any value of its range: compare it, such as ">= 10"`, v.name)
		return c, "", false
	}
	var names []string
	for _, item := range items {
		n, fine := r.valueOf(e, key, v, item)
		if !fine {
			return c, "", false
		}
		c.values = append(c.values, n)
		names = append(names, v.text(n))
	}
	if len(names) > 1 {
		names = []string{strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]}
	}
	return c, v.name + " is " + names[0], true
}

// valueOf reads a value that a factor can have.
func (r *reader) valueOf(e *entry, key string, v *variable, item any) (n int64, ok bool) {
	if v.levels != nil {
		name, isText := item.(string)
		at := slices.Index(v.levels, name)
		if !isText || at < 0 {
			e.fault(key, "%s has no category %v; %s", v.name, words.Quoted([]string{fmt.Sprint(item)})[0],
				strings.TrimSpace(cmp.Or(words.DidYouMean(name, v.levels), "there are "+words.Some(words.Quoted(v.levels)))))
		}
		return int64(at), isText && at >= 0
	}
	d, fine := e.decimal(key, item)
	if !fine {
		return 0, false
	}
	n, exact := floorIn(d, v.digits)
	held := slices.ContainsFunc(v.runs, func(r progression) bool {
		return !r.absent && r.first <= n && n <= r.last() && (n-r.first)%r.step == 0
	})
	if !exact || !held {
		e.fault(key, "%s is never %s", v.name, d)
		return 0, false
	}
	return n, true
}

// floorIn rounds a number down to a multiple of 10^-digits.
func floorIn(d decimal, digits int) (n int64, exact bool) {
	if n, fits := d.in(digits); d.digits <= digits {
		if !fits && d.value < 0 {
			return -unlimited / 2, false
		} else if !fits {
			return unlimited / 2, false
		}
		return n, true
	}
	unit := int64(math.Pow10(d.digits - digits))
	return floorDiv(d.value, unit), d.value%unit == 0
}

// comparison reads a condition such as ">= 80".
func (r *reader) comparison(e *entry, key string, c condition, text string) (condition, string, bool) {
	v := r.variables[c.variable]
	left, relation, right, err := parseRelation("0" + text)
	var sides linear
	if err == nil {
		sides, err = right.linear()
	}
	if err != nil {
		e.fault(key, "%q: %v", text, err)
		return c, "", false
	}
	if left.op != "number" || left.number.value != 0 || !sides.constant() {
		e.fault(key, `%q is not a comparison of %s with a number, such as ">= 10"`, text, v.name)
		return c, "", false
	}
	number := sides[""]
	if number == nil {
		number = new(big.Rat)
	}
	float, _ := number.Float64()
	d, err := decimalOf(float)
	if err != nil {
		e.fault(key, "%v", err)
		return c, "", false
	}
	n, exact := floorIn(d, v.digits)
	c.low, c.high = -unlimited, unlimited
	switch relation {
	case "<=":
		c.high = n
	case "<":
		if c.high = n; exact {
			c.high--
		}
	case ">":
		c.low = n + 1
	case ">=":
		if c.low = n; !exact {
			c.low++
		}
	default:
		c.low, c.high = n, n
		if !exact || v.open {
			e.fault(key, "%s = %s cannot be compared exactly; use <= or >=", v.name, d)
			return c, "", false
		}
	}
	return c, fmt.Sprintf("%s %s %s", v.name, relation, d), true
}

// constraint reads a constraint.
func (r *reader) constraint(e *entry) {
	ways := []string{"linear", "forbid", "require"}
	var given []string
	for _, way := range ways {
		if e.has(way) {
			given = append(given, way)
		}
		e.used[way] = true
	}
	e.used["when"] = true
	e.rest("cost")
	switch {
	case len(given) != 1:
		e.fault("linear", "it needs one of linear, forbid and require")
		return
	case given[0] != "require" && e.has("when"):
		e.fault("when", "only require can depend on when")
		return
	case given[0] == "linear":
		r.linear(e)
		return
	}
	list, said, ok := r.conditions(e, given[0])
	made := &rule{line: e.lineOf(given[0]), text: "never: " + said}
	made.logic = &logic{a: list, never: true}
	if given[0] == "require" {
		made.text, made.logic = "always: "+said, &logic{b: list}
		if e.has("when") {
			when, whenSaid, fine := r.conditions(e, "when")
			ok = ok && fine
			made.text, made.logic.a = "if "+whenSaid+", then "+said, when
		}
	}
	if ok {
		made.variables = variablesOf(made.logic.a, made.logic.b)
		r.rules = append(r.rules, made)
	}
}

// linear reads a linear constraint.
func (r *reader) linear(e *entry) {
	text := e.text("linear")
	if text == "" {
		return
	}
	left, relation, right, err := parseRelation(text)
	var l, other linear
	if err == nil {
		l, err = left.linear()
	}
	if err == nil {
		other, err = right.linear()
	}
	if err != nil {
		e.fault("linear", "%s: %v", text, err)
		return
	}
	l = l.add(other, big.NewRat(-1, 1))
	bound := new(big.Rat)
	if l[""] != nil {
		bound.Neg(l[""])
	}
	delete(l, "")
	made := &rule{line: e.lineOf("linear"), text: text}
	var slopes []*big.Rat
	for i, v := range r.variables {
		slope := l[v.name]
		switch {
		case slope == nil:
			continue
		case v.levels != nil:
			e.fault("linear", "%s: %s has categories, not numbers", text, v.name)
			return
		}
		delete(l, v.name)
		made.variables, slopes = append(made.variables, i), append(slopes, slope)
	}
	var known []string
	for _, v := range r.variables {
		if v.levels == nil {
			known = append(known, v.name)
		}
	}
	for name := range l {
		e.fault("linear", "%s: %s", text, unknown(name, known))
	}
	switch {
	case len(l) > 0:
	case len(slopes) == 0:
		e.fault("linear", "%s: no factor is in it", text)
	default:
		r.limit(e, "linear", made, slopes, relation, bound)
	}
}

// limit adds a rule about a sum, in whole numbers; without slopes, they are 1.
func (r *reader) limit(e *entry, key string, made *rule, slopes []*big.Rat, relation string, bound *big.Rat) {
	each := make([]*big.Rat, len(made.variables))
	scale := new(big.Int).Set(bound.Denom())
	for i, at := range made.variables {
		each[i] = ratOf(1, r.variables[at].digits)
		if slopes != nil {
			each[i].Mul(each[i], slopes[i])
		}
		divisor := new(big.Int).GCD(nil, nil, scale, each[i].Denom())
		scale.Mul(scale, new(big.Int).Div(each[i].Denom(), divisor))
	}
	factor := new(big.Rat).SetInt(scale)
	whole := func(of *big.Rat) *big.Int { return new(big.Rat).Mul(of, factor).Num() }
	made.limit = &limit{}
	total := new(big.Int).Abs(whole(bound))
	for i, at := range made.variables {
		slope := whole(each[i])
		largest := int64(1)
		for _, b := range r.variables[at].runs {
			if !b.absent {
				largest = max(largest, b.first, -b.first, b.last(), -b.last())
			}
		}
		total.Add(total, new(big.Int).Mul(new(big.Int).Abs(slope), big.NewInt(largest)))
		made.limit.slope = append(made.limit.slope, slope.Int64())
	}
	if total.BitLen() > 60 {
		e.fault(key, "%s: the numbers have too many digits to be added exactly", made.text)
		return
	}
	b := whole(bound).Int64()
	made.limit.least, made.limit.most = -unlimited, unlimited
	switch relation {
	case "<=":
		made.limit.most = b
	case "<":
		made.limit.most = b - 1
	case ">=":
		made.limit.least = b
	case ">":
		made.limit.least = b + 1
	default:
		made.limit.least, made.limit.most = b, b
	}
	r.rules = append(r.rules, made)
}
