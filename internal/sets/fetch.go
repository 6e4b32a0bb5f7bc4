package sets

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/ctxio"
)

// Source is where a raw file comes from.
type Source struct {
	URL    string // of the file, or of an archive that holds it
	Member string // its path in the archive
	OpenML int    // its id at OpenML, which looks up the address
}

const openML = "https://www.openml.org/"

// Page returns the address of a page for people.
func (s Source) Page() string {
	if s.OpenML > 0 {
		return openML + "d/" + strconv.Itoa(s.OpenML)
	}
	return s.URL
}

// Fetcher downloads raw files of data sets into a folder. The zero value
// fetches them from their sources.
type Fetcher struct {
	// Mirror is a folder with raw files or archives under their original names,
	// or the address of a server that has them under their original paths.
	Mirror string
	Client *http.Client // nil means http.DefaultClient
	// Progress, if not nil, is called after each block with the bytes received
	// and the total, -1 if that is unknown.
	Progress func(done, total int64)

	pause time.Duration                                  // between attempts; 0 means a second, growing each time
	open  func(part string, flags int) (*os.File, error) // nil opens the file without following links
	most  int64                                          // limit on the bytes of a raw file or archive; 0 means mostRaw
	// time without a byte after which an attempt ends; 0 means a minute
	stall time.Duration
}

// Fetched describes a fetched file.
type Fetched struct {
	Path    string
	Size    int64
	Hash    string // SHA-256
	Already bool   // it was there already, with the pinned hash
}

// Fetch makes sure that the raw file of the set is in the folder, which it
// creates if necessary. The file's hash is pinned when it is first seen; a
// different hash later is an error (ErrChanged), and the new file is set aside
// under a name ending in .changed. An interrupted download stays as a file
// ending in .part, and the next one resumes it. Only one process at a time
// fetches into a folder.
func (f *Fetcher) Fetch(ctx context.Context, s Set, dir string) (Fetched, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Fetched{}, err
	}
	unlock, err := lockFolder(ctx, dir)
	if err != nil {
		return Fetched{}, err
	}
	defer unlock()
	if raw, err := s.find(dir); err == nil {
		hash, err := pinned(ctx, raw)
		return Fetched{Path: raw, Size: fileSize(raw), Hash: hash, Already: true}, err
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Fetched{}, err
	}
	if f.Mirror != "" && !isAddress(f.Mirror) {
		return f.fromFolder(ctx, s, dir)
	}
	return f.fromServer(ctx, s, dir)
}

func isAddress(mirror string) bool {
	return strings.HasPrefix(mirror, "http://") || strings.HasPrefix(mirror, "https://")
}

// fromFolder copies the raw file, or extracts it from its archive.
func (f *Fetcher) fromFolder(ctx context.Context, s Set, dir string) (Fetched, error) {
	if raw, err := s.find(f.Mirror); err == nil {
		to := filepath.Join(dir, filepath.Base(raw))
		if err := f.copyFile(ctx, to+partSuffix, raw); err != nil {
			return Fetched{}, err
		}
		return accept(ctx, to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Fetched{}, err
	}
	if s.Source.Member != "" {
		archive := filepath.Join(f.Mirror, s.Source.fileName())
		if _, err := os.Stat(archive); err == nil {
			return f.extract(ctx, archive, s.Source.Member, filepath.Join(dir, s.Files[0]))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Fetched{}, err
		}
	}
	return Fetched{}, &source.Error{File: f.Mirror, Kind: ErrFetch, Cause: fs.ErrNotExist,
		Detail: "the mirror has no " + strings.Join(s.names(), " or "), Advice: "put it there, or fetch without a mirror"}
}

// names are the file names under which a mirror may have the set.
func (s Set) names() []string {
	if s.Source.Member == "" {
		return s.Files
	}
	return append(s.Files[:len(s.Files):len(s.Files)], s.Source.fileName())
}

func (s Source) fileName() string { return path.Base(s.URL) }

func (f *Fetcher) copyFile(ctx context.Context, to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return f.save(ctx, to, source, fileSize(from))
}

// mostRaw is several times the size of the largest raw file, so that a damaged
// or planted archive cannot fill the disk.
const mostRaw = 8 << 30

// bounded returns a reader that fails beyond the size limit.
func (f *Fetcher) bounded(r io.Reader, there int64) io.Reader {
	most := cmp.Or(f.most, mostRaw)
	return &boundedReader{from: r, left: most - there, most: most}
}

type boundedReader struct {
	from       io.Reader
	left, most int64
}

func (r *boundedReader) Read(to []byte) (int, error) {
	n, err := r.from.Read(to)
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("it has more than %d bytes, which no raw file of the benchmark has", r.most)
	}
	return n, err
}

