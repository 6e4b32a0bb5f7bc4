package sets

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// roadText is a raw file that is not an archive, of about 400 kB.
func roadText() string {
	return lines("", 10_000,
		func(row int) string { return fmt.Sprintf("144552912,9.3%07d,56.7%07d,17.0%05d", row, row, row) })
}

func road(t testing.TB) Set {
	t.Helper()
	s, err := Find("road")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// flaky is a server that cuts connections, answers with errors, and records the
// requests.
type flaky struct {
	content []byte
	cutAt   int    // bytes after which each answer ends; 0 means never
	codes   []int  // of the first answers
	tag     string // ETag; "" means none

	mutex  sync.Mutex
	ranges []string
}

// asked returns the ranges requested.
func (s *flaky) asked() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.ranges)
}

// next records a request and returns the status code of the answer, 0 for success.
func (s *flaky) next(r *http.Request) (code int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if len(s.codes) > 0 {
		code, s.codes = s.codes[0], s.codes[1:]
	}
	return code
}

func (s *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code := s.next(r); code != 0 {
		http.Error(w, "no", code)
		return
	}
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	if s.cutAt > 0 {
		w = &cutter{ResponseWriter: w, left: s.cutAt}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

// cutter ends the connection after some bytes.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func (s *flaky) start(t testing.TB) Fetcher {
	t.Helper()
	started := httptest.NewServer(s)
	t.Cleanup(started.Close)
	return Fetcher{Mirror: started.URL + "/", pause: time.Microsecond}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	content := roadText()
	s := &flaky{content: []byte(content), tag: `"1"`}
	f := s.start(t)
	var done, total int64
	f.Progress = func(d, n int64) { done, total = d, n }
	dir := filepath.Join(t.TempDir(), "new", "mit Leerzeichen ü")
	got, err := f.Fetch(t.Context(), road(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	if got.Hash != hash || got.Size != int64(len(content)) || got.Already || done != got.Size || total != got.Size {
		t.Errorf("%+v, %d of %d", got, done, total)
	}
	checkContent(t, dir, "3D_spatial_network.txt", content)
	checkContent(t, dir, "3D_spatial_network.txt.sha256", hash+"  3D_spatial_network.txt\n")
	if len(folder(t, dir)) != 2 {
		t.Error(folder(t, dir))
	}
	got, err = f.Fetch(t.Context(), road(t), dir)
	if err != nil || !got.Already || got.Hash != hash || len(s.asked()) != 1 {
		t.Errorf("%v, %+v, asked %q", err, got, s.asked())
	}
}

// TestFetchResumes: however often the connection is cut, no byte is sent twice.
func TestFetchResumes(t *testing.T) {
	t.Parallel()
	content := roadText()
	s := &flaky{content: []byte(content), tag: `"1"`, cutAt: 100_000, codes: []int{503, 500}}
	f := s.start(t)
	dir := t.TempDir()
	if _, err := f.Fetch(t.Context(), road(t), dir); err != nil {
		t.Fatal(err)
	}
	checkContent(t, dir, "3D_spatial_network.txt", content)
	if len(s.asked()) < 6 || s.asked()[2] != "" || !strings.HasPrefix(s.asked()[3], "bytes=") {
		t.Errorf("asked for %q", s.asked())
	}
	last := 0
	for _, asked := range s.asked()[3:] {
		from, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(asked, "bytes="), "-"))
		if err != nil || from <= last {
			t.Errorf("asked for %q", s.asked())
		}
		last = from
	}
}

// TestFetchResumesLater: an interrupted download is kept, and the next one
// resumes it, unless the server has another version now.
func TestFetchResumesLater(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{`"1"`, `"2"`, ""} {
		content := roadText()
		old := strings.ReplaceAll(content, "17.0", "18.0")
		broken := &flaky{content: []byte(old), tag: `"1"`, cutAt: 100_000}
		if tag == `"1"` {
			broken.content = []byte(content)
		}
		f := broken.start(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.Progress = func(done, _ int64) {
			if done > 90_000 {
				cancel()
			}
		}
		dir := t.TempDir()
		_, err := f.Fetch(ctx, road(t), dir)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrFetch) ||
			!strings.Contains(err.Error(), "3D_spatial_network.txt.part; fetch again to resume") {
			t.Fatal(err)
		}
		kept := fileSize(filepath.Join(dir, "3D_spatial_network.txt.part"))
		if kept == 0 || exists(filepath.Join(dir, "3D_spatial_network.txt")) {
			t.Fatalf("%d bytes are kept", kept)
		}
		s := &flaky{content: []byte(content), tag: tag}
		f = s.start(t)
		if _, err := f.Fetch(t.Context(), road(t), dir); err != nil {
			t.Fatal(err)
		}
		checkContent(t, dir, "3D_spatial_network.txt", content)
		if want := []string{fmt.Sprintf("bytes=%d-", kept)}; !slices.Equal(s.asked(), want) {
			t.Errorf("asked for %q, want %q", s.asked(), want)
		}
		if len(folder(t, dir)) != 2 {
			t.Error(folder(t, dir))
		}
	}
}

// TestFetchStartsOver: a part is not resumed if the server does not state its
// version or if it is longer than the file.
func TestFetchStartsOver(t *testing.T) {
	t.Parallel()
	content := roadText()
	for name, tag := range map[string]string{"no tag": "", "too long": `"1"`} {
		s := &flaky{content: []byte(content), tag: `"1"`}
		f := s.start(t)
		dir := t.TempDir()
		writeFile(t, dir, "3D_spatial_network.txt.part", []byte(content+"more"))
		if tag != "" {
			writeFile(t, dir, "3D_spatial_network.txt.part.tag", []byte(tag))
		}
		if _, err := f.Fetch(t.Context(), road(t), dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkContent(t, dir, "3D_spatial_network.txt", content)
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	content := []byte(roadText())
	dead := httptest.NewServer(nil)
	dead.Close()
	for name, test := range map[string]struct {
		server *flaky
		want   string
		asked  int
	}{
		"not found":     {&flaky{codes: []int{404}}, "404 Not Found", 1},
		"forbidden":     {&flaky{codes: []int{403}}, "403 Forbidden", 1},
		"always broken": {&flaky{codes: slices.Repeat([]int{500}, 9)}, "500 Internal Server Error", mostAttempts},
		"a web page": {&flaky{content: []byte("\n<!DOCTYPE html><p>Please log in</p>")},
			"the server sent a web page instead", 1},
		"cut at once":       {&flaky{content: content, cutAt: 1}, "unexpected EOF", mostAttempts},
		"without a version": {&flaky{content: content, cutAt: 60_000}, "unexpected EOF", mostAttempts},
	} {
		f := test.server.start(t)
		dir := t.TempDir()
		_, err := f.Fetch(t.Context(), road(t), dir)
		if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "/3D_spatial_network.txt") {
			t.Errorf("%s: %v", name, err)
		}
		if len(test.server.asked()) != test.asked || exists(filepath.Join(dir, "3D_spatial_network.txt")) {
			t.Errorf("%s: asked %d times, left %q", name, len(test.server.asked()), folder(t, dir))
		}
	}
	f := Fetcher{Mirror: dead.URL, pause: time.Microsecond}
	if _, err := f.Fetch(t.Context(), road(t), t.TempDir()); !errors.Is(err, ErrFetch) ||
		!strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

func TestFetchStalls(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("1,2,3,4\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	f := Fetcher{Mirror: s.URL, pause: time.Microsecond, stall: 20 * time.Millisecond}
	if _, err := f.Fetch(t.Context(), road(t), t.TempDir()); !errors.Is(err, ErrFetch) ||
		!strings.Contains(err.Error(), "nothing was received for 20ms") {
		t.Error(err)
	}
}

// TestFetchChangedFile: a file that has changed at its source is set aside, and
// the pin stays as it was.
func TestFetchChangedFile(t *testing.T) {
	t.Parallel()
	content := roadText()
	dir := t.TempDir()
	hash := strings.Repeat("ab", 32)
	pin := hash + "  3D_spatial_network.txt\n"
	writeFile(t, dir, "3D_spatial_network.txt.sha256", []byte(pin))
	f := (&flaky{content: []byte(content)}).start(t)
	_, err := f.Fetch(t.Context(), road(t), dir)
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), hash) ||
		!strings.Contains(err.Error(), "3D_spatial_network.txt.changed") {
		t.Fatal(err)
	}
	checkContent(t, dir, "3D_spatial_network.txt.changed", content)
	checkContent(t, dir, "3D_spatial_network.txt.sha256", pin)
	if exists(filepath.Join(dir, "3D_spatial_network.txt")) {
		t.Error("the changed file was accepted")
	}
}

func TestFetchOpenMLRefuses(t *testing.T) {
	t.Parallel()
	s, err := Find("stock")
	if err != nil {
		t.Fatal(err)
	}
	const about = "/api/v1/json/data/1200"
	address := `{"data_set_description":{"url":"https://www.openml.org/x.arff","md5_checksum":"%x"}}`
	for name, test := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"not found": {nil, "404"},
		"no JSON":   {map[string][]byte{about: []byte("<html>")}, "does not say where the file is"},
		"no URL":    {map[string][]byte{about: []byte(`{"error":{"code":"111"}}`)}, "does not say where the file is"},
		"bad URL":   {map[string][]byte{about: []byte(`{"data_set_description":{"url":":"}}`)}, "it is not an address"},
		"no file":   {map[string][]byte{about: fmt.Appendf(nil, address, md5.Sum(nil))}, "404"},
		"MD5": {map[string][]byte{about: fmt.Appendf(nil, address, md5.Sum(nil)),
			"/x.arff": []byte("@relation")}, "its MD5 is"},
	} {
		f := Fetcher{Mirror: server(t, test.files).URL}
		dir := t.TempDir()
		if _, err := f.Fetch(t.Context(), s, dir); !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if names := folder(t, dir); slices.Contains(names, "stock.arff") {
			t.Errorf("%s left %q", name, names)
		}
	}
}

// TestFetchArchiveRefuses: an archive that is damaged or lacks the member.
func TestFetchArchiveRefuses(t *testing.T) {
	t.Parallel()
	s, err := Find("wec_sydney")
	if err != nil {
		t.Fatal(err)
	}
	path, files := served(t, s, layouts[0].file(40))
	whole := files[path]
	flipped := bytes.Clone(whole)
	flipped[60+len(s.Source.Member)] ^= 0x55
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"cut":       {whole[:len(whole)/2], "not a valid zip file"},
		"flipped":   {flipped, s.Source.Member},
		"no member": {archived(t, "Perth_Data.csv", "1"), "the archive has"},
	} {
		f := Fetcher{Mirror: server(t, map[string][]byte{path: test.archive}).URL}
		dir := t.TempDir()
		if _, err := f.Fetch(t.Context(), s, dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if exists(filepath.Join(dir, "Sydney_Data.csv")) {
			t.Errorf("%s left %q", name, folder(t, dir))
		}
		f.Mirror = server(t, files).URL
		if _, err := f.Fetch(t.Context(), s, dir); err != nil { // nothing blocks a second attempt
			t.Errorf("%s: %v", name, err)
		}
	}
	moved := archived(t, "wecs/data/Sydney_Data.csv", "1,2\n")
	f := Fetcher{Mirror: server(t, map[string][]byte{path: moved}).URL}
	dir := t.TempDir()
	if _, err := f.Fetch(t.Context(), s, dir); err != nil {
		t.Error(err)
	}
	checkContent(t, dir, "Sydney_Data.csv", "1,2\n")
}

func TestFetchFromFolder(t *testing.T) {
	t.Parallel()
	mirror, dir := t.TempDir(), t.TempDir()
	f := Fetcher{Mirror: mirror}
	wec, _ := Find("wec_sydney")
	if _, err := f.Fetch(t.Context(), wec, dir); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "Sydney_Data.csv or WECs_DataSet.zip") {
		t.Error(err)
	}
	writeFile(t, mirror, "WECs_DataSet.zip", archived(t, "WECs_DataSet/Sydney_Data.csv", "1,2\n"))
	writeFile(t, mirror, "3D_spatial_network.txt.gz", compressed(t, roadText()))
	if got, err := f.Fetch(t.Context(), wec, dir); err != nil || got.Size != 4 {
		t.Errorf("%v, %+v", err, got)
	}
	if got, err := f.Fetch(t.Context(), road(t), dir); err != nil ||
		filepath.Base(got.Path) != "3D_spatial_network.txt.gz" {
		t.Errorf("%v, %+v", err, got)
	}
	if r, err := Load(t.Context(), "road", dir); err != nil || r.X.Rows != 10_000 {
		t.Error(err)
	}
	if len(folder(t, dir)) != 4 {
		t.Error(folder(t, dir))
	}
}

