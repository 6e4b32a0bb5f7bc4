package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/plausible"
)

// Kind is what an event is about. It is the key of the event's payload in JSON.
type Kind string

// The kinds of events.
const (
	kindCreated   Kind = "created"
	kindAdded     Kind = "rows_added"
	kindAsked     Kind = "asked"
	kindTold      Kind = "told"
	kindCorrected Kind = "corrected"
	kindFailed    Kind = "failed"
	kindReturned  Kind = "returned"
	kindRetired   Kind = "retired"
	kindConfirmed Kind = "confirmed"
	kindEarlier   Kind = "earlier"
	kindSettings  Kind = "settings"
	kindUndone    Kind = "undone"
)

// Event is one entry of a campaign's log. Exactly one payload is not nil. Stores keep
// events as the JSON that EncodeEvent returns.
type Event struct {
	Seq     int64     `json:"seq"` // from 1, without gaps
	Time    time.Time `json:"time"`
	Person  string    `json:"person,omitempty"`
	Request string    `json:"request,omitempty"` // the caller's id of the call that made it
	Digest  string    `json:"digest,omitempty"`  // of what that call said, if it has an id

	Created   *Created     `json:"created,omitempty"`
	Added     *Added       `json:"rows_added,omitempty"`
	Asked     *Asked       `json:"asked,omitempty"`
	Told      *Told        `json:"told,omitempty"`
	Corrected *Told        `json:"corrected,omitempty"` // replaces all measurements of its rows
	Failed    *Failed      `json:"failed,omitempty"`
	Returned  *RowList     `json:"returned,omitempty"`
	Retired   *RowList     `json:"retired,omitempty"`
	Confirmed *RowList     `json:"confirmed,omitempty"` // what waits of its rows counts from now on
	Earlier   *earlierRows `json:"earlier,omitempty"`
	Settings  *Settings    `json:"settings,omitempty"` // replaces all settings
	Undone    *Undone      `json:"undone,omitempty"`
}

// Created is the first event of every campaign.
type Created struct {
	Identity string   `json:"identity"` // random, so that files of different campaigns can be distinguished
	IDColumn string   `json:"id_column,omitempty"`
	Targets  []string `json:"targets"`
	Columns  []Column `json:"columns"` // of the rows, without ids and targets
	Settings Settings `json:"settings"`

	// Separator and Decimal are what separates the fields of the table's file, and its decimal mark, if they are not those
	// of programs; Encoding is that of the file unless it is UTF-8, and Mark says that it began with a byte-order mark.
	// What people download is written so.
	Separator string `json:"separator,omitempty"`
	Decimal   string `json:"decimal,omitempty"`
	Encoding  string `json:"encoding,omitempty"`
	Mark      bool   `json:"byte_order_mark,omitempty"`

	Space string `json:"space,omitempty"` // blob with the space that candidates come from, rather than from a table
}

// remember keeps how the file of a table is written.
func (c *Created) remember(s dataset.Style) {
	if s.Delimiter == ';' || s.Delimiter == '|' {
		c.Separator = string(rune(s.Delimiter))
	}
	if s.Decimal == ',' {
		c.Decimal = ","
	}
	c.Encoding, c.Mark = s.Encoding, s.Mark
}

// Style is how tables for people are written.
func (c *Created) Style() (s dataset.Style) {
	s.Encoding, s.Mark = c.Encoding, c.Mark
	if c.Separator != "" {
		s.Delimiter = c.Separator[0]
	}
	if c.Decimal != "" {
		s.Decimal = c.Decimal[0]
	}
	return s
}

// Column is a column of the rows: an input, or one that only constraints use.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`           // as dataset.Kind prints it
	Unit string `json:"unit,omitempty"` // of its numbers, if cells of the first table said one
}

// Added records that rows were added. Rows are numbered in the order in which they
// were added, from 0. A number is never reused, even after the event was undone.
type Added struct {
	First  int64   `json:"first"` // number of the first row
	Blocks []Block `json:"blocks"`
}

// Block is a run of rows that are stored together, as a Parquet file.
type Block struct {
	Rows int64  `json:"rows"`
	Blob string `json:"blob"`
	IDs  string `json:"ids,omitempty"` // blob with the id column alone, to find rows by
}

// Rows returns how many rows were added.
func (a *Added) Rows() (n int64) {
	for _, b := range a.Blocks {
		n += b.Rows
	}
	return n
}

// RowRef is a row by its number and its id.
type RowRef struct {
	Row int64  `json:"row" doc:"number of the row, in the order in which rows were added, from 0"`
	ID  string `json:"id"`
}

