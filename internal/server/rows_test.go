package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// mixed makes a campaign whose rows have every status, and returns all rows.
func mixed(t *testing.T, v *service) []Row {
	t.Helper()
	must[Campaign](t, v, "owner", "POST", small, sample(60)+"Odd <b>,0.5,,red,\nodd2,,0.1,,\n")
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 6}))
	batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", labels(batch.Rows[0].ID, 7.5))
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/failures",
		map[string]any{"ids": []string{batch.Rows[1].ID}})
	must[wire.Changed](t, v, "owner", "POST", "/v1/campaigns/small/retirements",
		map[string]any{"ids": []string{batch.Rows[2].ID}})
	return must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?limit=1000", nil).Rows
}

func labels(id string, value float64) map[string]any {
	return map[string]any{"rows": []any{map[string]any{"id": id, "values": map[string]float64{"y": value}}}}
}

// numberOf is the value of a row for sorting and comparing, NaN where there is none.
func numberOf(r Row, column string) float64 {
	if column == "y" {
		if l := r.Labels["y"]; l != nil {
			return *l
		}
		return math.NaN()
	}
	if f, ok := r.Inputs[column].(float64); ok {
		return f
	}
	return math.NaN()
}

// Filters and orders are compared with what a loop over all rows finds.
func TestListRows(t *testing.T) {
	t.Parallel()
	v := newService(t)
	all := mixed(t, v)
	if len(all) != 62 {
		t.Fatalf("%d rows", len(all))
	}
	for _, c := range []struct {
		query string
		keep  func(Row) bool
		less  func(a, b Row) int
	}{
		{"", func(Row) bool { return true }, nil},
		{"order=desc", func(Row) bool { return true }, func(a, b Row) int { return cmp.Compare(b.Row, a.Row) }},
		{"status=open", func(r Row) bool { return r.Status == "open" }, nil},
		{"status=open&order=desc", func(r Row) bool { return r.Status == "open" },
			func(a, b Row) int { return cmp.Compare(b.Row, a.Row) }},
		{"status=asked", func(r Row) bool { return r.Status == "asked" }, nil},
		{"status=labelled&sort=y&order=desc", func(r Row) bool { return r.Status == "labelled" }, byNumber("y", -1)},
		{"status=failed", func(r Row) bool { return r.Status == "failed" }, nil},
		{"status=retired", func(r Row) bool { return r.Status == "retired" }, nil},
		{"search=S1", func(r Row) bool { return strings.Contains(strings.ToLower(r.ID), "s1") }, nil},
		{"search=%3Cb", func(r Row) bool { return strings.Contains(r.ID, "<b") }, nil},
		{"where=a%3E%3D0.5", func(r Row) bool { return numberOf(r, "a") >= 0.5 }, nil},
		{"where=a%3E0.5&where=colour%3Dred", func(r Row) bool {
			return numberOf(r, "a") > 0.5 &&
				r.Inputs["colour"] == "red"
		}, nil},
		{"where=colour!%3Dred", func(r Row) bool { return r.Inputs["colour"] != nil && r.Inputs["colour"] != "red" }, nil},
		{"where=colour%3D", func(r Row) bool { return r.Inputs["colour"] == nil }, nil},
		{"where=b%3D", func(r Row) bool { return r.Inputs["b"] == nil }, nil},
		{"where=b!%3D", func(r Row) bool { return r.Inputs["b"] != nil }, nil},
		{"where=y%3C2", func(r Row) bool { return numberOf(r, "y") < 2 }, nil},
		{"where=id%3Ds3", func(r Row) bool { return r.ID == "s3" }, nil},
		{"where=status%3Dopen&where=row%3C20", func(r Row) bool { return r.Status == "open" && r.Row < 20 }, nil},
		{"sort=a", func(Row) bool { return true }, byNumber("a", 1)},
		{"sort=a&order=desc&status=open&where=colour%3Dblue", func(r Row) bool {
			return r.Status == "open" &&
				r.Inputs["colour"] == "blue"
		}, byNumber("a", -1)},
		{"sort=y", func(Row) bool { return true }, byNumber("y", 1)},
		{"sort=id", func(Row) bool { return true }, func(a, b Row) int { return strings.Compare(a.ID, b.ID) }},
		{"sort=id&order=desc", func(Row) bool { return true }, func(a, b Row) int { return strings.Compare(b.ID, a.ID) }},
		{"sort=status", func(Row) bool { return true }, func(a, b Row) int {
			order := []string{"open", "asked", "labelled", "failed", "retired"}
			return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
		}},
	} {
		var want []Row
		for _, r := range all {
			if c.keep(r) {
				want = append(want, r)
			}
		}
		if c.less != nil {
			slices.SortStableFunc(want, c.less)
		}
		for range 2 { // the second time, from what is kept
			var got []Row
			for offset := 0; offset == 0 || offset < len(want); offset += 7 {
				page := must[RowPage](t, v, "viewer", "GET",
					fmt.Sprintf("/v1/campaigns/small/rows?limit=7&offset=%d&%s", offset, c.query), nil)
				if got = append(got, page.Rows...); page.Total != int64(len(want)) {
					t.Errorf("%s: total %d, wanted %d", c.query, page.Total, len(want))
				}
			}
			same := func(a, b Row) bool { return a.Row == b.Row && a.Status == b.Status }
			if !slices.EqualFunc(got, want, same) {
				t.Errorf("%s:\ngot  %v\nwant %v", c.query, idsIn(got), idsIn(want))
			}
		}
	}
	for _, query := range []string{"sort=none", "where=a", "where=none%3D1", "where=a%3Ered", "order=up",
		"status=lost", "offset=-1"} {
		if status, body := v.do(t, "viewer", "GET", "/v1/campaigns/small/rows?"+query, nil); status != 422 {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	// What is kept follows the campaign.
	before := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=open&where=a%3E0.1", nil)
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", labels(before.Rows[0].ID, 3))
	after := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=open&where=a%3E0.1", nil)
	if after.Total != before.Total-1 || after.Rows[0].ID == before.Rows[0].ID {
		t.Errorf("after a label: %d rows, before %d", after.Total, before.Total)
	}
}

func byNumber(column string, sign int) func(a, b Row) int {
	return func(a, b Row) int {
		x, y := numberOf(a, column), numberOf(b, column)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		}
		return sign * cmp.Compare(x, y)
	}
}

func idsIn(rows []Row) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestQueueHidesRandomRows: who labels a row is not told that it was drawn at random to measure the error; others are.
func TestQueueHidesRandomRows(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	random := maps.Clone(settings)
	random["audit"] = 1
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", random)
	v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 3}))
	for i, r := range must[Queue](t, v, "labeller", "GET", "/v1/campaigns/small/queue", nil).Rows {
		batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
		if r.Reason != "" || !strings.HasPrefix(batch.Rows[i].Reason, "audit row") {
			t.Errorf("row %d: %q, in the batch %q", i, r.Reason, batch.Rows[i].Reason)
		}
	}
}