// TestFetchFromShared runs the real files through all steps.
func TestFetchFromShared(t *testing.T) {
	t.Parallel()
	f, dir := Fetcher{Mirror: golden.Data(t)}, t.TempDir()
	for _, name := range []string{"fried", "diamonds"} {
		s, _ := Find(name)
		if _, err := f.Fetch(t.Context(), s, dir); err != nil {
			t.Fatal(err)
		}
		p := mustPrepare(t, s, dir)
		if len(p.Features) != s.Features || p.Rows != s.Pool+s.Test+1280 {
			t.Errorf("%s: %d rows, %d features", name, p.Rows, len(p.Features))
		}
		direct, err := Load(t.Context(), name, f.Mirror)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Load(t.Context(), name, dir)
		if err != nil {
			t.Fatal(err)
		}
		golden.MustMatch(t, name, r.X, direct.X, 0)
	}
}

// TestFetchToBadFolders: a folder that cannot be created, and a full disk.
func TestFetchToBadFolders(t *testing.T) {
	t.Parallel()
	f := (&flaky{content: []byte(roadText()), tag: `"1"`}).start(t)
	file := writeFile(t, t.TempDir(), "file", nil)
	if _, err := f.Fetch(t.Context(), road(t), file); err == nil || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	dir := t.TempDir()
	f.open = fullDisk
	if _, err := f.Fetch(t.Context(), road(t), dir); !errors.Is(err, ErrFetch) ||
		!strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	fried, err := Find("fried")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Fetcher{Mirror: golden.Data(t), open: fullDisk}).Fetch(t.Context(), fried, dir); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	if exists(filepath.Join(dir, "fried.arff.gz.part")) {
		t.Error("a failed copy still takes space")
	}
}

