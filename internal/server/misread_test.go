package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestMisread puts the tables of testdata/misread to the service, as expected.txt does to the command line: in which
// units and with which decimal marks uploads, new campaigns and added rows are read, or why not. What is told over HTTP
// is numbers.
func TestMisread(t *testing.T) {
	v := newService(t)
	folder := filepath.Join("..", "..", "testdata", "misread")
	raw, err := os.ReadFile(filepath.Join(folder, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said, file, asked := "", "", 0
	for i, line := range strings.Split(string(raw), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		switch sign {
		case "$":
			refused := strings.HasPrefix(text, "3 ")
			var path string
			if path, file = uploadOf(strings.Fields(strings.TrimPrefix(text, "3 "))); path == "" {
				file = ""
				continue
			}
			table, err := os.ReadFile(filepath.Join(folder, file))
			if os.IsNotExist(err) { // a workbook that another command makes
				file = ""
				continue
			}
			status, body := v.do(t, "owner", "POST", path, string(table))
			if (status/100 == 4) != refused || status >= http.StatusInternalServerError {
				t.Errorf("line %d: status %d: %s", i+1, status, body)
			}
			said = string(body)
			asked++
		case ">", "<":
			text, _, _ = strings.Cut(text, "; --") // a flag
			text = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(text, "warning: "), file), ":, ")
			quoted, _ := json.Marshal(text)
			if file != "" && text != "" && strings.Contains(said, strings.Trim(string(quoted), `"`)) != (sign == ">") {
				t.Errorf("line %d: %q in\n%s", i+1, line, said)
			}
		}
	}
	if asked < 30 {
		t.Errorf("there are only %d requests", asked)
	}
}

// uploadOf returns the request that does what a command does, and the file that it sends; empty if there is none.
func uploadOf(args []string) (path, file string) {
	const columns = "?target=y&id=id"
	switch command := strings.Join(args[:2], " "); {
	case slices.Contains(args, "--earlier"): // see TestUnitsOfEarlierData
	case command == "campaign new":
		return "/v1/campaigns" + columns + "&learner=trees&name=" + strings.TrimSuffix(args[2], ".db"), args[3]
	case command == "campaign add":
		return "/v1/campaigns/" + strings.TrimSuffix(args[2], ".db") + "/rows", args[3]
	case args[0] == "select" && !strings.HasPrefix(args[1], "--") && args[len(args)-1] == "--dry-run":
		return "/v1/previews" + columns, args[1]
	}
	return "", ""
}

// TestNewCampaignsSayHowTheyWereRead: who begins a campaign without a preview is told what the cells gave cause for.
func TestNewCampaignsSayHowTheyWereRead(t *testing.T) {
	v := newService(t)
	for name, want := range map[string]string{
		"one_cell_in_g": `column "mass": 1 number is converted to mg: "0.48 g" (line 5)`,
		"some_without":  `column "mass": 5 numbers have the unit mg, the other 7 none: all are taken as mg`,
	} {
		table, err := os.ReadFile(filepath.Join("..", "..", "testdata", "misread", name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		made := must[Campaign](t, v, "owner", "POST", "/v1/campaigns?target=y&id=id&learner=trees&name="+name, string(table))
		if !slices.Contains(made.Warnings, want) {
			t.Errorf("%s: %q", name, made.Warnings)
		}
	}
}

// TestUnitsOfEarlierData: earlier data in another unit are converted with a word, or refused.
func TestUnitsOfEarlierData(t *testing.T) {
	v := newService(t)
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "misread", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, name := range []string{"train_mg", "train_plain"} {
		must[Campaign](t, v, "owner", "POST", "/v1/campaigns?target=y&id=id&name="+name, read(name+".csv"))
	}
	for _, c := range []struct{ campaign, file, said, refused string }{
		{"train_mg", "earlier_g.csv", `earlier_g.csv: column "mass": numbers in g are converted to mg`, ""},
		{"train_mg", "earlier_plain.csv", `earlier_plain.csv: column "mass": numbers without a unit are taken as mg`, ""},
		{"train_plain", "earlier_plain.csv", "", ""},
		{"train_mg", "earlier_mL.csv", "", "the unit is mL, but the column is in mg"},
		{"train_plain", "earlier_g.csv", "", "the unit is g, but the column has had none so far"},
	} {
		path := "/v1/campaigns/" + c.campaign + "/earlier?name=" + c.file
		if c.refused != "" {
			if status, body := v.do(t, "owner", "POST", path, read(c.file)); status != http.StatusUnprocessableEntity ||
				!strings.Contains(string(body), c.refused) {
				t.Errorf("%s: %d %s", path, status, body)
			}
			continue
		}
		added := must[wire.AddedEarlier](t, v, "owner", "POST", path, read(c.file))
		if strings.Join(added.Warnings, "\n") != c.said {
			t.Errorf("%s: %q", path, added.Warnings)
		}
	}
}