func TestQueueAndPeople(t *testing.T) {
	t.Parallel()
	v := newService(t)
	mixed(t, v)
	batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
	status, raw := v.do(t, "labeller", "GET", "/v1/campaigns/small/queue", nil)
	if status != 200 || bytes.Contains(raw, []byte("predict")) || bytes.Contains(raw, []byte(`"audit"`)) {
		t.Errorf("the queue shows what could steer a label: %d %s", status, raw)
	}
	queue := must[Queue](t, v, "labeller", "GET", "/v1/campaigns/small/queue", nil)
	if len(queue.Rows) != 3 || !slices.Equal(queue.Targets, []string{"y"}) {
		t.Fatalf("queue %+v", queue)
	}
	for i, r := range queue.Rows {
		if want := batch.Rows[i+3]; r.ID != want.ID || r.Ask != 1 || r.Reason == "" &&
			!strings.HasPrefix(want.Reason, "audit row") || r.Status != "asked" {
			t.Errorf("row %d of the queue: %+v", i, r)
		}
	}
	if other := must[Queue](t, v, "owner", "GET", "/v1/campaigns/small/queue", nil); len(other.Rows) != 0 {
		t.Errorf("somebody else's queue has %d rows", len(other.Rows))
	}
	told := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", labels(queue.Rows[0].ID, 1))
	if p := told.Predictions[queue.Rows[0].ID]["y"]; p == nil || p.Value != batch.Rows[3].Predictions["y"].Value {
		t.Errorf("told %+v", told)
	}
	row := must[RowHistory](t, v, "viewer", "GET", fmt.Sprint("/v1/campaigns/small/rows/", queue.Rows[0].Row.Row), nil)
	if row.ID != queue.Rows[0].ID || row.Predictions["y"] == nil || row.Ask != 1 ||
		row.Person != "leo" || row.Reason == "" {
		t.Errorf("a labelled row: %+v", row)
	}
	if waiting := must[RowHistory](t, v, "viewer", "GET", fmt.Sprint("/v1/campaigns/small/rows/", queue.Rows[1].Row.Row),
		nil); waiting.Predictions != nil || strings.Contains(waiting.Reason, "predicted") {
		t.Errorf("a row that is out shows its prediction: %+v", waiting)
	}
	if status, _ := v.do(t, "viewer", "GET", "/v1/campaigns/small/rows/62", nil); status != 404 {
		t.Errorf("a row that does not exist: %d", status)
	}
	people := must[[]Person](t, v, "viewer", "GET", "/v1/campaigns/small/people", nil)
	at := slices.IndexFunc(people, func(p Person) bool { return p.Person == "leo" })
	if at < 0 || people[at].Asked != 6 || people[at].Told != 2 || people[at].Failed != 1 || people[at].Last.IsZero() {
		t.Errorf("people %+v", people)
	}
}

