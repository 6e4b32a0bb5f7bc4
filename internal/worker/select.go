package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/picture"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// picking is what requests for a batch have in common. The fields have the names of
// the arguments of the Python functions.
type picking struct {
	N         int      `json:"n"`
	Method    string   `json:"method"` // empty for the default
	Seed      uint64   `json:"seed"`
	Pending   []string `json:"pending"`
	Must      []string `json:"must"`
	Exclude   []string `json:"exclude"`
	Threads   int      `json:"threads"`
	MaxMemory int64    `json:"max_memory"` // bytes; 0 for what the machine has available
	Plot      bool     `json:"plot"`       // add the coordinates of the rows in a plane
}

// selectBody asks for a batch from tables.
type selectBody struct {
	picking
	choice.Choice              // what is absent or null is the default
	Learner       learner.Kind `json:"learner"`
	// each with two arrays: predictions for the labelled rows, out of fold, and for candidates
	Learners []given `json:"learners"`
	Table    *table  `json:"table"`
	Train    *table  `json:"train"`
	Pool     *table  `json:"pool"`
	Aims     *table  `json:"target"`
	Earlier  []table `json:"earlier"`

	tables.Columns
	Y            []string `json:"y"`
	LabelSD      []string `json:"label_sd"`
	ID           string   `json:"id"`
	RandomColumn string   `json:"random_column"`
	Missing      string   `json:"missing"`
	Censored     string   `json:"censored"`
	Lod          lod      `json:"lod"`

	limits.Limits                // those of them that Python calls otherwise, or writes otherwise, follow
	Cost          string         `json:"cost"`
	CostAware     bool           `json:"cost_aware"`
	Group         string         `json:"group"`
	GroupInput    bool           `json:"group_input"`
	Share         campaign.Share `json:"replicate_share"`
	plate.Layout
}

// request returns a request with what the body and its kind have in common.
func (c *call) request(p picking) (r nextbatch.Request, err error) {
	switch {
	case p.Threads < 0:
		return r, refuse("threads must not be negative, not %d", p.Threads)
	case p.MaxMemory < 0:
		return r, refuse("max_memory must not be negative, not %d", p.MaxMemory)
	}
	c.ctx = nextbatch.WithThreads(c.ctx, p.Threads)
	r = nextbatch.Request{
		Ask:       limits.Ask{Batch: p.N, Pending: p.Pending, Must: p.Must, Exclude: p.Exclude},
		Options:   fitted.Options{Choices: fitted.Choices{Seed: p.Seed}},
		FieldName: options.Argument, Progress: c.picking, Input: tables.Input{Names: map[*dataset.Table]string{}},
	}
	r.Admit = func(bytes int64, less ...string) error { return c.server.admitSelection(bytes, p.MaxMemory, less) }
	if p.Method != "" {
		r.Spec, err = spec.Parse(p.Method)
	}
	return r, err
}

// selectRows picks a batch from tables.
func (c *call) selectRows() (any, error) {
	r, plot, err := c.fromTables()
	if err != nil {
		return nil, err
	}
	return c.pick(r, plot)
}

// leaks names the columns that select does not take for inputs because they are measured together with the label.
func (c *call) leaks() (any, error) {
	r, _, err := c.fromTables()
	if err != nil {
		return nil, err
	}
	leaks, _, err := r.Leaks(c.ctx)
	columns := []string{}
	for _, leak := range leaks {
		columns = append(columns, leak.Column)
	}
	return map[string][]string{"columns": columns}, err
}

