package cli

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// labTable has ids with leading zeros, dates, and words that look like formulas; every third row has a label.
func labTable() string {
	var b strings.Builder
	b.WriteString("id,batch no,x,day,material,y\n")
	for i := range 30 {
		label := ""
		if i%3 == 0 {
			label = fmt.Sprint(10 + i)
		}
		fmt.Fprintf(&b, "%03d,%04d,%d.50,2024-02-%02d,=steel%d,%s\n", i, i*i%7, i*i%11, 1+i*7%29, i%2, label)
	}
	return b.String()
}

// partsOf returns the parts of a workbook by name.
func partsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	parts := map[string]string{}
	for _, entry := range archive.File {
		part, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		parts[entry.Name] = string(text)
	}
	return parts
}

func saveParts(t *testing.T, path string, parts map[string]string) {
	t.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for name, text := range parts {
		part, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, text)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

const theSheet = "xl/worksheets/sheet1.xml"

var emptyLabel, inlineText = regexp.MustCompile(`<c r="([A-Z]+)(\d+)" s="7"/>`),
	regexp.MustCompile(` t="inlineStr"><is><t xml:space="preserve">([^<]*)</t></is>`)

// typeLabels writes cells into the empty ones of a column of labels, from the top.
func typeLabels(sheet string, cells ...string) string {
	return emptyLabel.ReplaceAllStringFunc(sheet, func(empty string) string {
		if len(cells) == 0 {
			return empty
		}
		cell := cells[0]
		cells = cells[1:]
		return strings.Replace(empty, "/>", cell, 1)
	})
}

// asExcel shares strings, as Excel and LibreOffice do when they save, and adds rows that have formats only.
func asExcel(parts map[string]string) {
	var list strings.Builder
	n := 0
	sheet := inlineText.ReplaceAllStringFunc(parts[theSheet], func(cell string) string {
		fmt.Fprintf(&list, `<si><t xml:space="preserve">%s</t></si>`, inlineText.FindStringSubmatch(cell)[1])
		n++
		return fmt.Sprintf(` t="s"><v>%d</v>`, n-1)
	})
	sheet = regexp.MustCompile(`<row r="(\d+)">`).ReplaceAllString(sheet,
		`<row r="$1" spans="1:11" ht="15" customHeight="1">`)
	parts[theSheet] = strings.Replace(sheet, "</sheetData>",
		`<row r="40"/><row r="41"><c r="A41" s="3"/><c r="ZZ41" s="7"/></row></sheetData>`, 1)
	parts["xl/sharedStrings.xml"] = `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		list.String() + `</sst>`
	parts["xl/_rels/workbook.xml.rels"] = strings.Replace(parts["xl/_rels/workbook.xml.rels"], "</Relationships>",
		`<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" `+
			`Target="sharedStrings.xml"/></Relationships>`, 1)
}

