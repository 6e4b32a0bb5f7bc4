package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
)

// TestSelectKnownIDs: a candidate whose id has a label in the other table is not
// picked again, and the warning names both rows.
func TestSelectKnownIDs(t *testing.T) {
	train := write(t, "labelled.csv", "id,a,y\np,1,2\nq,2,3\nr,3,\ns,,9\nq,2,4\n")
	pool := write(t, "candidates.csv", "id,a\nn,5\nq,2\nr,3\ns,4\nm,7\n")
	args := slices.Concat([]string{"select", "--train", train, "--pool", pool, "--target", "y", "--id", "id"}, quick)
	out, log := must(t, exitPartial, append(args, "-n", "5", "--json")...)
	for _, want := range []string{
		`candidates.csv: 2 candidates already have a label in`,
		`and cannot be picked: "q" (line 3, there line 3), "s" (line 5, there line 5)`,
		`labelled.csv: 1 id has several labels, in 2 rows; each such id counts as one row with the mean of its labels`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
	var r nextbatch.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(r.IDs); !slices.Equal(r.IDs, []string{"m", "n", "r"}) {
		t.Errorf("picked %v", r.IDs)
	}
	_, log = must(t, exitData, append(args, "-n", "1", "--must", "q")...)
	if !strings.Contains(log, `row "q" already has a label in`) {
		t.Error(log)
	}
}

func TestSelectWarnsOfNames(t *testing.T) {
	pool := write(t, "candidates.csv", "id,a,y\nn,5,1\nq,2,\nr,3,7\n")
	train := write(t, "labelled.csv", "a,y\n1,2\n2,3\n3,4\n")
	_,
		log := must(t, exitOK, slices.Concat([]string{"select", "--train", train, "--pool", pool, "--target", "y", "--id",
		"id", "-n", "1"}, quick)...)
	for _, want := range []string{`labelled.csv has no column "id"`,
		`candidates.csv: 2 candidates have a label in column "y"`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
}

// TestSelectRefusesIDs: the message has file and row.
func TestSelectRefusesIDs(t *testing.T) {
	train := write(t, "labelled.csv", "id,a,y\np,1,2\nq,2,3\n")
	for text, want := range map[string]string{
		"id,a\nn,5\nm,2\nn,3\n": `candidates.csv: column "id", line 4: line 2 has the same id, "n"`,
		"id,a\nn,5\n,2\n":       `candidates.csv: column "id", line 3: the id is missing`,
	} {
		pool := write(t, "candidates.csv", text)
		_,
			log := must(t, exitData, slices.Concat([]string{"select", "--train", train, "--pool", pool, "--target", "y", "--id",
			"id", "-n", "1"}, quick)...)
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
}