// openPart opens a part for writing. It does not follow a link, which would
// redirect the download elsewhere.
func (f *Fetcher) openPart(part string, flags int) (*os.File, error) {
	if f.open != nil {
		return f.open(part, flags)
	}
	if info, err := os.Lstat(part); err == nil && !info.Mode().IsRegular() {
		return nil,
			&source.Error{File: part, Kind: ErrFetch,
				Detail: "it is not a regular file, and could redirect the download elsewhere", Advice: "remove it"}
	}
	return os.OpenFile(part, flags|noFollow, 0o644)
}

// save writes the part by copying a local file.
func (f *Fetcher) save(ctx context.Context, to string, from io.Reader, size int64) error {
	file, err := f.openPart(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, f.bounded(f.counted(ctxio.Reader(ctx, from), 0, size), 0))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(to)) // copying it again is quick
	}
	return nil
}

// counted reports how many of total bytes have been read, including those already there.
func (f *Fetcher) counted(r io.Reader, there, total int64) io.Reader {
	if f.Progress == nil {
		return r
	}
	return &counter{from: r, done: there, total: total, tell: f.Progress}
}

type counter struct {
	from        io.Reader
	done, total int64
	tell        func(done, total int64)
}

func (c *counter) Read(to []byte) (int, error) {
	n, err := c.from.Read(to)
	c.done += int64(n)
	c.tell(c.done, c.total)
	return n, err
}

// fromServer downloads the file or its archive.
func (f *Fetcher) fromServer(ctx context.Context, s Set, dir string) (Fetched, error) {
	to := filepath.Join(dir, s.Files[0])
	address, sum, err := f.locate(ctx, s.Source)
	if err != nil {
		return Fetched{}, err
	}
	d := download{Fetcher: f, url: address, part: to + partSuffix}
	if s.Source.Member != "" {
		d.part = filepath.Join(dir, s.Source.fileName()+partSuffix)
	}
	if err := d.run(ctx); err != nil {
		return Fetched{}, err
	}
	if err := checkDownload(address, d.part, sum); err != nil {
		return Fetched{}, err
	}
	if s.Source.Member == "" {
		return accept(ctx, to)
	}
	got, err := f.extract(ctx, d.part, s.Source.Member, to)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) {
		return Fetched{}, errors.Join(err, os.Remove(d.part)) // it is useless, and would block the next attempt
	}
	if err != nil {
		return Fetched{}, err
	}
	return got, os.Remove(d.part)
}

