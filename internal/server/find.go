package server

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
	"weak"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
)

// Rows are filtered and sorted once, not for every page: the places of rows in the order
// of a column, and of those that pass a filter, are kept (4 bytes per row) until rows are added
// or removed or, if the order depends on labels or status, until the next event.

// longestCondition is how many characters a condition may have: the name of a column and a value.
const longestCondition = 1000

// RowQuery determines which rows to list, and in which order.
type RowQuery struct {
	Status string   `query:"status" enum:"open,asked,waiting,labelled,failed,retired" doc:"only rows of this status"`
	Search string   `query:"search" maxLength:"200" doc:"only rows whose id contains this, in upper or lower case"`
	Where  []string `query:"where,explode" maxItems:"20" doc:"only rows for which this holds, at most 1,000 characters; several must all hold. A column, one of = != < <= > >=, and a value; an empty value means that it is missing" example:"[\"temperature>=300\"]"`
	Sort   string   `query:"sort" maxLength:"1000" doc:"row, id, status, or the name of an input or a target; by default row. Rows without a value come last"`
	Order  string   `query:"order" enum:"asc,desc" doc:"by default asc"`
}

// listVersion is what kept lists of rows depend on, besides the query.
type listVersion struct {
	table weak.Pointer[dataset.Table] // a table that is out of use is not kept for its lists
	seq   int64                       // 0 if the lists depend on inputs alone
	asked int64                       // rows that are out: leases end without an event
}

// rowList is places of rows in the table of a view.
type rowList interface {
	len() int
	at(i int) int
}

type everyRow int

func (n everyRow) len() int     { return int(n) }
func (n everyRow) at(i int) int { return i }

type someRows []int32

func (l someRows) len() int     { return len(l) }
func (l someRows) at(i int) int { return int(l[i]) }

// otherRows is all rows but some, which are in ascending order.
type otherRows struct {
	all    int
	absent []int32
}

func (l otherRows) len() int { return l.all - len(l.absent) }

func (l otherRows) at(i int) int {
	// absent[k]-k rows that are present come before absent[k].
	return i + sort.Search(len(l.absent), func(k int) bool { return int(l.absent[k])-k > i })
}

type reversed struct{ rowList }

func (l reversed) at(i int) int { return l.rowList.at(l.len() - 1 - i) }

// find returns the rows that match a query.
func (s *Server) find(name string, v *campaign.View, q RowQuery) (rowList, error) {
	if v.Table == nil {
		return everyRow(0), nil
	}
	f, err := newFinder(v, q)
	if err != nil {
		return nil, err
	}
	f.lists, f.campaign = &s.lists, name
	return f.find()
}

// finder finds the rows of a query.
type finder struct {
	campaign string
	view     *campaign.View
	query    RowQuery
	lists    *cache

	conditions []condition
	ofInputs   bool // neither order nor conditions depend on what happened to rows
}

// condition reports whether a row matches.
type condition struct {
	inputs bool // depends on inputs alone
	holds  func(at int) bool
}

func newFinder(v *campaign.View, q RowQuery) (*finder, error) {
	f := &finder{view: v, query: q}
	f.ofInputs = f.sortsInputs()
	if known := f.sortable(); !slices.Contains(known, q.Sort) {
		return nil, wrongField("query.sort", q.Sort, fmt.Sprintf("there is no such column; the columns are %s",
			strings.Join(known[1:], ", ")))
	}
	for i, text := range q.Where {
		if n := utf8.RuneCountInString(text); n > longestCondition {
			return nil, wrongField(fmt.Sprintf("query.where[%d]", i), nil,
				fmt.Sprintf("a condition has at most %d characters, not %d", longestCondition, n))
		}
		c, err := f.parse(text)
		if err != nil {
			return nil, wrongField(fmt.Sprintf("query.where[%d]", i), text, err.Error())
		}
		f.conditions = append(f.conditions, c)
		f.ofInputs = f.ofInputs && c.inputs
	}
	if q.Search != "" {
		wanted := strings.ToLower(q.Search)
		f.conditions = append(f.conditions,
			condition{true, func(at int) bool { return strings.Contains(strings.ToLower(v.ID(at)), wanted) }})
	}
	return f, nil
}

