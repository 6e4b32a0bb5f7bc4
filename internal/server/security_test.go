package server

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// raw sends bytes to the service and returns the statuses of all answers on the connection.
func (v *service) raw(t *testing.T, text string) (statuses []int) {
	t.Helper()
	c, err := net.Dial("tcp", v.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(c)
	for {
		a, err := http.ReadResponse(from, nil)
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
		statuses = append(statuses, a.StatusCode)
	}
}

// A request whose end is in doubt is refused, or is the last one of its connection, so that
// nobody can hide a second request in it.
func TestSmuggledRequests(t *testing.T) {
	t.Parallel()
	v := newService(t)
	auth := "Host: localhost\r\nAuthorization: Bearer " + v.secrets["owner"] + "\r\n"
	hidden := "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, text := range map[string]string{
		"both lengths": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"both lengths, swapped": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
		"two lengths": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Content-Length: 0\r\nContent-Length: 4\r\n\r\n" + hidden,
		"an unknown encoding": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		"two encodings": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a blank before a colon": "POST /v1/campaigns HTTP/1.1\r\n" + auth + "Content-Length : 4\r\n\r\n" + hidden,
		"bare LF in a chunk size": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"Transfer-Encoding: chunked\r\n\r\n2;x\nab\r\n0\r\n\r\n" + hidden,
		"bare LF around a length": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"X: y\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
		"a sign in the length": "POST /v1/campaigns HTTP/1.1\r\n" + auth + "Content-Length: +0\r\n\r\n" + hidden,
		"a zero byte": "POST /v1/campaigns HTTP/1.1\r\n" + auth +
			"X: a\x00b\r\nContent-Length: 0\r\n\r\n" + hidden,
		"no host": "GET /v1/campaigns HTTP/1.1\r\n\r\n" + hidden,
	} {
		statuses := v.raw(t, text)
		if len(statuses) != 1 || statuses[0] < 400 {
			t.Errorf("%s: %v", name, statuses)
		}
	}
	if statuses := v.raw(t, hidden+hidden); len(statuses) != 2 {
		t.Errorf("two honest requests: %v", statuses)
	}
}

func TestLargeHeadersAndBodies(t *testing.T) {
	t.Parallel()
	v := newService(t)
	if statuses := v.raw(t, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("a", 128<<10)+
		"\r\n\r\n"); len(statuses) != 1 || statuses[0] != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %v", statuses)
	}
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	body := map[string]any{"ids": []string{strings.Repeat("a", listBody)}}
	if status, text := v.do(t, "labeller", "POST", "/v1/campaigns/small/returns",
		body); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %.200s", status, text)
	}
}

// A client that stops in the middle of a body loses its connection.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.patience = 100 * time.Millisecond
	for _, path := range []string{small, "/v1/campaigns/small/returns", "/v1/session", "/v1/nothing"} {
		c, err := net.Dial("tcp", v.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c,
			"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
				"application/json\r\nContent-Length: 1000\r\n\r\n{", path, v.secrets["owner"])
		answer, _ := io.ReadAll(c) // ends when the service closes the connection
		c.Close()
		if text := string(answer); text != "" && !strings.HasPrefix(text, "HTTP/1.1 4") {
			t.Errorf("%s: %.200s", path, text)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(v.server.uploads.folder, uploadPrefix+"*")); len(left) > 0 ||
		v.server.uploads.bytes != 0 {
		t.Errorf("files are left: %v, %d bytes", left, v.server.uploads.bytes)
	}
}

// gzipped returns n bytes of a pattern, compressed.
func gzipped(start, pattern string, n int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, start)
	block := strings.Repeat(pattern, 1<<20/len(pattern))
	for range n >> 20 {
		io.WriteString(w, block)
	}
	w.Close()
	return b.String()
}

// Small uploads that unpack to much more than the memory allows are refused.
func TestDecompressionBombs(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.memory.most = 4 << 20
	column := dataset.NewNumeric("a")
	for range 2 << 20 {
		column.Append(1.5)
	}
	table, err := dataset.NewTable(column)
	if err != nil {
		t.Fatal(err)
	}
	var parquet bytes.Buffer
	if err := source.WriteParquet(&parquet, table); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"rows":          gzipped("a,y\n", "1,2\n", 24<<20),
		"one field":     gzipped("a,y\n\"", "a", 24<<20),
		"a header":      gzipped("", "a", 24<<20),
		"many columns":  gzipped("", "a,", 24<<20),
		"JSON lines":    gzipped(`{"a":"`, "a", 24<<20),
		"nested gzip":   gzipped("", gzipped("", "a", 1<<20), 16<<20),
		"Parquet":       parquet.String(),
		"a spreadsheet": spreadsheet(t, 24<<20),
	} {
		if len(body) > 1<<20 {
			body = body[:1<<20]
		}
		if status, answer := v.do(t, "owner", "POST", "/v1/previews", body); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %.300s", name, status, answer)
		}
	}
}

