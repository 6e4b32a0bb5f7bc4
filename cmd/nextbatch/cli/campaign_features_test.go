package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// moreRows writes a table of new rows for a campaign of the sample.
func moreRows(t *testing.T, rows int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,x0,x1,colour,site,hours,y\n")
	for i := range rows {
		fmt.Fprintf(&b, "n%03d,%v,%v,red,s1,2,\n", i, math.Sin(0.5+float64(i)), math.Cos(0.5+float64(3*i)))
	}
	return write(t, "more.csv", b.String())
}

// askedCampaign is a campaign of the sample that was asked once, with the features of 120 rows.
func askedCampaign(t *testing.T, settings ...string) (store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, sample(t), "--learner", "network", "--target", "y", "--id", "id", "-q")
	must(t, exitOK, append([]string{"campaign", "settings", store, "--epochs", "2", "--hidden", "16",
		"-q"}, settings...)...)
	must(t, exitOK, "campaign", "ask", store, "-n", "6", "-q")
	return store
}

// grownCampaign is an asked campaign with 10 more rows.
func grownCampaign(t *testing.T) (store string) {
	t.Helper()
	store = askedCampaign(t)
	must(t, exitOK, "campaign", "add", store, moreRows(t, 10), "-q")
	return store
}

// copied copies a campaign without its features.
func copied(t *testing.T, store string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "c.db")
	for _, ending := range []string{"", "-wal"} {
		raw, err := os.ReadFile(store + ending)
		if errors.Is(err, fs.ErrNotExist) && ending != "" {
			continue
		}
		if err := errors.Join(err, os.WriteFile(to+ending, raw, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// askMore asks and returns the batch, and what is said about it.
func askMore(t *testing.T, store string, more ...string) (r wire.Asked, log string) {
	t.Helper()
	out, log := must(t, exitOK, append([]string{"campaign", "ask", store, "-n", "6", "--json"}, more...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return r, log
}

// wantKept requires that the features of kept rows come from earlier asks and that those of
// computed rows were computed.
func wantKept(t *testing.T, log string, kept, computed int) {
	t.Helper()
	want := fmt.Sprintf("the features of %d rows were kept from an earlier ask, those of %d were computed\n", kept,
		computed)
	if kept == 0 {
		want = ""
	}
	if !strings.Contains(log, want) || kept == 0 && strings.Contains(log, "were kept from an earlier ask, those") {
		t.Errorf("%d rows kept, %d computed: %s", kept, computed, log)
	}
}

// wantBatch requires the picks of another batch.
func wantBatch(t *testing.T, got, want wire.Asked) {
	t.Helper()
	if len(got.IDs) != 6 || !reflect.DeepEqual(got.IDs, want.IDs) || !reflect.DeepEqual(got.Scores, want.Scores) ||
		!reflect.DeepEqual(got.Reasons, want.Reasons) {
		t.Errorf("the batch is %v, %v\nfrom scratch %v, %v", got.IDs, got.Scores, want.IDs, want.Scores)
	}
}

// TestAskKeepsFeatures: after rows were added, the next ask computes their features alone, and
// its batch is the one that a copy of the campaign without the file gives.
func TestAskKeepsFeatures(t *testing.T) {
	store := grownCampaign(t)
	scratch := copied(t, store)
	got, log := askMore(t, store)
	wantKept(t, log, 120, 10)
	want, log := askMore(t, scratch)
	wantKept(t, log, 0, 130)
	wantBatch(t, got, want)
	before, err := os.ReadFile(store + keptEnding)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(store+keptEnding, long, long); err != nil {
		t.Fatal(err)
	}
	_, log = askMore(t, store)
	wantKept(t, log, 130, 0)
	if info, err := os.Stat(store + keptEnding); err != nil || !info.ModTime().Equal(long) ||
		info.Size() != int64(len(before)) {
		t.Errorf("nothing was new, but the file was written again: %v, %v", info, err)
	}
	must(t, exitOK, "campaign", "tell", store, write(t, "l.csv", "id,y\nr001,1\n"), "-q")
	_, log = askMore(t, store)
	wantKept(t, log, 0, 130) // of another network
	_, log = askMore(t, store)
	wantKept(t, log, 130, 0)
}

// TestAskWithUselessFile: a file of features that is damaged or of others changes no batch. It is
// replaced, unless it is something else.
func TestAskWithUselessFile(t *testing.T) {
	store := grownCampaign(t)
	good, err := os.ReadFile(store + keptEnding)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := askMore(t, copied(t, store))
	other, err := os.ReadFile(askedCampaign(t, "--seed", "9") + keptEnding)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte{}, good...)
	damaged[len(damaged)-1000] ^= 1
	for what, c := range map[string]struct {
		file     []byte
		replaced bool
	}{
		"damaged": {damaged, true}, "truncated": {good[:len(good)/2], true}, "empty": {nil, true},
		"of another network": {other, true},
		"a list":             {[]byte("x0\nx1\n"), false},
	} {
		t.Run(what, func(t *testing.T) {
			store := copied(t, store)
			if err := os.WriteFile(store+keptEnding, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			got, log := askMore(t, store)
			wantKept(t, log, 0, 130)
			wantBatch(t, got, want)
			if note := strings.Contains(log, "the features are not kept for the next ask: "); note == c.replaced {
				t.Errorf("a note: %v: %s", note, log)
			}
			_, log = askMore(t, store)
			if c.replaced {
				wantKept(t, log, 130, 0)
				return
			}
			if now, err := os.ReadFile(store + keptEnding); err != nil || string(now) != string(c.file) {
				t.Errorf("the file is %q, %v", now, err)
			}
		})
	}
}

// TestAskWithoutPlaceForFeatures: a folder in the place of the file is a note, and what a killed
// ask has left is removed.
func TestAskWithoutPlaceForFeatures(t *testing.T) {
	store := grownCampaign(t)
	want, _ := askMore(t, copied(t, store))
	blocked := copied(t, store)
	if err := os.Mkdir(blocked+keptEnding, 0o755); err != nil {
		t.Fatal(err)
	}
	got, log := askMore(t, blocked)
	if wantBatch(t, got, want); !strings.Contains(log, "the features are not kept for the next ask: ") {
		t.Error(log)
	}
	left := filepath.Join(filepath.Dir(store), "."+filepath.Base(store)+keptEnding+".123.tmp")
	long := time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(left, []byte("nextbatch features 1\n"), 0o600),
		os.Chtimes(left, long, long)); err != nil {
		t.Fatal(err)
	}
	got, log = askMore(t, store)
	wantBatch(t, got, want)
	wantKept(t, log, 120, 10)
	if _, err := os.Stat(left); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is still there: %v", err)
	}
}

// TestAskKeepsNothing: no file is written where no features are kept, on a device, and in too
// little memory.
func TestAskKeepsNothing(t *testing.T) {
	absent := func(what, store string) {
		t.Helper()
		if _, err := os.Stat(store + keptEnding); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", what, err)
		}
	}
	absent("inputs", askedCampaign(t, "--method", "lcmd-tp:linear"))
	absent("random", askedCampaign(t, "--method", "random"))
	if storeFile("postgres://ada@host/lab") != "" || storeFile("c.db") != "c.db" {
		t.Error("a database is not a file")
	}
	store := copied(t, grownCampaign(t))
	most := 0
	for ; most < 64; most++ { // until the ask itself has enough
		code, _, _ := call("campaign", "ask", store, "-n", "6", "-q", "--max-memory",
			fmt.Sprintf("%.2fMiB", 32+0.25*float64(most)))
		if code == exitOK {
			break
		}
	}
	if absent("little memory", store); most == 0 || most == 64 {
		t.Errorf("attempt %d", most)
	}
	install(t, &devicetest.Fake{})
	askMore(t, store, "--device", "fake:0")
	absent("a device", store)
	askMore(t, store, "--device", "cpu")
	if _, err := os.Stat(store + keptEnding); err != nil {
		t.Error(err)
	}
}

// TestFeaturesArePrivate: who may not read the campaign may not read its features.
func TestFeaturesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permissions of Unix")
	}
	for _, mode := range []fs.FileMode{0o600, 0o640} {
		store := copied(t, grownCampaign(t))
		if err := os.Chmod(store, mode); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a new file, and one that was readable before
			askMore(t, store)
			if info, err := os.Stat(store + keptEnding); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%v, %v", info, err)
			}
			if err := os.Chmod(store+keptEnding, 0o644); err != nil {
				t.Fatal(err)
			}
			must(t, exitOK, "campaign", "tell", store, write(t, "l.csv", "id,y\nr001,1\n"), "-q")
		}
	}
}

