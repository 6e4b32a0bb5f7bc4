package sets

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/matrix"
)

// A prepared set is an archive that numpy.load can also read:
//
//	set.json   which raw file it was made from, with its hash, and the encoder
//	X.npy      inputs less the encoder's centres, float32, not yet scaled
//	y.npy      labels, float64, in their units
//	rows.npy   the row of the raw file, from 0, that each row was
const (
	preparedSuffix = ".prepared.npz"
	preparedFormat = 1 // changes whenever the preparation changes

	headerEntry = "set.json"
	mostJSON    = 16 << 20
)

type preparedHeader struct {
	Format  int            `json:"format"`
	Set     string         `json:"set"`
	File    string         `json:"file"`
	Hash    string         `json:"sha256"`
	RawRows int            `json:"raw_rows"`
	Encoder encode.Encoder `json:"encoder"`
}

// Prepared describes a prepared set and its raw file.
type Prepared struct {
	Path     string
	File     string // the raw file's name
	Hash     string // its SHA-256
	RawRows  int    // rows of the raw file
	Rows     int    // complete rows that were kept
	Features []string
	Already  bool // it was there already and up to date, so nothing was done
}

// Prepare does the paper's preprocessing of the raw file in the folder and
// writes the result there, to NAME.prepared.npz, for Load. Dropped rows are
// never held in memory. The raw file must have the pinned hash; if there is
// none, its hash is pinned now.
func (s Set) Prepare(ctx context.Context, dir string) (Prepared, error) {
	raw, err := s.find(dir)
	if err != nil {
		return Prepared{}, err
	}
	hash, err := pinned(ctx, raw)
	if err != nil {
		return Prepared{}, err
	}
	if p, err := s.openPrepared(dir); err == nil {
		defer p.close()
		if found, err := p.describe(); err == nil && p.header.Hash == hash {
			found.Already = true
			return found, nil
		}
	}
	return s.prepareAgain(ctx, dir, raw, hash)
}

func (s Set) prepareAgain(ctx context.Context, dir, raw, hash string) (Prepared, error) {
	r, rawRows, err := s.load(ctx, raw, DefaultMaxRows)
	if err != nil {
		return Prepared{}, err
	}
	h := preparedHeader{Format: preparedFormat, Set: s.Name, File: filepath.Base(raw), Hash: hash,
		RawRows: rawRows, Encoder: r.Encoder}
	path := s.preparedPath(dir)
	if err := atomicfile.Write(path, func(w io.Writer) error { return writePrepared(w, h, r) }); err != nil {
		return Prepared{}, err
	}
	return h.describe(path, r.X.Rows), nil
}

func (s Set) preparedPath(dir string) string { return filepath.Join(dir, s.Name+preparedSuffix) }

func (h preparedHeader) describe(path string, rows int) Prepared {
	return Prepared{Path: path, File: h.File, Hash: h.Hash, RawRows: h.RawRows, Rows: rows, Features: h.Encoder.Features()}
}

func writePrepared(w io.Writer, h preparedHeader, r *Regression) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser,
		error) {
		return flate.NewWriter(to, flate.BestSpeed)
	})
	for _, entry := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{headerEntry, func(w io.Writer) error { return json.NewEncoder(w).Encode(h) }},
		{"X.npy", func(w io.Writer) error { return source.WriteNPY(w, r.X) }},
		{"y.npy", func(w io.Writer) error { return source.WriteNPY(w, matrix.View(len(r.Y), 1, r.Y)) }},
		{"rows.npy", func(w io.Writer) error { return formats.WriteNPYInts(w, r.Rows) }},
	} {
		to, err := z.CreateHeader(&zip.FileHeader{Name: entry.name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if err := entry.write(to); err != nil {
			return err
		}
	}
	return z.Close()
}

// preparedFile is an open prepared set whose header has been read.
type preparedFile struct {
	path    string
	file    *os.File
	content *io.SectionReader
	archive *zip.Reader
	header  preparedHeader
}

func (p *preparedFile) close() { _ = p.file.Close() } // it was only read

// openPrepared opens the prepared set in the folder. If there is none, the error
// is fs.ErrNotExist.
func (s Set) openPrepared(dir string) (*preparedFile, error) {
	path := s.preparedPath(dir)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &preparedFile{path: path, file: file}
	if err := p.readHeader(s.Name); err != nil {
		p.close()
		return nil, p.unusable(err)
	}
	return p, nil
}

func (p *preparedFile) readHeader(set string) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.content = io.NewSectionReader(p.file, 0, info.Size())
	if p.archive, err = zip.NewReader(p.content, info.Size()); err != nil {
		return err
	}
	p.header, err = readPreparedHeader(p.archive)
	if err == nil && p.header.Set != set {
		err = fmt.Errorf("it contains the data set %q", p.header.Set)
	}
	return err
}