// TestWorkbooksComeBack: a batch goes out as a workbook, is filled in and saved by other programs, and comes back into
// the table.
func TestWorkbooksComeBack(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("t.csv"), []byte(labTable()), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, exitOK, "select", at("t.csv"), "--target", "y", "--id", "id", "-n", "4", "--method", "maxdist-tp:linear", "-q",
		"--out", at("batch.xlsx"))
	labels := []string{`><v>12.5</v></c>`, ` t="n"><f>SUM(1,9.25)</f><v>10.25</v></c>`,
		` t="str"><f>""</f><v></v></c>`, `><v>1.2E1</v></c>`}
	batch := partsOf(t, at("batch.xlsx"))
	batch[theSheet] = typeLabels(batch[theSheet], labels...)
	saveParts(t, at("inline.xlsx"), batch)
	asExcel(batch)
	saveParts(t, at("excel.xlsx"), batch)
	var merged []string
	for _, filled := range []string{"inline.xlsx", "excel.xlsx"} {
		for _, out := range []string{"merged.csv", "merged.xlsx"} {
			_, log := must(t, exitOK, "merge", at("t.csv"), at(filled), "--id", "id", "--target", "y", "--out", at(out))
			if !strings.Contains(log, "3 labels are new, 0 known before; 1 row has none yet") {
				t.Errorf("%s: %s", filled, log)
			}
		}
		text, err := os.ReadFile(at("merged.csv"))
		if err != nil {
			t.Fatal(err)
		}
		merged = append(merged, string(text))
	}
	if merged[0] != merged[1] || strings.Count(merged[0], ",10.25\n") != 1 ||
		!strings.HasPrefix(merged[0], "id,batch no,x,day,material,y\n000,0000,0.50,2024-02-01,=steel0,10\n") {
		t.Errorf("%s\n%s", merged[0], merged[1])
	}
	sheet := partsOf(t, at("merged.xlsx"))[theSheet]
	for _, cell := range []string{`<c r="A2" s="3" t="inlineStr"><is><t xml:space="preserve">000</t>`,
		`<c r="B2" s="3" t="inlineStr"><is><t xml:space="preserve">0000</t>`,
		`<c r="C2" s="2"><v>0.5</v></c><c r="D2" s="5"><v>45323</v></c>`,
		`preserve">=steel0</t></is></c><c r="F2" s="7"><v>10</v></c>`} {
		if !strings.Contains(sheet, cell) {
			t.Errorf("there is no %s in %s", cell, sheet)
		}
	}

	// A workbook may replace itself, if nothing but formats is lost.
	must(t, exitOK, "merge", at("merged.xlsx"), at("excel.xlsx"), "--id", "id", "--target", "y", "--out",
		at("merged.xlsx"), "-q")
	if again := partsOf(t, at("merged.xlsx"))[theSheet]; again != sheet {
		t.Errorf("%s\nis now\n%s", sheet, again)
	}
	_, log := must(t, exitData, "merge", at("excel.xlsx"), at("batch.xlsx"), "--id", "id", "--target", "y",
		"--out", at("excel.xlsx"))
	if !strings.Contains(log,
		"excel.xlsx: the workbook holds more than the table: it has formulas, which would become values; write to another "+
			"file") {
		t.Error(log)
	}
	batch["xl/_rels/workbook.xml.rels"] = strings.Replace(batch["xl/_rels/workbook.xml.rels"], "</Relationships>",
		`<Relationship Id="c" Type="x/chartsheet" Target="chart.xml"/></Relationships>`, 1)
	saveParts(t, at("chart.xlsx"), batch)
	if _, log := must(t, exitData, "merge", at("chart.xlsx"), at("batch.xlsx"), "--id", "id", "--target", "y", "--out",
		at("chart.xlsx")); !strings.Contains(log, "it has 2 sheets") {
		t.Error(log)
	}
}

// TestWorkbooksOfCampaigns: the same with ask and tell; a workbook never shows a prediction to who fills it in, unless
// told to.
func TestWorkbooksOfCampaigns(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("t.csv"), []byte(labTable()), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, exitOK, "campaign", "new", at("c.db"), at("t.csv"), "--target", "y", "--id", "id", "--learner", "gp", "-q")
	ask := []string{"campaign", "ask", at("c.db"), "-n", "4", "--audit", "0", "--request", "one", "-q", "--out"}
	for name, flags := range map[string][]string{"batch.xlsx": nil, "again.xlsx": nil,
		"shown.xlsx": {"--show-predictions"}} {
		must(t, exitOK, append(append(ask, at(name)), flags...)...)
		if shows := strings.Contains(partsOf(t, at(name))[theSheet], "; predicted "); shows != (flags != nil) {
			t.Errorf("%s: %v", name, shows)
		}
	}
	batch := partsOf(t, at("batch.xlsx"))
	batch[theSheet] = typeLabels(batch[theSheet], `><v>12.5</v></c>`, `><f>A1</f><v>11</v></c>`)
	asExcel(batch)
	saveParts(t, at("filled.xlsx"), batch)
	if out, _ := must(t, exitOK, "campaign", "tell", at("c.db"), at("filled.xlsx"), "--accept", "--json",
		"-q"); !strings.Contains(out, `"rows":2,"known":0`) {
		t.Error(out)
	}
	must(t, exitOK, "campaign", "predict", at("c.db"), "-q", "--out", at("predicted.xlsx"))
	if sheet := partsOf(t, at("predicted.xlsx"))[theSheet]; !strings.Contains(sheet, `preserve">prediction</t>`) ||
		strings.Contains(sheet, `s="7"`) {
		t.Error(sheet)
	}
}