func wrongField(location string, value any, message string) error {
	return huma.Error422UnprocessableEntity("the query cannot be answered",
		&huma.ErrorDetail{Location: location, Value: value, Message: message})
}

// sortable lists what rows can be sorted by.
func (f *finder) sortable() []string {
	list := []string{"", "row", "id", "status"}
	for _, c := range f.view.Created.Columns {
		list = append(list, c.Name)
	}
	return append(list, f.view.Created.Targets...)
}

// operators with two characters come before those that they begin with.
var operators = []string{">=", "<=", "!=", "=", ">", "<"}

// parse reads a condition such as colour=red. A name may contain an operator, so the
// longest name that fits counts.
func (f *finder) parse(text string) (condition, error) {
	name, operator := "", ""
	names := append(f.sortable()[4:], f.view.Created.IDColumn, "id", "row", "status")
	for _, n := range names {
		rest, found := strings.CutPrefix(text, n)
		if !found || n == "" || len(n) <= len(name) {
			continue
		}
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				name, operator = n, o
				break
			}
		}
	}
	if name == "" {
		return condition{},
			fmt.Errorf("write a column, one of = != < <= > >=, and a value, such as temperature>=300; the columns are %s",
				strings.Join(names[:len(names)-4], ", "))
	}
	value := text[len(name)+len(operator):]
	compare, inputs, err := f.comparison(name, value)
	if err != nil {
		return condition{}, err
	}
	return condition{inputs, func(at int) bool {
		order, present := compare(at)
		return present && satisfies(operator, order)
	}}, nil
}

func satisfies(operator string, order int) bool {
	switch operator {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case "!=":
		return order != 0
	case "=":
		return order == 0
	case ">":
		return order > 0
	}
	return order < 0
}

// comparison returns a function that compares the value of a row with another, and reports
// whether the row has one. With an empty value, rows without one are equal to it.
func (f *finder) comparison(name, value string) (compare func(at int) (int, bool), inputs bool, err error) {
	v := f.view
	if t := slices.Index(v.Created.Targets, name); t >= 0 {
		compare, err = f.numbers(name, value, func(at int) float64 { return v.Label(v.Number(at))[t] })
		return compare, false, err
	}
	column, err := v.Table.Column(name)
	switch numbers, numeric := column.(*dataset.Numeric); {
	case err == nil && numeric:
		compare, err = f.numbers(name, value, numbers.Float)
		return compare, true, err
	case err == nil:
		return func(at int) (int, bool) {
			if column.Missing(at) || value == "" {
				return missingOrder(column.Missing(at)), value == "" // "" is not a value
			}
			return cmp.Compare(column.Format(at), value), true
		}, true, nil
	case name == "status":
		return func(at int) (int, bool) { return cmp.Compare(string(v.Status(v.Number(at))), value), true }, false, nil
	case name == "row":
		compare, err = f.numbers(name, value, func(at int) float64 { return float64(v.Number(at)) })
		return compare, true, err
	}
	return func(at int) (int, bool) { return cmp.Compare(v.ID(at), value), true }, true, nil
}

func missingOrder(missing bool) int {
	if missing {
		return 0
	}
	return 1
}

func (f *finder) numbers(name, value string, of func(at int) float64) (func(at int) (int, bool), error) {
	if value == "" {
		return func(at int) (int, bool) { return missingOrder(math.IsNaN(of(at))), true }, nil
	}
	wanted, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(wanted) {
		return nil, fmt.Errorf("column %q has numbers, and %q is not one", name, value)
	}
	return func(at int) (int, bool) {
		v := of(at)
		return cmp.Compare(v, wanted), !math.IsNaN(v)
	}, nil
}

