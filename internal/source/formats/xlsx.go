package formats

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// A workbook (ECMA-376) is a zip archive of XML parts: the list of sheets, the strings that cells share, the styles,
// which tell dates from numbers, and each sheet. A sheet is read as a stream, so that the table is all that takes
// memory, besides the shared strings.

func readXLSX(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table, error) {
	content, held, err := randomAccess(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	opts = sheets.Holding(opts, held)
	if err := checkWorkbook(content); err != nil {
		return nil, err
	}
	archive, err := openArchive(content)
	if err != nil {
		return nil, err
	}
	w := &workbook{ctx: ctx, opts: opts, archive: archive}
	defer w.release()
	sheet, err := w.open()
	if err != nil {
		return nil, err
	}
	opts.Decimal, opts.Thousands = 0, 0 // which describe text files
	x := &sheetReader{book: w, notNumeric: notNumeric, unstored: map[int]int{}}
	if x.Guesser, err = sheets.NewGuesser(sheets.Holding(opts, w.strings.bytes())); err != nil {
		return nil, err
	}
	x.Stored = true
	if err := w.walk(sheet, x); err != nil {
		return nil, err
	}
	return x.complete()
}

// checkWorkbook recognises what else carries the name of a workbook.
func checkWorkbook(content sized) error {
	start := make([]byte, len(oleMagic))
	if _, err := content.ReadAt(start, 0); err != nil && err != io.EOF {
		return damaged(err)
	}
	switch {
	case string(start) == oleMagic:
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "the workbook is protected by a password, or an old one (.xls)",
			Advice: "open it in Excel, and save it as .xlsx without a password, or as .csv"}
	case string(start) != "PK\x03\x04":
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "it does not start as a workbook does: " +
			cells.QuoteShort(start),
			Advice: "check the file's format"}
	}
	return nil
}

// workbook is what a sheet needs of the parts besides it.
type workbook struct {
	ctx      context.Context
	opts     sheets.Options
	archive  *zip.Reader
	from1904 bool
	strings  sharedStrings
	formats  []dateFormat // by style of a cell
}

// open reads all parts but the sheets, and returns the path of the sheet to read.
func (w *workbook) open() (sheet string, err error) {
	root := relations{}
	if err := w.walkSmall("_rels/.rels", relationReader{"", root}); err != nil {
		return "", err
	}
	book := root.target("officeDocument")
	if book == "" {
		return "", &sheets.Error{Kind: sheets.ErrFormat, Detail: "the archive holds no workbook",
			Advice: "check the file's format"}
	}
	index := &sheetList{}
	if err := w.walkSmall(book, index); err != nil {
		return "", err
	}
	w.from1904 = index.from1904
	parts := relations{}
	if err := w.walkSmall(path.Join(path.Dir(book), "_rels", path.Base(book)+".rels"),
		relationReader{path.Dir(book), parts}); err != nil {
		return "", err
	}
	id, err := index.choose(w.opts.Array, parts)
	if err != nil {
		return "", err
	}
	styles := &styleSheet{custom: map[int]dateFormat{}}
	if name := parts.target("styles"); name != "" {
		if err := w.walkSmall(name, styles); err != nil {
			return "", err
		}
	}
	w.formats = styles.cells
	if name := parts.target("sharedStrings"); name != "" {
		if err := w.readStrings(name, parts[id].target); err != nil {
			return "", err
		}
	}
	return parts[id].target, nil
}

// manyStrings is the size of the shared strings from which on those that the sheet does not refer to are left out: they
// may be those of other sheets, and a few megabytes of a workbook may hold gigabytes of them.
const manyStrings = 64 << 20

// readStrings reads the shared strings that a sheet refers to.
func (w *workbook) readStrings(name, sheet string) error {
	w.strings.allow = func(need int64, what string) error { return sheets.Allow(w.opts, need, what) }
	if entry := w.find(name); entry != nil && entry.UncompressedSize64 > manyStrings {
		most := int(entry.UncompressedSize64 / uint64(len("<si/>")))
		w.strings.used = &usedStrings{most: most}
		if err := w.walk(sheet, w.strings.used); err != nil {
			return err
		}
	}
	return w.walk(name, &w.strings)
}