// Asked records that a batch was handed out. Its rows are measurements: one that is measured several times is there
// several times.
type Asked struct {
	Ask      int64      `json:"ask"`                 // its number, from 1
	LeaseEnd *time.Time `json:"lease_end,omitempty"` // when its rows are open again; nil means never
	Spec     string     `json:"spec"`
	Seed     uint64     `json:"seed"`
	Model    string     `json:"model,omitempty"` // fingerprint of the model that made the predictions
	Trained  int        `json:"trained"`         // labelled rows that the model was fitted to
	Result   string     `json:"result"`          // blob with the nextbatch.Result, as JSON
	Rows     []AskedRow `json:"rows"`
	// HeldOut is what the model predicted for labelled rows that were drawn at random, or that the
	// campaign started with, and that it had held out. An ask with a model whose rows an earlier ask has recorded
	// does not repeat them.
	HeldOut []HeldOutRow `json:"held_out,omitempty"`
	// Chosen is what a blend is made of, for each target; nil for a network alone.
	Chosen []Chosen `json:"chosen,omitempty"`
	// Same are the columns whose values the rows of a run share; nil without.
	Same []string `json:"same,omitempty"`
	// Layout is that of the plates; the zero value without.
	Layout plate.Layout `json:"layout,omitzero"`
	Added  *Added       `json:"added,omitempty"` // rows that were candidates of a space before; nil without
}

// HeldOutRow is a labelled row with a prediction for each target, NaN where the row was not
// held out for it.
type HeldOutRow struct {
	Row    int64          `json:"row"`
	Values []fitted.Float `json:"values"`
}

// AskedRow is a row of a batch, in the order of the picks.
type AskedRow struct {
	RowRef
	Audit bool `json:"audit,omitempty"` // drawn at random from the open rows
	// Replicate is the number of the measurement among those of the row; 0 means the first. A repeat measures a row
	// once more that had a label.
	Replicate int  `json:"replicate,omitempty"`
	Repeat    bool `json:"repeat,omitempty"`
	Run       int  `json:"run,omitempty"` // whose rows share the values of Asked.Same, from 1; 0 without such columns
	// Plate and Well are where the measurement is made; 0 and empty without a layout of plates.
	Plate int    `json:"plate,omitempty"`
	Well  string `json:"well,omitempty"`
	// Predictions are those of the targets, before the label was known; nil without a
	// model.
	Predictions []fitted.Prediction `json:"predictions,omitempty"`
}

// Told holds measurements.
type Told struct {
	Labels []Label `json:"labels"`
	// Units are those of targets that had none before.
	Units map[string]string `json:"units,omitempty"`
	Added *Added            `json:"added,omitempty"` // rows for what was really set; nil without
}

// Label is a measurement of a row: a number for each target, NaN (null in JSON) where
// there is none.
type Label struct {
	RowRef
	Values []fitted.Float `json:"values"`
	// Replicate is the number of the measurement that was told; 0 where none was. A correction with a number replaces that
	// measurement alone.
	Replicate int `json:"replicate,omitempty"`
	// Censored says which values are limits, and on which side of them the true ones lie.
	Censored Censored `json:"censored,omitempty"`
	// Doubts are why values wait for a second look, one for each target, nil where the value counts; nil if all do. They
	// are part of the event, so that what a log folds to does not depend on the rule that found them.
	Doubts []*plausible.Doubt `json:"doubts,omitempty"`
}

// Failed records that rows could not be labelled. With Again they are open again,
// otherwise they are never handed out again.
type Failed struct {
	Rows   []RowRef `json:"rows"`
	Reason string   `json:"reason,omitempty"`
	Again  bool     `json:"again,omitempty"`
	// Replicates are the numbers of the measurements, one for each row; 0, or an empty list, means all that are out.
	Replicates []int `json:"replicates,omitempty"`
}

// RowList is rows, and why something happened to them.
type RowList struct {
	Rows       []RowRef `json:"rows"`
	Reason     string   `json:"reason,omitempty"`
	Replicates []int    `json:"replicates,omitempty"` // of rows that are returned, as in Failed
}

// numberAt returns which measurement of a row failed or was returned; 0 means all that were out.
func numberAt(replicates []int, i int) int {
	if len(replicates) == 0 {
		return 0
	}
	return replicates[i]
}

// Undone undoes an event, which may itself be one that undid another.
type Undone struct {
	Seq    int64  `json:"seq"`
	Reason string `json:"reason,omitempty"`
}

