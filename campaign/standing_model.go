package campaign

import (
	"context"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
)

// ModelStanding is the model whose errors a standing estimates: that of the last ask.
type ModelStanding struct {
	Ask     int64 `json:"ask" doc:"that used it"`
	Trained int   `json:"trained" doc:"labelled rows that it was fitted to"`
	Changed int   `json:"changed" doc:"of these, rows whose label has changed or is gone since: it was corrected, undone, confirmed or measured again, or the row was retired"`
}

// Note says that the model is not that of the present labels; it is empty if it is, apart from labels that came since.
func (m *ModelStanding) Note() words.Text {
	if m == nil || m.Changed == 0 {
		return words.Text{}
	}
	return words.Textf("estimates are of the model of ask %d with %v; %v since; the next ask fits a new one", m.Ask,
		words.Counted(m.Trained, "label", "labels"),
		words.Counted(m.Changed, "of them has changed", "of them have changed"))
}

// modelStanding compares the labels with those at the last ask that had a model.
func (c *Campaign) modelStanding(ctx context.Context, s *State) (*ModelStanding, error) {
	for _, a := range slices.Backward(s.Asks) {
		if a.Model == "" {
			continue
		}
		then, err := c.stateAt(ctx, a.Seq)
		if err != nil {
			return nil, err
		}
		m := &ModelStanding{Ask: a.Ask, Trained: a.Trained}
		for _, ref := range then.With(StatusLabelled) {
			if !s.Exists(ref.Row) || s.Status(ref.Row) != StatusLabelled || !sameLabel(s.Label(ref.Row), then.Label(ref.Row)) {
				m.Changed++
			}
		}
		return m, nil
	}
	return nil, nil
}

// sameLabel reports whether labels are equal, also where both are missing.
func sameLabel(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// stateAt returns the state after an event, as it was then: what was undone since counts. The handle keeps it.
func (c *Campaign) stateAt(ctx context.Context, seq int64) (*State, error) {
	c.taughtMu.Lock()
	defer c.taughtMu.Unlock()
	if c.taught != nil && c.taught.Seq == seq {
		return c.taught, nil
	}
	log, err := c.upTo(ctx, seq)
	if err != nil {
		return nil, err
	}
	then, err := Fold(log, log[seq-1].Time)
	if err == nil {
		c.taught = then
	}
	return then, err
}
