package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// fullDisk is an output that can be opened, but not written.
func fullDisk(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "full.csv")
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// cutOff runs a selection that cannot write its batch, and keeps the first picks of its
// checkpoint. It returns the flags and the file.
func cutOff(t *testing.T, picks int, args ...string) (flags []string, kept string) {
	t.Helper()
	kept = filepath.Join(t.TempDir(), "kept.jsonl")
	flags = append(args[:len(args):len(args)], "--checkpoint", kept)
	must(t, exitFailure, append(flags, "--out", fullDisk(t))...)
	lines := bytes.SplitAfter(fileText(t, kept), []byte("\n"))
	if len(lines) < picks+2 {
		t.Fatalf("the checkpoint has %d lines", len(lines))
	}
	writeFile(t, kept, bytes.Join(lines[:picks+1], nil))
	return flags, kept
}

func fileText(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// twice repeats the last column of a table, under a name that ends in 2.
func twice(table string) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		label := line[strings.LastIndexByte(line, ',')+1:]
		if b.Len() == 0 {
			label += "2"
		}
		b.WriteString(line + "," + label + "\n")
	}
	return b.String()
}

// TestCheckpointOfAnotherSelection: a checkpoint that other flags, files or instructions have
// written is refused, and kept.
func TestCheckpointOfAnotherSelection(t *testing.T) {
	table := write(t, "table.csv", twice(sampleText(func(i int) bool { return i%3 == 0 })))
	flags,
		kept := cutOff(t, 4, append([]string{"select", table, "--target", "y", "--id", "id", "-n", "8",
		"--exclude", "r001"}, quick...)...)
	before := fileText(t, kept)
	refused := func(want string, args ...string) {
		t.Helper()
		_, log := must(t, exitData, args...)
		for _, part := range []string{kept + " is not of this selection: " + want, "remove it to start from the beginning"} {
			if !strings.Contains(log, part) {
				t.Errorf("there is no %q in %s", part, log)
			}
		}
		if !bytes.Equal(before, fileText(t, kept)) {
			t.Errorf("%q: the checkpoint was changed", args)
		}
	}
	for name, more := range map[string][]string{
		"--epochs has": {"--epochs", "3"}, "--hidden has": {"--hidden", "8"}, "--activation has": {"--activation", "silu"},
		"--target has":  {"--target", "y2"},
		"--exclude has": {"--exclude", "r002"}, "--must has": {"--must", "r004"}, "--pending has": {"--pending", "r004"},
		"--ignore has":      {"--ignore", "site"},
		"--categorical has": {"--categorical", "hours"}, "--keep has": {"--keep", "x0"}, "--seed has": {"--seed", "1"},
		"--batch has":  {"-n", "9"},
		"--method has": {"--method", "maxdist-tp:ll"}, "--cost and --cost-aware have": {"--cost", "hours", "--cost-aware"},
		"--group and --per-group have": {"--group", "site", "--per-group", "2"},
	} {
		refused(name+" changed", append(flags, more...)...)
	}
	writeFile(t, kept, bytes.Replace(before, []byte(`"simd":"`), []byte(`"simd":"other-`), 1))
	before = fileText(t, kept)
	refused("the instruction set (NEXTBATCH_SIMD) has changed", flags...)
	before = []byte("id,y\nr001,3\n")
	writeFile(t, kept, before)
	refused("it is not a checkpoint of this program", flags...)
}

func TestCheckpointOfAnotherFile(t *testing.T) {
	table := sample(t)
	flags, _ := cutOff(t, 4, append([]string{"select", table, "--target", "y", "-n", "8"}, quick...)...)
	writeFile(t, table, append(fileText(t, table), "r120,0.5,0.5,red,s1,2,\n"...))
	if _, log := must(t, exitData, flags...); !strings.Contains(log, table+" has changed") {
		t.Error(log)
	}
	if _, log := must(t, exitUsage, "select", "-", "--target", "y", "-n", "8", "--checkpoint",
		"kept.jsonl"); !strings.Contains(log, "save it to a file first") {
		t.Error(log)
	}
}