// payloads lists the kinds of payload that the event has.
func (e *Event) payloads() (kinds []Kind) {
	for _, p := range []struct {
		kind  Kind
		there bool
	}{
		{kindCreated, e.Created != nil}, {kindAdded, e.Added != nil}, {kindAsked, e.Asked != nil}, {kindTold, e.Told != nil},
		{kindCorrected, e.Corrected != nil}, {kindFailed, e.Failed != nil}, {kindReturned, e.Returned != nil},
		{kindRetired, e.Retired != nil}, {kindConfirmed, e.Confirmed != nil}, {kindSettings, e.Settings != nil},
		{kindEarlier, e.Earlier != nil},
		{kindUndone, e.Undone != nil},
	} {
		if p.there {
			kinds = append(kinds, p.kind)
		}
	}
	return kinds
}

// added returns the rows that come with the event; nil if none do.
func (e *Event) added() *Added {
	switch {
	case e.Asked != nil:
		return e.Asked.Added
	case e.Told != nil:
		return e.Told.Added
	}
	return e.Added
}

// Kind returns what the event is about, or "" if it has no payload.
func (e *Event) Kind() Kind {
	if kinds := e.payloads(); len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// Rows returns the rows that the event names; nil for events that name none.
func (e *Event) Rows() []RowRef {
	var list []RowRef
	switch {
	case e.Asked != nil:
		for _, r := range e.Asked.Rows {
			list = append(list, r.RowRef)
		}
	case e.Told != nil, e.Corrected != nil:
		for _, l := range e.labels() {
			list = append(list, l.RowRef)
		}
	case e.Failed != nil:
		list = e.Failed.Rows
	case e.Returned != nil:
		list = e.Returned.Rows
	case e.Retired != nil:
		list = e.Retired.Rows
	case e.Confirmed != nil:
		list = e.Confirmed.Rows
	}
	return list
}

// labels returns the measurements of the event.
func (e *Event) labels() []Label {
	switch {
	case e.Told != nil:
		return e.Told.Labels
	case e.Corrected != nil:
		return e.Corrected.Labels
	}
	return nil
}

// check reports what is wrong with an event by itself. Fold checks whether it fits into
// its log.
func (e *Event) check() error {
	kinds := e.payloads()
	switch {
	case e.Seq < 1:
		return fmt.Errorf("its number is %d, but events are numbered from 1", e.Seq)
	case len(kinds) != 1:
		return fmt.Errorf("it must be of one kind, not of %d: %v", len(kinds), kinds)
	case e.Time.IsZero():
		return errors.New("it has no time")
	case !utf8.ValidString(e.Person + e.Request + e.Digest):
		return errors.New("the person, the request or the digest is not valid UTF-8")
	}
	for _, r := range e.Rows() {
		if r.Row < 0 || r.ID == "" || !utf8.ValidString(r.ID) {
			return fmt.Errorf("row %d has the id %q", r.Row, r.ID)
		}
	}
	if err := e.checkReplicates(); err != nil {
		return err
	}
	if a := e.added(); a != nil {
		if err := a.check(); err != nil {
			return err
		}
	}
	switch kind := kinds[0]; kind {
	case kindCreated:
		return e.Created.check()
	case kindAsked:
		return e.Asked.check()
	case kindTold, kindCorrected:
		return checkLabels(e.labels())
	case kindSettings:
		return e.Settings.checkStored()
	case kindEarlier:
		return e.Earlier.check()
	case kindUndone:
		if e.Undone.Seq < 1 || e.Undone.Seq >= e.Seq {
			return fmt.Errorf("it undoes event %d, which is not before it", e.Undone.Seq)
		}
	case kindAdded:
	default:
		if len(e.Rows()) == 0 {
			return errors.New("it names no rows")
		}
	}
	return nil
}

// checkReplicates checks the numbers of measurements.
func (e *Event) checkReplicates() error {
	var numbers []int
	switch {
	case e.Asked != nil:
		for _, r := range e.Asked.Rows {
			numbers = append(numbers, r.Replicate, r.Run, r.Plate)
		}
	case e.Failed != nil:
		numbers = e.Failed.Replicates
	case e.Returned != nil:
		numbers = e.Returned.Replicates
	case e.Retired != nil && len(e.Retired.Replicates) > 0, e.Confirmed != nil && len(e.Confirmed.Replicates) > 0:
		return errors.New("it names measurements, but is about rows")
	}
	if rows := len(e.Rows()); e.Asked == nil && len(numbers) > 0 && len(numbers) != rows {
		return fmt.Errorf("it names %d measurements of %d rows", len(numbers), rows)
	}
	for _, l := range e.labels() {
		numbers = append(numbers, l.Replicate)
	}
	if slices.ContainsFunc(numbers, func(n int) bool { return n < 0 }) {
		return errors.New("the number of a measurement, a run or a plate is negative")
	}
	return nil
}

func (c *Created) check() error {
	switch {
	case c.Identity == "":
		return errors.New("the campaign has no identity")
	case len(c.Targets) == 0:
		return errors.New("the campaign has no target")
	case len(c.Columns) == 0:
		return errors.New("the campaign has no columns")
	}
	seen := map[string]bool{}
	names := append([]string{}, c.Targets...)
	if c.IDColumn != "" {
		names = append(names, c.IDColumn)
	}
	for _, column := range c.Columns {
		names = append(names, column.Name)
		if _, err := parseKind(column.Kind); err != nil {
			return fmt.Errorf("column %q: %w", column.Name, err)
		}
	}
	for _, name := range names {
		if name == "" || seen[name] {
			return fmt.Errorf("the name of column %q is empty or not unique", name)
		}
		seen[name] = true
	}
	return c.Settings.checkStored()
}

func (a *Added) check() error {
	if a.First < 0 || len(a.Blocks) == 0 {
		return errors.New("it adds no rows")
	}
	end := a.First
	for _, b := range a.Blocks {
		if b.Rows < 1 || b.Blob == "" {
			return fmt.Errorf("block %q has %d rows", b.Blob, b.Rows)
		}
		if end > math.MaxInt32 || b.Rows > math.MaxInt32-end {
			return fmt.Errorf("a campaign has at most %d rows", math.MaxInt32)
		}
		end += b.Rows
	}
	return nil
}

func (a *Asked) check() error {
	if a.Ask < 1 || len(a.Rows) == 0 {
		return fmt.Errorf("ask %d has %d rows", a.Ask, len(a.Rows))
	}
	return nil
}

func checkLabels(labels []Label) error {
	if len(labels) == 0 {
		return errors.New("it has no labels")
	}
	for _, l := range labels {
		some := false
		for _, v := range l.Values {
			if math.IsInf(float64(v), 0) {
				return fmt.Errorf("row %q: a label must be finite", l.ID)
			}
			some = some || !math.IsNaN(float64(v))
		}
		if !some {
			return fmt.Errorf("row %q has no label", l.ID)
		}
		if err := errors.Join(l.checkDoubts(), l.Censored.check(len(l.Values))); err != nil {
			return fmt.Errorf("row %q: %w", l.ID, err)
		}
	}
	return nil
}

func (l *Label) checkDoubts() error {
	if n := len(l.Doubts); n > 0 && n != len(l.Values) {
		return fmt.Errorf("there are %d doubts about %d values", n, len(l.Values))
	}
	for target, d := range l.Doubts {
		if d != nil && math.IsNaN(float64(l.Values[target])) {
			return errors.New("a value that is not there cannot be in doubt")
		}
	}
	return nil
}

// EncodeEvent returns an event as a line of JSON, without the line end.
func EncodeEvent(e Event) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return json.Marshal(e)
}

