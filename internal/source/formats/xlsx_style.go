package formats

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// dateFormat is what a number format shows of a number.
type dateFormat uint8

const (
	notDate dateFormat = iota
	dateOnly
	timeOnly
	dateTime
)

// styleSheet reads the number formats of styles.
type styleSheet struct {
	cells  []dateFormat // by style of a cell
	custom map[int]dateFormat
	inside bool // the list of the styles of cells
}

func (s *styleSheet) start(element string, attributes []xml.Attr) error {
	switch element {
	case "numFmt":
		if id, err := strconv.Atoi(attribute(attributes, "numFmtId")); err == nil {
			s.custom[id] = formatOf(attribute(attributes, "formatCode"))
		}
	case "cellXfs":
		s.inside = true
	case "xf":
		if !s.inside {
			return nil
		}
		id, _ := strconv.Atoi(attribute(attributes, "numFmtId")) // 0 is the general format
		format, custom := s.custom[id]
		if !custom {
			format = builtIn(id)
		}
		s.cells = append(s.cells, format)
	}
	return nil
}

func (s *styleSheet) end(element string, _ []byte) error {
	if element == "cellXfs" {
		s.inside = false
	}
	return nil
}

// builtIn returns the meaning of the number formats that every workbook has.
func builtIn(id int) dateFormat {
	switch {
	case id == 22:
		return dateTime
	case 18 <= id && id <= 21, 32 <= id && id <= 35, id == 45, id == 47, id == 55, id == 56:
		return timeOnly
	case 14 <= id && id <= 17, 27 <= id && id <= 31, id == 36, 50 <= id && id <= 58:
		return dateOnly
	}
	return notDate
}

// formatOf determines what a format such as yyyy-mm-dd shows. Literal text, colours and conditions are not part of
// that; a time span, such as [h]:mm, is a number.
func formatOf(code string) dateFormat {
	var letters strings.Builder
	code, _, _ = strings.Cut(strings.ToLower(code), ";")
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"', '[':
			closing := map[byte]string{'"': "\"", '[': "]"}[code[i]]
			n := strings.Index(code[i+1:], closing)
			if n < 0 {
				return notDate
			}
			if inside := code[i+1 : i+1+n]; closing == "]" && inside != "" && strings.Trim(inside, "hms") == "" {
				return notDate
			}
			i += n + 1
		case '\\', '_', '*':
			i++ // the next character stands for itself
		default:
			letters.WriteByte(code[i])
		}
	}
	shown := strings.NewReplacer("am/pm", "h", "a/p", "h", "general", "").Replace(letters.String())
	clock := strings.ContainsAny(shown, "hs")
	day := strings.ContainsAny(shown, "yd") || !clock && strings.Contains(shown, "m")
	switch {
	case day && clock:
		return dateTime
	case day:
		return dateOnly
	case clock:
		return timeOnly
	}
	return notDate
}

// number returns a number as text, in ISO 8601 if its style shows it as a date.
func (w *workbook) number(value []byte, style int) []byte {
	if style < 0 || style >= len(w.formats) || w.formats[style] == notDate {
		return value
	}
	days, ok := cells.WholeNumber(cells.Trim(value))
	const last = 2958466 // the day after 9999-12-31
	if !ok || !(days >= 0) || days >= last {
		return value // Excel shows no date either
	}
	whole := math.Floor(days)
	clock := time.Duration(math.Round((days-whole)*24*3600*1000)) * time.Millisecond
	if w.formats[style] == timeOnly && whole == 0 {
		return time.Time{}.Add(clock).AppendFormat(nil, "15:04:05.999")
	}
	day := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if w.from1904 {
		day = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	} else if whole < 60 {
		whole++ // Excel counts a 29 February 1900, which did not exist
	}
	day = day.AddDate(0, 0, int(whole))
	if w.formats[style] == dateOnly {
		return day.AppendFormat(nil, time.DateOnly)
	}
	return day.Add(clock).AppendFormat(nil, "2006-01-02T15:04:05.999")
}
