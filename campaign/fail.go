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
	return c.changeMeasurements(ctx, by.call(kindFailed, ids, reason, again), ids,
		func(s *State, row int64, number int) (fault string, skip bool) {
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
		}, func(rows []RowRef, numbers []int) Event {
			return Event{Failed: &Failed{rows, reason, again, numbers}}
		})
}

// Return returns rows, or measurements of them as in Fail, that are out: they are open again. An error about rows is a
// *TellError.
func (c *Campaign) Return(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeMeasurements(ctx, by.call(kindReturned, ids, reason), ids,
		func(s *State, row int64, number int) (fault string, skip bool) {
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
		}, func(rows []RowRef, numbers []int) Event { return Event{Returned: &RowList{rows, reason, numbers}} })
}

// isHanded reports whether a measurement of a row is out.
func (s *State) isHanded(row int64, number int) bool {
	return slices.ContainsFunc(s.Out(row), func(h Handed) bool { return h.Pick.Number() == number })
}

// Retire removes rows from the campaign: they are neither picked nor used for training. An
// error about rows is a *TellError.
func (c *Campaign) Retire(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeRows(ctx, by.call(kindRetired, ids, reason), ids, func(s *State, row int64) (fault string, skip bool) {
		return "", s.Status(row) == StatusRetired
	}, func(rows []RowRef) Event { return Event{Retired: &RowList{Rows: rows, Reason: reason}} })
}

// Confirm makes the numbers of rows count that wait for a second look. Rows of which none waits stay as they are. An
// error about rows is a *TellError.
func (c *Campaign) Confirm(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeRows(ctx, by.call(kindConfirmed, ids, reason), ids,
		func(s *State, row int64) (fault string, skip bool) {
			switch status := s.Status(row); status {
			case StatusLabelled, StatusWaiting:
				return "", !s.waits(row)
			case StatusRetired:
				return "the row is retired", false
			default:
				return "the row has no label that could be confirmed", false
			}
		}, func(rows []RowRef) Event { return Event{Confirmed: &RowList{Rows: rows, Reason: reason}} })
}

// changeRows makes a change of rows by their ids, each once. The first function says what
// is wrong with a row, or that it has changed already.
func (c *Campaign) changeRows(ctx context.Context, by call, ids []string,
	judge func(s *State, row int64) (fault string, skip bool), event func([]RowRef) Event) (Changed, error) {
	return c.changeNamed(ctx, by, ids, c.rowsNamed,
		func(s *State, of named) (fault string, skip bool) { return judge(s, of.Row) },
		func(rows []RowRef, _ []int) Event { return event(rows) })
}

// changeMeasurements does so with rows, or with single measurements of them.
func (c *Campaign) changeMeasurements(ctx context.Context, by call, ids []string,
	judge func(s *State, row int64, number int) (fault string, skip bool),
	event func([]RowRef, []int) Event) (Changed, error) {
	return c.changeNamed(ctx, by, ids, c.measurementsNamed,
		func(s *State, of named) (fault string, skip bool) { return judge(s, of.Row, of.number) }, event)
}

// named is a row, or one of its measurements if the number is not 0.
type named struct {
	RowRef
	number int
}

// rowsNamed finds rows by their ids.
func (c *Campaign) rowsNamed(ctx context.Context, s *State, ids []string) (map[string]named, error) {
	rows, err := c.find(ctx, s, ids)
	list := make(map[string]named, len(rows))
	for id, row := range rows {
		list[id] = named{RowRef{row, id}, 0}
	}
	return list, err
}

// measurementsNamed finds rows by their ids, and measurements by ids with a number, such as s017#2.
func (c *Campaign) measurementsNamed(ctx context.Context, s *State, ids []string) (map[string]named, error) {
	list, err := c.rowsNamed(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, text := range ids {
		if id, _, ok := replicateOf(text); ok && list[text].ID == "" {
			others = append(others, id)
		}
	}
	rows, err := c.find(ctx, s, others)
	for _, text := range ids {
		id, number, ok := replicateOf(text)
		if row, known := rows[id]; ok && known && list[text].ID == "" {
			list[text] = named{RowRef{row, id}, number}
		}
	}
	return list, err
}

func (c *Campaign) changeNamed(ctx context.Context, by call, ids []string,
	find func(context.Context, *State, []string) (map[string]named, error),
	judge func(*State, named) (fault string, skip bool), event func([]RowRef, []int) Event) (Changed, error) {
	return changed(c.change(ctx, by, func(s *State) (decision, error) {
		found, err := find(ctx, s, ids)
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
		for line, id := range ids {
			of, known := found[id]
			if !known {
				faults = append(faults, Fault{Line: line, ID: id, Reason: "the campaign has no row with this id"})
				continue
			}
			fault, skip := judge(s, of)
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
		return decision{events: []Event{event(rows, numbers)}}, nil
	}))
}