// find returns the rows in their order.
func (f *finder) find() (rowList, error) {
	status := campaign.Status(f.query.Status)
	switch {
	case status != "" && status != campaign.StatusOpen:
		return f.few(status)
	case len(f.conditions) > 0 || !f.plain():
		return f.many(status)
	}
	var list rowList = everyRow(f.view.Table.Rows())
	if status == campaign.StatusOpen {
		closed, err := f.closed()
		if err != nil {
			return nil, err
		}
		list = otherRows{f.view.Table.Rows(), closed}
	}
	if f.query.Order == "desc" {
		list = reversed{list}
	}
	return list, nil
}

// plain reports whether rows are in the order of their numbers.
func (f *finder) plain() bool {
	return f.query.Sort == "" || f.sortsBy("row") || f.sortsBy("id") && f.view.Created.IDColumn == ""
}

// sortsBy reports whether the query sorts by what every row has. A column of that name comes first.
func (f *finder) sortsBy(name string) bool {
	return f.query.Sort == name && !slices.ContainsFunc(f.view.Created.Columns,
		func(c campaign.Column) bool { return c.Name == name })
}

// sortsInputs reports whether the order of rows depends on inputs alone.
func (f *finder) sortsInputs() bool {
	return !f.sortsBy("status") && !slices.Contains(f.view.Created.Targets, f.query.Sort)
}

// key names a list that depends on what happened to rows, or on inputs alone.
func (f *finder) key(what string, status campaign.Status, inputs bool) cacheKey {
	version := listVersion{table: weak.Make(f.view.Table)}
	if inputs {
		return cacheKey{"inputs of " + f.campaign, version, what + " " + string(status)}
	}
	version.seq, version.asked = f.view.Seq, f.view.Counts().Asked
	return cacheKey{"rows of " + f.campaign, version, what + " " + string(status)}
}

// text is what identifies the query apart from the status.
func (f *finder) text() string {
	return fmt.Sprintf("%q %q %q %q", f.query.Search, f.query.Where, f.query.Sort, f.query.Order)
}

func keep(c *cache, key cacheKey, make func() ([]int32, error)) ([]int32, error) {
	return cacheGet(c, key, func() ([]int32, int64, error) {
		list, err := make()
		return list, 4 * int64(cap(list)), err
	})
}

// few returns rows of a status that has only rows to which something happened.
func (f *finder) few(status campaign.Status) (rowList, error) {
	list, err := keep(f.lists, f.key("few "+f.text(), status, false), func() ([]int32, error) {
		var list []int32
		for _, ref := range f.view.With(status) {
			if at := f.view.At(ref.Row); f.wanted(at) {
				list = append(list, int32(at))
			}
		}
		order := f.order()
		slices.SortStableFunc(list, func(a, b int32) int { return order(int(a), int(b)) })
		return list, nil
	})
	return someRows(list), err
}

func (f *finder) wanted(at int) bool {
	for _, c := range f.conditions {
		if !c.holds(at) {
			return false
		}
	}
	return true
}

// closedStatuses are those of rows that are not open, in the order in which rows are sorted by them.
var closedStatuses = []campaign.Status{campaign.StatusAsked, campaign.StatusWaiting, campaign.StatusLabelled,
	campaign.StatusFailed, campaign.StatusRetired}

// closed returns the rows that are not open, in ascending order.
func (f *finder) closed() ([]int32, error) {
	return keep(f.lists, f.key("closed", "", false), func() ([]int32, error) {
		var list []int32
		for _, status := range closedStatuses {
			for _, ref := range f.view.With(status) {
				list = append(list, int32(f.view.At(ref.Row)))
			}
		}
		slices.Sort(list)
		return list, nil
	})
}

