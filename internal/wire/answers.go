package wire

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
)

// Changed is what a change changed.
type Changed struct {
	Event    int64             `json:"event" doc:"number of the event; 0 if nothing changed"`
	Rows     []campaign.RowRef `json:"rows" doc:"rows that changed"`
	Repeated bool              `json:"repeated" doc:"the request had been made before; this is the answer of that time"`
}

// ChangedOf describes a change.
func ChangedOf(c campaign.Changed) Changed {
	return Changed{c.Seq, append([]campaign.RowRef{}, c.Rows...), c.Repeated}
}

// AddedEarlier is the answer to earlier data.
type AddedEarlier struct {
	Changed
	Warnings []string `json:"warnings" doc:"what the cells of the table gave cause for, and units that were converted"`
}

// AddedEarlierOf describes earlier data that were added.
func AddedEarlierOf(c campaign.Changed, warnings []string) AddedEarlier {
	return AddedEarlier{ChangedOf(c), append(append([]string{}, c.Converted...), warnings...)}
}

// Added is what was added.
type Added struct {
	Event     int64               `json:"event"`
	Rows      int64               `json:"rows" doc:"how many"`
	Labelled  int                 `json:"labelled" doc:"rows that came with a label"`
	Repeated  bool                `json:"repeated"`
	NewLevels map[string][]string `json:"new_levels,omitempty" doc:"by column, levels that no row had before"`
	Waiting   []campaign.Waiting  `json:"waiting" doc:"labels that wait for a second look"`
	Warnings  []string            `json:"warnings" doc:"what the cells of the table gave cause for, units that were converted, and columns that are measured together with the label"`
}

// AddedOf describes rows that were added.
func AddedOf(a campaign.AddedRows, warnings []string) Added {
	return Added{a.Seq, a.Rows, a.Labelled, a.Repeated, a.NewLevels, append([]campaign.Waiting{}, a.Waiting...),
		append(append([]string{}, a.Converted...), warnings...)}
}

// Told is the answer to a tell.
type Told struct {
	Changed
	Known   int                `json:"known" doc:"numbers that the rows had already"`
	Wrong   []campaign.Fault   `json:"wrong" doc:"rows that were left out, with partial"`
	Waiting []campaign.Waiting `json:"waiting" doc:"numbers that are far from what was expected: they are recorded, and count once somebody has confirmed or corrected them"`
}

// ToldOf describes the result of a tell.
func ToldOf(t campaign.ToldRows) Told {
	return Told{ChangedOf(t.Changed), t.Known, append([]campaign.Fault{}, t.Faults...),
		append([]campaign.Waiting{}, t.Waiting...)}
}

// ToldLines is what 'nextbatch campaign tell --json' prints, which tells lines of a file: it counts the rows that Told
// names, and calls faults what Told calls wrong.
type ToldLines struct {
	Event    int64              `json:"event"` // 0: nothing was new
	Rows     int                `json:"rows"`  // with a new label
	Known    int                `json:"known"` // labels that the rows had already
	Repeated bool               `json:"repeated"`
	Faults   []campaign.Fault   `json:"faults"`  // lines that were skipped, counted from 0
	Waiting  []campaign.Waiting `json:"waiting"` // labels that wait for a second look
}

// ToldLinesOf describes the result of telling a file.
func ToldLinesOf(t campaign.ToldRows) ToldLines {
	return ToldLines{t.Seq, len(t.Rows), t.Known, t.Repeated, append([]campaign.Fault{}, t.Faults...),
		append([]campaign.Waiting{}, t.Waiting...)}
}

// LogEvent is an entry of the log.
type LogEvent struct {
	Event   int64             `json:"event" doc:"its number, from 1"`
	Time    time.Time         `json:"time"`
	Person  *string           `json:"person,omitempty"`
	Request *string           `json:"request,omitempty"`
	Kind    string            `json:"kind" enum:"created,rows_added,asked,told,corrected,failed,returned,retired,confirmed,earlier,settings,undone"`
	Undone  bool              `json:"undone" doc:"it has no effect: it was undone, or undoes another"`
	Rows    []campaign.RowRef `json:"rows" doc:"rows that it names"`
	Detail  json.RawMessage   `json:"detail" doc:"the entry as it is stored"`
	// Changes is absent for all but events of settings.
	Changes []campaign.SettingChange `json:"changes,omitempty" doc:"what it changed in the settings"`
}

// Events returns at most most entries of the log, beginning after the given one.
func Events(ctx context.Context, c *campaign.Campaign, after int64, most int) ([]LogEvent, error) {
	log, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	changes := s.SettingsChanges(log)
	log = log[min(max(after, 0), int64(len(log))):]
	list := []LogEvent{}
	for _, e := range log[:min(most, len(log))] {
		detail, err := campaign.EncodeEvent(e)
		if err != nil {
			return nil, err
		}
		list = append(list, LogEvent{e.Seq, e.Time, &e.Person, &e.Request, string(e.Kind()), s.Undone(e.Seq),
			append([]campaign.RowRef{}, e.Rows()...), detail, changes[e.Seq]})
	}
	return list, nil
}

// Batch is a batch that was handed out. Its rows come after it.
type Batch struct {
	Ask      int64      `json:"ask" doc:"number of the ask, from 1"`
	Event    int64      `json:"event"`
	Time     time.Time  `json:"time"`
	Person   string     `json:"person"`
	LeaseEnd *time.Time `json:"lease_end,omitempty" doc:"when its rows are open again; never if it is absent"`
	Spec     string     `json:"spec" doc:"method that picked"`
	Trained  int        `json:"trained" doc:"labelled rows that the model was fitted to; 0 without a model"`
	Warnings []string   `json:"warnings"`
	Plate    string     `json:"plate,omitempty" doc:"rows x columns of its plates, such as 8x12; absent without wells"`
	Controls []string   `json:"controls,omitempty" doc:"wells, rows or columns of the plates that stay free"`
}