func TestWithNumbers(t *testing.T) {
	for _, test := range []struct {
		spelled string
		read    *dataset.Numeric // nil for text
		number  bool
	}{
		{"1.50|2", dataset.NewNumeric("c", 1.5, 2), true},
		{"1.234,5|2", dataset.NewNumeric("c", 1234.5, 2), true},
		{"0.5|-0.25|0", dataset.NewNumeric("c", 0.5, -0.25, 0), true},
		{"007|10", dataset.NewNumeric("c", 7, 10), false},
		{"<0.5|10", dataset.NewNumeric("c", 0.5, 10), false},
		{"17|18", nil, true},
		{"17|018", nil, false},
		{"17|x", nil, false},
		{"12345678901234567890", nil, false},
	} {
		values := strings.Split(test.spelled, "|")
		spelled, err := dataset.NewTable(dataset.NewText("c", values...))
		if err != nil {
			t.Fatal(err)
		}
		read := spelled
		if test.read != nil {
			if read, err = dataset.NewTable(test.read); err != nil {
				t.Fatal(err)
			}
		}
		got, err := withNumbers(spelled, read)
		if err != nil || (got.Columns()[0].Kind() == dataset.KindNumeric) != test.number {
			t.Errorf("%s: %v, %v", test.spelled, got, err)
		}
	}
}

// TestMergeCommandOfPage: the command on the page of a batch does what it says, also for a sheet of a workbook that has
// two.
func TestMergeCommandOfPage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("t.csv", []byte(labTable()), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, exitOK, "select", "t.csv", "--target", "y", "--id", "id", "-n", "4", "--method", "maxdist-tp:linear",
		"-q", "--out", "b.csv")
	must(t, exitOK, "merge", "t.csv", "b.csv", "--target", "y", "--id", "id", "-q", "--out", "one.xlsx")
	parts := partsOf(t, "one.xlsx")
	parts["xl/worksheets/sheet2.xml"] = parts[theSheet]
	parts["[Content_Types].xml"] = strings.Replace(parts["[Content_Types].xml"], "</Types>",
		`<Override PartName="/xl/worksheets/sheet2.xml" `+
			`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`, 1)
	parts["xl/workbook.xml"] = strings.Replace(parts["xl/workbook.xml"], "</sheets>",
		`<sheet name="other" sheetId="2" r:id="rId77"/></sheets>`, 1)
	parts["xl/_rels/workbook.xml.rels"] = strings.Replace(parts["xl/_rels/workbook.xml.rels"], "</Relationships>",
		`<Relationship Id="rId77" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" `+
			`Target="worksheets/sheet2.xml"/></Relationships>`, 1)
	saveParts(t, "two.xlsx", parts)
	first := regexp.MustCompile(`<sheet name="([^"]+)"`).FindStringSubmatch(parts["xl/workbook.xml"])[1]

	for name, flags := range map[string][]string{"one.xlsx": nil, "two.xlsx": {"--sheet", first}, "two.xlsx:" + first: nil,
		"t.csv": {"--sep", ","}} {
		must(t, exitOK, append([]string{"select", name, "--target", "y", "--id", "id", "-n", "4", "--method",
			"maxdist-tp:linear", "-q", "--out", "batch.csv", "--report", "page.html"}, flags...)...)
		page, err := os.ReadFile("page.html")
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`nextbatch (merge [^<]*)`).FindStringSubmatch(string(page))
		if found == nil {
			t.Fatalf("%s: no command", name)
		}
		command := strings.Fields(html.UnescapeString(found[1]))
		text, err := os.ReadFile("batch.csv")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("batch.csv", []byte(strings.ReplaceAll(string(text), ",\n", ",17\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, log := must(t, exitOK, command...); !strings.Contains(log, "4 labels are new") {
			t.Errorf("%s: %s", name, log)
		}
		if strings.HasPrefix(name, "two") && !strings.Contains(string(page), "with two-labelled.xlsx in place of two.xlsx") {
			t.Errorf("%s: the page does not name the new table", name)
		}
	}
}
