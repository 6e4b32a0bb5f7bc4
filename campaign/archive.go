package campaign

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/space"
)

// An archive is a zip file of open formats, with the same bytes for the same campaign:
//
//	campaign.json        name and version, and the files below with their SHA-256
//	events.jsonl         the log, an event on each line
//	rows/….parquet       the rows
//	ids/….parquet        their ids alone
//	asks/….json          the results of selections
//	blobs/…              the model that was fitted last

const (
	archiveFormat  = "nextbatch campaign"
	archiveVersion = 1
	manifestFile   = "campaign.json"
	eventsFile     = "events.jsonl"
)

// ArchiveError reports an archive that cannot be imported.
type ArchiveError struct{ Reason string }

func (e *ArchiveError) Error() string { return "archive of a campaign: " + e.Reason }

func badArchive(format string, args ...any) error { return &ArchiveError{fmt.Sprintf(format, args...)} }

// manifest lists the contents of an archive.
type manifest struct {
	Format  string         `json:"format"`
	Version int            `json:"version"`
	Name    string         `json:"name"`
	Files   []manifestItem `json:"files"`
}

type manifestItem struct {
	File   string `json:"file"`
	Blob   string `json:"blob,omitempty"` // its key in the store; empty for the log
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func itemOf(file, blob string, data []byte) manifestItem {
	sum := sha256.Sum256(data)
	return manifestItem{file, blob, int64(len(data)), hex.EncodeToString(sum[:])}
}

// fileOf returns the name of a blob in an archive.
func fileOf(key string) string {
	if rest, ok := strings.CutPrefix(key, "rows-"); ok {
		return "rows/" + rest + ".parquet"
	}
	if rest, ok := strings.CutPrefix(key, "ids-"); ok {
		return "ids/" + rest + ".parquet"
	}
	if rest, ok := strings.CutPrefix(key, "ask-"); ok {
		return "asks/" + rest + ".json"
	}
	return "blobs/" + key
}

// Export writes the campaign as an archive, which Import reads.
func (c *Campaign) Export(ctx context.Context, w io.Writer) error {
	log, err := c.History(ctx)
	if err != nil {
		return err
	}
	var events bytes.Buffer
	for _, e := range log {
		raw, err := EncodeEvent(e)
		if err != nil {
			return err
		}
		events.Write(append(raw, '\n'))
	}
	keys, err := c.blobsOf(ctx, log)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	m := manifest{archiveFormat, archiveVersion, c.name, []manifestItem{itemOf(eventsFile, "", events.Bytes())}}
	if err := writeFile(archive, eventsFile, events.Bytes()); err != nil {
		return err
	}
	for _, key := range keys {
		data, err := c.store.Blob(ctx, c.name, key)
		if err != nil {
			return fmt.Errorf("part %q: %w", key, err)
		}
		if err := writeFile(archive, fileOf(key), data); err != nil {
			return err
		}
		m.Files = append(m.Files, itemOf(fileOf(key), key, data))
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(writeFile(archive, manifestFile, text), archive.Close())
}

// Checked counts what Check has read.
type Checked struct{ Events, Blobs int }

// Check reads all of the campaign: its log, which must make sense, and its blobs, of which none
// may be missing. A store compares checksums as it reads.
func (c *Campaign) Check(ctx context.Context) (Checked, error) {
	log, err := c.History(ctx)
	if err != nil {
		return Checked{}, err
	}
	keys, err := c.blobsOf(ctx, log)
	if err != nil {
		return Checked{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(namedBy(log))) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key) // the store says that it is missing
		}
	}
	for _, key := range keys {
		if _, err := c.store.Blob(ctx, c.name, key); err != nil {
			return Checked{}, fmt.Errorf("campaign %q: part %q: %w", c.name, key, err)
		}
	}
	return Checked{len(log), len(keys)}, nil
}

// blobsOf returns the blobs that belong to a log, in order, without those that others have
// added since.
func (c *Campaign) blobsOf(ctx context.Context, log []Event) ([]string, error) {
	all, err := c.store.Blobs(ctx, c.name)
	if err != nil {
		return nil, err
	}
	named := namedBy(log)
	return slices.DeleteFunc(all, func(key string) bool {
		isNamed := strings.HasPrefix(key, "rows-") || strings.HasPrefix(key, "ids-") || strings.HasPrefix(key, "ask-")
		return isNamed && !named[key] || key == trainingBlob
	}), nil
}

// namedBy returns the keys of the blobs that events name.
func namedBy(log []Event) map[string]bool {
	named := map[string]bool{}
	for _, e := range log {
		if a := e.added(); a != nil {
			for _, b := range a.Blocks {
				named[b.Blob] = true
				if b.IDs != "" {
					named[b.IDs] = true
				}
			}
		}
		switch {
		case e.Created != nil && e.Created.Space != "":
			named[e.Created.Space] = true
		case e.Asked != nil:
			named[e.Asked.Result] = true
		case e.Earlier != nil:
			for _, b := range e.Earlier.Blocks {
				named[b.Blob] = true
			}
		}
	}
	return named
}