// fromTables returns the request for a batch from tables, and whether a plot is wanted.
func (c *call) fromTables() (r nextbatch.Request, plot bool, err error) {
	body := selectBody{Choice: choice.DefaultChoice(), Learner: learner.Auto, Missing: tables.ImputeMissing.String()}
	if err := c.read(&body); err != nil {
		return r, false, err
	}
	if r, err = c.request(body.picking); err != nil {
		return r, false, err
	}
	if r.Missing, err = tables.ParseMissing(body.Missing); err != nil {
		return r, false, refuse("missing %v", err)
	}
	if err := c.checkLearner(body.Learner, body.Choice); err != nil {
		return r, false, err
	}
	if r.Network, err = trained(body.Choice, body.Seed); err != nil {
		return r, false, err
	}
	r.TargetColumns, r.IDColumn, r.RandomColumn, r.Columns = body.Y, body.ID, body.RandomColumn, body.Columns
	r.LabelSD = body.LabelSD
	r.Limits, r.Layout = body.Limits, body.Layout
	r.CostColumn, r.PerCost, r.GroupColumn, r.GroupIsInput, r.ReplicateShare = body.Cost, body.CostAware, body.Group,
		body.GroupInput, float64(body.Share)
	r.Members, r.Learner = body.Members, body.Learner
	if r.Given, err = c.givenTo(body.Learners); err != nil {
		return r, false, err
	}
	opts, err := reading(body.Categorical, slices.Concat(body.Y, body.LabelSD), body.Censored, body.Lod)
	if err != nil {
		return r, false, err
	}
	opts.RowNames = body.ID
	for _, t := range []struct {
		from *table
		into **dataset.Table
	}{{body.Table, &r.Table}, {body.Train, &r.Train}, {body.Pool, &r.Pool}, {body.Aims, &r.Aims}} {
		if t.from == nil {
			continue
		}
		if *t.into, err = c.build(*t.from, opts, body.MaxMemory); err != nil {
			return r, false, err
		}
		r.Names[*t.into] = t.from.Name
	}
	r.Earlier, err = c.earlier(body.Earlier, opts, r.Names)
	return r, body.Plot, err
}

// earlier returns tables of earlier data, which may lack columns, and names them.
func (c *call) earlier(from []table, opts source.Options, names tables.Names) (list []*dataset.Table, err error) {
	opts.RowNames = ""
	for _, one := range from {
		t, err := c.build(one, opts, 0)
		if err != nil {
			return nil, err
		}
		list, names[t] = append(list, t), one.Name
	}
	return list, nil
}

// checkLearner rejects an unknown learner, and settings that have no effect on its networks.
func (c *call) checkLearner(kind learner.Kind, choice choice.Choice) error {
	if err := kind.Check("learner"); err != nil {
		return refuse("%v", err)
	}
	var body map[string]json.RawMessage
	if err := c.read(&body); err != nil {
		return err
	}
	var given []string
	for _, name := range []string{"hidden", "activation", "epochs", "ensemble"} {
		said := string(body[name])
		if said != "" && said != "null" && (name != "ensemble" || choice.Members > 1) {
			given = append(given, name)
		}
	}
	if err := kind.CheckNetwork("", given, choice.Activation); err != nil {
		return refuse("%v", err)
	}
	return nil
}

// trained checks how to train.
func trained(c choice.Choice, seed uint64) (network.Config, error) {
	config, err := c.Config(seed, options.Argument)
	if err != nil {
		return config, refuse("%v", err)
	}
	return config, nil
}

// selectFeatures picks a batch by the user's own features: array 0 holds those of the
// candidates, array 1, if there is one, those of the labelled rows, and array 2 those
// of the target distribution; either may have no rows.
func (c *call) selectFeatures() (any, error) {
	var body picking
	if err := c.read(&body); err != nil {
		return nil, err
	}
	r, err := c.request(body)
	if err != nil {
		return nil, err
	}
	if len(c.Data) < 1 || len(c.Data) > 3 {
		return nil, refuse("features are one to three arrays, not %d", len(c.Data))
	}
	r.OwnFeatures = true
	if r.Spec.Method == "" {
		r.Spec = nextbatch.FeaturesSpec(len(c.Data) > 1 && len(c.Data[1].Float32)+len(c.Data[1].Float64) > 0)
	}
	if needs.ComputesInDouble(r.Spec) {
		r.Exact, err = setsOf[float64](c)
	} else {
		r.Features, err = setsOf[float32](c)
	}
	if err != nil {
		return nil, err
	}
	return c.pick(r, body.Plot)
}

