package selection

import "fmt"

// An interrupted run resumes from its choices, and returns the result of an uninterrupted
// run. Where the search for a row changes nothing but bounds (LCMD, MaxDist), the rows
// are added all at once, which costs little more than one matrix product. Other searches
// are repeated and compared: those of k-means++ draw numbers, and those of MaxDet, BAIT and
// FrankWolfe may find that rounding requires a new start of their sums.

// resume takes over the choices of an earlier run.
func (d *driver) resume(choices []Choice) error {
	if len(choices) == 0 {
		return nil
	}
	if _, takesBack := d.state.(Backward); takesBack {
		return &MethodError{Method: d.result.Method,
			Reason: "it takes rows back, so it cannot resume a run that was cut off"}
	}
	var rows []int
	for _, c := range choices {
		if d.space.rows.AgreeToEnd() {
			return nil
		}
		if err := d.retake(c); err != nil {
			return err
		}
		rows = append(rows, c.Row)
	}
	if d.quick {
		return d.state.Add(rows)
	}
	return nil
}

// retake takes over one choice; unless that is quick, it makes the choice again and adds the row.
func (d *driver) retake(c Choice) error {
	if c.Row < 0 || c.Row >= d.space.PoolSize() || !d.limits.open[c.Row] || d.limits.Count >= d.size {
		return d.otherProblem(c)
	}
	if d.quick {
		d.choose(c)
		return nil
	}
	if again, err := d.state.Next(); err != nil || again != c {
		return d.otherProblem(c)
	}
	d.choose(c)
	return d.state.Add([]int{c.Row})
}

func (d *driver) otherProblem(c Choice) error {
	return &ProblemError{Field: "Resume", Reason: fmt.Sprintf("row %d was not chosen at step %d of this problem: "+
		"the earlier run was another one", d.space.number(c.Row), d.step+1)}
}