// EventDecoder reads the events of a log one after the other, which share one decoder with its buffers. The zero value
// is ready.
type EventDecoder struct {
	body bytes.Reader
	// of all bodies, one after the other; nil before the first, and where one did not end with its event
	json *json.Decoder
	read int64 // bytes of the bodies that it has read
}

// Decode reads what EncodeEvent returned. Anything else is an error, also an event
// with fields that this version does not know.
func (d *EventDecoder) Decode(raw []byte) (Event, error) {
	if d.json == nil {
		d.json, d.read = json.NewDecoder(&d.body), 0
		d.json.DisallowUnknownFields()
	}
	decoder, begin := d.json, d.read
	d.body.Reset(raw)
	d.json = nil
	var e Event
	if err := decoder.Decode(&e); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			return Event{},
				fmt.Errorf("an event has a field that this version does not know (%w): a newer version wrote it", err)
		}
		return Event{}, fmt.Errorf("an event is damaged: %w", err)
	}
	rest := raw[decoder.InputOffset()-begin:]
	if len(bytes.TrimSpace(rest)) > 0 {
		return Event{}, errors.New("an event is damaged: there is text after it")
	}
	if err := e.check(); err != nil {
		return Event{}, fmt.Errorf("event %d is damaged: %w", e.Seq, err)
	}
	if len(rest) == 0 {
		d.json, d.read = decoder, decoder.InputOffset()
	}
	return e, nil
}