func setsOf[T matrix.Float](c *call) (sets nextbatch.Sets[T], err error) {
	into := []*matrix.Dense[T]{&sets.Pool, &sets.Train, &sets.Aims}
	for i, a := range c.Data {
		name := []string{"pool", "train", "target"}[i]
		if *into[i], err = matrixOf[T](a); err != nil {
			return sets, fmt.Errorf("%s %w", name, err)
		}
		m := *into[i]
		if m.Rows == 0 { // with any number of columns
			m = matrix.New[T](0, sets.Pool.Cols)
			*into[i] = m
		}
		if row, column, found := linalg.FirstNotFinite(linalg.TeamOf(c.ctx), m); found {
			return sets, fmt.Errorf("%s: row %d, column %d (from 0) is %v", name, row, column, m.At(row, column))
		}
		if m.Cols != sets.Pool.Cols {
			return sets, fmt.Errorf("%s has %d columns, pool %d", name, m.Cols, sets.Pool.Cols)
		}
		if sets.Pool.Rows == 0 {
			return sets, errors.New("pool has no rows")
		}
	}
	return sets, nil
}

// pick carries out a request.
func (c *call) pick(r nextbatch.Request, plot bool) (any, error) {
	begin := time.Now()
	var plan *nextbatch.Plan
	r.Fitting = c.fitting()
	r.Epoch = c.training(func(e network.Epoch) int { return max(plan.Networks, e.Folds) })
	plan, err := r.Plan(c.ctx)
	if err != nil {
		return nil, err
	}
	result, err := plan.Select(c.ctx)
	if err != nil {
		return nil, err
	}
	result.Version, result.Timings.Total = c.server.Version, fitted.Float(time.Since(begin).Seconds())
	if plot {
		if err := c.plane(r.WithDefaults().Spec, plan, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// plane adds three arrays to the answer: the coordinates of candidates, of labelled
// rows and of the picks in the principal plane of the kernel.
func (c *call) plane(s spec.Spec, plan *nextbatch.Plan, result *nextbatch.Result) error {
	p := plan.Problem()
	p.Progress = nil
	sets := []matrix.Dense[float32]{
		p.Pool.SelectRows(picture.Spread(p.Pool.Rows, picture.ShownCandidates)),
		p.Train.SelectRows(picture.Spread(p.Train.Rows, picture.ShownLabelled)), p.Pool.SelectRows(result.Batch.Rows()),
	}
	rows := matrix.Stack(sets...)
	sample := rows.SelectRows(picture.Spread(sets[0].Rows+sets[1].Rows, picture.PlaneSample))
	kernel, err := nextbatch.KernelOf(c.ctx, s, p, sample.Rows+rows.Rows)
	if err != nil {
		return err
	}
	plane, err := kernel.Plane(c.ctx, sample, rows)
	if err != nil {
		return err
	}
	at := 0
	for _, set := range sets {
		part := plane.At.Slice(at, at+set.Rows).Clone()
		c.data = append(c.data, Array{Shape: Shape{"float64", []int{part.Rows, 2}}, Float64: part.Data})
		at += set.Rows
	}
	return nil
}

// admitSelection rejects a selection that would need more memory than the limit, or than the
// machine has available where the limit is 0.
func (s Server) admitSelection(need, limit int64, less []string) error {
	if limit == 0 {
		less = append(less, fmt.Sprintf("max_memory=%d, which tries it anyway", need))
	}
	return s.admitWithin("the selection", need, limit, less)
}

// admitWithin rejects what would need more memory than max_memory, or, if that is 0, than the
// machine has available.
func (s Server) admitWithin(what string, need, limit int64, less []string) error {
	if limit == 0 {
		return s.admit(what, need, less)
	}
	if need > limit {
		return &memoryError{fmt.Sprintf("%s would need about %s, but max_memory is %s; try %s", what, words.Memory(need),
			words.Memory(limit), strings.Join(less, ", or "))}
	}
	return nil
}

// admit rejects what would need more memory than the machine has available, and lists changes
// that would need less.
func (s Server) admit(what string, need int64, less []string) error {
	if available := s.limit(); need > available {
		return &memoryError{fmt.Sprintf("%s would need about %s, but %s are available; try %s", what, words.Memory(need),
			words.Memory(available), strings.Join(less, ", or "))}
	}
	return nil
}