func (p *preparedFile) unusable(err error) error {
	return &source.Error{File: p.path, Kind: source.ErrRead, Cause: err,
		Advice: "remove it and prepare the data set again"}
}

func readPreparedHeader(z *zip.Reader) (h preparedHeader, err error) {
	file, err := z.Open(headerEntry)
	if err != nil {
		return h, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostJSON))
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, err
	}
	if h.Format != preparedFormat {
		return h, fmt.Errorf("it was prepared by another version: its format is %d, not %d", h.Format, preparedFormat)
	}
	return h, nil
}

// checkFresh makes sure that the raw file is the one that was prepared.
func (p *preparedFile) checkFresh(ctx context.Context, raw string) error {
	hash, err := hashFile(ctx, raw)
	if err != nil {
		return err
	}
	return p.fits(raw, hash)
}

// fits is checkFresh for a raw file whose hash is known.
func (p *preparedFile) fits(raw, hash string) error {
	if hash == p.header.Hash {
		return nil
	}
	return changed(raw, hash, p.header.Hash, filepath.Base(p.path), "restore the file, or prepare the data set again")
}

// describe reads the header of the inputs, but not the inputs.
func (p *preparedFile) describe() (Prepared, error) {
	file, err := p.archive.Open("X.npy")
	if err != nil {
		return Prepared{}, p.unusable(err)
	}
	defer file.Close()
	rows, _, err := formats.ReadNPYShape(file)
	if err != nil {
		return Prepared{}, p.unusable(err)
	}
	return p.header.describe(p.path, rows), nil
}

func (p *preparedFile) read(ctx context.Context) (*Regression, error) {
	r, err := readPrepared(ctx, p.content, p.header)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, p.unusable(err)
	}
	return r, nil
}

func readPrepared(ctx context.Context, archive io.Reader, h preparedHeader) (*Regression, error) {
	x, errX := source.ReadNPZ[float32](ctx, archive, source.Options{Array: "X"})
	y, errY := source.ReadNPZ[float64](ctx, archive, source.Options{Array: "y"})
	rows, errRows := source.ReadNPZ[float64](ctx, archive, source.Options{Array: "rows"})
	if err := errors.Join(errX, errY, errRows); err != nil {
		return nil, err
	}
	if features := len(h.Encoder.Features()); x.Cols != features || y.Cols != 1 || rows.Cols != 1 ||
		y.Rows != x.Rows || rows.Rows != x.Rows {
		return nil, fmt.Errorf("inputs of %v, labels of %v and rows of %v do not match each other, or %d features",
			x.Shape(), y.Shape(), rows.Shape(), features)
	}
	r := &Regression{X: x, Y: y.Data, Rows: make([]int, len(rows.Data)), Encoder: h.Encoder}
	for i, row := range rows.Data {
		if !(row >= 0 && row < float64(h.RawRows)) || row != math.Trunc(row) {
			return nil, fmt.Errorf("row %d is row %v of a file with %d rows", i, row, h.RawRows)
		}
		r.Rows[i] = int(row)
	}
	return r, nil
}
