package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Uploaded tables are kept in a folder while they are read. They cannot fill the disk: each has
// a limit, all together have one, and some of the disk stays free. Their names have the id
// of the process, so that the next start removes those of a process that was killed.

const (
	uploadPrefix = "nextbatch-upload-"
	keptFree     = 256 << 20 // bytes of the disk that uploads leave
	uploadsOfAll = 2         // all uploads at a time may take this many times the limit of one
)

// uploads counts the bytes of all uploads at the moment.
type uploads struct {
	budget
	folder string
	free   func(folder string) (bytes int64, known bool)
}

// newUploads returns the uploads in a folder, and removes what killed processes left there.
func newUploads(folder string, limit int64) *uploads {
	if folder == "" {
		folder = os.TempDir()
	}
	left, _ := filepath.Glob(filepath.Join(folder, uploadPrefix+"*")) // the pattern is valid
	for _, path := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), uploadPrefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && (pid == os.Getpid() || !sqlitefile.Alive(pid)) {
			_ = os.Remove(path) // one that stays costs space, nothing else
		}
	}
	return &uploads{budget: budget{most: uploadsOfAll * limit}, folder: folder, free: freeSpace}
}

// room reports a disk that is nearly full.
func (u *uploads) room() error {
	if free, known := u.free(u.folder); known && free < keptFree {
		return huma.NewError(http.StatusInsufficientStorage, "the disk of the service is nearly full; nothing was changed")
	}
	return nil
}

// write copies a body to a file, as long as there is room.
func (u *uploads) write(file *os.File, body io.Reader) (taken int64, err error) {
	const step = 256 << 10
	for {
		if err := u.room(); err != nil {
			return taken, err
		}
		if !u.take(step) {
			return taken, retryLater("too many tables are being uploaded; try again in a while")
		}
		taken += step
		switch _, err := io.CopyN(file, body, step); {
		case err == io.EOF:
			return taken, nil
		case err != nil:
			return taken, err
		}
	}
}

// read reads an uploaded table, through a file, because a table may need a second pass. Call done
// when the table is no longer used.
func (s *Server) read(ctx context.Context, t *Upload,
	opts source.Options) (table *dataset.Table, done func(), err error) {
	file, err := os.CreateTemp(s.uploads.folder, uploadPrefix+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	taken, err := s.uploads.write(file, http.MaxBytesReader(nil, io.NopCloser(t.body), s.options.MaxUpload))
	defer s.uploads.give(taken)
	if err != nil {
		return nil, nil, badBody(err)
	}
	opts.Ignore = t.Ignore
	if t.Format == "" {
		t.Format = formatOf(file)
	}
	opts.Format, opts.Setting = t.Format, options.Parameter
	if err := t.apply(&opts); err != nil {
		return nil, nil, err
	}
	table, done, err = s.readWithin(ctx, file.Name(), taken, opts)
	if at := (*source.Error)(nil); errors.As(err, &at) {
		at.File = "" // nobody has seen its name
	}
	return table, done, err
}

// Tables that are read at the same time share the memory. It is not known in advance how much one
// takes, because it may be compressed: it gets a few times its bytes and, if that is not enough,
// it is read again with more, up to all.
const (
	firstShare = 4
	leastShare = 4 << 20
	nextShare  = 4
)

// readWithin reads a table of about the given number of bytes from a file, within the memory that
// other tables leave. The table counts against that memory until done is called.
func (s *Server) readWithin(ctx context.Context, path string, bytes int64,
	options source.Options) (table *dataset.Table, done func(), err error) {
	all := s.memory.most
	for share := min(all, firstShare*bytes+leastShare); ; share = min(all, nextShare*share) {
		if !s.memory.take(share) {
			return nil, nil,
				retryLater("other tables are being read, and there is too little memory for this one besides; try again in a while")
		}
		options.MaxMemory = share
		done = func() {
			s.memory.give(share)
			if share > largeJob {
				debug.FreeOSMemory()
			}
		}
		if table, err = source.ReadFile(ctx, path, options); err == nil {
			return table, done, nil
		}
		done()
		if share == all || !errors.Is(err, source.ErrMemory) {
			return nil, nil, err
		}
	}
}

// badBody turns the error of a body that ended early into one of the client.
func badBody(err error) error {
	var known huma.StatusError
	var large *http.MaxBytesError
	if errors.As(err, &known) || errors.As(err, &large) || errors.As(err, new(*os.PathError)) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return huma.NewError(http.StatusRequestTimeout, "the table comes too slowly")
	}
	return huma.Error400BadRequest(fmt.Sprintf("the table did not arrive: %v", err))
}

// formatOf detects the format of a table by its first bytes.
func formatOf(file *os.File) string {
	const enough = 4096
	start := make([]byte, enough)
	n, _ := file.ReadAt(start, 0) // what cannot be read here cannot be read later
	start = start[:n]
	if unpacked, err := gzip.NewReader(bytes.NewReader(start)); err == nil {
		text, _ := bufio.NewReaderSize(unpacked, enough).Peek(enough) // is cut off
		start = bytes.Clone(text)
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	switch {
	case bytes.HasPrefix(start, []byte("PAR1")):
		return "parquet"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return "xlsx"
	case bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n\ufeff"), []byte("{")):
		return "jsonl"
	case bytes.IndexByte(line, '\t') >= 0 && bytes.IndexByte(line, ',') < 0:
		return "tsv"
	}
	return "csv"
}

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

// apply puts the style into the options of a reader.
func (s TextStyle) apply(o *source.Options) (err error) {
	o.Delimiter, o.Decimal, o.Thousands, o.Encoding = options.MarkOf(s.Separator), options.MarkOf(s.Decimal),
		options.MarkOf(s.Thousands), s.Encoding
	o.Header = map[string]source.Header{"present": source.HeaderPresent, "absent": source.HeaderAbsent}[s.Header]
	if s.Censored == "drop" {
		o.Censored = source.CensoredDrop
	}
	if s.Marks != "" {
		o.Missing = append(sheets.DefaultMissing(), strings.Split(s.Marks, ",")...)
	}
	if s.Lod != "" {
		if o.Lod, err = sheets.ParseLod(s.Lod); err != nil {
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
		Format: format, Separator: options.NameOf(o.Delimiter), Decimal: options.NameOf(o.Decimal),
		Thousands: options.NameOf(o.Thousands),
		Encoding:  o.Encoding, Header: !o.Headless, Units: o.Units, Notes: append([]string{}, o.Notes...),
	}
	if u.Encoding == "" && (format == "csv" || format == "tsv") {
		u.Encoding = "utf-8"
	}
	return u
}