// spreadsheet returns a workbook whose sheet has a text of n bytes.
func spreadsheet(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, part := range []struct{ name, start, end string }{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`, ""},
		{"xl/workbook.xml",
			`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
				`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="s" ` +
				`sheetId="1" r:id="rId1"/></sheets></workbook>`, ""},
		{"xl/_rels/workbook.xml.rels",
			`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ` +
				`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" ` +
				`Target="worksheets/sheet1.xml"/></Relationships>`, ""},
		{"xl/worksheets/sheet1.xml",
			`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" ` +
				`t="inlineStr"><is><t>`, `</t></is></c></row></sheetData></worksheet>`},
	} {
		f, err := w.Create(part.name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, part.start)
		if part.end != "" {
			block := strings.Repeat("a", 1<<20)
			for range n >> 20 {
				io.WriteString(f, block)
			}
		}
		io.WriteString(f, part.end)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Names, ids and labels that look like HTML are never sent as such.
func TestTextIsNeverHTML(t *testing.T) {
	t.Parallel()
	v := newService(t)
	const evil = "<script>alert(1)</script>"
	table := "id," + evil + ",colour,y\n" + evil + ",1," + evil + ",1\n"
	for i := range 20 {
		table += fmt.Sprintf("r%d,%d,blue,\n", i, i)
	}
	name := "%3Cscript%3Ealert(1)%3C%2Fscript%3E"
	must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name="+name+"&target=y&id=id", table)
	must[wire.Changed](t, v, "owner", "POST", "/v1/campaigns/"+name+"/failures",
		map[string]any{"ids": []string{"r1"}, "reason": evil})
	for path, item := range v.server.api.OpenAPI().Paths {
		if item.Get == nil {
			continue
		}
		concrete := strings.NewReplacer("{campaign}", name, "{job}", name, "{ask}", "1", "{row}", "0",
			"{name}", name).Replace(path)
		a, body := v.ask(t, "GET", concrete, "", "Authorization", "Bearer "+v.secrets["owner"])
		kind := a.Header.Get("Content-Type")
		if strings.Contains(kind, "html") || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%s: %d %v", path, a.StatusCode, a.Header)
		}
		if strings.Contains(kind, "json") && strings.Contains(body, evil) && !strings.Contains(path, "export") {
			t.Errorf("%s: the text is not escaped: %.300s", path, body)
		}
	}
	for _, path := range []string{"/v1/" + name, "/" + name + ".js", "/campaigns/" + name} {
		if a, body := v.ask(t, "GET", path, "", "Authorization", "Bearer "+
			v.secrets["owner"]); strings.Contains(body, "<script>alert") {
			t.Errorf("%s: %d %.300s", path, a.StatusCode, body)
		}
	}
}

