package nextbatch

// Measurements: picks that are measured several times, and labelled rows that are measured once more, to learn the noise.
//
// A batch of n measurements with R replicates has (n − q)/R picks, each R times, and q = ⌊n·share + 1/2⌋ labelled rows once:
// those with the fewest measurements so far and, of equal ones, some drawn at random. The budget counts each measurement.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/tables"
)

// replicates is how often each pick is measured.
func (l *Limits) replicates() int { return max(1, l.Replicates) }

// measuresAgain reports whether any row is measured more than once.
func (l *Limits) measuresAgain() bool { return l.Replicates > 1 || l.ReplicateShare > 0 }

// repeats is how many labelled rows a batch measures once more.
func (r *Request) repeats() int {
	if r.Repeated != nil {
		return r.Repeated.Rows
	}
	return r.Limits.Repeats(r.Batch)
}

// picks is how many rows are picked for so many measurements as the batch has.
func (r *Request) picks() int { return (r.Batch - r.repeats()) / r.replicates() }

// Repeats is how many of so many measurements are of labelled rows, once more.
func (l *Limits) Repeats(lines int) int {
	return int(math.Floor(float64(lines)*l.ReplicateShare + 0.5))
}

// checkMeasurements reports a batch that cannot be divided into measurements.
func (l *Limits) checkMeasurements(r *Request) error {
	switch {
	case l.Replicates < 0:
		return refuse("%s must be at least 1", r.named("Replicates"))
	case !(l.ReplicateShare >= 0 && l.ReplicateShare < 1):
		return refuse("%s must be at least 0 and less than 1, not %v", r.named("ReplicateShare"), l.ReplicateShare)
	case l.ReplicateShare > 0 && r.Batch == 0:
		return refuse("%s needs %s: it is a share of the batch", r.named("ReplicateShare"), r.named("Batch"))
	case l.ReplicateShare > 0 && len(l.Same) > 0:
		return refuse("%s and %s exclude each other: labelled rows have values of their own", r.limitText("Same"), r.limitText("ReplicateShare"))
	}
	if r.Batch == 0 || r.Repeated != nil || l.divides(r.Batch) {
		return nil
	}
	fewer, more := r.Batch-1, r.Batch+1
	for fewer > 0 && !l.divides(fewer) {
		fewer--
	}
	for !l.divides(more) {
		more++
	}
	sizes := fmt.Sprintf("%d or %d", fewer, more)
	if fewer == 0 {
		sizes = fmt.Sprint(more)
	}
	var what []string
	if l.Replicates > 1 {
		what = append(what, r.limitText("Replicates"))
	}
	if n := r.repeats(); n > 0 {
		what = append(what, fmt.Sprintf("%s (%s once more)", r.limitText("ReplicateShare"), words.Count(n, "labelled row", "labelled rows")))
	}
	return refuse("%s %d is not a whole number of rows with %s: use %s", r.named("Batch"), r.Batch, words.List(what), sizes)
}

// divides reports whether a batch of this many measurements has a whole number of picks, at least one.
func (l *Limits) divides(lines int) bool {
	left := lines - l.Repeats(lines)
	return left > 0 && left%l.replicates() == 0
}

// measurementLimits describes what is measured more than once.
func (p *Plan) measurementLimits() (list []string) {
	r := &p.request
	if r.Replicates > 1 {
		list = append(list, fmt.Sprintf("each row is measured %d times", r.Replicates))
	}
	if n := len(p.repeats); n > 0 {
		list = append(list, words.Count(n, "labelled row is measured once more", "labelled rows are measured once more"))
	}
	return list
}

// drawRepeats chooses the labelled rows that are measured once more.
func (p *Plan) drawRepeats() error {
	r := &p.request
	need := 0
	if p.Lines > 0 {
		need = r.Limits.Repeats(p.Lines)
	}
	if r.Repeated != nil {
		p.repeated.Add(r.Repeated.Cost)
		return nil
	}
	if need == 0 {
		return nil
	}
	rows, times := p.measured()
	if len(rows) < need {
		return unusableData("%s of %s %d measures %s once more, but %s", r.limitText("ReplicateShare"), r.named("Batch"), p.Lines, words.Count(need, "labelled row", "labelled rows"), words.Count(len(rows), "can be", "can be"))
	}
	order := rng.New(r.Seed, "repeats").Perm(len(rows))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	for _, at := range order[:need] {
		p.repeats = append(p.repeats, rows[at])
	}
	return p.addRepeatedCosts()
}

// measured returns the labelled rows that may be measured again, as rows of their table, and how often each has been so far.
func (p *Plan) measured() (rows, times []int) {
	r := &p.request
	t := r.train()
	if t == nil || p.Rows == nil {
		return nil, nil
	}
	labelled, ids, count := tables.AnyLabel(t, r.TargetColumns), p.ids(t), map[string]int{}
	for row := range t.Rows() {
		if labelled != nil && labelled(row) {
			count[ids.Name(row)]++
		}
	}
	out := slices.Concat(r.Exclude, r.Pending)
	for _, row := range p.Rows.TrainRows {
		if name := ids.Name(row); !slices.Contains(out, name) {
			rows, times = append(rows, row), append(times, count[name])
		}
	}
	return rows, times
}

// addRepeatedCosts adds up what the labelled rows cost that are measured once more.
func (p *Plan) addRepeatedCosts() error {
	r := &p.request
	if r.CostColumn == "" {
		return nil
	}
	costs, err := r.train().Numeric(r.CostColumn)
	if err != nil {
		return &DataError{r.TableNames.At(r.train(), err)}
	}
	for _, row := range p.repeats {
		v := costs.Float(row)
		if !(v >= 0) || math.IsInf(v, 1) {
			err := &dataset.ColumnError{Column: r.CostColumn, Row: row, Problem: "the row is measured once more, so its cost must be there, finite and not negative"}
			return &DataError{r.TableNames.At(r.train(), err)}
		}
		p.repeated.Add(v)
	}
	return nil
}

// measure lists the measurements of a batch, if rows are measured more than once.
func (p *Plan) measure(r *Result) {
	if !p.request.measuresAgain() {
		return
	}
	times := p.request.replicates()
	for i, id := range r.IDs {
		for k := range times {
			one := Measurement{ID: id, Index: r.Indices[i], Pick: i, Replicate: k + 1, Reason: r.Reasons[i]}
			if times > 1 {
				one.Reason = fmt.Sprintf("measurement %d of %d: %s", k+1, times, r.Reasons[i])
			}
			r.Measurements = append(r.Measurements, one)
		}
	}
	ids := p.ids(p.request.train())
	for _, row := range p.repeats {
		r.Measurements = append(r.Measurements, Measurement{ID: ids.Name(row), Index: row, Pick: -1, Replicate: 1, Repeat: true,
			Reason: "labelled before; measured once more to learn the noise"})
	}
}
