package worker

import (
	"cmp"
	"math"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/network"
)

// handedOut are rows that were handed out.
type handedOut struct {
	wire.Batch
	Rows []picked `json:"rows"` // in the order of the picks
}

// picked is a row of a batch.
type picked struct {
	campaign.RowRef
	Inputs map[string]wire.Value `json:"inputs"` // by column; null where a value is missing
	wire.Pick
}

func (c *call) campaignAsk() (any, error) {
	type request struct {
		address
		wire.AskRequest
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		a := c.asking()
		a.Rows, a.Audit, a.Must, a.Exclude, a.Overrides = body.Rows, body.Audit, body.Must, body.Exclude, body.Overrides
		if body.Lease != "" {
			var err error
			if a.Lease, err = options.ParseLease(body.Lease); err != nil {
				return nil, refuse("%s", err.Error())
			}
		}
		if body.Rows < 0 {
			return nil, refuse("a batch must have at least one row, not %d", body.Rows)
		}
		b, err := camp.Ask(c.ctx, body.by(), a)
		if err != nil {
			return nil, err
		}
		return c.handedOut(camp, b)
	})
}

// asking returns an ask that reports its progress and checks its memory.
func (c *call) asking() campaign.Ask {
	return campaign.Ask{
		Epoch:    func(e network.Epoch) { c.report(wire.Progress{Stage: "training", Done: e.Number, Of: e.Of}) },
		Fitting:  c.fitting(),
		Progress: c.picking,
		Admit:    func(bytes int64, less ...string) error { return c.server.admit("the request", bytes, less) },
		Kept:     c.kept, FieldName: options.Argument,
	}
}

// handedOut describes a batch with the inputs of its rows.
func (c *call) handedOut(camp *campaign.Campaign, b *campaign.Batch) (any, error) {
	s, err := camp.State(c.ctx)
	if err != nil {
		return nil, err
	}
	refs := make([]campaign.RowRef, len(b.Rows))
	for i, r := range b.Rows {
		refs[i] = r.RowRef
	}
	inputs, err := camp.Inputs(c.ctx, refs)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(s.Created.IDColumn, campaign.RowColumn)
	out := handedOut{wire.BatchOf(b.AskEvent, b.Result.Warnings), make([]picked, len(b.Rows))}
	lines, alone := b.Result.Lines(), wire.ReasonsAlone(b.Result)
	for i, r := range b.Rows {
		values := wire.Inputs(inputs, i, id)
		out.Rows[i] = picked{r.RowRef, values, wire.Pick{
			Audit: r.Audit, Reason: lines[i].Reason, ReasonAlone: alone[i],
			Predictions: wire.Predictions(s.Created.Targets, r.Predictions), Place: wire.PlaceOf(b.Asked, &r, values),
		}}
	}
	return out, nil
}

// predictedHeader describes predictions. The arrays are the numbers of the open
// rows, where the text of each id ends, the text of the ids in UTF-8, and then
// predictions and the ends of their intervals, with a column for each target and NaN
// where there is none.
type predictedHeader struct {
	Trained  int      `json:"trained"`
	Warnings []string `json:"warnings"`
	Targets  []string `json:"targets"`
}

func (c *call) campaignPredict() (any, error) {
	return about(c, func(body address, camp *campaign.Campaign) (any, error) {
		p, err := camp.Predict(c.ctx, c.asking())
		if err != nil {
			return nil, err
		}
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		c.data = predictionArrays(p, len(s.Created.Targets))
		return predictedHeader{p.Trained, append([]string{}, p.Warnings...), s.Created.Targets}, nil
	})
}

func predictionArrays(p *campaign.Predicted, targets int) []Array {
	n := len(p.Rows)
	rows, ends, text := make([]int64, n), make([]int64, n), []byte{}
	ofTargets := func() Array {
		return Array{Shape: Shape{"float64", []int{n, targets}}, Float64: make([]float64, n*targets)}
	}
	mean, low, high := ofTargets(), ofTargets(), ofTargets()
	for i, ref := range p.Rows {
		text = append(text, ref.ID...)
		rows[i], ends[i] = ref.Row, int64(len(text))
		for t := range targets {
			at := i*targets + t
			mean.Float64[at], low.Float64[at], high.Float64[at] = math.NaN(), math.NaN(), math.NaN()
			if t >= len(p.Predictions[i]) {
				continue
			}
			one := p.Predictions[i][t]
			mean.Float64[at] = float64(one.Value)
			if one.Low != nil && one.High != nil {
				low.Float64[at], high.Float64[at] = float64(*one.Low), float64(*one.High)
			}
		}
	}
	return []Array{
		{Shape: Shape{"int64", []int{n}}, Int64: rows}, {Shape: Shape{"int64", []int{n}}, Int64: ends},
		{Shape: Shape{"uint8", []int{len(text)}}, Uint8: text}, mean, low, high,
	}
}
