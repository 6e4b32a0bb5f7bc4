package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	case command == "campaign new":
		return "/v1/campaigns" + columns + "&learner=trees&name=" + strings.TrimSuffix(args[2], ".db"), args[3]
	case command == "campaign add":
		return "/v1/campaigns/" + strings.TrimSuffix(args[2], ".db") + "/rows", args[3]
	case args[0] == "select" && !strings.HasPrefix(args[1], "--") && args[len(args)-1] == "--dry-run":
		return "/v1/previews" + columns, args[1]
	}
	return "", ""
}
