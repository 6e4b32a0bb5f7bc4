package cli

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
)

var (
	withComma = strings.NewReplacer(",", ";", ".", ",")

	unseen = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<code.*?</code>|<[^>]*>`)
	tick   = regexp.MustCompile(`<text [^>]*>([^<]*)</text>`)
)

// TestDecimalCommas: what commands write about a table with decimal commas has them, too, in texts, pages and figures.
func TestDecimalCommas(t *testing.T) {
	if testing.Short() {
		t.Skip("fits models")
	}
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	save := func(name, text string) string {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	points := save("points.csv", sampleText(func(int) bool { return true }))
	all := save("all.csv", withComma.Replace(sampleText(func(int) bool { return true })))
	some := save("some.csv", withComma.Replace(sampleText(func(i int) bool { return i%3 == 0 })))
	named := []string{"--target", "y", "--id", "id", "--learner", "trees", "-q"}
	check := func(name string, code int, args ...string) {
		t.Helper()
		page := at(name + ".html")
		text, _ := must(t, code, slices.Concat(args, []string{"--report", page})...)
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var ticks []string
		for _, one := range tick.FindAllSubmatch(raw, -1) {
			ticks = append(ticks, string(one[1]))
		}
		mustHaveCommas(t, name+": figures", strings.Join(ticks, "\n"))
		mustHaveCommas(t, name+": page", html.UnescapeString(unseen.ReplaceAllString(string(raw), "\n")))
		if !strings.HasPrefix(name, "select") {
			mustHaveCommas(t, name+": text", text)
		}
	}
	check("advise", exitOK, slices.Concat([]string{"advise", all, "--method", "lcmd-tp:0.5*linear+0.5*rbf", "--rounds",
		"2", "--repeats", "3"}, named)...)
	check("audit", exitOK, slices.Concat([]string{"audit", all}, named)...)
	check("select", exitOK, slices.Concat([]string{"select", some, "-n", "10", "--out", at("batch.csv")}, named)...)
	store := at("campaign.db")
	must(t, exitOK, slices.Concat([]string{"campaign", "new", store, some, "--random-start"}, named)...)
	for range 2 {
		must(t, exitOK, "campaign", "ask", store, "-n", "12", "--audit", "1/3", "--out", at("ask.csv"), "-q")
		must(t, exitOK, "campaign", "tell", store, save("told.csv", toldOf(t, at("ask.csv"), points)), "-q")
	}
	check("status", exitGoOn, "campaign", "status", store, "--stop", "rmse<0.001")
}

// toldOf has the labels of a batch, from a table with points, in a file with commas.
func toldOf(t *testing.T, batch, points string) string {
	t.Helper()
	asked, err := os.ReadFile(batch)
	if err != nil {
		t.Fatal(err)
	}
	text := "id;y\n"
	for _, row := range readCSV(t, points) {
		if strings.Contains(string(asked), row["id"]+";") {
			text += row["id"] + ";" + withComma.Replace(row["y"]) + "\n"
		}
	}
	return text
}

var (
	pointed = regexp.MustCompile(`\d\.(\d{1,2}|\d{4,})\b`)
	comma   = regexp.MustCompile(`\d,\d`)
	exempt  = strings.NewReplacer("0.5*", "", "rmse<0.001", "", nextbatch.Version, "")
)

func mustHaveCommas(t *testing.T, name, text string) {
	t.Helper()
	text = exempt.Replace(text)
	if found := pointed.FindAllStringIndex(text, 8); found != nil || !comma.MatchString(text) {
		for _, at := range found {
			t.Errorf("%s: …%s…", name, strings.Join(strings.Fields(text[max(0, at[0]-200):min(len(text), at[1]+60)]), " "))
		}
		t.Errorf("%s: %d decimal points; commas: %v", name, len(found), comma.MatchString(text))
	}
}
