package cli

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestFaultsOfSettings: a new campaign and a change of settings name the flag that is wrong, once.
func TestFaultsOfSettings(t *testing.T) {
	t.Parallel()
	table, store := sample(t), filepath.Join(t.TempDir(), "c.db")
	create := []string{"campaign", "new", store, table, "--target", "y", "--id", "id", "--learner", "gp"}
	change := []string{"campaign", "settings", store}
	must(t, exitOK, create...)
	create[2] += "2"
	for _, c := range []struct {
		flags   []string
		says    string
		newOnly bool
	}{
		{[]string{"--keep", "zzz"}, `--keep: the rows have no column "zzz"`, false},
		{[]string{"--plate", "2"}, `--plate "2": write rows x columns, as in 8x12`, false},
		{[]string{"--controls", "A1"}, "--controls needs --plate, as in 8x12", false},
		{[]string{"--group", "site", "--per-group", "2", "--min-per-group", "3"},
			"--min-per-group 3 and --per-group 2 cannot both hold", false},
	} {
		for _, args := range [][]string{create, change} {
			if c.newOnly && args[1] != "new" {
				continue
			}
			if _, log := must(t, exitUsage, slices.Concat(args, c.flags)...); log != "nextbatch: "+c.says+"\n" {
				t.Errorf("%s %q: %q", args[1], c.flags, log)
			}
		}
	}
}