// An export reads back as the rows that it was made from.
func TestExport(t *testing.T) {
	t.Parallel()
	v := newService(t)
	mixed(t, v)
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		a, body := v.ask(t, "GET", "/v1/campaigns/small/rows/export?format="+format+"&where=a%3E0.5&sort=a", "",
			"Authorization", "Bearer "+v.secrets["viewer"])
		if a.StatusCode != 200 || !strings.Contains(a.Header.Get("Content-Disposition"), "attachment") ||
			strings.Contains(a.Header.Get("Content-Type"), "html") {
			t.Fatalf("%s: %d %v %.300s", format, a.StatusCode, a.Header, body)
		}
		table, err := source.Read(context.Background(), strings.NewReader(body), source.Options{Format: format, ID: "name"})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		rows := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?limit=1000&where=a%3E0.5&sort=a", nil).Rows
		if table.Rows() != len(rows) || !slices.Equal(table.Names(),
			[]string{"row", "name", "a", "b", "colour", "status", "y", "measured", "person", "time"}) {
			t.Fatalf("%s: %d rows, columns %q", format, table.Rows(), table.Names())
		}
		ids, _ := table.Column("name")
		for i, r := range rows {
			if ids.Format(i) != r.ID {
				t.Errorf("%s: row %d is %q, wanted %q", format, i, ids.Format(i), r.ID)
			}
		}
	}
	if _, body := v.ask(t, "GET", "/v1/campaigns/small/rows/export?search=nothing", "", "Authorization", "Bearer "+
		v.secrets["viewer"]); strings.Count(body, "\n") != 1 {
		t.Errorf("an empty export: %q", body)
	}
}

