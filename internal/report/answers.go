package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Answer is what an operation of the service answers, which its methods put into words, line by line.
type Answer struct {
	About []byte // the campaign: what get-campaign answers
	Body  []byte
}

const (
	mostLines = 100 // of a list
	mostSaid  = 20  // of a row
)

// read decodes what the operation answers.
func (a Answer) read(into any) error { return json.Unmarshal(a.Body, into) }

// Said is an answer in words, line by line.
type Said []string

func (t *Said) add(format string, args ...any) { *t = append(*t, fmt.Sprintf(format, args...)) }

// answeredCampaign is what is known of a campaign.
type answeredCampaign struct {
	wire.About
	campaign.Counts
}

func (c *answeredCampaign) say() string {
	return fmt.Sprintf("%s: %s: %v; target %s", c.Name, words.Count(int(c.Rows), "row", "rows"), CountsText(c.Counts),
		strings.Join(c.Targets, ", "))
}

// Campaigns lists campaigns.
func (a Answer) Campaigns() (t Said, err error) {
	var list []answeredCampaign
	err = a.read(&list)
	for i := range list[:min(len(list), mostLines)] {
		t.add("%s", list[i].say())
	}
	if len(list) == 0 {
		t.add("There is no campaign.")
	}
	return t, err
}

// answeredRow is what operations say about a row.
type answeredRow struct {
	campaign.RowRef
	Status       string
	Inputs       map[string]any
	Labels       map[string]*float64
	LeaseEnd     *time.Time `json:"lease_end"`
	Failures     int
	Reason       string
	ReasonAlone  string `json:"reason_alone"`
	Predictions  map[string]*fitted.Prediction
	Measurements []struct {
		Event     int64
		Time      time.Time
		Person    string
		Values    map[string]float64
		Replicate int
	}
	Waiting []campaign.Waiting
	Ask     int64
	Person  string
	wire.Place
}

// place names a row, the measurement and its place on a plate.
func (r *answeredRow) place() string {
	said := r.ID
	if r.Replicate > 1 || r.Repeat {
		said += fmt.Sprintf(" (replicate %d)", r.Replicate)
	}
	if r.Run > 0 {
		said += fmt.Sprintf(", run %d", r.Run)
	}
	if r.Well != "" {
		said += fmt.Sprintf(", plate %d, well %s", r.Plate, r.Well)
	}
	return said
}