// locate returns the address of a source, and the MD5 that OpenML states for it.
func (f *Fetcher) locate(ctx context.Context, s Source) (address, sum string, err error) {
	if s.OpenML == 0 {
		address, err = f.mirrored(s.URL)
		return address, "", err
	}
	about, err := f.mirrored(openML + "api/v1/json/data/" + strconv.Itoa(s.OpenML))
	if err != nil {
		return "", "", err
	}
	text, err := f.get(ctx, about)
	if err != nil {
		return "", "", err
	}
	var answer struct {
		Description struct {
			URL string `json:"url"`
			MD5 string `json:"md5_checksum"`
		} `json:"data_set_description"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Description.URL == "" {
		return "", "", &source.Error{File: about, Kind: ErrFetch, Detail: "OpenML does not say where the file is", Cause: err,
			Advice: "try again later, or put the file into the folder yourself"}
	}
	address, err = f.mirrored(answer.Description.URL)
	return address, answer.Description.MD5, err
}

// mirrored returns the address at the mirror.
func (f *Fetcher) mirrored(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", &source.Error{File: address, Kind: ErrFetch, Detail: "it is not an address", Cause: err}
	}
	if f.Mirror == "" {
		return address, nil
	}
	return strings.TrimRight(f.Mirror, "/") + u.EscapedPath(), nil
}

// checkDownload checks the download: it has the stated MD5, if there is one,
// and is not a web page.
func checkDownload(address, part, sum string) error {
	file, err := os.Open(part)
	if err != nil {
		return err
	}
	defer file.Close()
	e := &source.Error{File: address, Kind: ErrFetch, Advice: "try again later, or put the file into the folder yourself"}
	start := make([]byte, 256)
	n, _ := io.ReadFull(file, start)
	start = bytes.ToLower(bytes.TrimSpace(start[:n]))
	h := md5.New()
	if sum != "" {
		if _, err := io.Copy(h, io.NewSectionReader(file, 0, fileSize(part))); err != nil {
			return err
		}
	}
	switch got := hex.EncodeToString(h.Sum(nil)); {
	case bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")):
		e.Detail = "the server sent a web page instead"
	case sum != "" && !strings.EqualFold(got, sum):
		e.Detail = fmt.Sprintf("its MD5 is %s, but OpenML states %s", got, sum)
	default:
		return nil
	}
	return errors.Join(e, os.Remove(part))
}

// extract extracts a member of an archive.
func (f *Fetcher) extract(ctx context.Context, archive, member, to string) (Fetched, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return Fetched{}, &source.Error{File: archive, Kind: source.ErrRead, Cause: err, Advice: "fetch it again"}
	}
	defer z.Close()
	entry, err := findMember(archive, &z.Reader, member)
	if err != nil {
		return Fetched{}, err
	}
	content, err := entry.Open()
	if err != nil {
		return Fetched{}, &source.Error{File: archive, Kind: source.ErrRead, Cause: err, Advice: "fetch it again"}
	}
	defer content.Close()
	if err := f.save(ctx, to+partSuffix, content, int64(min(entry.UncompressedSize64, math.MaxInt64))); err != nil {
		if at := (*source.Error)(nil); errors.As(err, &at) {
			return Fetched{}, err
		}
		return Fetched{}, &source.Error{File: archive, Kind: source.ErrRead, Detail: "its member " + member, Cause: err,
			Advice: "make sure that the disk is not full, and fetch it again"}
	}
	return accept(ctx, to)
}

// findMember looks for the path, and then for a unique member with its last
// element: folders in archives come and go.
func findMember(archive string, z *zip.Reader, member string) (*zip.File, error) {
	var found *zip.File
	var names []string
	for _, entry := range z.File {
		if entry.Name == member {
			return entry, nil
		}
		names = append(names, entry.Name)
		if path.Base(entry.Name) == path.Base(member) {
			if found != nil {
				return nil, &source.Error{File: archive, Kind: source.ErrArray, Detail: member + " could be " +
					found.Name + " or " + entry.Name}
			}
			found = entry
		}
	}
	if found == nil {
		return nil, &source.Error{File: archive, Kind: source.ErrArray, Detail: member, Advice: "the archive has " +
			strings.Join(names[:min(len(names), 30)], ", ")}
	}
	return found, nil
}

// accept renames a complete part to its final name if it has the pinned hash,
// or pins its hash.
func accept(ctx context.Context, to string) (Fetched, error) {
	part := to + partSuffix
	hash, err := hashFile(ctx, part)
	if err != nil {
		return Fetched{}, err
	}
	want, err := readPin(to)
	if err != nil {
		return Fetched{}, err
	}
	if want != "" && want != hash {
		aside := to + ".changed"
		return Fetched{}, errors.Join(changed(to, hash, want, filepath.Base(to)+pinSuffix,
			"the new file is kept in "+aside+"; remove "+to+pinSuffix+" and fetch again to accept it"), os.Rename(part, aside))
	}
	if err := os.Rename(part, to); err != nil {
		return Fetched{}, err
	}
	got := Fetched{Path: to, Size: fileSize(to), Hash: hash}
	if want == "" {
		err = pin(to, hash)
	}
	return got, err
}

// fileSize is 0 for a file that does not exist.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (f *Fetcher) client() *http.Client { return cmp.Or(f.Client, http.DefaultClient) }
