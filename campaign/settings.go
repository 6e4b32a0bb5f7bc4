package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Settings determine how a campaign asks and how a row's label follows from its
// measurements. The zero value is usable.
type Settings struct {
	// Spec is the method. Empty means the default of nextbatch.Request. As long as fewer
	// rows have a label than a model needs, the batch is spread over the inputs.
	Spec string `json:"spec,omitempty"`
	fitted.Choices

	Batch int      `json:"batch,omitempty"` // rows of an ask that does not say how many; 0 means DefaultBatch
	Audit *float64 `json:"audit,omitempty"` // share of audit rows; nil means DefaultAudit
	Lease Duration `json:"lease,omitempty"` // of an ask that does not say; 0 means DefaultLease, negative without end
	// Latest takes the last measurement of a row for its label, not the mean of all.
	Latest bool `json:"latest,omitempty"`
	// Lod is the limit of detection of the labels, for those such as <LOD or n.d.: a number, or one for each target, as
	// sheets.ParseLod reads it.
	Lod string `json:"lod,omitempty"`
	// RandomStart means that the rows that were labelled before the first ask had been drawn at random
	// from all rows. Errors are then estimated from them, too, as from audit rows.
	RandomStart bool `json:"random_start,omitempty"`

	tables.Columns
	Missing string `json:"missing,omitempty"` // as tables.Missing prints it
	limits.Limits
	plate.Layout // of the wells of batches
}

// Duration is a time.Duration that JSON spells like "168h0m0s".
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		v, err = options.ParseLease(text)
	}
	*d = Duration(v)
	return err
}

// What settings mean that are not set.
const (
	DefaultBatch = 32
	DefaultAudit = 1.0 / 8
	DefaultLease = 7 * 24 * time.Hour
)

// auditShare returns the share of audit rows.
func (s Settings) auditShare() float64 {
	if s.Audit == nil {
		return DefaultAudit
	}
	return *s.Audit
}

func (s Settings) batch() int {
	if s.Batch == 0 {
		return DefaultBatch
	}
	return s.Batch
}

// leaseEnd returns when a lease that begins now ends; nil means never.
func (s Settings) leaseEnd(lease time.Duration, now time.Time) *time.Time {
	for _, d := range []time.Duration{lease, time.Duration(s.Lease), DefaultLease} {
		if d < 0 {
			return nil
		}
		if d > 0 {
			end := now.Add(d)
			return &end
		}
	}
	return nil
}

// Check reports everything that is wrong with the settings, which it names as JSON does.
func (s Settings) Check() error { return s.CheckNamed(options.Setting) }

// CheckNamed is Check with other names: nameOf returns what messages call a field of a
// nextbatch.Request, such as a flag.
func (s Settings) CheckNamed(nameOf func(field string, value ...string) string) error {
	var found []error
	if share := s.auditShare(); !(share >= 0 && share <= 1) {
		found = append(found, fmt.Errorf("the share of audit rows must be between 0 and 1, not %v", share))
	}
	if s.Batch < 0 {
		found = append(found, fmt.Errorf("a batch must have at least one row, not %d", s.Batch))
	}
	for _, w := range s.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			found = append(found, fmt.Errorf("the weight of a target must be positive and finite, not %v", w))
		}
	}
	if _, err := sheets.ParseLod(s.Lod); err != nil {
		found = append(found, fmt.Errorf("%s %w", nameOf("Lod"), err))
	}
	_, misplaced := s.Layout.Parse(nameOf)
	r, err := s.request()
	if err == nil {
		r.Batch, r.FieldName = s.batch(), nameOf
		if s.Batch < 0 {
			r.Batch = 1
		}
		r.Weights, r.Ranges = nil, nil // the settings alone do not say how many targets there are
		err = r.Check()
	}
	if misplaced != nil && (err == nil || err.Error() != misplaced.Error()) { // which the check of the request may say
		found = append(found, misplaced)
	}
	return errors.Join(append(found, err)...)
}

// checkStored is Check for settings that are in a log. Earlier versions accepted any number of
// members, epochs and runs, longer specs, a column of Same twice, and groups that need more rows than they may have; an
// ask of such a campaign is rejected, but the campaign stays readable.
func (s Settings) checkStored() error {
	s.Members, s.Runs = 0, min(s.Runs, 1)
	s.Same = s.Same[:min(len(s.Same), 1)]
	if s.PerGroup > 0 {
		s.MinPerGroup = min(s.MinPerGroup, s.PerGroup)
	}
	s.Network.Training.Epochs = min(s.Network.Training.Epochs, network.MostEpochs)
	if _, err := spec.Parse(s.Spec); err != nil {
		s.Spec = ""
	}
	return s.Check()
}

// request returns the part of a request that the settings determine.
func (s Settings) request() (nextbatch.Request, error) {
	r := nextbatch.Request{Options: fitted.Options{Choices: s.Choices}, Input: tables.Input{Columns: s.Columns},
		Ask: limits.Ask{Limits: s.Limits, Layout: s.Layout}}
	if s.Spec != "" {
		parsed, err := spec.Parse(s.Spec)
		if err != nil {
			return r, err
		}
		if needs.OwnFeatures(parsed) {
			return r, fmt.Errorf("%v needs the user's own features, which a campaign does not have", parsed)
		}
		r.Spec = parsed
	}
	if s.Missing != "" {
		missing, err := tables.ParseMissing(s.Missing)
		if err != nil {
			return r, fmt.Errorf("missing inputs: %w", err)
		}
		r.Missing = missing
	}
	return r, nil
}
