package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// EventName names an event by its number.
func EventName(seq int64) string { return "event " + strconv.FormatInt(seq, 10) }

// EventWords describes an event in a line.
func EventWords(e campaign.Event) string {
	switch {
	case e.Created != nil:
		return "campaign created, target " + strings.Join(e.Created.Targets, ", ")
	case e.Added != nil:
		return rowsWords(int(e.Added.Rows())) + " added"
	case e.Asked != nil:
		return fmt.Sprintf("ask %d: %s by %s; %s", e.Asked.Ask, AskedText(e.Asked.Rows), e.Asked.Spec,
			LeaseText(e.Asked.LeaseEnd))
	case e.Told != nil:
		return words.Count(len(e.Told.Labels), "label", "labels") + " told: " + idsOf(e) + doubtsText(e.Told)
	case e.Corrected != nil:
		return words.Count(len(e.Corrected.Labels), "label", "labels") + " corrected: " + idsOf(e) + doubtsText(e.Corrected)
	case e.Failed != nil && e.Failed.Again:
		return rowsWords(len(e.Failed.Rows)) + " failed, to be tried again: " + idsOf(e) + because(e.Failed.Reason)
	case e.Failed != nil:
		return rowsWords(len(e.Failed.Rows)) + " failed: " + idsOf(e) + because(e.Failed.Reason)
	case e.Returned != nil:
		return rowsWords(len(e.Returned.Rows)) + " returned: " + idsOf(e) + because(e.Returned.Reason)
	case e.Retired != nil:
		return rowsWords(len(e.Retired.Rows)) + " retired: " + idsOf(e) + because(e.Retired.Reason)
	case e.Confirmed != nil:
		return "labels of " + rowsWords(len(e.Confirmed.Rows)) + " confirmed: " + idsOf(e) + because(e.Confirmed.Reason)
	case e.Settings != nil:
		return "settings changed"
	case e.Undone != nil:
		return EventName(e.Undone.Seq) + " undone" + because(e.Undone.Reason)
	}
	return string(e.Kind())
}

// eventNames lists what people named or wrote in the words about an event.
func eventNames(e campaign.Event) (names []string) {
	for _, row := range e.Rows() {
		names = append(names, row.ID)
	}
	switch {
	case e.Asked != nil:
		return append(names, e.Asked.Spec)
	case e.Failed != nil:
		return append(names, e.Failed.Reason)
	case e.Returned != nil:
		return append(names, e.Returned.Reason)
	case e.Retired != nil:
		return append(names, e.Retired.Reason)
	case e.Confirmed != nil:
		return append(names, e.Confirmed.Reason)
	case e.Undone != nil:
		return append(names, e.Undone.Reason)
	}
	return names
}

// ChangesText lists what an event changed in the settings.
func ChangesText(changes []campaign.SettingChange) string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s %s → %s", c.Setting, settingText(c.From), settingText(c.To)))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// settingText returns a setting as JSON has it.
func settingText(v any) string {
	if v == nil {
		return "default"
	}
	text, _ := json.Marshal(v) // it comes from JSON
	return string(text)
}