// BatchOf describes a batch.
func BatchOf(e campaign.AskEvent, warnings []string) Batch {
	return Batch{e.Ask, e.Seq, e.Time, e.Person, e.LeaseEnd, e.Spec, e.Trained, append([]string{}, warnings...),
		e.Layout.Plate, e.Layout.Controls}
}

// Printed returns a result as --json prints it: with each reason once, as it is with what is predicted.
func Printed(r *nextbatch.Result) *nextbatch.Result {
	printed := *r
	printed.ReasonsAlone = nil
	return &printed
}

// ReasonsAlone returns the reason of each line of a result without what is predicted.
func ReasonsAlone(r *nextbatch.Result) (list []string) {
	for _, line := range r.Lines() {
		if line.Pick < 0 { // a repeat
			list = append(list, line.Reason)
		} else {
			list = append(list, ReasonAlone(r, line.Pick))
		}
	}
	return list
}

// ReasonAlone returns the reason of a pick without what is predicted.
func ReasonAlone(r *nextbatch.Result, pick int) string {
	if len(r.ReasonsAlone) > 0 {
		return r.ReasonsAlone[pick]
	}
	return r.Reasons[pick]
}

// Pick is what a batch adds to a row, after its inputs.
type Pick struct {
	Audit       bool                          `json:"audit" doc:"drawn at random, to estimate the error"`
	Reason      string                        `json:"reason" doc:"why it was picked"`
	ReasonAlone string                        `json:"reason_alone" doc:"the same without what is predicted, which may steer who labels the row"`
	Predictions map[string]*fitted.Prediction `json:"predictions" doc:"by target, made before the label came; empty without a model"`
	Place
}

// Place is which measurement of its row one is, and where it is made.
type Place struct {
	Replicate int              `json:"replicate" doc:"number of the measurement among those of the row, from 1; a tell may name it"`
	Repeat    bool             `json:"repeat,omitempty" doc:"it measures a row once more that had a label, to learn the noise"`
	Run       int              `json:"run,omitempty" doc:"number of the run, from 1; absent without columns that the rows of a run share"`
	Shared    map[string]Value `json:"shared,omitempty" doc:"by column, what the rows of the run share"`
	Plate     int              `json:"plate,omitempty" doc:"number of the plate, from 1"`
	Well      string           `json:"well,omitempty" doc:"on the plate, such as A1"`
}

// PlaceOf describes a measurement that an ask handed out, of a row with the given inputs.
func PlaceOf(a *campaign.Asked, r *campaign.AskedRow, inputs map[string]Value) Place {
	p := Place{Replicate: r.Number(), Repeat: r.Repeat, Run: r.Run, Plate: r.Plate, Well: r.Well}
	for _, name := range a.Same {
		if p.Shared == nil {
			p.Shared = map[string]Value{}
		}
		p.Shared[name] = inputs[name]
	}
	return p
}

// Asked is what 'nextbatch campaign ask --json' prints. A Batch lists rows, each with what is known of it; here the
// keys of 'nextbatch select' list them column by column, and what an ask has besides follows.
type Asked struct {
	*nextbatch.Result
	Campaign string     `json:"campaign"`
	Ask      int64      `json:"ask"`
	Event    int64      `json:"event"`
	Person   string     `json:"person"`
	LeaseEnd *time.Time `json:"lease_end"` // null: never
	Audit    []bool     `json:"audit"`     // for each row, whether it was drawn at random
	Trained  int        `json:"trained"`   // labelled rows that the model was fitted to; 0 without one
	Kept     bool       `json:"kept"`      // the model of an earlier ask was used
	Repeated bool       `json:"repeated"`  // the request had been met before
}

// AskedOf describes a batch of a campaign.
func AskedOf(name string, b *campaign.Batch) Asked {
	asked := Asked{Result: Printed(b.Result), Campaign: name, Ask: b.Ask, Event: b.Seq, Person: b.Person,
		LeaseEnd: b.LeaseEnd, Audit: []bool{},
		Trained: b.Trained, Kept: b.Kept, Repeated: b.Repeated}
	for _, row := range b.Rows {
		asked.Audit = append(asked.Audit, row.Audit)
	}
	return asked
}

// JobState is how far a job is.
type JobState string

// The states of a job. One that waits for its turn is running, too.
const (
	Running   JobState = "running"
	Done      JobState = "done"
	Failed    JobState = "failed"
	Cancelled JobState = "cancelled"
)

// Job is long work of the service.
type Job struct {
	ID       string     `json:"id"`
	Campaign string     `json:"campaign"`
	Kind     string     `json:"kind" enum:"ask,predict,map,gain,audit" doc:"what it does"`
	Person   string     `json:"person" doc:"who started it"`
	State    JobState   `json:"state" enum:"running,done,failed,cancelled"`
	Begun    time.Time  `json:"begun"`
	Ended    *time.Time `json:"ended,omitempty"`
	Progress Progress   `json:"progress"`
	Problem  string     `json:"problem,omitempty" doc:"why it failed"`
	Ask      int64      `json:"ask,omitempty" doc:"number of the ask that it made"`
}

// Progress is how far the current stage of a job, or of a request, is.
type Progress struct {
	Stage string `json:"stage" doc:"waiting, fitting, training, embedding, picking, comparing or auditing"`
	Done  int    `json:"done"`
	Of    int    `json:"of"`
}
