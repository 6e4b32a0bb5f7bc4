package plate

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Layout is what users say about plates. The zero value means that no wells are assigned.
type Layout struct {
	Plate string `json:"plate,omitempty"` // rows x columns, as in 8x12
	// what stays free: wells (A1), rows (A), columns (12), or ranges of these (A1-B6, A-B, 11-12)
	Controls []string `json:"controls,omitempty"`
}

// The largest plate that there is: 1,536 wells, A1 to AF48.
const maxRows, maxColumns = 32, 48

// Plate is the shape of a plate, and the wells that stay free for controls.
type Plate struct {
	Rows, Columns int
	control       []bool // of each well, row by row
	free          []int  // the others
}

// Well is where a measurement is.
type Well struct {
	Plate int    `json:"plate"` // from 1
	Name  string `json:"well"`  // A1
}

// Parse reads a layout. It returns nil for the zero value. Named returns the name of a field in messages, such
// as a flag; nil means its Go name.
func (l Layout) Parse(named func(field string, value ...string) string) (*Plate, error) {
	if named == nil {
		named = func(field string, value ...string) string { return field }
	}
	if l.Plate == "" {
		if len(l.Controls) > 0 {
			return nil, fmt.Errorf("%s needs %s, as in 8x12", named("Controls"), named("Plate"))
		}
		return nil, nil
	}
	p, err := parseSize(l.Plate)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", named("Plate"), l.Plate, err)
	}
	for _, item := range l.Controls {
		if err := p.keepFree(strings.TrimSpace(item)); err != nil {
			return nil, fmt.Errorf("%s %q: %w", named("Controls"), item, err)
		}
	}
	for well, control := range p.control {
		if !control {
			p.free = append(p.free, well)
		}
	}
	if len(p.free) == 0 {
		return nil, fmt.Errorf("%s leaves no well of %s", named("Controls"), l.Plate)
	}
	return p, nil
}

var sizes = regexp.MustCompile(`^([0-9]{1,3}) *[xX×] *([0-9]{1,3})$`)

// usual are the plates that people name by their wells.
var usual = map[string]string{"6": "2x3", "12": "3x4", "24": "4x6", "48": "6x8", "96": "8x12",
	"384": "16x24", "1536": "32x48"}

func parseSize(text string) (*Plate, error) {
	parts := sizes.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		if size, ok := usual[strings.TrimSpace(text)]; ok {
			return nil, fmt.Errorf("write its rows and columns: %s", size)
		}
		return nil, fmt.Errorf("write rows x columns, as in 8x12")
	}
	rows, _ := strconv.Atoi(parts[1])
	columns, _ := strconv.Atoi(parts[2])
	if rows < 1 || columns < 1 || rows > maxRows || columns > maxColumns {
		return nil, fmt.Errorf("a plate has 1 to %d rows and 1 to %d columns", maxRows, maxColumns)
	}
	return &Plate{Rows: rows, Columns: columns, control: make([]bool, rows*columns)}, nil
}

var places = regexp.MustCompile(`^([A-Za-z]{0,2})([0-9]{0,3})$`)

// keepFree reserves the wells of an item of Controls.
func (p *Plate) keepFree(item string) error {
	first, last, isRange := strings.Cut(item, "-")
	if !isRange {
		last = first
	}
	from, err := p.place(strings.TrimSpace(first))
	if err != nil {
		return err
	}
	to, err := p.place(strings.TrimSpace(last))
	if err != nil {
		return err
	}
	if (from.row < 0) != (to.row < 0) || (from.column < 0) != (to.column < 0) {
		return fmt.Errorf("a range has two wells, as in A1-B6, two rows, as in A-B, or two columns, as in 11-12")
	}
	top, bottom := span(from.row, to.row, p.Rows)
	left, right := span(from.column, to.column, p.Columns)
	for row := top; row <= bottom; row++ {
		for column := left; column <= right; column++ {
			p.control[row*p.Columns+column] = true
		}
	}
	return nil
}

// span returns the first and last of a range, all for a negative one.
func span(a, b, count int) (first, last int) {
	if a < 0 {
		return 0, count - 1
	}
	return min(a, b), max(a, b)
}

// position is a well, or a row or a column, whose other number is -1.
type position struct{ row, column int }

func (p *Plate) place(text string) (position, error) {
	parts := places.FindStringSubmatch(text)
	if parts == nil || text == "" {
		return position{}, fmt.Errorf("name a well, as in A1, a row, as in A, or a column, as in 12")
	}
	at := position{-1, -1}
	if parts[1] != "" {
		if at.row = rowNumber(strings.ToUpper(parts[1])); at.row >= p.Rows {
			return at, fmt.Errorf("the plate has no row %s: its %s", strings.ToUpper(parts[1]),
				words.Count(p.Rows, "row is A", "rows are A to "+rowName(p.Rows-1)))
		}
	}
	if parts[2] != "" {
		column, _ := strconv.Atoi(parts[2])
		if at.column = column - 1; column < 1 || column > p.Columns {
			return at, fmt.Errorf("the plate has no column %d: its %s", column,
				words.Count(p.Columns, "column is 1", fmt.Sprintf("columns are 1 to %d", p.Columns)))
		}
	}
	return at, nil
}

// Compare orders the names of wells as one reads a plate, row by row.
func Compare(a, b string) int {
	one, other := places.FindStringSubmatch(a), places.FindStringSubmatch(b)
	if one == nil || other == nil {
		return cmp.Compare(a, b)
	}
	columns := cmp.Or(cmp.Compare(len(one[2]), len(other[2])), cmp.Compare(one[2], other[2]))
	return cmp.Or(cmp.Compare(rowNumber(one[1]), rowNumber(other[1])), columns)
}

// rowNumber returns the number of row A to Z, AA, AB and so on.
func rowNumber(name string) int {
	number := 0
	for _, letter := range name {
		number = number*26 + int(letter-'A') + 1
	}
	return number - 1
}

func rowName(row int) string {
	if row < 26 {
		return string(rune('A' + row))
	}
	return rowName(row/26-1) + string(rune('A'+row%26))
}

// Name returns the name of a well, by its row and column from 0.
func (p *Plate) Name(row, column int) string { return rowName(row) + strconv.Itoa(column+1) }

// Control reports whether a well, by its row and column from 0, stays free.
func (p *Plate) Control(row, column int) bool { return p.control[row*p.Columns+column] }

// Wells returns how many measurements fit on one plate.
func (p *Plate) Wells() int { return len(p.free) }
