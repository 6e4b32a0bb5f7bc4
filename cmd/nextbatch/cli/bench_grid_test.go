package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadExperiment(t *testing.T) {
	good := `sets = ["fried"]
activations = ["relu", "silu"]
specs = ["random", "default", "NN_lcmd-tp_grad_rp-512"]
splits = [3]
schedules = [{rounds = 2, batch = 5}]
[settings]
hidden = [7]
`
	inline := "settings = {seed = 0, start = 256, valid = 1024, hidden = [7], epochs = 256}\n" +
		strings.Split(good, "[settings]")[0]
	for text, want := range map[string]string{
		good:                             "",
		inline:                           "",
		"\nsprits = [1]":                 `line 2: there is no field "sprits"`,
		"splits = [0, x]":                "line 1",
		good + "epochs = 'many'":         "line 8, column 10: settings.epochs has a value of the wrong kind",
		"compat = 5":                     "line 1, column 10: compat has a value of the wrong kind",
		good + "start = 20\nsigma = 0.2": `line 9: there is no field "settings.sigma"`,
	} {
		path := filepath.Join(t.TempDir(), "grid.toml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		e, err := readExperiment(path)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: error %v, want %s", text, err, want)
			}
			continue
		}
		runs, err := e.Runs()
		if err != nil || len(runs) != 6 || e.Settings.Hidden[0] != 7 {
			t.Fatalf("%+v, %v", runs, err)
		}
		// Without compat, and with it, which published ids imply.
		if runs[1].Spec != runs[2].Spec || runs[1].Compat || !runs[2].Compat {
			t.Errorf("%v and %v", runs[1], runs[2])
		}
	}
}
