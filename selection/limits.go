package selection

// limits keeps track of the constraints: which pool rows may be picked now.
type limits struct {
	constraints Constraints
	open        []bool // may be picked
	selected    []bool // in the batch
	excluded    []bool
	room        int     // rows that may be picked
	count       int     // rows in the batch
	spent       float64 // their cost
	group       []int   // of each row, numbered from 0; nil without groups
	inGroup     []int   // rows of the batch in each group

	// slack multiplies budget and group limits while more rows are picked than
	// the batch will have.
	slack int
}

func newLimits(pool int, c Constraints) *limits {
	l := &limits{constraints: c, open: make([]bool, pool), selected: make([]bool, pool), excluded: make([]bool, pool), slack: 1}
	l.numberGroups()
	for _, row := range c.Exclude {
		l.excluded[row] = true
	}
	l.reopen()
	return l
}

func (l *limits) numberGroups() {
	if l.constraints.Group == nil {
		return
	}
	number := map[int]int{}
	l.group = make([]int, len(l.constraints.Group))
	for row, name := range l.constraints.Group {
		if _, known := number[name]; !known {
			number[name] = len(number)
		}
		l.group[row] = number[name]
	}
	l.inGroup = make([]int, len(number))
}

// reopen decides for each row whether it may be picked.
func (l *limits) reopen() {
	for row := range l.open {
		l.decide(row)
	}
}

func (l *limits) decide(row int) {
	if now := l.allows(row); now != l.open[row] {
		l.open[row] = now
		if now {
			l.room++
		} else {
			l.room--
		}
	}
}

func (l *limits) allows(row int) bool {
	c := &l.constraints
	return !l.selected[row] && !l.excluded[row] &&
		(c.Cost == nil || l.spent+c.Cost[row] <= c.Budget*float64(l.slack)) &&
		(l.group == nil || l.inGroup[l.group[row]] < c.PerGroup*l.slack)
}

func (l *limits) add(row int) { l.change(row, true, 1) }

func (l *limits) remove(row int) { l.change(row, false, -1) }

func (l *limits) change(row int, selected bool, sign int) {
	c := &l.constraints
	l.selected[row] = selected
	l.count += sign
	if c.Cost != nil {
		l.spent += float64(sign) * c.Cost[row]
	}
	if l.group != nil {
		l.inGroup[l.group[row]] += sign
	}
	if c.Cost == nil && l.group == nil {
		l.decide(row)
		return
	}
	l.reopen()
}

// setSlack changes the limits to a multiple of what the constraints say.
func (l *limits) setSlack(slack int) {
	l.slack = slack
	l.reopen()
}

// rows lists the rows that may be picked.
func (l *limits) rows() (list []int) {
	for row, open := range l.open {
		if open {
			list = append(list, row)
		}
	}
	return list
}

// over says whether the batch has more rows than size, or costs more than the
// budget; overGroup whether the row's group is over its limit.
func (l *limits) over(size int) bool {
	return l.count > size || l.constraints.Cost != nil && l.spent > l.constraints.Budget
}

func (l *limits) overGroup(row int) bool {
	return l.group != nil && l.inGroup[l.group[row]] > l.constraints.PerGroup
}

func (l *limits) anyGroupOver() bool {
	for _, n := range l.inGroup {
		if n > l.constraints.PerGroup {
			return true
		}
	}
	return false
}

// whyNone says why no row may be picked.
func (l *limits) whyNone() string {
	left := 0
	for row := range l.open {
		if !l.selected[row] && !l.excluded[row] {
			left++
		}
	}
	switch {
	case left == 0 && len(l.constraints.Exclude) > 0:
		return "the pool has no more rows that are not excluded"
	case left == 0:
		return "the pool has no more rows"
	case l.constraints.Group == nil:
		return "what is left of the budget pays for no more row"
	case l.constraints.Cost == nil:
		return "all groups that are left have reached their limit"
	}
	return "budget and groups allow no more row"
}