// release drops the strings of a sheet that has been read. Go would keep their memory until its next collection, which
// may be minutes away in a service.
func (w *workbook) release() {
	large := w.strings.read > manyStrings
	if w.strings = (sharedStrings{}); large {
		debug.FreeOSMemory()
	}
}

// usedStrings are the shared strings that the cells of a sheet refer to.
type usedStrings struct {
	most   int // there are at most so many
	bits   []uint64
	shared bool // the present cell holds the number of one
}

func (u *usedStrings) start(element string, attributes []xml.Attr) error {
	if element == "c" {
		u.shared = attribute(attributes, "t") == "s"
	}
	return nil
}

func (u *usedStrings) end(element string, text []byte) error {
	if element != "v" || !u.shared {
		return nil
	}
	i, err := strconv.Atoi(string(cells.Trim(text)))
	if err != nil || i < 0 || i >= u.most { // the cell is reported when it is read
		return nil
	}
	if lack := i/64 + 1 - len(u.bits); lack > 0 {
		u.bits = append(u.bits, make([]uint64, lack)...)
	}
	u.bits[i/64] |= 1 << (i % 64)
	return nil
}

// has reports whether a cell refers to a string; without a list, any may.
func (u *usedStrings) has(i int) bool {
	return u == nil || i/64 < len(u.bits) && u.bits[i/64]>>(i%64)&1 == 1
}

// visitor sees the elements of a part. The text of an element is what stands
// before its end and after any other element in it; it is valid for the call.
type visitor interface {
	start(element string, attributes []xml.Attr) error
	end(element string, text []byte) error
}

const (
	deepest     = 64       // elements within elements
	mostElement = 4 << 20  // bytes from the end of an element to that of the next
	mostSmall   = 32 << 20 // bytes of a part that lists sheets or styles: Excel knows 65,490 styles
)

// walk passes the elements of a part to the visitor.
func (w *workbook) walk(name string, to visitor) error { return w.walkUpTo(name, math.MaxInt64, to) }

// walkSmall is walk for a part whose elements are all kept, and few.
func (w *workbook) walkSmall(name string, to visitor) error { return w.walkUpTo(name, mostSmall, to) }

// walkUpTo is walk for a part of at most the given number of bytes.
func (w *workbook) walkUpTo(name string, most int64, to visitor) error {
	entry := w.find(name)
	if entry == nil {
		return damaged(fmt.Errorf("the archive has no %s", name))
	}
	file, err := entry.Open()
	if err != nil {
		return damaged(err)
	}
	defer file.Close()
	limited := &limitedReader{from: ctxio.Reader(w.ctx, file), left: most}
	decoder := xml.NewDecoder(limited)
	var text []byte
	for depth := 0; ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return partError(name, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > deepest {
				return damaged(fmt.Errorf("%s nests more than %d elements", name, deepest))
			}
			text = text[:0]
			err = to.start(t.Name.Local, t.Attr)
		case xml.CharData:
			text = append(text, t...)
		case xml.EndElement:
			depth--
			err = to.end(t.Name.Local, text)
			text = text[:0]
			limited.read = 0
		}
		if err != nil {
			return err
		}
	}
}

func (w *workbook) find(name string) *zip.File {
	for _, entry := range w.archive.File {
		if strings.EqualFold(strings.TrimPrefix(entry.Name, "/"), strings.TrimPrefix(name, "/")) {
			return entry
		}
	}
	return nil
}

// partError adds the part of the archive that an error is in.
func partError(name string, err error) error {
	if at := (*sheets.Error)(nil); errors.As(err, &at) {
		return err
	}
	return damaged(fmt.Errorf("%s: %w", name, err))
}

// limitedReader rejects an element that would fill the memory.
type limitedReader struct {
	from io.Reader
	read int   // bytes since the last element ended
	left int64 // bytes that the part may still have
}

func (r *limitedReader) Read(to []byte) (int, error) {
	if r.read > mostElement {
		return 0, &sheets.Error{Kind: sheets.ErrTooLong, Detail: fmt.Sprintf("over %d MiB in one cell", mostElement>>20),
			Advice: "check that it is the right file"}
	}
	n, err := r.from.Read(to)
	r.read += n
	if r.left -= int64(n); r.left < 0 {
		return 0,
			&sheets.Error{Kind: sheets.ErrFormat,
				Detail: fmt.Sprintf("the workbook has over %d MiB of styles, or of a list of sheets", mostSmall>>20),
				Advice: "save the table alone, as .xlsx or .csv"}
	}
	return n, err
}

