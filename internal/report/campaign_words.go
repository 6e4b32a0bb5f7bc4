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
func EventWords(e campaign.Event) words.Text {
	rowsOf := func(rows []campaign.RowRef, what, reason string) words.Text {
		return words.Textf("%v %s: %s%s", rowsWords(len(rows)), what, idsOf(e), because(reason))
	}
	labelsOf := func(t *campaign.Told, what string) words.Text {
		return words.Textf("%v %s: %s%v", words.Counted(len(t.Labels), "label", "labels"), what, idsOf(e), doubtsText(t))
	}
	switch {
	case e.Created != nil:
		return words.Textf("campaign created, target %s", strings.Join(e.Created.Targets, ", "))
	case e.Added != nil:
		return words.Textf("%v added", rowsWords(int(e.Added.Rows())))
	case e.Asked != nil:
		return words.Textf("ask %d: %v by %s; %s", e.Asked.Ask, AskedText(e.Asked.Rows), e.Asked.Spec,
			LeaseText(e.Asked.LeaseEnd))
	case e.Told != nil:
		return labelsOf(e.Told, "told")
	case e.Corrected != nil:
		return labelsOf(e.Corrected, "corrected")
	case e.Failed != nil && e.Failed.Again:
		return rowsOf(e.Failed.Rows, "failed, to be tried again", e.Failed.Reason)
	case e.Failed != nil:
		return rowsOf(e.Failed.Rows, "failed", e.Failed.Reason)
	case e.Returned != nil:
		return rowsOf(e.Returned.Rows, "returned", e.Returned.Reason)
	case e.Retired != nil:
		return rowsOf(e.Retired.Rows, "retired", e.Retired.Reason)
	case e.Confirmed != nil:
		return words.Textf("labels of %v", rowsOf(e.Confirmed.Rows, "confirmed", e.Confirmed.Reason))
	case e.Earlier != nil:
		return words.Textf("%v of earlier data added: %s", rowsWords(int(e.Earlier.Rows())), e.Earlier.Name)
	case e.Settings != nil:
		return words.Textf("settings changed")
	case e.Undone != nil:
		return words.Textf("%s undone%s", EventName(e.Undone.Seq), because(e.Undone.Reason))
	}
	return words.Textf("%s", e.Kind())
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
func doubtsText(t *campaign.Told) words.Text {
	var ids []string
	for _, l := range t.Labels {
		if l.Doubts != nil {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 {
		return words.Text{}
	}
	return words.Textf("; %v for a second look: %s", words.Counted(len(ids), "waits", "wait"), words.Some(ids))
}

func rowsWords(n int) words.Text { return words.Counted(n, "row", "rows") }

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
func AskedText(measurements []campaign.AskedRow) words.Text {
	rows := map[int64]bool{}
	for _, m := range measurements {
		rows[m.Row] = true
	}
	if len(rows) == len(measurements) {
		return rowsWords(len(rows))
	}
	return words.Textf("%v, %v", rowsWords(len(rows)), words.Counted(len(measurements), "measurement", "measurements"))
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
func WaitingText(w campaign.Waiting) words.Text { return words.Textf("%s %v", w.Target, w.Why) }

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
			WaitingText(w).In(decimal)))
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
		lines = append(lines, w.ID+": "+WaitingText(w).In(decimal))
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
func CountsText(c campaign.Counts) words.Text {
	var waiting, repeats words.Text
	if c.Waiting > 0 {
		waiting = words.Textf("%d waiting, ", c.Waiting)
	}
	if c.Repeats > 0 {
		repeats = words.Textf("; %v out", words.Counted(int(c.Repeats), "further measurement of a labelled row is",
			"further measurements of labelled rows are"))
	}
	number := func(n int64) words.Num { return words.Num(words.Whole(int(n))) }
	return words.Textf("%s open, %s asked, %s labelled, %v%s failed, %s retired%v", number(c.Open), number(c.Asked),
		number(c.Labelled), waiting, number(c.Failed), number(c.Retired), repeats)
}

// WaitingTable lists labels that wait for a second look, with this decimal mark; 0 means a point.
func WaitingTable(list []campaign.Waiting, decimal byte) *Table {
	t := &Table{Title: "Labels that wait", Columns: []Heading{{Head: "row or id"}, {Head: "target"}, {Head: "why"}}}
	for _, w := range list {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(w.ID), Text(w.Target), Text(w.Why.In(decimal))}})
	}
	return t
}
