package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestMustBudgetIsDecimal: three times 0.1 is 0.3, though not in binary.
func TestMustBudgetIsDecimal(t *testing.T) {
	text := strings.ReplaceAll(sampleText(func(i int) bool { return i%3 == 0 }), ",hours", ",hours,fee")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines[1:] {
		at := strings.LastIndexByte(line, ',')
		lines[i+1] = line[:at] + ",0.1" + line[at:]
	}
	path := write(t, "fees.csv", strings.Join(lines, "\n"))
	args := []string{path, "--target", "y", "--id", "id", "-n", "3", "--cost", "fee", "--must",
		"r001,r002,r004", "--budget"}
	if r := selectJSON(t, append(args, "0.3")...); len(r.Indices) != 3 {
		t.Errorf("%+v", r)
	}
	_, log := must(t, exitUsage, slices.Concat([]string{"select"}, args, []string{"0.29999999"}, quick)...)
	if want := `with row "r004" the rows cost 0.3, but --budget is 0.29999999`; !strings.Contains(log, want) {
		t.Error(log)
	}
}

// TestMustSaysWhy: a row that cannot be in the batch is named as the user knows
// it, with the reason and the flags.
func TestMustSaysWhy(t *testing.T) {
	path := sample(t)
	gap := write(t, "gap.csv", strings.Replace(sampleText(func(i int) bool { return i%3 == 0 }), "green", "", 1))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitData, `row "r003" is not a candidate, because it has a label in column "y"`,
			[]string{path, "--id", "id", "--must", "r003"}},
		{exitData, `row "3" is not a candidate, because it has a label`, []string{path, "--must", "3"}},
		{exitData, `row "r001" is not a candidate, because it lacks an input`,
			[]string{gap, "--id", "id", "--must", "r001", "--missing", "drop"}},
		{exitData, `there is no candidate "r999" in column "id"`, []string{path, "--id", "id", "--must", "r999"}},
		{exitData, `there is no row "r001"; without --id`, []string{path, "--must", "r001"}},
		{exitUsage, `--must: with row "r002" the rows cost 5, but --budget is 4`,
			[]string{path, "--id", "id", "--must", "r001,r002", "--cost", "hours", "--budget", "4"}},
		{exitUsage, `--must: row "r011" is number 2 of its group in column "site", but --per-group is 1`,
			[]string{path, "--id", "id", "--must", "r001,r011", "--group", "site", "--per-group", "1"}},
	} {
		_, log := must(t, c.code, slices.Concat([]string{"select", "--target", "y", "-n", "4"}, c.args, quick)...)
		if !strings.Contains(log, c.want) {
			t.Errorf("%q: %s", c.args, log)
		}
	}
}

// TestBudgetSuggestsCheapRows: a batch that the budget cuts short says how more rows fit into it.
func TestBudgetSuggestsCheapRows(t *testing.T) {
	path := sample(t)
	args := slices.Concat([]string{"select", path, "--target", "y", "-n", "12", "--cost", "hours", "--budget", "9"}, quick)
	const suggestion = "the remaining budget covers no further candidate; --cost-aware prefers cheap rows"
	if _, log := must(t, exitPartial, args...); !strings.Contains(log, suggestion) {
		t.Error(log)
	}
	for _, other := range [][]string{{"--cost-aware"}, {"--method", "random"}, {"--budget", "0.001"}} {
		if _, log := must(t, exitPartial, append(args, other...)...); strings.Contains(log, "--cost-aware") {
			t.Errorf("%q: %s", other, log)
		}
	}
}
