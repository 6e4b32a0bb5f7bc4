package campaign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/space"
)

// A campaign of a space begins without rows. Models learn from the labelled rows, scaled by a sample of the space that
// stays the same; if the space is small, the sample is all of it. An ask picks from that sample, from another one that
// fills the space and is its own, from rows of the campaign that are open, and from candidates near the picks of a
// first round. A candidate that is picked becomes a row of the campaign, with the next number, in the event of the ask;
// what is or was a row is not a candidate any more. Audit rows are drawn from the two samples, which fill the space.

// How many candidates of a space there are.
const (
	sampleRows = 1024 // of the sample that scales models
	freshRows  = 3072 // of the one of an ask
)

// sampled is the space of a campaign with the sample that scales models.
type sampled struct {
	*space.Counted
	sample *space.Drawn
	whole  bool // all candidates are in it
}

// fromSpace reports whether the candidates come from a space rather than a table.
func (s *State) fromSpace() bool { return s.Created.Space != "" }

// sampled reads the space. The handle keeps it.
func (c *Campaign) sampled(ctx context.Context, s *State) (*sampled, error) {
	c.spaceMu.Lock()
	defer c.spaceMu.Unlock()
	if c.space != nil {
		return c.space, nil
	}
	raw, err := c.store.Blob(ctx, c.name, s.Created.Space)
	if err != nil {
		return nil, fmt.Errorf("the space of the campaign: %w", err)
	}
	described, err := space.Stored(ctx, raw)
	if err != nil {
		return nil, err
	}
	counted, err := described.Count(ctx)
	if err != nil {
		return nil, err
	}
	c.space, err = newSampled(ctx, counted, s.Created.Settings.Seed)
	return c.space, err
}

// newSampled draws the sample of a space, by the seed of the campaign.
func newSampled(ctx context.Context, of *space.Counted, seed uint64) (*sampled, error) {
	v := &sampled{Counted: of, whole: of.Fits(sampleRows + freshRows)}
	rows := sampleRows
	if v.whole {
		rows += freshRows
	}
	var err error
	v.sample, err = v.drawAny(ctx, rows, rng.New(seed, "space").Uint64())
	return v, err
}

// drawAny is Draw, for which fewer rows are no error.
func (v *sampled) drawAny(ctx context.Context, rows int, seed uint64) (*space.Drawn, error) {
	drawn, err := v.Draw(ctx, space.Build{Rows: rows, Seed: seed, Progress: func(int, int) {}})
	if errors.Is(err, space.ErrFewer) {
		err = nil
	}
	return drawn, err
}

// others returns the places of the rows of a table that are new, and notes them.
func (v *sampled) others(t *dataset.Table, seen map[string]bool) (at []int, err error) {
	keys, err := v.keys(t)
	for row, key := range keys {
		if !seen[key] {
			seen[key] = true
			at = append(at, row)
		}
	}
	return at, err
}

// keys returns a text for each row of a table, which rows with the same values of all factors share.
func (v *sampled) keys(t *dataset.Table) ([]string, error) {
	keys := make([][]byte, t.Rows())
	for _, name := range v.Inputs() {
		column, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		numbers, _ := column.(*dataset.Numeric)
		for row := range keys {
			switch {
			case column.Missing(row):
				keys[row] = append(keys[row], '-')
			case numbers != nil:
				keys[row] = binary.BigEndian.AppendUint64(append(keys[row], '#'), math.Float64bits(numbers.Float(row)+0))
			default:
				keys[row] = append(append(keys[row], column.Format(row)...), 0)
			}
		}
	}
	texts := make([]string, len(keys))
	for row, key := range keys {
		texts[row] = string(key)
	}
	return texts, nil
}

// settable returns the columns in which other numbers may have been set than a row has; nil without a space.
func (c *Campaign) settable(ctx context.Context, s *State) (map[string]bool, error) {
	if !s.fromSpace() {
		return nil, nil
	}
	of, err := c.sampled(ctx, s)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, column := range s.Created.Columns {
		if column.Kind == dataset.KindNumeric.String() && slices.Contains(of.Inputs(), column.Name) {
			set[column.Name] = true
		}
	}
	return set, nil
}
