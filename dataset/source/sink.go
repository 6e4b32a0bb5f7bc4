package source

import (
	"errors"
	"math"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// sink collects the fields of one column. add returns one of the package's
// errors; the caller adds the position.
type sink interface {
	add(field []byte) error
	// soFar is the column as it grows; column completes it.
	soFar() dataset.Column
	column() dataset.Column
}

// newSink returns the sink for a column of a declared kind.
func newSink(kind dataset.Kind, name string, missing map[string]bool) sink {
	switch kind {
	case dataset.KindNumeric:
		return &numberSink{into: dataset.NewNumeric(name), missing: missing}
	case dataset.KindCategorical:
		return &levelSink{into: dataset.NewCategorical(name), missing: missing}
	default:
		return &textSink{into: dataset.NewText(name), missing: missing}
	}
}

type numberSink struct {
	into     *dataset.Numeric
	missing  map[string]bool
	numerals *numerals // how its numbers are written; nil for as programs do
	cells    *tally    // of those that are not simply numbers; nil where only numbers are allowed
	label    bool      // its numbers are labels
	guessed  bool      // the first rows suggest that the column is numeric
	wrong    bool      // the guess failed: a later value is not a number
}

func (s *numberSink) add(field []byte) error {
	v, ok := s.numerals.number(field)
	if !ok || s.label && math.IsInf(v, 0) {
		switch {
		case s.missing[string(field)]:
			v = math.NaN()
		case s.cells != nil:
			return errOdd
		default:
			return s.refuse()
		}
	}
	s.into.Append(v)
	return nil
}

// errOdd reports a cell that is not simply a number. The caller adds it with addOdd.
var errOdd = errors.New("the cell is not simply a number")

// addOdd adds such a cell.
func (s *numberSink) addOdd(rec record, field []byte) {
	s.into.Append(s.cells.number(s.numerals, field, rec, s.into.Len()))
}

// errGuess reports that a column taken for numeric is not. The sink returns it
// once and carries on, so that the rest of the file shows which other columns
// have to be read again.
var errGuess = errors.New("the column is not numeric")

// refuse handles a value that is not a number.
func (s *numberSink) refuse() error {
	if !s.guessed {
		return ErrNumber
	}
	s.into.Append(math.NaN())
	if s.wrong {
		return nil
	}
	s.wrong = true
	return errGuess
}

func (s *numberSink) soFar() dataset.Column  { return s.into }
func (s *numberSink) column() dataset.Column { return s.into }

// levelSink collects levels in order of appearance.
type levelSink struct {
	into    *dataset.Categorical
	missing map[string]bool
}

func (s *levelSink) add(field []byte) error {
	code, known := s.into.Lookup(field)
	if !known {
		code = -1
		if !s.missing[string(field)] {
			if !utf8.Valid(field) {
				return ErrEncoding
			}
			code = s.into.AddLevel(string(field))
		}
	}
	s.into.Append(code)
	return nil
}

func (s *levelSink) soFar() dataset.Column { return s.into }

func (s *levelSink) column() dataset.Column {
	s.into.SortLevels()
	return s.into
}

// maxLevels is the number of levels above which a column of unknown kind is
// text. One-hot encoding accepts far fewer.
const maxLevels = 1000

// wordSink is for a column that is not numeric: categorical while it has few
// levels, then text.
type wordSink struct {
	levels levelSink
	text   *textSink // nil while categorical
}

func newWordSink(name string, missing map[string]bool) *wordSink {
	return &wordSink{levels: levelSink{into: dataset.NewCategorical(name), missing: missing}}
}

func (s *wordSink) add(field []byte) error {
	if s.text != nil {
		return s.text.add(field)
	}
	if err := s.levels.add(field); err != nil {
		return err
	}
	if len(s.levels.into.Levels()) > maxLevels {
		s.text = &textSink{into: s.levels.into.Text(), missing: s.levels.missing}
	}
	return nil
}

func (s *wordSink) soFar() dataset.Column {
	if s.text != nil {
		return s.text.into
	}
	return s.levels.into
}

func (s *wordSink) column() dataset.Column {
	if s.text != nil {
		return s.text.column()
	}
	return s.levels.column()
}

// closedSink accepts only declared levels, and keeps their order.
type closedSink struct {
	into    *dataset.Categorical
	missing map[string]bool
}

func (s *closedSink) add(field []byte) error {
	code, known := s.into.Lookup(field)
	if !known {
		if !s.missing[string(field)] {
			return ErrLevel
		}
		code = -1
	}
	s.into.Append(code)
	return nil
}

func (s *closedSink) soFar() dataset.Column  { return s.into }
func (s *closedSink) column() dataset.Column { return s.into }

type textSink struct {
	into    *dataset.Text
	missing map[string]bool
}

func (s *textSink) add(field []byte) error {
	if !utf8.Valid(field) {
		return ErrEncoding
	}
	if s.missing[string(field)] {
		field = nil
	}
	s.into.Append(field)
	return nil
}

func (s *textSink) soFar() dataset.Column  { return s.into }
func (s *textSink) column() dataset.Column { return s.into }