// writeFile adds a file to an archive. Parquet is compressed already.
func writeFile(archive *zip.Writer, name string, data []byte) error {
	method := zip.Deflate
	if strings.HasSuffix(name, ".parquet") {
		method = zip.Store
	}
	w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Import creates a campaign from an archive, under its own name if none is given. An
// archive that is damaged or incomplete is an error, and changes nothing.
func Import(ctx context.Context, store Store, name string, r io.ReaderAt, size int64) (*Campaign, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, badArchive("it is not a zip file, or damaged: %v", err)
	}
	m, files, err := readManifest(archive)
	if err != nil {
		return nil, err
	}
	c := &Campaign{store: store, name: m.Name}
	if name != "" {
		c.name = name
	}
	if err := CheckName(c.name); err != nil {
		return nil, err
	}
	var log []Event
	var blobs []Blob
	for _, item := range m.Files {
		data, err := readItem(files[item.File], item)
		if err != nil {
			return nil, err
		}
		if item.File == eventsFile {
			log, err = readLog(data)
		} else {
			blobs = append(blobs, Blob{item.Blob, data})
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkContents(ctx, log, blobs, c.now()); err != nil {
		return nil, err
	}
	if err := store.Create(ctx, c.name, log, blobs); err != nil {
		return nil, fmt.Errorf("campaign %q: %w", c.name, err)
	}
	return c, nil
}

// readManifest reads the manifest, which must name every other file once.
func readManifest(archive *zip.Reader) (*manifest, map[string]*zip.File, error) {
	files := map[string]*zip.File{}
	for _, f := range archive.File {
		if files[f.Name] != nil {
			return nil, nil, badArchive("it has two files named %q", f.Name)
		}
		files[f.Name] = f
	}
	const most = 64 << 20
	file := files[manifestFile]
	if file == nil {
		return nil, nil, badArchive("it has no %s, so it is not one", manifestFile)
	}
	text, err := readLimited(file, most)
	if err != nil {
		return nil, nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, nil, badArchive("%s: %v", manifestFile, err)
	}
	if m.Format != archiveFormat {
		return nil, nil, badArchive("%s calls it %q", manifestFile, m.Format)
	}
	if m.Version != archiveVersion {
		return nil, nil, badArchive("it has version %d, but this program reads version %d", m.Version, archiveVersion)
	}
	seen := map[string]bool{manifestFile: true}
	for _, item := range m.Files {
		if files[item.File] == nil || seen[item.File] || (item.Blob == "") != (item.File == eventsFile) {
			return nil, nil, badArchive("%s names the file %q, which is missing or named twice", manifestFile, item.File)
		}
		seen[item.File] = true
	}
	for name := range files {
		if !seen[name] {
			return nil, nil, badArchive("%s does not name the file %q", manifestFile, name)
		}
	}
	return &m, files, nil
}

// readItem reads a file and compares it with the manifest.
func readItem(file *zip.File, item manifestItem) ([]byte, error) {
	data, err := readLimited(file, item.Bytes)
	if err != nil {
		return nil, err
	}
	if itemOf(item.File, item.Blob, data) != item {
		return nil, badArchive("%s is damaged: its bytes are not those that were exported", item.File)
	}
	return data, nil
}

// readLimited reads a file of at most the given number of bytes. It allocates memory as bytes
// arrive, not by the size that the file promises.
func readLimited(file *zip.File, most int64) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, badArchive("%s: %v", file.Name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, max(0, most)+1))
	if err != nil {
		return nil, badArchive("%s: %v", file.Name, err)
	}
	if int64(len(data)) > most {
		return nil, badArchive("%s is longer than it should be", file.Name)
	}
	return data, nil
}

// readLog reads a log of JSON lines.
func readLog(data []byte) (log []Event, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	var decoder EventDecoder
	for number := 1; lines.Scan(); number++ {
		e, err := decoder.Decode(lines.Bytes())
		if err != nil {
			return nil, badArchive("%s, line %d: %v", eventsFile, number, err)
		}
		log = append(log, e)
	}
	return log, lines.Err()
}

// checkContents makes sure that a campaign can use the contents of an archive.
func checkContents(ctx context.Context, log []Event, blobs []Blob, now time.Time) error {
	if len(log) == 0 {
		return badArchive("its log is empty")
	}
	s, err := Fold(log, now)
	if err != nil {
		return badArchive("%v", err)
	}
	all := s.withWaiting(s.Waiting()...)
	for _, ref := range all.With(StatusLabelled) {
		for target, v := range all.Label(ref.Row) {
			if fault := encode.FaultOfLabel(v); fault != "" {
				return badArchive("row %q, target %q: %s, and export the campaign again", ref.ID, s.Created.Targets[target], fault)
			}
		}
	}
	data := map[string][]byte{}
	for _, b := range blobs {
		if _, twice := data[b.Key]; twice {
			return badArchive("it has the part %q twice", b.Key)
		}
		data[b.Key] = b.Data
	}
	for key := range namedBy(log) {
		if _, there := data[key]; !there {
			return badArchive("the part %q is missing", key)
		}
	}
	if s.fromSpace() {
		if _, err := space.Stored(ctx, data[s.Created.Space]); err != nil {
			return badArchive("%v", err)
		}
	}
	for _, b := range s.spans {
		if err := checkBlock(ctx, &s.Created, b.Block, data); err != nil {
			return badArchive("%v", err)
		}
	}
	for _, e := range s.Earlier {
		for _, b := range e.Blocks {
			if err := checkBlock(ctx, e.as(), b, data); err != nil {
				return badArchive("%v", err)
			}
		}
	}
	return nil
}

// checkBlock makes sure that the rows of a block can be read, and that the separate ids are
// theirs.
func checkBlock(ctx context.Context, c *Created, b Block, data map[string][]byte) error {
	rows, err := decodeRows(ctx, c, b, data[b.Blob], nil)
	if err != nil || b.IDs == "" || c.IDColumn == "" {
		return err
	}
	ids, err := decodeRows(ctx, c, b, data[b.IDs], []string{c.IDColumn})
	if err != nil {
		return err
	}
	for row := range rows.Rows() {
		if alone, id := ids.Columns()[0].Format(row), rows.Columns()[0].Format(row); alone != id {
			return fmt.Errorf("block %q has the id %q in row %d, but block %q has %q", b.Blob, id, row, b.IDs, alone)
		}
	}
	return nil
}
