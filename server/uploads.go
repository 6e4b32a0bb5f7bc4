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
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Uploaded tables lie in a folder while they are read. They cannot fill the disk: each has
// a limit, all together have one, and some of the disk stays free. Their names have the id
// of the process, so that the next start removes those of a process that was killed.

const (
	uploadPrefix = "nextbatch-upload-"
	keptFree     = 256 << 20 // bytes of the disk that uploads leave
	uploadsOfAll = 2         // all uploads at a time may take so many times the limit of one
)

// uploads counts the bytes of all uploads at the moment.
type uploads struct {
	folder string
	most   int64
	free   func(folder string) (bytes int64, known bool)

	mu    sync.Mutex
	bytes int64
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
	return &uploads{folder: folder, most: uploadsOfAll * limit, free: freeSpace}
}

// take reserves bytes, if the limit of all uploads allows.
func (u *uploads) take(n int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes+n > u.most {
		return huma.Error503ServiceUnavailable("too many tables are being uploaded; try again in a while")
	}
	u.bytes += n
	return nil
}

func (u *uploads) give(n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= n
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
		if err := u.take(step); err != nil {
			return taken, err
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

// read reads an uploaded table, by way of a file, as a table may need a second pass.
func (s *Server) read(ctx context.Context, t *Upload, options source.Options) (*dataset.Table, error) {
	file, err := os.CreateTemp(s.uploads.folder, uploadPrefix+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	taken, err := s.uploads.write(file, http.MaxBytesReader(nil, io.NopCloser(t.body), s.options.MaxUpload))
	defer s.uploads.give(taken)
	if err != nil {
		return nil, badBody(err)
	}
	if options.Format = t.Format; options.Format == "" {
		options.Format = formatOf(file)
	}
	options.MaxMemory = s.options.MaxMemory
	table, err := source.ReadFile(ctx, file.Name(), options)
	if at := (*source.Error)(nil); errors.As(err, &at) {
		at.File = "" // nobody has seen its name
	}
	return table, err
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

// formatOf tells the format of a table by its first bytes.
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
