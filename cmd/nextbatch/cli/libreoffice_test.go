package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libreOffice returns a function that opens a file with LibreOffice and saves it as another kind, in a folder of its
// own. Without the program the test is skipped, or fails with NEXTBATCH_REQUIRE_LIBREOFFICE=1.
func libreOffice(t *testing.T) func(file, kind string) (saved string) {
	t.Helper()
	program, err := exec.LookPath("soffice")
	if err != nil && os.Getenv("NEXTBATCH_REQUIRE_LIBREOFFICE") == "1" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("no LibreOffice")
	}
	profile := "-env:UserInstallation=file://" + filepath.ToSlash(t.TempDir())
	return func(file, kind string) string {
		t.Helper()
		dir := t.TempDir()
		extension, _, _ := strings.Cut(kind, ":")
		saved := filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))+"."+extension)
		run := exec.CommandContext(t.Context(), program, profile, "--headless", "--convert-to", kind, "--outdir", dir, file)
		run.Env = append(os.Environ(), "LC_ALL=C.UTF-8") // a German one takes 1.025 in a CSV file for a thousand
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(saved); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return saved
	}
}

// longNumbers is a table with numbers of 16 and 17 digits, large and tiny ones, codes with leading zeros, dates and
// truth values.
func longNumbers() string {
	var b strings.Builder
	b.WriteString("id,a,tiny,big,code,day,flag,y\n")
	for i := range 24 {
		v, label := float64(i*i%17)/7+1/3.0, ""
		if i%2 == 0 {
			label = fmt.Sprint(3*v + 1/3.0)
		}
		fmt.Fprintf(&b, "s%02d,%v,%v,%v,%03d,2024-03-%02d,%v,%s\n", i, v/9, v*1e-6/3, 1.7e9+1e3*v, i%7, 1+i, i%3 == 0, label)
	}
	return b.String()
}

// TestLibreOffice: a batch goes out, LibreOffice opens and saves it, and its labels come back into the table and the
// campaign.
func TestLibreOffice(t *testing.T) {
	save := libreOffice(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("t.csv"), []byte(longNumbers()), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := func(file string) { // labels the rows of a batch as text, whose last column is empty
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i := range lines[1:] {
			lines[i+1] += fmt.Sprintf("%d.%d25", 1+i%2, i)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exitOK, "campaign", "new", at("c.db"), at("t.csv"), "--target", "y", "--id", "id", "--learner", "gp", "-q")
	must(t, exitOK, "campaign", "ask", at("c.db"), "-n", "4", "--request", "one", "-q", "--out", at("asked.xlsx"))
	must(t, exitOK, "campaign", "ask", at("c.db"), "-n", "4", "--request", "one", "-q", "--out", at("asked.csv"))
	must(t, exitOK, "select", at("t.csv"), "--target", "y", "--id", "id", "-n", "4", "--learner", "gp", "-q",
		"--out", at("picked.xlsx"))

	// A workbook as it is filled in, and what LibreOffice makes of it.
	typed := func(name string) string {
		parts := partsOf(t, at(name))
		parts[theSheet] = typeLabels(parts[theSheet], `><v>1.025</v></c>`, `><v>2.125</v></c>`,
			`><v>1.225</v></c>`, `><v>2.325</v></c>`)
		saveParts(t, at("typed-"+name), parts)
		return at("typed-" + name)
	}
	asked := typed("asked.xlsx")
	fill(at("asked.csv"))
	const german = "csv:Text - txt - csv (StarCalc):59,34,76,1,,1031,false,true,false"
	for i, filled := range []string{save(asked, "xlsx"), save(asked, "csv"), save(asked, german),
		save(at("asked.csv"), "xlsx"), save(at("asked.csv"), "csv")} {
		known, fresh := 4, 0
		if i == 0 {
			known, fresh = 0, 4
		}
		out, _ := must(t, exitOK, "campaign", "tell", at("c.db"), filled, "--accept", "--json", "-q")
		if !strings.Contains(out, fmt.Sprintf(`"rows":%d,"known":%d`, fresh, known)) {
			t.Errorf("%s: %s", filled, out)
		}
	}
	picked := typed("picked.xlsx")
	for _, kind := range []string{"xlsx", "csv", german} {
		_, log := must(t, exitOK, "merge", at("t.csv"), save(picked, kind), "--accept", "--id", "id", "--target", "y",
			"--out", at("merged.csv"))
		if !strings.Contains(log, "4 labels are new, 0 known before") {
			t.Errorf("%s: %s", kind, log)
		}
	}

	// Labels of 16 digits that come back from LibreOffice are known, and change neither the campaign nor the table.
	must(t, exitOK, "campaign", "export", at("c.db"), at("all.xlsx"), "-q")
	if out, _ := must(t, exitOK, "campaign", "tell", at("c.db"), save(at("all.xlsx"), "xlsx"), "--json",
		"-q"); !strings.Contains(out, `"rows":0,"known":16`) {
		t.Error(out)
	}
	if _, log := must(t, exitOK, "merge", at("t.csv"), save(at("t.csv"), "xlsx"), "--id", "id", "--target", "y", "--out",
		at("merged.csv")); !strings.Contains(log, "0 labels are new, 12 known before") {
		t.Error(log)
	}

	// Another value is still refused, with its cell.
	text, err := os.ReadFile(save(asked, "csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	cells := strings.Split(lines[2], ",1700")
	lines[2] = strings.Join(cells, ",1701")
	if err := os.WriteFile(at("other.csv"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log := must(t, exitData, "campaign", "tell", at("c.db"), at("other.csv")); !strings.Contains(log,
		"other.csv: line 3 (id s") || !strings.Contains(log, `column "big" has "1.701`) {
		t.Error(log)
	}
}
