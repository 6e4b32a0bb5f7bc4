package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// german is a table as Excel writes it in Germany.
func german() string {
	var b strings.Builder
	b.WriteString("Probe;Temp;Konz;Farbe;y\r\n")
	for i := range 40 {
		limit, label := fmt.Sprintf("%d,5", i), fmt.Sprintf("%d,25", i)
		if i%8 == 3 {
			limit = "< 0,5"
		}
		if i > 20 {
			label = ""
		}
		fmt.Fprintf(&b, "p%02d;%d,%d °C;%s;rot;%s\r\n", i, 20+i, i%10, limit, label)
	}
	return b.String()
}

// TestPreviewUnderstands: a preview says how it read a table, and the request changes that; a campaign gives
// back what it was given.
func TestPreviewUnderstands(t *testing.T) {
	t.Parallel()
	v := newService(t)
	p := must[Preview](t, v, "owner", "POST", "/v1/previews", german())
	u := p.Understood
	if u.Separator != "semicolon" || u.Decimal != "comma" || u.Encoding != "utf-8" || !u.Header ||
		u.Format != "csv" || len(u.Notes) == 0 {
		t.Errorf("%+v", u)
	}
	if len(p.First) != 10 || p.First[0][1] != "20" || p.First[1][1] != "21,1" || p.Suggested != (Suggested{"y", "Probe"}) {
		t.Errorf("%+v %+v", p.First, p.Suggested)
	}
	if !strings.Contains(strings.Join(p.Warnings, "\n"), `"< 0,5"`) {
		t.Errorf("%q", p.Warnings)
	}
	for _, c := range p.Columns {
		if words := c.Name == "Probe" || c.Name == "Farbe"; (c.NoTarget != "") != words {
			t.Errorf("%+v", c)
		}
	}
	p = must[Preview](t, v, "owner", "POST", "/v1/previews?separator=comma&header=absent&decimal=point", "1,2\n3,4\n")
	if u := p.Understood; u.Separator != "comma" || u.Decimal != "point" || u.Header || p.Rows != 2 {
		t.Errorf("%+v", p)
	}
	must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=c&target=y&id=Probe", german())
	status, body := v.do(t, "owner", "GET", "/v1/campaigns/c/rows/export?format=csv", nil)
	if status != 200 || !strings.Contains(string(body), "p01;21,1;1,5;rot;0;") {
		t.Errorf("%d\n%s", status, body)
	}
	added := strings.ReplaceAll(strings.ReplaceAll(german(), "\r\np", "\r\nq"), "< 0,5", "7,5")
	if status, body := v.do(t, "owner", "POST", "/v1/campaigns/c/rows", added); status != 200 && status != 201 {
		t.Errorf("%d %s", status, body)
	}
	status, body = v.do(t, "owner", "POST", "/v1/campaigns?name=d&target=y&id=Probe",
		strings.ReplaceAll(strings.ReplaceAll(german(), ";3,25", ";gut"), ";5,25", ";schlecht"))
	if status != 422 || !strings.Contains(string(body), "gut") || !strings.Contains(string(body), "schlecht") {
		t.Errorf("labels that are words: %d %s", status, body)
	}
}

// TestReadersNameNoFlags: what the packages that read tables say about one names no flag, as who uploads it has none.
func TestReadersNameNoFlags(t *testing.T) {
	t.Parallel()
	flag, count := regexp.MustCompile(`["`+"`"+`][^"]*--[a-z]`), 0
	visit := func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		count++
		raw, err := os.ReadFile(path)
		if found := flag.Find(raw); found != nil {
			t.Errorf("%s: %s", path, found)
		}
		return err
	}
	err := errors.Join(filepath.WalkDir("../../dataset/source", visit), filepath.WalkDir("../source", visit))
	if err != nil || count < 30 {
		t.Error(count, err)
	}
}

// TestUploadsAreToldParameters: in previews and in errors.
func TestUploadsAreToldParameters(t *testing.T) {
	t.Parallel()
	v := newService(t)
	p := must[Preview](t, v, "owner", "POST", "/v1/previews", german())
	text := strings.Join(append(p.Warnings, p.Understood.Notes...), "\n")
	if !strings.Contains(text, "censored=drop") || strings.Contains(text, "--") {
		t.Error(text)
	}
	p = must[Preview](t, v, "owner", "POST", "/v1/previews", strings.Replace(german(), ";9,5;", ";lost;", 1))
	if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "missing_marks=lost") ||
		strings.Contains(text, "--") {
		t.Error(text)
	}
	status, body := v.do(t, "owner", "POST", "/v1/campaigns?name=e&target=y&id=Probe",
		strings.Replace(strings.Replace(german(), ";rot;5,25", ";rot;schlecht", 1), ";rot;6,25", ";rot;gut", 1))
	if status != 422 || !strings.Contains(string(body), "with missing_marks") || strings.Contains(string(body), "--") {
		t.Errorf("%d %s", status, body)
	}
	status, body = v.do(t, "owner", "POST", "/v1/previews", "a b y\n1 2 3\n4 5 6\n7 8 9\n")
	if status != 422 || !strings.Contains(string(body), "give separator=blank") {
		t.Errorf("%d %s", status, body)
	}
	for query, c := range map[string][2]string{
		"?format=csv": {"PK\x03\x04\x00\x00\x00\x00\n1,2\n", "it looks like an Excel workbook; " +
			"give format=xlsx"},
		"?format=tsv&encoding=utf-8": {"a\x00\t\x00b\x00\n\x00", "give encoding=utf-16le"},
		"?format=jsonl":              {"{\"a\": 1, \"meta\": {\"b\": 2}}\n", "pandas.json_normalize does, or ignore=meta"},
	} {
		status, body := v.do(t, "owner", "POST", "/v1/previews"+query, c[0])
		if status != 422 || !strings.Contains(string(body), c[1]) || strings.Contains(string(body), "--") {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}
