package cli

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/spec"
)

// labelledSample writes the sample table with labels in more rows.
func labelledSample(t *testing.T, labelled func(row int) bool) string {
	t.Helper()
	return write(t, "labelled.csv", sampleText(labelled))
}

func TestAdvise(t *testing.T) {
	path := labelledSample(t, func(int) bool { return true })
	args := slices.Concat([]string{"advise", path, "--target", "y", "--id", "id", "--method", "lcmd-tp:linear", "--method",
		"bait", "--rounds", "2", "--repeats", "3"}, short)
	out, _ := must(t, exitOK, append(args, "--json")...)
	var r report.AdviceResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if r.Labelled != 120 || r.Pool != 0 || len(r.Methods) != 2 || r.Methods[0].Spec != "lcmd-tp:linear" ||
		r.Replay == nil || len(r.Replay.LogRMSE["random"]) != 3 {
		t.Errorf("%+v", r)
	}
	if r.Verdict == "" || r.Answer == "" || r.Because == "" || r.Spec == "" || !(r.Ratio > 1) ||
		r.Expected == 0 || r.Seconds <= 0 {
		t.Errorf("%+v", r)
	}
	if m := r.Methods[0]; !(0 < m.ErrorRatio.Low && m.ErrorRatio.Low < m.ErrorRatio.Value &&
		m.ErrorRatio.Value < m.ErrorRatio.High) || r.Replay.Level != 0.9 {
		t.Errorf("%+v", r)
	}
	page := filepath.Join(t.TempDir(), "advice.html")
	text, _ := must(t, exitOK, append(args, "--report", page)...)
	if raw, err := os.ReadFile(page); err != nil || !strings.Contains(string(raw), "Replay on the labelled rows") ||
		!strings.Contains(html.UnescapeString(string(raw)), report.Sentence(r.Answer)) {
		t.Errorf("%.200s, %v", raw, err)
	}
	for _, want := range []string{report.Sentence(r.Answer), report.Sentence(r.Because), "RMSE/MAE",
		"Compared with random", "90 % interval", r.Spec} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) { // lines are wrapped
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

func TestAdviseFewLabels(t *testing.T) {
	out, _ := must(t, exitOK, slices.Concat([]string{"advise", sample(t), "--target", "y", "--id", "id"}, short)...)
	if !strings.HasPrefix(out, "Let nextbatch choose the next rows (method ") ||
		!strings.Contains(out, "\n40 rows have a label") || !strings.Contains(out,
		"10 rows: a quarter of the labelled rows") {
		t.Error(out)
	}
}

func TestAdviseRefuses(t *testing.T) {
	path := sample(t)
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{path}, "--target"},
		{exitUsage, []string{path, "--target", "y", "--repeats", "2"}, "--repeats"},
		{exitUsage, []string{path, "--target", "y", "--method", "random"}, "random"},
		{exitUsage, []string{path, "--target", "y", "--method", "bait", "--method", "bait"}, "--method"},
		{exitUsage, []string{path, "--target", "y", "--method", "lcdm"}, "lcdm"},
		{exitUsage, []string{path, "--target", "y", "--epochs", "0"}, "--epochs"},
		{exitUsage, []string{path, "--target", "y", "--report", "page.txt"}, "--report"},
		{exitData, []string{path, "--target", "z"}, "z"},
		{exitData, []string{labelledSample(t, func(int) bool { return false }), "--target", "y"}, "no row has a label"},
	} {
		if _, log := must(t, c.code, append([]string{"advise"}, c.args...)...); !strings.Contains(log, c.want) {
			t.Errorf("%q: %s", c.args, log)
		}
	}
}

// TestAdviseLearner: without --learner, the answer names the blend of all labels, for each target.
func TestAdviseLearner(t *testing.T) {
	path := labelledSample(t, func(int) bool { return true })
	page := filepath.Join(t.TempDir(), "advice.html")
	args := slices.Concat([]string{"advise", path, "--target", "y,hours", "--id", "id", "--rounds", "1", "--repeats", "3",
		"--report", page}, short)
	out, _ := must(t, exitOK, append(args, "--json")...)
	var r report.AdviceResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if len(r.Targets) != 2 || r.Targets[1].Target != "hours" || r.Targets[0].Learner != r.Learner ||
		len(r.Candidates) != 6 || r.Targets[0].Candidates[0].Error != r.Candidates[0].Error {
		t.Errorf("%+v", r)
	}
	if len(r.Methods) != 1 || r.Methods[0].Spec != spec.Default || r.Replay.Valid != 0 {
		t.Errorf("%+v", r)
	}
	raw, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(raw), "learner hours") ||
		!strings.Contains(string(raw), "RMSE out of fold") {
		t.Errorf("%.200s, %v", raw, err)
	}
	few, _ := must(t, exitOK, "advise", sample(t), "--target", "y", "--id", "id", "--learner", "gp", "-q")
	if !strings.Contains(few, "(RMSE out of fold: gp") || !strings.Contains(few, nextbatch.ProcessSpec) {
		t.Error(few)
	}
}

// TestAuditLearner: the audit names its blend, as JSON and on the page, and a network alone has none.
func TestAuditLearner(t *testing.T) {
	page := filepath.Join(t.TempDir(), "audit.html")
	args := slices.Concat([]string{"audit", labelledSample(t, func(int) bool { return true }), "--target", "y", "--id",
		"id", "--repeats", "1", "--report", page, "--json"}, short)
	var blend, alone report.AuditResult
	for to, learner := range map[*report.AuditResult]string{&blend: "auto", &alone: "network"} {
		out, _ := must(t, exitOK, append(args, "--learner", learner)...)
		if err := json.Unmarshal([]byte(out), to); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		raw, err := os.ReadFile(page)
		if err != nil || strings.Contains(string(raw), "RMSE out of fold") != (learner == "auto") {
			t.Errorf("%s: %.200s, %v", learner, raw, err)
		}
	}
	if !strings.Contains(blend.Learner, "RMSE out of fold") || len(blend.Candidates) != 6 || blend.Labels != 120 {
		t.Errorf("%+v", blend)
	}
	if alone.Learner != "" || alone.Candidates != nil || alone.Labels != 120 {
		t.Errorf("%+v", alone)
	}
}
