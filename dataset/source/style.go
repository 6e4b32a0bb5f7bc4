package source

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Style is how a text file with separated fields is written, as far as its start shows.
type Style struct {
	Delimiter byte   // 0 if no character divides all lines into equally many fields
	Decimal   byte   // the decimal mark; 0 if no number tells
	Encoding  string // as in Options; empty for that of the byte-order mark, or UTF-8
	CRLF      bool   // lines end as in files of Windows
	Mark      bool   // the text starts with a byte-order mark
	Unnamed   []int  // columns, from 0, that have no name in the header
}

const (
	styleBytes   = 64 << 10
	styleRecords = 200
)

// GuessStyle determines how a text file is written. What the options say about the
// delimiter, the decimal mark and the encoding is not guessed.
func GuessStyle(path string, opts Options) (Style, error) {
	text, s, err := startOf(path, opts)
	if err != nil {
		return s, inFile(path, err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	s.CRLF = bytes.HasSuffix(line, []byte("\r"))
	var records [][]string
	s.Delimiter, records = divide(text, opts, extensionOf(path))
	if s.Decimal = opts.Decimal; s.Decimal == 0 && s.Delimiter != ',' && len(records) > 0 {
		s.Decimal = decimalIn(records[1:])
	}
	for j, name := range slices.Concat(records[:min(1, len(records))]...) {
		if name == "" {
			s.Unnamed = append(s.Unnamed, j)
		}
	}
	return s, nil
}

// startOf returns the first complete lines of a text file, in UTF-8.
func startOf(path string, opts Options) (text []byte, s Style, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, s, err
	}
	defer file.Close()
	content, err := open(file)
	if err != nil {
		return nil, s, err
	}
	raw, err := io.ReadAll(io.LimitReader(content, styleBytes))
	if err != nil {
		return nil, s, err
	}
	s.Mark = slices.ContainsFunc(marks, func(m struct{ bytes, encoding string }) bool { return bytes.HasPrefix(raw, []byte(m.bytes)) })
	if s.Encoding = opts.Encoding; s.Encoding == "" && !s.Mark && !utf8.Valid(raw[:max(0, len(raw)-utf8.UTFMax)]) {
		s.Encoding = "windows-1252" // as Excel writes "CSV"
	}
	in, err := newInput(bytes.NewReader(raw), s.Encoding)
	if err != nil {
		return nil, s, err
	}
	text = in.buffer[in.start:in.end]
	if end := bytes.LastIndexByte(text, '\n'); end >= 0 && len(raw) == styleBytes {
		text = text[:end+1]
	}
	return text, s, nil
}

// divide returns the delimiter that divides all records into equally many fields, and
// these.
func divide(text []byte, opts Options, extension string) (byte, [][]string) {
	if opts.Delimiter != 0 {
		return opts.Delimiter, recordsOf(text, opts.Delimiter)
	}
	candidates := []byte{',', ';', '\t', '|'}
	if extension == ".tsv" || extension == ".tab" {
		candidates = []byte{'\t', ',', ';', '|'}
	}
	for _, delimiter := range candidates {
		records := recordsOf(text, delimiter)
		if len(records) > 0 && len(records[0]) > 1 && !slices.ContainsFunc(records, func(r []string) bool { return len(r) != len(records[0]) }) {
			return delimiter, records
		}
	}
	return 0, nil
}

// recordsOf splits a text up to the first record that cannot be split.
func recordsOf(text []byte, delimiter byte) (list [][]string) {
	in, err := newInput(bytes.NewReader(text), "")
	if err != nil {
		return nil
	}
	c := &csvReader{in: in}
	c.comma = delimiter
	for len(list) < styleRecords {
		rec, err := c.next()
		if err != nil {
			return list
		}
		fields, err := c.split(rec)
		if err != nil {
			return list
		}
		record := make([]string, len(fields))
		for j, field := range fields {
			record[j] = string(field)
		}
		list = append(list, record)
	}
	return list
}

var withComma, withPoint = regexp.MustCompile(`^[-+]?\d+,\d+([eE][-+]?\d+)?$`), regexp.MustCompile(`^[-+]?\d*\.\d+([eE][-+]?\d+)?$`)

// decimalIn is the mark of the numbers in records: a comma if no number has a point.
func decimalIn(records [][]string) byte {
	commas := false
	for _, field := range slices.Concat(records...) {
		if withPoint.MatchString(field) {
			return '.'
		}
		commas = commas || withComma.MatchString(field)
	}
	if commas {
		return ','
	}
	return 0
}

// names are those of the header: a column whose name the reader made up has none.
func (s Style) names(names []string) []string {
	header := slices.Clone(names)
	for _, j := range s.Unnamed {
		if j < len(header) && header[j] == "column"+strconv.Itoa(j) {
			header[j] = ""
		}
	}
	return header
}