// fullDisk creates the part, and makes writing to it fail.
func fullDisk(part string, _ int) (*os.File, error) {
	if err := os.WriteFile(part, nil, 0o644); err != nil {
		return nil, err
	}
	return os.OpenFile("/dev/full", os.O_WRONLY, 0)
}

// TestFetchConcurrently: of several processes that fetch the same file, only one downloads it.
func TestFetchConcurrently(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs flock")
	}
	s := &flaky{content: []byte(roadText()), tag: `"1"`, cutAt: 300_000}
	f := s.start(t)
	dir := t.TempDir()
	var group sync.WaitGroup
	var already atomic.Int32
	for range 4 {
		group.Go(func() {
			got, err := f.Fetch(t.Context(), road(t), dir)
			if err != nil {
				t.Error(err)
			}
			if got.Already {
				already.Add(1)
			}
		})
	}
	group.Wait()
	checkContent(t, dir, "3D_spatial_network.txt", roadText())
	if n := already.Load(); n != 3 {
		t.Errorf("%d of 4 found it already there; requests %q", n, s.asked())
	}
}

// TestFetchBoundsTheSize: neither a download nor a member of an archive can
// fill the disk.
func TestFetchBoundsTheSize(t *testing.T) {
	t.Parallel()
	sgemm, err := Find("sgemm")
	if err != nil {
		t.Fatal(err)
	}
	mirror := t.TempDir()
	writeFile(t, mirror, sgemm.Source.fileName(), archived(t, sgemm.Source.Member, strings.Repeat("0", 5<<20)))
	served := (&flaky{content: []byte(roadText())}).start(t)
	for _, test := range []struct {
		set  Set
		from Fetcher
	}{{sgemm, Fetcher{Mirror: mirror}}, {road(t), served}} {
		test.from.most = 1 << 18
		dir := t.TempDir()
		_, err := test.from.Fetch(t.Context(), test.set, dir)
		if err == nil || !strings.Contains(err.Error(), "more than 262144 bytes") {
			t.Errorf("%s: %v", test.set.Name, err)
		}
		for _, name := range folder(t, dir) {
			if size := fileSize(filepath.Join(dir, name)); size > 1<<19 {
				t.Errorf("%s has %d bytes", name, size)
			}
		}
	}
}

// TestFetchFollowsNoPlantedLink: following a link in place of the part would
// overwrite another file.
func TestFetchFollowsNoPlantedLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix links")
	}
	s := road(t)
	mirror := t.TempDir()
	writeFile(t, mirror, s.Files[0], []byte(roadText()))
	for _, from := range []Fetcher{{Mirror: mirror}, (&flaky{content: []byte(roadText()), tag: `"1"`}).start(t)} {
		for _, suffix := range []string{partSuffix, tagSuffix} {
			dir := t.TempDir()
			precious := writeFile(t, t.TempDir(), "precious", []byte("old"))
			if err := os.Symlink(precious, filepath.Join(dir, s.Files[0]+suffix)); err != nil {
				t.Fatal(err)
			}
			_, err := from.Fetch(t.Context(), s, dir)
			if suffix == partSuffix && (!errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "remove it")) {
				t.Errorf("%s: %v", suffix, err)
			}
			checkContent(t, filepath.Dir(precious), "precious", "old")
		}
	}
}
