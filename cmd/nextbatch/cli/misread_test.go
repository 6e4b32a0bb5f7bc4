package cli

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestMisread runs the commands of testdata/misread/expected.txt on the tables beside it, in which units and decimal
// marks could be taken for others, and compares what they say.
func TestMisread(t *testing.T) {
	from, err := filepath.Abs("../../../testdata/misread")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(from, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	said, commands := "", 0
	for i, line := range strings.Split(string(raw), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		switch sign {
		case "", "#":
		case "$":
			commands++
			said = obey(t, i+1, strings.Fields(text))
		case ">", "<":
			if strings.Contains(said, text) != (sign == ">") {
				t.Errorf("line %d: %q in\n%s", i+1, line, said)
			}
		default:
			t.Fatalf("line %d begins with %q", i+1, sign)
		}
	}
	if commands < 60 {
		t.Errorf("there are only %d commands", commands)
	}
}

// obey runs a command and returns what it says.
func obey(t *testing.T, line int, args []string) string {
	t.Helper()
	want := exitOK
	if code, err := strconv.Atoi(args[0]); err == nil {
		want, args = code, args[1:]
	}
	switch args[0] {
	case "cat":
		raw, err := os.ReadFile(args[1])
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		return string(raw)
	case "xlsx":
		saveWorkbook(t, args[1], args[2])
		return ""
	}
	var out, log bytes.Buffer
	if code := Run(args, &out, &log); code != want {
		t.Errorf("line %d: %v: exit code %d\n%s%s", line, args, code, out.String(), log.String())
	}
	return out.String() + log.String()
}

// saveWorkbook saves a text with tabs between its fields as a workbook: what programs read as numbers is stored as
// such.
func saveWorkbook(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		rows.WriteString("<row>")
		for _, cell := range strings.Split(line, "\t") {
			if _, err := strconv.ParseFloat(cell, 64); err == nil {
				fmt.Fprintf(&rows, "<c><v>%s</v></c>", cell)
			} else {
				fmt.Fprintf(&rows, `<c t="inlineStr"><is><t>%s</t></is></c>`, html.EscapeString(cell))
			}
		}
		rows.WriteString("</row>")
	}
	const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, part := range [][2]string{
		{"_rels/.rels", `<Relationships><Relationship Id="r" Type="` + relation +
			`officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook><sheets><sheet name="table" sheetId="1" id="r"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Type="` + relation +
			`worksheet" Target="sheet.xml"/></Relationships>`},
		{"xl/sheet.xml", "<worksheet><sheetData>" + rows.String() + "</sheetData></worksheet>"},
	} {
		w, err := archive.Create(part[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(part[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