// many returns rows of all statuses, or open ones.
func (f *finder) many(status campaign.Status) (rowList, error) {
	list, err := keep(f.lists, f.key("many "+f.text(), "", f.ofInputs), func() ([]int32, error) {
		sorted, err := f.sorted()
		if err != nil || len(f.conditions) == 0 {
			return sorted, err
		}
		var list []int32
		for _, at := range sorted {
			if f.wanted(int(at)) {
				list = append(list, at)
			}
		}
		return slices.Clip(list), nil
	})
	if err != nil || status == "" {
		return someRows(list), err
	}
	closed, err := f.closed()
	if err != nil {
		return nil, err
	}
	open, err := keep(f.lists, f.key("open "+f.text(), status, false), func() ([]int32, error) {
		gone := make([]bool, f.view.Table.Rows())
		for _, at := range closed {
			gone[at] = true
		}
		var left []int32
		for _, at := range list {
			if !gone[at] {
				left = append(left, at)
			}
		}
		return left, nil
	})
	return someRows(open), err
}

// sorted returns all rows in the order of the query.
func (f *finder) sorted() ([]int32, error) {
	return keep(f.lists, f.key(fmt.Sprintf("sorted %q %q", f.query.Sort, f.query.Order), "", f.sortsInputs()),
		func() ([]int32, error) {
			list := identity32(f.view.Table.Rows())
			order := f.order()
			slices.SortStableFunc(list, func(a, b int32) int { return order(int(a), int(b)) })
			return list, nil
		})
}

// order returns the comparison that the query sorts by. Rows without a value come last
// either way.
func (f *finder) order() func(a, b int) int {
	v, sign := f.view, 1
	if f.query.Order == "desc" {
		sign = -1
	}
	byNumber := func(of func(at int) float64) func(a, b int) int {
		return func(a, b int) int {
			x, y := of(a), of(b)
			if nx, ny := math.IsNaN(x), math.IsNaN(y); nx || ny {
				return cmp.Compare(missingOrder(ny), missingOrder(nx))
			}
			return sign * cmp.Compare(x, y)
		}
	}
	if t := slices.Index(v.Created.Targets, f.query.Sort); t >= 0 {
		labels := map[int]float64{}
		for _, ref := range v.With(campaign.StatusLabelled) {
			labels[v.At(ref.Row)] = v.Label(ref.Row)[t]
		}
		return byNumber(func(at int) float64 {
			if label, there := labels[at]; there {
				return label
			}
			return math.NaN()
		})
	}
	if f.plain() {
		return func(a, b int) int { return sign * cmp.Compare(a, b) }
	}
	if f.sortsBy("status") {
		rank := f.statusRanks()
		return func(a, b int) int { return sign * cmp.Compare(rank[a], rank[b]) }
	}
	name := f.query.Sort
	if f.sortsBy("id") {
		name = v.Created.IDColumn
	}
	column, err := v.Table.Column(name)
	if err != nil {
		panic(err) // the query was checked
	}
	if numbers, numeric := column.(*dataset.Numeric); numeric {
		return byNumber(numbers.Float)
	}
	rank := ranks(column)
	return byNumber(func(at int) float64 { return rank[at] })
}

// statusRanks returns the place of each row's status among all.
func (f *finder) statusRanks() []int8 {
	ranks := make([]int8, f.view.Table.Rows())
	for i, status := range closedStatuses {
		for _, ref := range f.view.With(status) {
			ranks[f.view.At(ref.Row)] = int8(i + 1)
		}
	}
	return ranks
}

// ranks returns the place of each text among all texts of a column, NaN where it is missing.
func ranks(c dataset.Column) []float64 {
	texts := make([]string, c.Len())
	for at := range texts {
		if !c.Missing(at) {
			texts[at] = c.Format(at)
		}
	}
	order := identity32(c.Len())
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(texts[a], texts[b]) })
	rank, place := make([]float64, c.Len()), 0.0
	for i, at := range order {
		if i > 0 && texts[at] != texts[order[i-1]] {
			place++
		}
		if rank[at] = place; c.Missing(int(at)) {
			rank[at] = math.NaN()
		}
	}
	return rank
}

func identity32(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}