// inputs lists the inputs of a row by their names.
func (r *answeredRow) inputs() string {
	names := slices.Sorted(maps.Keys(r.Inputs))
	var list []string
	for _, name := range names[:min(len(names), mostSaid)] {
		said := fmt.Sprint(r.Inputs[name])
		if v, isNumber := r.Inputs[name].(float64); isNumber {
			said = words.Plain(v)
		}
		if r.Inputs[name] == nil {
			said = "missing"
		}
		list = append(list, name+" "+said)
	}
	if more := len(names) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// rows lists rows line by line, each with what else says of it.
func (t *Said) rows(list []answeredRow, else_ func(*answeredRow) string) {
	for i := range list[:min(len(list), mostLines)] {
		t.add("%s: %s", list[i].place(), strings.Trim(list[i].inputs()+"; "+else_(&list[i]), "; "))
	}
	if more := len(list) - mostLines; more > 0 {
		t.add("and %d more", more)
	}
}

// Batch is a batch that was handed out.
func (a Answer) Batch() (t Said, err error) {
	var b struct {
		wire.Batch
		Rows []answeredRow
	}
	err = a.read(&b)
	model := "no model yet, so the rows are spread over the inputs"
	if b.Trained > 0 {
		model = "picked by a model of " + words.Count(b.Trained, "label", "labels")
	}
	t.add("Ask %d (event %d): %s out with %s; %s; %s.", b.Ask, b.Event, words.Count(len(b.Rows), "measurement is",
		"measurements are"), b.Person, LeaseText(b.LeaseEnd), model)
	for _, warning := range b.Warnings {
		t.add("warning: %s", warning)
	}
	t.rows(b.Rows, func(r *answeredRow) string { return r.ReasonAlone })
	return t, err
}

// Queue lists rows that are out.
func (a Answer) Queue() (t Said, err error) {
	var q struct{ Rows []answeredRow }
	err = a.read(&q)
	t.add("%s out with you.", words.Count(len(q.Rows), "measurement is", "measurements are"))
	t.rows(q.Rows, func(r *answeredRow) string { return r.Reason })
	return t, err
}

// Rows lists rows.
func (a Answer) Rows() (t Said, err error) {
	var page struct {
		Rows  []answeredRow
		Total int64
	}
	err = a.read(&page)
	t.add("%s of %s.", words.Count(len(page.Rows), "row", "rows"), words.Whole(int(page.Total)))
	t.rows(page.Rows, func(r *answeredRow) string { return r.Status + a.labelled(r.Labels) })
	return t, err
}

// labelled lists numbers by target, each after a comma.
func (a Answer) labelled(values map[string]*float64) (said string) {
	for _, target := range slices.Sorted(maps.Keys(values)) {
		if v := values[target]; v != nil {
			said += fmt.Sprintf(", %s %s", target, a.number(target, *v))
		}
	}
	return said
}

// number is a number of a target with its unit, unless the name of the target has it.
func (a Answer) number(target string, v float64) string {
	said := words.Number(v)
	var of wire.About
	if json.Unmarshal(a.About, &of) != nil {
		return said
	}
	if unit := of.Labels[target].Unit; unit != "" && !strings.Contains(target, unit) {
		said += " " + unit
	}
	return said
}

// Row explains a row.
func (a Answer) Row() (t Said, err error) {
	var r answeredRow
	err = a.read(&r)
	if err != nil {
		return nil, err
	}
	t.add("%s is %s%s; %s.", r.ID, r.Status, a.labelled(r.Labels), r.inputs())
	if r.Reason != "" {
		t.add("Ask %d picked it for %s: %s.", r.Ask, r.Person, r.Reason)
	}
	for _, target := range slices.Sorted(maps.Keys(r.Predictions)) {
		t.add("Predicted before the label came: %s %s.", target, a.predicted(target, r.Predictions[target]))
	}
	for _, m := range r.Measurements {
		values := map[string]*float64{}
		for target, v := range m.Values {
			values[target] = &v
		}
		t.add("Measured %s by %s (event %d)%s.", TimeText(m.Time), m.Person, m.Event, a.labelled(values))
	}
	t.waiting(r.Waiting)
	return t, nil
}

// predicted is a prediction with its interval.
func (a Answer) predicted(target string, p *fitted.Prediction) string {
	said := a.number(target, float64(p.Value))
	if p.Low != nil && p.High != nil {
		said += fmt.Sprintf(" (%s to %s)", words.Number(float64(*p.Low)), words.Number(float64(*p.High)))
	}
	return said
}

func (t *Said) waiting(list []campaign.Waiting) {
	for _, w := range list[:min(len(list), mostLines)] {
		t.add("The label of %s waits for a second look: %v. Nothing learns from it before a person has confirmed or "+
			"corrected it.", w.ID, WaitingText(w))
	}
}

// Told says what a tell or a correction did.
func (a Answer) Told() (t Said, err error) {
	var told wire.Told
	err = a.read(&told)
	t.changed(told.Changed)
	if told.Known > 0 {
		t.add("%s known already.", words.Count(told.Known, "number was", "numbers were"))
	}
	for _, f := range told.Wrong[:min(len(told.Wrong), mostLines)] {
		t.add("%s was left out: %s.", f.ID, f.Reason)
	}
	t.waiting(told.Waiting)
	return t, err
}

// Changed says what a change changed.
func (a Answer) Changed() (t Said, err error) {
	var changed wire.Changed
	err = a.read(&changed)
	t.changed(changed)
	return t, err
}

func (t *Said) changed(changed wire.Changed) {
	var ids []string
	for _, r := range changed.Rows {
		ids = append(ids, r.ID)
	}
	said := "Nothing changed"
	if changed.Event > 0 {
		said = strings.TrimSuffix(fmt.Sprintf("Event %d: %s", changed.Event, words.Some(ids)), ": ")
	}
	if changed.Repeated {
		said += "; the request had been made before"
	}
	t.add("%s.", said)
}

// Events lists what happened.
func (a Answer) Events() (t Said, err error) {
	var list []wire.LogEvent
	err = a.read(&list)
	for _, e := range list {
		var event campaign.Event
		if err := json.Unmarshal(e.Detail, &event); err != nil {
			return nil, err
		}
		said := EventWords(event).String() + ChangesText(e.Changes)
		if e.Undone {
			said = "[" + said + "]"
		}
		person := "somebody"
		if e.Person != nil {
			person = *e.Person
		}
		t.add("%d, %s, %s: %s", e.Event, TimeText(e.Time), person, said)
	}
	return t, err
}

// Predicted lists predictions.
func (a Answer) Predicted() (t Said, err error) {
	var found struct {
		Trained  int
		Warnings []string
		Rows     []answeredRow
		Total    int
	}
	err = a.read(&found)
	t.add("Predictions of %d of %s, by a model of %s.", len(found.Rows), words.Count(found.Total, "open row", "open rows"),
		words.Count(found.Trained, "label", "labels"))
	for _, warning := range found.Warnings {
		t.add("warning: %s", warning)
	}
	for _, r := range found.Rows {
		for _, target := range slices.Sorted(maps.Keys(r.Predictions)) {
			t.add("%s: %s %s", r.ID, target, a.predicted(target, r.Predictions[target]))
		}
	}
	return t, err
}

// Audit lists labels that look wrong.
func (a Answer) Audit() (t Said, err error) {
	var last struct{ Audit *wire.Audit }
	err = a.read(&last)
	if err != nil || last.Audit == nil {
		return nil, fmt.Errorf("there is no audit: %w", err)
	}
	for _, target := range last.Audit.Targets {
		t.add("%s: %s", target.Target, target.Answer)
		for _, f := range target.Findings[:min(len(target.Findings), 10)] {
			t.add("%s: label %s, expected %s (%s to %s); score %s", f.ID, a.number(target.Target, f.Label),
				a.number(target.Target, f.Prediction), words.Number(f.Low), words.Number(f.High), words.Brief(f.Score))
		}
	}
	for _, warning := range last.Audit.Warnings {
		t.add("warning: %s", warning)
	}
	return t, nil
}
