package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/network"
)

// The network that was trained last is kept in the store, with a fingerprint of
// everything that it depends on: labels, rows and settings. As long as that does not
// change, no network is trained.

// modelBlob is the key of the kept network: a line with its fingerprint, then what
// network.Model.MarshalBinary returns.
const modelBlob = "model"

// fingerprint identifies what a network is trained on and how.
func (r *candidates) fingerprint(s *State) string {
	set := s.Settings
	hash := sha256.New()
	// The hash cannot fail, and neither can the encoding of checked settings.
	_ = json.NewEncoder(hash).Encode([]any{
		set.Network, set.Weights, set.Categorical, set.Keep, set.Missing, set.CostColumn, set.GroupColumn, set.GroupIsInput,
		s.Created.Targets, keyOf(s.spans),
	})
	for _, ref := range s.With(StatusLabelled) {
		fmt.Fprintln(hash, ref.Row, s.Label(ref.Row))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// keptModel returns the kept network if it has the fingerprint and enough members. One
// that cannot be read is trained again.
func (c *Campaign) keptModel(ctx context.Context, fingerprint string, members int) *network.Model[float32] {
	raw, err := c.store.Blob(ctx, c.name, modelBlob)
	if err != nil {
		return nil
	}
	line, rest, found := bytes.Cut(raw, []byte("\n"))
	if !found || string(line) != fingerprint {
		return nil
	}
	model := &network.Model[float32]{}
	if err := model.UnmarshalBinary(rest); err != nil || len(model.Ensemble()) < members {
		return nil
	}
	return model
}

func (c *Campaign) keepModel(ctx context.Context, fingerprint string, model *network.Model[float32]) error {
	raw, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	return c.store.PutBlob(ctx, c.name, Blob{modelBlob, append([]byte(fingerprint+"\n"), raw...)})
}

// Predicted is the predictions for the open rows.
type Predicted struct {
	Rows        []RowRef
	Predictions [][]nextbatch.Prediction // of each target; nil for a row without inputs
	Trained     int                      // labelled rows that the network was trained on
	Model       string                   // its fingerprint
	Kept        bool                     // no network was trained
	Warnings    []string
}

// ErrTooFewLabels reports that there are not enough labels for a network.
var ErrTooFewLabels = fmt.Errorf("predictions need a network, and a network at least %d labelled rows", fewestToLearn)

// Predict predicts the labels of all open rows, with the kept network or one that it
// trains. Of the ask, only the functions and the trainer have an effect.
func (c *Campaign) Predict(ctx context.Context, a Ask) (*Predicted, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	switch counts := s.Counts(); {
	case counts.Labelled < fewestToLearn:
		return nil, ErrTooFewLabels
	case counts.Open == 0:
		return &Predicted{}, nil
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := rows.request(s)
	if err != nil {
		return nil, err
	}
	r.Trainer, r.Epoch, r.Progress, r.Admit, r.Batch = a.Trainer, a.Epoch, a.Progress, a.Admit, 1
	p := &Predicted{Model: rows.fingerprint(s)}
	r.Members = max(1, r.WithDefaults().Spec.TrainedNetworks(), s.Settings.Members)
	if r.Model = c.keptModel(ctx, p.Model, r.Members); r.Model != nil {
		p.Kept = true
	}
	plan, err := learningPlan(ctx, r)
	if err != nil {
		return nil, err
	}
	if !p.Kept {
		if err := c.keepModel(ctx, p.Model, plan.Model()); err != nil {
			return nil, err
		}
	}
	p.Trained, p.Warnings = plan.Labelled, plan.Warnings
	for _, at := range rows.open {
		p.Rows = append(p.Rows, rows.ref(at))
	}
	p.Predictions, err = predict(ctx, plan, plan.Model(), rows.open)
	return p, err
}