// Blocks of an export after the first have no header, even if a name has a line end.
func TestHeaderIsWrittenOnce(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := &afterFirstLine{w: &b}
	for _, part := range []string{"a,\"b\n", "\"\"c\",d\n1,", "2\n3,4\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if b.String() != "1,2\n3,4\n" {
		t.Errorf("%q", b.String())
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := &cache{most: 10000}
	made := 0
	get := func(key int) {
		if v, err := cacheGet(c, cacheKey{group: "g", text: fmt.Sprint(key)},
			func() (int, int64, error) { made++; return key, 1000, nil }); v != key || err != nil {
			t.Fatal(v, err)
		}
	}
	for key := range 50 {
		get(key)
		get(0) // stays, as it is used
		if c.bytes > c.most {
			t.Fatalf("%d bytes", c.bytes)
		}
	}
	if made != 50 {
		t.Errorf("%d values were made", made)
	}
	if _, err := cacheGet(c, cacheKey{group: "g", text: "bad"},
		func() (int, int64, error) { return 0, 0, context.Canceled }); err == nil {
		t.Error("an error is lost")
	}
	if v, err := cacheGet(c, cacheKey{group: "g", text: "bad"},
		func() (int, int64, error) { return 1, 0, nil }); v != 1 || err != nil {
		t.Error("an error is kept")
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	v := newService(t)
	table := strings.ReplaceAll(sample(60), "name,", "name,day,")
	for i := range 60 {
		table = strings.Replace(table, fmt.Sprintf("\ns%d,", i), fmt.Sprintf("\ns%d,2024-03-%02d,", i, 1+i%28), 1)
	}
	p := must[Preview](t, v, "owner", "POST", "/v1/previews", table)
	if p.Rows != 60 || p.Suggested != (Suggested{"y", "name"}) || p.Forecast == nil || p.Forecast.Bytes <= 0 ||
		p.Forecast.Text == "" {
		t.Errorf("preview %+v %+v", p, p.Forecast)
	}
	types := map[string]PreviewColumn{}
	for _, c := range p.Columns {
		types[c.Name] = c
	}
	if types["a"].Type != "number" || types["colour"].Type != "category" || types["colour"].Levels != 2 ||
		types["day"].Type != "date" || types["y"].Missing != 48 || len(types["a"].Examples) != 3 {
		t.Errorf("columns %+v", types)
	}
	if got := must[[]Campaign](t, v, "owner", "GET", "/v1/campaigns", nil); len(got) != 0 {
		t.Errorf("a preview made campaigns: %v", got)
	}
	if status, body := v.do(t, "owner", "POST", "/v1/previews?id=a", sample(20)+
		"x,0.1,0.2,red,\nz,0.1,0.2,red,\n"); status != 422 || !strings.Contains(string(body), "0.1") {
		t.Errorf("ids that are not distinct: %d %s", status, body)
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	v := newService(t)
	all := mixed(t, v)
	if m := must[LastMap](t, v, "viewer", "GET", "/v1/campaigns/small/map", nil); m.Map != nil {
		t.Errorf("before one was made: %+v", m.Map)
	}
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/maps", map[string]any{}))
	if j.State != wire.Done {
		t.Fatalf("job %+v", j)
	}
	m := must[LastMap](t, v, "viewer", "GET", "/v1/campaigns/small/map", nil).Map
	n := len(m.Rows)
	if n < 55 || m.Of != int64(n) || m.Sampled || m.Labels != 13 || len(m.Explained) != 2 ||
		m.Explained[0] < m.Explained[1] {
		t.Errorf("map of %d rows: %+v", n, m)
	}
	for _, length := range []int{len(m.X), len(m.Y), len(m.Status), len(m.Prediction), len(m.Interval),
		len(m.Label), len(m.Distance)} {
		if length != n {
			t.Fatalf("lists of different lengths: %d and %d", length, n)
		}
	}
	codes := []string{"open", "asked", "labelled", "failed", "retired"}
	for i, row := range m.Rows {
		r := all[row]
		if codes[m.Status[i]] != r.Status || len(m.Prediction[i]) != 1 || (r.Status == "labelled") != (m.Distance[i] < 1e-3) {
			t.Errorf("row %d: status %d, %s; prediction %v, distance %v", row, m.Status[i], r.Status,
				m.Prediction[i], m.Distance[i])
		}
	}
}

func TestMapIsSampled(t *testing.T) {
	t.Parallel()
	v := newService(t)
	mixed(t, v)
	c, err := v.server.campaign(context.Background(), "small")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := c.Map(context.Background(), campaign.Ask{}, 30)
		if err != nil {
			t.Fatal(err)
		}
		state, err := c.State(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, row := range m.Rows {
			counts[string(state.Status(row))]++
		}
		if len(m.Rows) != 30 || counts["labelled"] != 13 || counts["asked"] != 3 || counts["open"] != 14 {
			t.Errorf("%d rows: %v", len(m.Rows), counts)
		}
	}
}

func TestDocs(t *testing.T) {
	t.Parallel()
	v := newService(t)
	a, page := v.ask(t, "GET", "/docs", "", "Cookie", v.session("viewer"))
	if a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", a.StatusCode, a.Header)
	}
	for path := range v.server.api.OpenAPI().Paths {
		if !strings.Contains(page, strings.ReplaceAll(path, "&", "&amp;")) {
			t.Errorf("%s is not documented", path)
		}
	}
	for _, bad := range []string{"<script", "style=", "http://", "https://", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if a, _ := v.ask(t, "GET", "/docs.css", "", "Cookie", v.session("viewer")); a.StatusCode != 200 {
		t.Errorf("/docs.css: %d", a.StatusCode)
	}
}

// What random selection would have taken is measured by a job, and the standing has it.
func TestGain(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(40))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/gains", map[string]any{}))
	if j.Kind != "gain" || j.State != wire.Failed || !strings.Contains(j.Problem, "too few random rows to tell") {
		t.Errorf("with 12 labels: %+v", j)
	}

	random := maps.Clone(settings)
	random["random_start"] = true
	table := strings.Builder{}
	table.WriteString("name,a,b,y\n")
	for i := range 100 {
		a, b := math.Sin(float64(i)), math.Cos(1.7*float64(i))
		fmt.Fprintf(&table, "s%d,%.4f,%.4f,", i, a, b)
		if i < 80 {
			fmt.Fprintf(&table, "%.4f", a+2*b)
		}
		table.WriteString("\n")
	}
	must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=large&target=y&id=name&learner=network", table.String())
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/large/settings", random)
	v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/large/asks",
		map[string]any{"rows": 2}))
	before := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/large/standing", nil).Targets[0]
	if before.Random != 80 || before.Gain != nil {
		t.Errorf("before: %d random rows, gain %v", before.Random, before.Gain)
	}
	j = v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/large/gains", map[string]any{}))
	if j.State != wire.Done || j.Progress.Stage != "comparing" || j.Progress.Of != 4*estimate.GainNetworks ||
		j.Progress.Done != j.Progress.Of {
		t.Fatalf("with 80 labels: %+v", j)
	}
	after := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/large/standing", nil).Targets[0]
	if after.Gain == nil || after.Gain.Rows != 80 || after.Gain.Labels != 80 {
		t.Errorf("after: gain %+v", after.Gain)
	}
}
