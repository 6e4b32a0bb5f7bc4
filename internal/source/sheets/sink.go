package sheets

import (
	"errors"
	"math"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// Sink collects the fields of one column. add returns one of the package's errors; the caller adds the position.
type Sink interface {
	Add(field []byte) error
	// SoFar is the column as it grows; column completes it.
	SoFar() dataset.Column
	column() dataset.Column
}

// NewSink returns the sink for a column of a declared kind.
func NewSink(kind dataset.Kind, name string, missing map[string]bool) Sink {
	switch kind {
	case dataset.KindNumeric:
		return &NumberSink{Into: dataset.NewNumeric(name), Missing: missing}
	case dataset.KindCategorical:
		return &levelSink{into: dataset.NewCategorical(name), missing: missing}
	default:
		return &textSink{into: dataset.NewText(name), missing: missing}
	}
}

type NumberSink struct {
	Into     *dataset.Numeric
	Missing  map[string]bool
	numerals *cells.Numerals // how its numbers are written; nil for as programs do
	cells    *cells.Tally    // of those that are not simply numbers; nil where only numbers are allowed
	label    bool            // its numbers are labels
	Guessed  bool            // the first rows suggest that the column is numeric
	wrong    bool            // the guess failed: a later value is not a number
}

func (s *NumberSink) Add(field []byte) error {
	v, ok := s.numerals.Number(field)
	if !ok || s.label && math.IsInf(v, 0) {
		switch {
		case s.Missing[string(field)]:
			v = math.NaN()
		case s.cells != nil:
			return errOdd
		default:
			return s.Refuse()
		}
	}
	s.Into.Append(v)
	return nil
}

// errOdd reports a cell that is not simply a number. The caller adds it with addOdd.
var errOdd = errors.New("the cell is not simply a number")

// addOdd adds such a cell.
func (s *NumberSink) addOdd(rec cells.Record, field []byte) {
	s.Into.Append(s.cells.Number(s.numerals, field, rec, s.Into.Len()))
}

// errGuess reports that a column taken for numeric is not. The sink returns it once and carries on, so that the rest
// of the file shows which other columns have to be read again.
var errGuess = errors.New("the column is not numeric")

// Refuse handles a value that is not a number.
func (s *NumberSink) Refuse() error {
	if !s.Guessed {
		return ErrNumber
	}
	s.Into.Append(math.NaN())
	if s.wrong {
		return nil
	}
	s.wrong = true
	return errGuess
}

func (s *NumberSink) SoFar() dataset.Column  { return s.Into }
func (s *NumberSink) column() dataset.Column { return s.Into }

// levelSink collects levels in order of appearance.
type levelSink struct {
	into    *dataset.Categorical
	missing map[string]bool
}

func (s *levelSink) Add(field []byte) error {
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

func (s *levelSink) SoFar() dataset.Column { return s.into }

func (s *levelSink) column() dataset.Column {
	s.into.SortLevels()
	return s.into
}

// maxLevels is the number of levels above which a column of unknown kind is text. One-hot encoding accepts far fewer.
const maxLevels = 1000

// WordSink is for a column that is not numeric: categorical while it has few levels, then text.
type WordSink struct {
	levels levelSink
	text   *textSink // nil while categorical
}

func NewWordSink(name string, missing map[string]bool) *WordSink {
	return &WordSink{levels: levelSink{into: dataset.NewCategorical(name), missing: missing}}
}

func (s *WordSink) Add(field []byte) error {
	if s.text != nil {
		return s.text.Add(field)
	}
	if err := s.levels.Add(field); err != nil {
		return err
	}
	if len(s.levels.into.Levels()) > maxLevels {
		s.text = &textSink{into: s.levels.into.Text(), missing: s.levels.missing}
	}
	return nil
}

func (s *WordSink) SoFar() dataset.Column {
	if s.text != nil {
		return s.text.into
	}
	return s.levels.into
}

func (s *WordSink) column() dataset.Column {
	if s.text != nil {
		return s.text.column()
	}
	return s.levels.column()
}

// ClosedSink accepts only declared levels, and keeps their order.
type ClosedSink struct {
	Into    *dataset.Categorical
	Missing map[string]bool
}

func (s *ClosedSink) Add(field []byte) error {
	code, known := s.Into.Lookup(field)
	if !known {
		if !s.Missing[string(field)] {
			return ErrLevel
		}
		code = -1
	}
	s.Into.Append(code)
	return nil
}

func (s *ClosedSink) SoFar() dataset.Column  { return s.Into }
func (s *ClosedSink) column() dataset.Column { return s.Into }

type textSink struct {
	into    *dataset.Text
	missing map[string]bool
}

func (s *textSink) Add(field []byte) error {
	if !utf8.Valid(field) {
		return ErrEncoding
	}
	if s.missing[string(field)] {
		field = nil
	}
	s.into.Append(field)
	return nil
}

func (s *textSink) SoFar() dataset.Column  { return s.into }
func (s *textSink) column() dataset.Column { return s.into }