// relations are the parts that a part refers to, by their ids.
type relations map[string]relation

type relation struct{ kind, target string }

// target returns the part of a kind; there is one at most.
func (r relations) target(kind string) string {
	for _, part := range r {
		if part.kind == kind {
			return part.target
		}
	}
	return ""
}

// relationReader reads relations, whose targets are relative to a folder.
type relationReader struct {
	dir  string
	into relations
}

func (r relationReader) start(element string, attributes []xml.Attr) error {
	if element != "Relationship" {
		return nil
	}
	target := attribute(attributes, "Target")
	if !strings.HasPrefix(target, "/") {
		target = path.Join(r.dir, target)
	}
	kind := attribute(attributes, "Type")
	r.into[attribute(attributes, "Id")] = relation{kind[strings.LastIndexByte(kind, '/')+1:], target}
	return nil
}

func (r relationReader) end(string, []byte) error { return nil }

func attribute(attributes []xml.Attr, name string) string {
	for _, a := range attributes {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// sheetList reads the list of sheets.
type sheetList struct {
	sheets   []namedSheet
	from1904 bool
}

type namedSheet struct {
	name, id string
	hidden   bool
}

func (l *sheetList) start(element string, attributes []xml.Attr) error {
	switch element {
	case "workbookPr":
		flag := attribute(attributes, "date1904")
		l.from1904 = flag == "1" || flag == "true"
	case "sheet":
		state := attribute(attributes, "state")
		l.sheets = append(l.sheets, namedSheet{name: attribute(attributes, "name"), id: attribute(attributes, "id"),
			hidden: state == "hidden" || state == "veryHidden"})
	}
	return nil
}

func (l *sheetList) end(string, []byte) error { return nil }

// choose returns the id of the named sheet, or of the only one that is visible.
func (l *sheetList) choose(name string, parts relations) (id string, err error) {
	var names []string
	var visible []namedSheet
	for _, s := range l.sheets {
		if parts[s.id].kind != "worksheet" { // but a page with a chart
			continue
		}
		if s.name == name {
			return s.id, nil
		}
		names = append(names, s.name)
		if !s.hidden {
			visible = append(visible, s)
		}
	}
	switch {
	case len(names) == 0:
		return "", &sheets.Error{Kind: sheets.ErrEmpty, Detail: "the workbook has no sheets",
			Advice: "check that it is the right file"}
	case name != "":
		return "", &sheets.Error{Kind: sheets.ErrSheet, Detail: fmt.Sprintf("%q", name), Advice: "the sheets are " +
			sheets.ShortList(names)}
	case len(visible) != 1:
		return "", &sheets.Error{Kind: sheets.ErrSheet, Detail: fmt.Sprintf("there are %d, and none is named", len(names)),
			Hints: []options.Hint{{Before: "give ", Option: "Array", After: " with one of " + sheets.ShortList(names),
				Otherwise: "leave only one of these in the workbook: " + sheets.ShortList(names)}}}
	}
	return visible[0].id, nil
}

// sharedStrings are the strings that cells refer to by number. A string may
// consist of several runs of text; what is read aloud (rPh) is not part of it.
type sharedStrings struct {
	text  []byte
	ends  []int
	allow func(need int64, what string) error
	used  *usedStrings // the others are empty
	read  int64        // bytes, also of those that are not used

	spoken int
}

func (s *sharedStrings) start(element string, _ []xml.Attr) error {
	if element == "rPh" {
		s.spoken++
	}
	return nil
}

func (s *sharedStrings) end(element string, text []byte) error {
	switch element {
	case "rPh":
		s.spoken--
	case "t":
		s.read += int64(len(text))
		if s.spoken == 0 && s.used.has(len(s.ends)) {
			s.text = append(s.text, text...)
		}
	case "si":
		s.ends = append(s.ends, len(s.text))
		return s.allow(2*s.bytes(), "the text of cells, which is copied as it grows,")
	}
	return nil
}

func (s *sharedStrings) bytes() int64 { return int64(cap(s.text)) + 8*int64(cap(s.ends)) }

func (s *sharedStrings) at(i int) (text []byte, ok bool) {
	if i < 0 || i >= len(s.ends) {
		return nil, false
	}
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.text[start:s.ends[i]], true
}