// TestCheckpointResumes: a run that was cut off goes on to the batch of a run from start to
// end, with another output and another number of threads. The file is then gone.
func TestCheckpointResumes(t *testing.T) {
	table := sample(t)
	for _, method := range []string{"lcmd-tp:grad>sketch(32)", "maxdist-p:ll", "kmeanspp-tp:ll", "maxdet-p:ll>train",
		"bait-f-p:ll>train", "frankwolfe-p:ll>train", "random"} {
		args := append([]string{"select", table, "--target", "y", "-n", "8", "--method", method}, quick...)
		whole := filepath.Join(t.TempDir(), "whole.csv")
		must(t, exitOK, append(args, "--out", whole)...)
		flags, kept := cutOff(t, 4, args...)
		begun := fileText(t, kept)
		for name, text := range map[string][]byte{
			"four picks": begun, "a cut line": append(begun[:len(begun):len(begun)], `{"row":`...),
			"no picks": begun[:bytes.IndexByte(begun, '\n')+1], "half a first line": begun[:30],
			"a few letters": begun[:3], "nothing": {},
		} {
			writeFile(t, kept, text)
			out := filepath.Join(t.TempDir(), "out.csv")
			if _, log := must(t, exitOK, append(flags, "--out", out, "--threads",
				"1")...); strings.Contains(log, "is not complete") {
				t.Errorf("%s, %s: %s", method, name, log)
			}
			if !bytes.Equal(fileText(t, whole), fileText(t, out)) {
				t.Errorf("%s, %s: another batch", method, name)
			}
			if _, err := os.Stat(kept); err == nil {
				t.Errorf("%s, %s: the checkpoint of a batch that was written is still there", method, name)
			}
		}
	}
}

// TestCheckpointOfAMethodThatTakesBack: what could not be resumed is not begun.
func TestCheckpointOfAMethodThatTakesBack(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	for _, method := range []string{"bait-fb-p:ll>train", "bait"} {
		args := append([]string{"select", sample(t), "--target", "y", "-n", "8", "--method", method}, quick...)
		if _, log := must(t, exitUsage, append(args, "--checkpoint", kept)...); !strings.Contains(log,
			"--checkpoint: bait-fb takes rows back") {
			t.Error(log)
		}
		if _, err := os.Stat(kept); err == nil {
			t.Error("the checkpoint was begun")
		}
		must(t, exitOK, args...)
	}
}

// TestCheckpointOutlivesOutput: what was picked is kept until it has been written.
func TestCheckpointOutlivesOutput(t *testing.T) {
	flags, kept := cutOff(t, 7, append([]string{"select", sample(t), "--target", "y", "-n", "8"}, quick...)...)
	if _, choices := wholeLines(fileText(t, kept)[bytes.IndexByte(fileText(t, kept), '\n')+1:]); len(choices) != 7 {
		t.Errorf("%d picks are kept", len(choices))
	}
	must(t, exitOK, flags...)
}

// TestCheckpointOfPartialBatch: a batch that is smaller than requested is complete, too.
func TestCheckpointOfPartialBatch(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	must(t, exitPartial, "select", "--pool-features", npy(t, "p.npy", normalRows(5, 3)), "-n", "9",
		"-q", "--checkpoint", kept)
	if _, err := os.Stat(kept); err == nil {
		t.Error("the checkpoint is still there")
	}
}

// TestChangesNoPick lists the flags that a checkpoint does not depend on; each new flag of select is
// part of it unless it is added here.
func TestChangesNoPick(t *testing.T) {
	var free []string
	c := newSelect()
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if changesNoPick(f.Name, true) {
			free = append(free, f.Name)
		}
	})
	if want := "checkpoint device dry-run help json out quiet report temp-dir threads"; strings.Join(free, " ") != want {
		t.Errorf("%v, want %s", free, want)
	}
	if !changesNoPick("mpi", false) || changesNoPick("mpi", true) {
		t.Error("ranks leave embedding to the CPU, so --mpi changes picks if there is a device")
	}
}