// Names of results files and campaigns lead nowhere else.
func TestPathsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	v := newService(t)
	folder := t.TempDir()
	v.server.options.Results = filepath.Join(folder, "results")
	if err := os.MkdirAll(v.server.options.Results, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(folder, "secret.db"),
		filepath.Join(v.server.options.Results, "broken.db")} {
		if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"..%2fsecret", "..%2Fsecret.db", "%2e%2e%2fsecret", "..%5csecret",
		"%2fetc%2fpasswd", "broken%00"} {
		for _, path := range []string{"/v1/benchmarks/" + name, "/v1/campaigns/" + name, "/v1/campaigns/" +
			name + "/rows/export"} {
			want := http.StatusNotFound
			if name == "broken%00" && strings.HasPrefix(path, "/v1/campaigns/") {
				want = http.StatusUnprocessableEntity // no campaign can have this name
			}
			if status, body := v.do(t, "owner", "GET", path, nil); status != want || strings.Contains(string(body), "root:") {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
	if status, body := v.do(t, "owner", "GET", "/v1/benchmarks/broken", nil); status != 422 ||
		strings.Contains(string(body), folder) {
		t.Errorf("a file that is not results: %d %s", status, body)
	}
}

// All uploads together have a limit, and a full disk refuses them.
func TestUploadsCannotFillTheDisk(t *testing.T) {
	t.Parallel()
	v := newService(t)
	if !v.server.uploads.take(2 << 20) {
		t.Fatal("there is no room")
	}
	if status, body := v.do(t, "owner", "POST", small, sample(20)); status != http.StatusServiceUnavailable {
		t.Errorf("beside other uploads: %d %s", status, body)
	}
	v.server.uploads.give(2 << 20)
	v.server.uploads.free = func(string) (int64, bool) { return keptFree - 1, true }
	if status, body := v.do(t, "owner", "POST", small, sample(20)); status != http.StatusInsufficientStorage {
		t.Errorf("a full disk: %d %s", status, body)
	}
	v.server.uploads.free = freeSpace
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	if left, _ := filepath.Glob(filepath.Join(v.server.uploads.folder, "*")); len(left) > 0 ||
		v.server.uploads.bytes != 0 {
		t.Errorf("files are left: %v, %d bytes", left, v.server.uploads.bytes)
	}
}

// The next start removes uploads of processes that were killed, and no others.
func TestUploadsOfKilledProcesses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	living := os.Getppid()
	for _, name := range []string{"nextbatch-upload-999999999-1", fmt.Sprintf("nextbatch-upload-%d-2", os.Getpid()),
		fmt.Sprintf("nextbatch-upload-%d-3", living), "other"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newUploads(folder, 1)
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 || left[0].Name() != fmt.Sprintf("nextbatch-upload-%d-3", living) {
		t.Errorf("left: %v %v", left, err)
	}
}

// A job that the end of the process interrupts goes on after the next start, under its id.
func TestJobsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 3},
		"Idempotency-Key", "k")
	v.trains(t, j, 1)
	v.server.Close()
	if list, err := v.server.options.Tokens.openJobs(context.Background()); err != nil ||
		len(list) != 1 || list[0].ID != j.ID {
		t.Fatalf("written down: %+v %v", list, err)
	}
	shorten(t, v.server.options.Store)
	next := New(v.server.options)
	defer next.Close()
	again := &service{server: next, secrets: v.secrets, log: v.log}
	again.Server = v.Server
	again.Config.Handler = next
	done := again.finish(t, "labeller", must[wire.Job](t, again, "labeller", "GET", "/v1/campaigns/small/jobs/"+j.ID, nil))
	if done.State != wire.Done || done.Ask != 1 || done.Person != "leo" {
		t.Errorf("the job ended as %+v", done)
	}
	if s := must[Campaign](t, again, "viewer", "GET", "/v1/campaigns/small", nil); s.Asked != 3 || s.Asks != 1 {
		t.Errorf("status %+v", s)
	}
	if list, err := next.options.Tokens.openJobs(context.Background()); err != nil || len(list) != 0 {
		t.Errorf("still written down: %+v %v", list, err)
	}
}

// shorten lets the campaign small train for a moment only.
func shorten(t *testing.T, store campaign.Store) {
	t.Helper()
	c, err := campaign.Open(t.Context(), store, "small")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick := s.Settings
	quick.Network.Training.Epochs = 4
	if _, err := c.ChangeSettings(t.Context(), campaign.By{Person: "olga"}, quick); err != nil {
		t.Fatal(err)
	}
}

// An export is a download that no browser takes for a page, and holds text exactly as it was
// uploaded: an id that was changed to please a spreadsheet could not be told.
func TestExportsKeepText(t *testing.T) {
	t.Parallel()
	v := newService(t)
	hostile := []string{`=HYPERLINK("//x")`, "+1", "-1+1", "@SUM(1)", "<script>alert(1)</script>", "a\"b,c", "\ttab"}
	var table strings.Builder
	w := csv.NewWriter(&table)
	rows := [][]string{{"id", "=cmd", "y"}}
	for i, text := range hostile {
		rows = append(rows, []string{text, text, fmt.Sprint(i)})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=small&target=y&id=id", table.String())
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		a, body := v.ask(t, "GET", "/v1/campaigns/small/rows/export?format="+format, "", "Authorization",
			"Bearer "+v.secrets["viewer"])
		if !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") ||
			a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", format, a.Header)
		}
		read, err := source.Read(t.Context(), strings.NewReader(body), source.Options{Format: format, ID: "id"})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, name := range []string{"id", "=cmd"} {
			column, err := read.Column(name)
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			for i, want := range hostile {
				if got := column.Format(i); got != want {
					t.Errorf("%s: column %s has %q, not %q", format, name, got, want)
				}
			}
		}
	}
}
