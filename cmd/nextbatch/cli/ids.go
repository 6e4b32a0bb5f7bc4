package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/selection"
)

// candidates maps the names of the candidates to rows of the pool, and lists
// those rows of the pool that the table of labelled rows knows already. The ids
// of candidates must be there and differ.
func (s *selecting) candidates() (byName map[string]int, labelled []int, err error) {
	s.warnOfLabels()
	if s.columns.id == "" && len(s.exclude)+len(s.must) == 0 {
		return nil, nil, nil
	}
	if s.columns.id != "" {
		if err := s.checkIDs(); err != nil {
			return nil, nil, dataError{err}
		}
	}
	byName = make(map[string]int, len(s.poolRows))
	for at := range s.poolRows {
		byName[s.name(selection.PoolSet, at)] = at
	}
	return byName, s.labelledAlready(byName), nil
}

// checkIDs refuses candidates without an id, and two with the same.
func (s *selecting) checkIDs() error {
	file := s.table + s.pool // one of them is empty
	ids, err := s.poolT.Column(s.columns.id)
	if err != nil {
		return err
	}
	seen := make(map[string]int, ids.Len())
	for row := range ids.Len() {
		problem := ""
		first, twice := seen[ids.Format(row)]
		switch {
		case ids.Missing(row):
			problem = "the id is missing"
		case twice:
			problem = fmt.Sprintf("the id %q is that of row %d, too", ids.Format(row), first)
		}
		if problem != "" {
			return errorf("%s: %w", file, &dataset.ColumnError{Column: s.columns.id, Row: row, Problem: problem})
		}
		seen[ids.Format(row)] = row
	}
	return nil
}

// warnOfLabels tells of candidates in a table of their own that have a label.
func (s *selecting) warnOfLabels() {
	if s.pool == "" {
		return
	}
	labels, err := s.poolT.Column(s.columns.target)
	if err != nil {
		return // as it should be
	}
	count := 0
	for _, row := range s.poolRows {
		if !labels.Missing(row) {
			count++
		}
	}
	if count > 0 {
		s.progress.warn(fmt.Sprintf("%s: %d candidates have a label in column %q, which is not looked at; put them into %s if they shall count as labelled",
			s.pool, count, s.columns.target, cmp.Or(s.train, "a table for --train")))
	}
}

// labelledAlready returns the rows of the pool whose id has a label in the table
// of labelled rows. Nobody wants to pay for a label twice: they stay in the pool
// that a batch represents, but are not picked.
func (s *selecting) labelledAlready(byName map[string]int) []int {
	if s.columns.id == "" || s.trainT == nil || s.trainT == s.poolT {
		return nil
	}
	ids, err := s.trainT.Column(s.columns.id)
	if err != nil {
		s.progress.warn(fmt.Sprintf("%s has no column %q: candidates that have a label there already cannot be told", s.train, s.columns.id))
		return nil
	}
	labels, err := s.trainT.Column(s.columns.target)
	if err != nil {
		return nil
	}
	var found, twice []string
	var rows []int
	seen := make(map[string]bool, ids.Len())
	for row := range ids.Len() {
		if ids.Missing(row) || labels.Missing(row) {
			continue
		}
		id := ids.Format(row)
		at, inPool := byName[id]
		switch {
		case seen[id]:
			twice = append(twice, fmt.Sprintf("%q (row %d)", id, row))
		case inPool:
			rows = append(rows, at)
			found = append(found, fmt.Sprintf("%q (row %d, there row %d)", id, s.poolRows[at], row))
		}
		seen[id] = true
	}
	if len(found) > 0 {
		s.progress.warn(fmt.Sprintf("%s: %d candidates have a label in %s already and are not picked: %s", s.pool, len(found), s.train, some(found)))
	}
	if len(twice) > 0 {
		s.progress.warn(fmt.Sprintf("%s: %d labelled rows have the id of an earlier one; all are learnt from: %s", s.train, len(twice), some(twice)))
	}
	return rows
}

// some lists the first names.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// name is how the user knows a row.
func (s *selecting) name(set selection.Set, at int) string {
	table, row := s.poolT, at
	if set == selection.TrainSet {
		table = s.trainT
		if s.rows != nil {
			row = s.rows.TrainRows[at]
		}
	} else {
		row = s.poolRows[at]
	}
	if s.columns.id != "" && table != nil {
		if ids, err := table.Column(s.columns.id); err == nil && !ids.Missing(row) {
			return ids.Format(row)
		}
	}
	return strconv.Itoa(row)
}
