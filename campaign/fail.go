package campaign

import (
	"context"
	"fmt"
	"slices"
)

// Fail records that rows could not be labelled, or measurements of them: s017#2 names the second one of row s017,
// unless that is itself the id of a row. With again they are open again, otherwise they are never handed out again. Of
// a row with a label, the measurements that are out fail, and it stays labelled. An error about rows is a *TellError.
func (c *Campaign) Fail(ctx context.Context, by By, ids []string, reason string, again bool) (Changed, error) {
	return rowChange{by: by.call(kindFailed, ids, reason, again), ids: ids, single: true,
		judge: func(s *State, row int64, number int) (fault string, skip bool) {
			switch status := s.Status(row); {
			case status == StatusRetired:
				return "the row is retired", false
			case number > 0 && !s.isHanded(row, number):
				return fmt.Sprintf("replicate %d of the row is not out", number), false
			case len(s.Out(row)) > 0:
				return "", false
			case status == StatusLabelled:
				return "the row has a label, so it cannot fail", false
			case status == StatusWaiting:
				return "the row has a label that waits for a second look, so it cannot fail: correct or confirm it, or retire " +
					"the row", false
			case status == StatusFailed:
				return "", !again
			}
			return "", false
		}, event: func(rows []RowRef, numbers []int) Event {
			return Event{Failed: &Failed{rows, reason, again, numbers}}
		},
	}.of(ctx, c)
}

// Return returns rows, or measurements of them as in Fail, that are out: they are open again. An error about rows is a
// *TellError.
func (c *Campaign) Return(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return rowChange{by: by.call(kindReturned, ids, reason), ids: ids, single: true,
		judge: func(s *State, row int64, number int) (fault string, skip bool) {
			switch status := s.Status(row); {
			case number > 0 && !s.isHanded(row, number):
				return fmt.Sprintf("replicate %d of the row is not out", number), false
			case len(s.Out(row)) > 0:
				return "", false
			case status == StatusOpen:
				return "", true
			default:
				return fmt.Sprintf("the row is not out: it is %s", status), false
			}
		}, event: func(rows []RowRef, numbers []int) Event { return Event{Returned: &RowList{rows, reason, numbers}} },
	}.of(ctx, c)
}

// isHanded reports whether a measurement of a row is out.
func (s *State) isHanded(row int64, number int) bool {
	return slices.ContainsFunc(s.Out(row), func(h Handed) bool { return h.Pick.Number() == number })
}

// Retire removes rows from the campaign: they are neither picked nor used for training. An
// error about rows is a *TellError.
func (c *Campaign) Retire(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return rowChange{by: by.call(kindRetired, ids, reason), ids: ids,
		judge: func(s *State, row int64, _ int) (fault string, skip bool) {
			return "", s.Status(row) == StatusRetired
		}, event: func(rows []RowRef, _ []int) Event { return Event{Retired: &RowList{Rows: rows, Reason: reason}} },
	}.of(ctx, c)
}

// Confirm makes the numbers of rows count that wait for a second look. Rows of which none waits stay as they are. An
// error about rows is a *TellError.
func (c *Campaign) Confirm(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return rowChange{by: by.call(kindConfirmed, ids, reason), ids: ids,
		judge: func(s *State, row int64, _ int) (fault string, skip bool) {
			switch status := s.Status(row); status {
			case StatusLabelled, StatusWaiting:
				return "", !s.waits(row)
			case StatusRetired:
				return "the row is retired", false
			default:
				return "the row has no label that could be confirmed", false
			}
		}, event: func(rows []RowRef, _ []int) Event { return Event{Confirmed: &RowList{Rows: rows, Reason: reason}} },
	}.of(ctx, c)
}

// rowChange is a change of rows by their ids, each once, or of single measurements of them.
type rowChange struct {
	by     call
	ids    []string
	single bool // an id may name a measurement, such as s017#2
	// judge says what is wrong with a row, or with a measurement of it unless the number is 0, or that it has changed
	// already.
	judge func(s *State, row int64, number int) (fault string, skip bool)
	event func(rows []RowRef, numbers []int) Event
}

// named is a row, or one of its measurements if the number is not 0.
type named struct {
	RowRef
	number int
}

// find finds rows by their ids, and measurements by ids with a number.
func (r rowChange) find(ctx context.Context, c *Campaign, s *State) (map[string]named, error) {
	rows, err := c.find(ctx, s, r.ids)
	list := make(map[string]named, len(rows))
	for id, row := range rows {
		list[id] = named{RowRef{row, id}, 0}
	}
	if err != nil || !r.single {
		return list, err
	}
	var others []string
	for _, text := range r.ids {
		if id, _, ok := replicateOf(text); ok && list[text].ID == "" {
			others = append(others, id)
		}
	}
	rows, err = c.find(ctx, s, others)
	for _, text := range r.ids {
		id, number, ok := replicateOf(text)
		if row, known := rows[id]; ok && known && list[text].ID == "" {
			list[text] = named{RowRef{row, id}, number}
		}
	}
	return list, err
}

// of makes the change in a campaign.
func (r rowChange) of(ctx context.Context, c *Campaign) (Changed, error) {
	return changed(c.change(ctx, r.by, func(s *State) (decision, error) {
		found, err := r.find(ctx, c, s)
		if err != nil {
			return decision{}, err
		}
		var faults []Fault
		var rows []RowRef
		var numbers []int
		seen, whole := map[named]bool{}, map[int64]bool{}
		for _, of := range found {
			whole[of.Row] = whole[of.Row] || of.number == 0
		}
		for line, id := range r.ids {
			of, known := found[id]
			if !known {
				faults = append(faults, Fault{Line: line, ID: id, Reason: "the campaign has no row with this id"})
				continue
			}
			fault, skip := r.judge(s, of.Row, of.number)
			switch {
			case fault != "":
				faults = append(faults, Fault{Line: line, ID: id, Reason: fault})
			case !skip && !seen[of] && (of.number == 0 || !whole[of.Row]):
				rows, numbers = append(rows, of.RowRef), append(numbers, of.number)
			}
			seen[of] = true
		}
		if len(faults) > 0 {
			return decision{}, &TellError{faults}
		}
		if len(rows) == 0 {
			return decision{}, nil
		}
		if slices.Max(numbers) == 0 {
			numbers = nil // whole rows, as in events of earlier versions
		}
		return decision{events: []Event{r.event(rows, numbers)}}, nil
	}))
}
