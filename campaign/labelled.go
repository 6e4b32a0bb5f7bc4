package campaign

import (
	"context"

	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// Labelled is the rows of a campaign as its model is fitted to them, and what is fitted. Labels that wait for a second
// look are not among them.
type Labelled struct {
	*tables.Rows
	Refs    []RowRef // of the rows of Train
	Learner learner.Kind
	Network network.Config
}

// Labelled returns the rows with their labels, to audit them. Of the ask, only the functions have an effect. Without
// labels the error is ErrTooFewLabels, by errors.Is.
func (c *Campaign) Labelled(ctx context.Context, a Ask) (*Labelled, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	if s.Counts().Labelled == 0 {
		return nil, tooFewLabels{s.Settings.Learner, len(s.Created.Targets)}
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	request, err := rows.request(s)
	if err != nil {
		return nil, err
	}
	if len(rows.known) == len(rows.numbers) { // nothing is left to pick from: the labelled rows stand in for candidates
		request.Train, request.Pool, request.Table, request.Random = request.Table, request.Table, nil, nil
	}
	a.into(&request, nil)
	fit, err := request.Rows(ctx)
	if err != nil {
		return nil, err
	}
	found := &Labelled{Rows: fit, Learner: request.Learner, Network: s.Settings.Network}
	for _, at := range fit.TrainRows {
		found.Refs = append(found.Refs, rows.ref(at))
	}
	return found, nil
}
