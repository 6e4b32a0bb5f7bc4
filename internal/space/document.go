package space

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nextbatch/nextbatch/internal/words"
)

// document is a description as TOML has it, with the lines of its keys and what is wrong with it.
type document struct {
	path   string
	lines  map[string]int // by the path of a key, such as factor.0.name
	faults []fault
}

type fault struct {
	line int
	text string
}

// add says what is wrong; a line of 0 is unknown.
func (d *document) add(line int, format string, args ...any) {
	d.faults = append(d.faults, fault{line, fmt.Sprintf(format, args...)})
}

// err joins what is wrong, in the order of lines; nil if nothing is.
func (d *document) err() error {
	slices.SortStableFunc(d.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	var list []error
	for _, f := range d.faults {
		place := d.path
		if f.line > 0 {
			place += ", line " + strconv.Itoa(f.line)
		}
		list = append(list, errors.New(place+": "+f.text))
	}
	return errors.Join(list...)
}

// parseDocument reads TOML.
func parseDocument(path string, raw []byte) (*document, *entry, error) {
	d := &document{path: path, lines: map[string]int{}}
	values := map[string]any{}
	if err := toml.Unmarshal(raw, &values); err != nil {
		var wrong *toml.DecodeError
		if errors.As(err, &wrong) {
			line, column := wrong.Position()
			return nil, nil, fmt.Errorf("%s, line %d, column %d: %s", path, line, column,
				strings.TrimPrefix(wrong.Error(), "toml: "))
		}
		return nil, nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	d.findLines(raw)
	return d, &entry{document: d, values: values, used: map[string]bool{}}, nil
}

// findLines finds the lines of keys.
func (d *document) findLines(raw []byte) {
	p := unstable.Parser{}
	p.Reset(raw)
	prefix, count := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		line, parts := 0, []string{}
		for key := e.Key(); key.Next(); {
			if line == 0 {
				line = p.Shape(key.Node().Raw).Start.Line
			}
			parts = append(parts, string(key.Node().Data))
		}
		switch e.Kind {
		case unstable.KeyValue:
			for n := range parts { // a dotted key is a table, too
				if path := prefix + strings.Join(parts[:n+1], "."); d.lines[path] == 0 {
					d.lines[path] = line
				}
			}
		case unstable.ArrayTable:
			name := strings.Join(parts, ".")
			prefix = name + "." + strconv.Itoa(count[name])
			count[name]++
			d.lines[prefix] = line
			prefix += "."
		default:
			if n := count[parts[0]]; n > 0 { // a table in the last of an array
				parts = slices.Insert(parts, 1, strconv.Itoa(n-1))
			}
			prefix = strings.Join(parts, ".")
			d.lines[prefix] = line
			prefix += "."
		}
	}
}

// entry is a table of the document. Its keys are read one by one, and those that are left have no meaning.
type entry struct {
	*document
	path, what string // such as factor.0, and what messages call it
	line       int
	values     map[string]any
	used       map[string]bool
}

// lineOf is the line of a key, or of the table that has it.
func (e *entry) lineOf(key string) int {
	path := key
	if e.path != "" {
		path = e.path + "." + key
	}
	return cmp.Or(e.lines[path], e.line)
}

// fault says what is wrong with a key.
func (e *entry) fault(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e.what != "" {
		text = e.what + ": " + text
	}
	e.add(e.lineOf(key), "%s", text)
}

// get returns the value of a key.
func (e *entry) get(key string) (value any, has bool) {
	e.used[key] = true
	value, has = e.values[key]
	return value, has
}

// has reports whether there is a key.
func (e *entry) has(key string) bool { _, has := e.values[key]; return has }

// rest rejects keys that nobody has read. other is where they may belong.
func (e *entry) rest(other ...string) {
	known := slices.Sorted(maps.Keys(e.used))
	for _, key := range slices.Sorted(maps.Keys(e.values)) {
		switch {
		case e.used[key]:
		case slices.Contains(other, key):
			e.fault(key, "%s stands above the first [[…]]: below it, a key belongs to that table", key)
		default:
			text := fmt.Sprintf("there is no key %q", key)
			if meant := words.DidYouMean(key, known); meant != "" {
				e.fault(key, "%s; %s", text, strings.TrimSpace(meant))
			} else {
				e.fault(key, "%s; there are %s", text, words.List(known))
			}
		}
	}
}

// tables returns the tables of an array, such as all factors.
func (e *entry) tables(key string) (list []*entry) {
	value, has := e.get(key)
	if !has {
		return nil
	}
	items, ok := value.([]any)
	for i, item := range items {
		values, isTable := item.(map[string]any)
		if !isTable {
			ok = false
			break
		}
		path := key + "." + strconv.Itoa(i)
		if e.path != "" {
			path = e.path + "." + path
		}
		list = append(list, &entry{document: e.document, path: path, line: cmp.Or(e.lines[path], e.lineOf(key)),
			what: key + " " + strconv.Itoa(i+1), values: values, used: map[string]bool{}})
	}
	if !ok {
		e.fault(key, "%s is a list of tables: write [[%s]]", key, key)
		return nil
	}
	return list
}

// text returns a text.
func (e *entry) text(key string) string {
	value, has := e.get(key)
	text, ok := value.(string)
	if has && (!ok || strings.TrimSpace(text) == "") {
		e.fault(key, "%s must be a text that is not empty, in quotes", key)
		return ""
	}
	return text
}

// flag returns true or false.
func (e *entry) flag(key string) bool {
	value, has := e.get(key)
	yes, ok := value.(bool)
	if has && !ok {
		e.fault(key, "%s must be true or false", key)
	}
	return yes
}

// count returns a whole number from 1; 0 if there is none.
func (e *entry) count(key string) int {
	value, has := e.get(key)
	n, ok := value.(int64)
	if has && (!ok || n < 1 || n > 1<<31) {
		e.fault(key, "%s must be a whole number from 1", key)
		return 0
	}
	return int(n)
}

// number returns a number; false if there is none, or it is wrong.
func (e *entry) number(key string) (decimal, bool) {
	value, has := e.get(key)
	if !has {
		return decimal{}, false
	}
	return e.decimal(key, value)
}

func (e *entry) decimal(key string, value any) (d decimal, ok bool) {
	err := errors.New("must be a number")
	switch v := value.(type) {
	case int64:
		d, err = decimal{value: v}, nil
		if v >= mostValue || v <= -mostValue {
			err = fmt.Errorf("%d has too many digits; at most %d can be used", v, mostDigits)
		}
	case float64:
		d, err = decimalOf(v)
	}
	if err != nil {
		e.fault(key, "%s: %s", key, strings.TrimPrefix(err.Error(), key+" "))
	}
	return d, err == nil
}

// numbers returns a list of numbers; false if it is wrong.
func (e *entry) numbers(key string) (list []decimal, ok bool) {
	value, _ := e.get(key)
	items, isList := value.([]any)
	if !isList || len(items) == 0 {
		e.fault(key, "%s must be a list of numbers, such as [1, 2]", key)
		return nil, false
	}
	ok = true
	for _, item := range items {
		d, fine := e.decimal(key, item)
		list, ok = append(list, d), ok && fine
	}
	return list, ok
}

// texts returns a list of texts; false if it is wrong.
func (e *entry) texts(key string) (list []string, ok bool) {
	value, _ := e.get(key)
	items, isList := value.([]any)
	for _, item := range items {
		text, isText := item.(string)
		isList = isList && isText && strings.TrimSpace(text) != ""
		list = append(list, text)
	}
	if !isList || len(list) == 0 {
		e.fault(key, `%s must be a list of texts that are not empty, such as ["a", "b"]`, key)
		return nil, false
	}
	return list, true
}
