package cli

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nextbatch/nextbatch"
)

var writeReleased = flag.Bool("write-released", false, "write the files of this version for TestReleasedFiles")

// released holds a folder for each version that was released: files.zip, which that version wrote, and
// answers.txt, what it answered about them.
const released = "../../../testdata/released"

// TestReleasedFiles: the files of every released version are read, and give the answers that they gave then.
func TestReleasedFiles(t *testing.T) {
	number, unreleased := strings.CutSuffix(nextbatch.Version, "-dev")
	if *writeReleased {
		t.Run("write", func(t *testing.T) { writeCorpus(t, filepath.Join(released, number)) })
	}
	if _, err := os.Stat(filepath.Join(released, number)); err != nil && !unreleased {
		t.Errorf("no files of version %s are kept: %v", number, err)
	}
	versions, err := filepath.Glob(filepath.Join(released, "*", "answers.txt"))
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	for _, answers := range versions {
		archive, err := txtar.ParseFile(answers)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Abs(filepath.Join(filepath.Dir(answers), "files.zip"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(filepath.Dir(answers)), func(t *testing.T) {
			t.Chdir(t.TempDir())
			unzip(t, files)
			for _, answer := range archive.Files {
				if err := agree(string(answer.Data), answered(t, answer.Name)); err != nil {
					t.Errorf("%s: %v", answer.Name, err)
				}
			}
		})
	}
}

// answered runs a command and returns what versions promise of its answer: JSON, or a table. The rest is for people.
func answered(t *testing.T, command string) string {
	t.Helper()
	args := strings.Fields(command)
	out, _ := must(t, exitOK, args...)
	if at := slices.Index(args, "--out"); at >= 0 {
		return readText(t, args[at+1])
	}
	if strings.HasPrefix(out, "{") || strings.HasPrefix(out, "[") || slices.Contains(args, "predict") {
		return out
	}
	return ""
}

func unzip(t *testing.T, path string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(".", archive); err != nil {
		t.Fatal(err)
	}
}

// agree compares an answer with one of an earlier version: what was there must be there still. JSON may have new keys
// and tables new columns; numbers agree up to the rounding of other instruction sets; sentences are for people, and may
// change.
func agree(want, got string) error {
	if strings.HasPrefix(want, "{") || strings.HasPrefix(want, "[") {
		a, err1 := values(want)
		b, err2 := values(got)
		if err1 != nil || err2 != nil {
			return errors.Join(err1, err2)
		}
		return agreeJSON(a, b)
	}
	a, err1 := csv.NewReader(strings.NewReader(want)).ReadAll()
	b, err2 := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err1 != nil || err2 != nil || len(a) == 0 {
		return errors.Join(err1, err2)
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d lines, not %d", len(b), len(a))
	}
	for j, name := range a[0] {
		at := slices.Index(b[0], name)
		if at < 0 {
			return fmt.Errorf("column %q is gone", name)
		}
		for i := range a {
			if err := agreeJSON(cell(a[i][j]), cell(b[i][at])); err != nil {
				return fmt.Errorf("line %d, column %q: %w", i+1, name, err)
			}
		}
	}
	return nil
}

// values reads JSON values that follow one another.
func values(text string) (all []any, err error) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
}

func cell(text string) any {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	return text
}

func agreeJSON(want, got any) error {
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return fmt.Errorf("%v, not %v", got, want)
	}
	same := true
	switch want := want.(type) {
	case map[string]any:
		for key, v := range want {
			if key == "version" || key == "memory_forecast" { // of the program that answers
				continue
			}
			if err := agreeJSON(v, got.(map[string]any)[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		other := got.([]any)
		if len(want) != len(other) {
			return fmt.Errorf("%d elements, not %d", len(other), len(want))
		}
		for i := range want {
			if err := agreeJSON(want[i], other[i]); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
	case float64:
		same = math.Abs(want-got.(float64)) <= 1e-4*(1+math.Abs(want))
	case string:
		same = want == got || strings.Contains(want, " ")
	default:
		same = want == got
	}
	if !same {
		return fmt.Errorf("%v, not %v", got, want)
	}
	return nil
}