// TestCampaignsKeepTheirOwnFeatures asks two campaigns of one store in turn.
func TestCampaignsKeepTheirOwnFeatures(t *testing.T) {
	store := filepath.Join(t.TempDir(), "c.db")
	for _, name := range []string{"one", "a/b"} {
		must(t, exitOK, "campaign", "new", store, sample(t), "--learner", "network", "--target", "y", "--id", "id",
			"--campaign", name, "-q")
		must(t, exitOK, "campaign", "settings", store, "--epochs", "2", "--hidden", "16", "--campaign", name, "-q")
		must(t, exitOK, "campaign", "ask", store, "-n", "6", "--campaign", name, "-q")
	}
	for _, name := range []string{"one", "a/b"} {
		_, log := askMore(t, store, "--campaign", name)
		wantKept(t, log, 120, 0)
	}
}

// TestAsksAtTheSameTime: asks beside each other hand out different rows and leave a good file.
func TestAsksAtTheSameTime(t *testing.T) {
	store := copied(t, grownCampaign(t))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if code, _, log := call("campaign", "ask", store, "-n", "6"); code != exitOK {
				t.Errorf("exit code %d: %s", code, log)
			}
		})
	}
	group.Wait()
	out, _ := must(t, exitOK, "campaign", "status", store, "--json")
	if !strings.Contains(out, `"asked":24,`) { // in four batches of six
		t.Error(out)
	}
	_, log := askMore(t, store)
	wantKept(t, log, 130, 0)
}

// TestProgramText: programs that compute other bits have other texts.
func TestProgramText(t *testing.T) {
	text := programText()
	for _, part := range []string{simd.For[float32]().Name(), runtime.GOARCH, runtime.Version(), thisBuild().Version} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in %q", part, text)
		}
	}
}
