package server

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// TextStyle is how an uploaded text file is written. What is left out is guessed.
type TextStyle struct {
	Separator string `query:"separator" enum:"comma,semicolon,tab,bar,blank" doc:"what separates the fields of a text file; by default what the file suggests"`
	Decimal   string `query:"decimal" enum:"point,comma" doc:"decimal mark of its numbers; by default what the file suggests"`
	Thousands string `query:"thousands" enum:"comma,point,blank,apostrophe" doc:"what separates thousands; by default what the file suggests"`
	Encoding  string `query:"encoding" enum:"utf-8,utf-16le,utf-16be,latin1,windows-1252" doc:"encoding of a text file; by default what the file suggests"`
	Header    string `query:"header" enum:"present,absent" doc:"whether the first line has the names of the columns; by default what the file suggests"`
	Censored  string `query:"censored" enum:"limit,drop" doc:"numbers of which only a limit is known, such as <0.5: limit (the default) takes the limit and marks them in a column of its own, drop makes them missing"`
	Lod       string `query:"lod" maxLength:"1000" doc:"limit of detection of the labels, for those such as <LOD or n.d., which are refused without it: a number, or one for each target as in y=0.5,z=2"`
	Marks     string `query:"missing_marks" maxLength:"1000" doc:"further words that mean a missing value, separated by commas"`
}

// marksByName are the characters of separators and marks.
var marksByName = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|', "blank": ' ',
	"point": '.', "apostrophe": '\''}

// nameOfMark returns the name of a separator or mark; empty for none.
func nameOfMark(mark byte) string {
	for name, c := range marksByName {
		if c == mark {
			return name
		}
	}
	return ""
}

// apply puts the style into the options of a reader.
func (s TextStyle) apply(o *source.Options) (err error) {
	o.Delimiter, o.Decimal, o.Thousands, o.Encoding = marksByName[s.Separator], marksByName[s.Decimal],
		marksByName[s.Thousands], s.Encoding
	o.Header = map[string]source.Header{"present": source.HeaderPresent, "absent": source.HeaderAbsent}[s.Header]
	if s.Censored == "drop" {
		o.Censored = source.CensoredDrop
	}
	if s.Marks != "" {
		o.Missing = append(source.DefaultMissing(), strings.Split(s.Marks, ",")...)
	}
	if s.Lod != "" {
		if o.Lod, err = source.ParseLod(s.Lod); err != nil {
			return huma.Error422UnprocessableEntity("lod " + err.Error())
		}
	}
	return nil
}

// Understood is how an uploaded table was read.
type Understood struct {
	Format    string   `json:"format"`
	Separator string   `json:"separator,omitempty" doc:"of a text file: comma, semicolon, tab, bar or blank"`
	Decimal   string   `json:"decimal,omitempty" doc:"point or comma; absent if no number tells"`
	Thousands string   `json:"thousands,omitempty" doc:"absent if digits are not grouped"`
	Encoding  string   `json:"encoding,omitempty"`
	Header    bool     `json:"header" doc:"the first line has the names of the columns"`
	Units     []string `json:"units,omitempty" doc:"the line with the units of the columns, which is not a row"`
	Notes     []string `json:"notes" doc:"what was understood and what was assumed, for people"`
}

// understood describes how a table was read.
func understood(t *dataset.Table, format string) Understood {
	o := t.Origin()
	u := Understood{
		Format: format, Separator: nameOfMark(o.Delimiter), Decimal: nameOfMark(o.Decimal),
		Thousands: nameOfMark(o.Thousands),
		Encoding:  o.Encoding, Header: !o.Headless, Units: o.Units, Notes: append([]string{}, o.Notes...),
	}
	if u.Encoding == "" && (format == "csv" || format == "tsv") {
		u.Encoding = "utf-8"
	}
	return u
}
