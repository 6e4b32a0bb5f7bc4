package campaign

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
)

// Ask is what to ask for.
type Ask struct {
	Rows    int           // measurements; 0 means Settings.Batch
	Lease   time.Duration // how long the rows are out; 0 means Settings.Lease, negative without end
	Audit   *float64      // share of audit rows; nil means Settings.Audit
	Must    []string      // ids of rows that must be in the batch
	Exclude []string      // ids of rows that may not be
	Overrides

	Trainer network.Trainer                       // nil means network.OnDevice, without a device network.Resumable
	Epoch   func(network.Epoch)                   // called after each epoch of training, unless nil
	Fitting func(learner string, fold, folds int) // called before each fit of a model of a blend, unless nil
	// called after each model of MeasureGain, with how many have been fitted, unless nil
	Compared func(models int)
	Progress func(nextbatch.Progress)                // called while rows are embedded and picked, unless nil
	Admit    func(bytes int64, less ...string) error // see nextbatch.Request
	// FieldName returns what messages call a field of a nextbatch.Request, such as a flag; nil means as in JSON.
	FieldName func(field string, value ...string) string
	// Kept, unless nil, keeps the features of rows from one ask to the next: as long as the
	// model stays the same, those of new rows alone are computed. Several campaigns may share
	// it; it holds the features of one of them at a time.
	Kept *kept.Features

	busy map[int64]bool // rows that count as out, even if their lease has ended
}

// Overrides are what an ask wants other than the settings do. What is nil is as the settings say.
type Overrides struct {
	Same           []string `json:"same,omitzero" nullable:"true" maxItems:"100" doc:"columns whose values all rows of a run share; an empty list means none"`
	Runs           *int     `json:"runs,omitempty" minimum:"0" maximum:"1000000" doc:"number of runs; needs same"`
	MinPerGroup    *int     `json:"min_per_group,omitempty" minimum:"0" maximum:"1000000" doc:"fewest rows of every group that has open rows or, with at_most_groups, of each group in the batch; 0 means any number"`
	MaxGroups      *int     `json:"at_most_groups,omitempty" minimum:"0" maximum:"1000000" doc:"most groups that the batch has rows of; 0 means any number"`
	Replicates     *int     `json:"replicates,omitempty" minimum:"0" maximum:"1000000" doc:"how often each row is measured; the batch counts measurements"`
	ReplicateShare *Share   `json:"replicate_share,omitempty" doc:"share of the batch that measures labelled rows once more, such as 0.125 or 1/8"`
	Plate          *string  `json:"plate,omitempty" maxLength:"20" doc:"rows x columns of the plates, such as 8x12; empty means no wells" example:"8x12"`
	Controls       []string `json:"controls,omitzero" nullable:"true" maxItems:"2000" doc:"wells, rows or columns of a plate that stay free, such as A1, H12 or 12"`
}

// Share is a part of a whole, which JSON spells as a number or as a text such as 1/8.
type Share float64

// UnmarshalJSON implements json.Unmarshaler.
func (v *Share) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return json.Unmarshal(raw, (*float64)(v))
	}
	share, err := ParseShare(text)
	*v = share
	return err
}

// ParseShare reads a share such as 0.125 or 1/8.
func ParseShare(text string) (Share, error) {
	above, below, isFraction := strings.Cut(text, "/")
	share, err := strconv.ParseFloat(strings.TrimSpace(above), 64)
	if isFraction && err == nil {
		var whole float64
		whole, err = strconv.ParseFloat(strings.TrimSpace(below), 64)
		share /= whole
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is not a share such as 0.125 or 1/8", text)
	}
	return Share(share), nil
}

// over returns limits and a layout of plates with what the ask wants otherwise.
func (o *Overrides) over(l limits.Limits, p plate.Layout) (limits.Limits, plate.Layout) {
	if o.Same != nil && len(o.Same) == 0 {
		l.Runs = 0
	}
	if o.Plate != nil {
		p.Controls = nil
	}
	options.Copy(&l, o, nil)
	options.Copy(&p, o, nil)
	return l, p
}

// none reports whether all is as the settings say.
func (o *Overrides) none() bool { return reflect.DeepEqual(*o, Overrides{}) }

// into copies the callbacks of an ask into a request that fits models for it.
func (a Ask) into(r *nextbatch.Request, trainer network.Trainer) {
	r.Trainer, r.Epoch, r.Fitting, r.Progress, r.Admit, r.FieldName = trainer, a.Epoch, a.Fitting,
		a.Progress, a.Admit, a.FieldName
	if r.FieldName == nil {
		r.FieldName = a.setting
	}
}

// setting is options.Setting, except that the size of a batch has the name that it has in an ask, if that says it.
func (a *Ask) setting(field string, value ...string) string {
	if field == "Batch" && a.Rows > 0 {
		return "rows"
	}
	return options.Setting(field, value...)
}

// call returns the ask as a change.
func (a *Ask) call(by By) call {
	said := []any{a.Rows, a.Lease, a.Audit, append([]string{}, a.Must...), append([]string{}, a.Exclude...)}
	if !a.none() { // without it, requests have the digests that earlier versions gave them
		said = append(said, a.Overrides)
	}
	return by.call(kindAsked, said...)
}