// doubtsText names the rows of labels that had to wait for a second look.
func doubtsText(t *campaign.Told) string {
	var ids []string
	for _, l := range t.Labels {
		if l.Doubts != nil {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s for a second look: %s", words.Count(len(ids), "waits", "wait"), words.Some(ids))
}

func rowsWords(n int) string { return words.Count(n, "row", "rows") }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// idsOf lists the first rows of an event.
func idsOf(e campaign.Event) string {
	const most = 4
	var ids []string
	for _, r := range e.Rows() {
		if len(ids) == most {
			return strings.Join(ids, ", ") + ", …"
		}
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, ", ")
}

// ModelWord is what lines call the model of a learner.
func ModelWord(kind learner.Kind) string {
	if kind.Blends() {
		return "model"
	}
	return "network"
}

// AskedText counts the rows of an ask, and its measurements if they are more.
func AskedText(measurements []campaign.AskedRow) string {
	rows := map[int64]bool{}
	for _, m := range measurements {
		rows[m.Row] = true
	}
	if len(rows) == len(measurements) {
		return words.Count(len(rows), "row", "rows")
	}
	return fmt.Sprintf("%s, %s", words.Count(len(rows), "row", "rows"),
		words.Count(len(measurements), "measurement", "measurements"))
}

// LeaseText says when a lease ends.
func LeaseText(end *time.Time) string {
	if end == nil {
		return "the lease has no end"
	}
	return "the lease ends on " + TimeText(*end)
}

// TimeText is how people read a time: to the minute, where they are.
func TimeText(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// MostWaiting is how many labels are listed that wait or look wrong.
const MostWaiting = 10

// WaitingText is why a label waits, after the name of its target.
func WaitingText(w campaign.Waiting) string { return w.Target + " " + w.Why }

// waitingFacts are the lines of a status about labels that wait, with this decimal mark; 0 means a point.
func waitingFacts(list []campaign.Waiting, now time.Time, decimal byte) (lines []string) {
	if len(list) == 0 {
		return nil
	}
	text := "1 label has waited for a second look for %s; nothing learns from it before it is confirmed or corrected"
	if n := len(list); n > 1 {
		text = strconv.Itoa(n) +
			" labels wait for a second look, the oldest for %s; nothing learns from them before they are confirmed or corrected"
	}
	lines = append(lines, fmt.Sprintf(text, ageText(now.Sub(list[0].Since))))
	for _, w := range list[:min(MostWaiting, len(list))] {
		lines = append(lines, fmt.Sprintf("%s, told %s ago%s: %s", w.ID, ageText(now.Sub(w.Since)), byText(w.Person),
			words.MarkedIn(WaitingText(w), decimal, w.Target)))
	}
	if more := len(list) - MostWaiting; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json lists all", more))
	}
	return lines
}

// unlikelyFacts are the lines of a status about labels that count although they are far from the others, with this
// decimal mark; 0 means a point.
func unlikelyFacts(list []campaign.Waiting, decimal byte) (lines []string) {
	if len(list) == 0 {
		return nil
	}
	lines = append(lines, words.Count(len(list), "label counts although it is", "labels count although they are")+
		" far from all others, and one such label can decide the error; if it is wrong, tell the right one with --correct")
	for _, w := range list[:min(MostWaiting, len(list))] {
		lines = append(lines, w.ID+": "+words.MarkedIn(WaitingText(w), decimal, w.Target))
	}
	if more := len(list) - MostWaiting; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

func byText(person string) string {
	if person == "" {
		return ""
	}
	return " by " + person
}

// ageText is a time that has passed, in its largest unit.
func ageText(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return words.Count(int(d.Hours()/24), "day", "days")
	case d >= 2*time.Hour:
		return words.Count(int(d.Hours()), "hour", "hours")
	case d >= 2*time.Minute:
		return words.Count(int(d.Minutes()), "minute", "minutes")
	}
	return "a minute"
}

// CountsText is how many rows have each status; rows that wait are named where there are any.
func CountsText(c campaign.Counts) string {
	waiting := ""
	if c.Waiting > 0 {
		waiting = fmt.Sprintf("%d waiting, ", c.Waiting)
	}
	repeats := ""
	if c.Repeats > 0 {
		repeats = fmt.Sprintf("; %s out", words.Count(int(c.Repeats), "further measurement of a labelled row is",
			"further measurements of labelled rows are"))
	}
	return fmt.Sprintf("%s open, %s asked, %s labelled, %s%s failed, %s retired", words.Whole(int(c.Open)),
		words.Whole(int(c.Asked)), words.Whole(int(c.Labelled)), waiting, words.Whole(int(c.Failed)),
		words.Whole(int(c.Retired))) + repeats
}

// WaitingTable lists labels that wait for a second look, with this decimal mark; 0 means a point.
func WaitingTable(list []campaign.Waiting, decimal byte) *Table {
	t := &Table{Title: "Labels that wait", Columns: []Column{{Head: "row or id"}, {Head: "target"}, {Head: "why"}}}
	for _, w := range list {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(w.ID), Text(w.Target), Text(words.MarkedIn(w.Why, decimal))}})
	}
	return t
}
