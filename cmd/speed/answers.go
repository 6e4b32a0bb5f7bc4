package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
)

// Sizes of what people wait for.
const (
	answerRepeats = 11
	smallTable    = 5_000
	largeTable    = 100_000
	serviceRows   = 1_000_000
	manyEvents    = 10_000
)

// answers prints how long the program lets people wait: the medians of repeated runs, in milliseconds.
func answers(ctx context.Context, out io.Writer, program string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "nextbatch-answers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	w := waiting{ctx: ctx, out: out, program: program, folder: folder}
	fmt.Fprintf(out, "%-44s %10s %10s %10s\n", "milliseconds, median", "first line", "all", "processor")
	w.command("--help", "--help")
	for _, rows := range []int{smallTable, largeTable} {
		w.table("table.csv", rows, 300)
		dryRun := []string{"select", "table.csv", "--target", "y", "--id", "name", "-n", "32", "--dry-run"}
		w.command(fmt.Sprintf("select --dry-run, %d rows", rows), dryRun...)
		w.command(fmt.Sprintf("the same without a model, %d rows", rows), append(dryRun, "--method", "random")...)
	}
	w.campaign()
	w.service()
	return w.err
}

// waiting measures answers of a program in a folder, until the first error.
type waiting struct {
	ctx             context.Context
	out             io.Writer
	program, folder string
	err             error
}

func (w *waiting) path(name string) string { return filepath.Join(w.folder, name) }

// table writes a table of ten numbers and a word per row, of which the first rows are labelled.
func (w *waiting) table(name string, rows, labelled int) {
	if w.err != nil {
		return
	}
	var b bytes.Buffer
	b.WriteString("name,x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,material,y\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		fmt.Fprintf(&b, "r%d", i)
		first := rng.NormFloat64()
		fmt.Fprintf(&b, ",%.4f", first)
		for range 9 {
			fmt.Fprintf(&b, ",%.4f", rng.NormFloat64())
		}
		fmt.Fprintf(&b, ",%s,", []string{"steel", "brass", "oak"}[rng.IntN(3)])
		if i < labelled {
			fmt.Fprintf(&b, "%.4f", first*first)
		}
		b.WriteByte('\n')
	}
	w.err = os.WriteFile(w.path(name), b.Bytes(), 0o600)
}

// wait is how long one answer took, in milliseconds: until its first line, until its end, and of processors. The last
// does not depend on what else the machine does; it is 0 where it is not known.
type wait struct{ first, all, processor float64 }

// run runs the program once.
func (w *waiting) run(args ...string) wait {
	if w.err != nil {
		return wait{}
	}
	c := exec.CommandContext(w.ctx, w.program, args...)
	var log bytes.Buffer
	c.Dir, c.Stderr = w.folder, &log
	stdout, err := c.StdoutPipe()
	if err != nil {
		w.err = err
		return wait{}
	}
	begin := time.Now()
	since := func() float64 { return milliseconds(time.Since(begin)) }
	if w.err = c.Start(); w.err != nil {
		return wait{}
	}
	lines := bufio.NewReader(stdout)
	_, _ = lines.ReadString('\n')
	first := since()
	_, _ = io.Copy(io.Discard, lines)
	if err := c.Wait(); err != nil {
		w.err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, &log)
	}
	return wait{first, since(), milliseconds(c.ProcessState.UserTime() + c.ProcessState.SystemTime())}
}

func milliseconds(d time.Duration) float64 { return 1000 * d.Seconds() }

// command measures a command.
func (w *waiting) command(what string, args ...string) {
	w.medians(what, func() wait { return w.run(args...) })
}

func (w *waiting) medians(what string, measure func() wait) {
	var list [3][]float64
	for range answerRepeats {
		one := measure()
		for i, v := range []float64{one.first, one.all, one.processor} {
			list[i] = append(list[i], v)
		}
	}
	if w.err != nil {
		return
	}
	fmt.Fprintf(w.out, "%-44s", what)
	for _, values := range list {
		slices.Sort(values)
		if median := values[answerRepeats/2]; median > 0 {
			fmt.Fprintf(w.out, " %10.0f", median)
		}
	}
	fmt.Fprintln(w.out)
}

// campaign measures the status of a campaign with many events.
func (w *waiting) campaign() {
	w.table("rows.csv", manyEvents+100, 0)
	w.run("campaign", "new", "c.db", "rows.csv", "--target", "y", "--id", "name", "--quiet")
	if w.err == nil {
		w.err = tellOneByOne(w.ctx, w.path("c.db"), "rows", manyEvents)
	}
	w.command(fmt.Sprintf("campaign status, %d events", manyEvents), "campaign", "status", "c.db")
}

func tellOneByOne(ctx context.Context, path, name string, labels int) error {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer store.Close()
	c, err := campaign.Open(ctx, store, name)
	if err != nil {
		return err
	}
	for i := range labels {
		entry := campaign.Entry{ID: fmt.Sprintf("r%d", i), Values: []float64{float64(i % 7)}}
		if _, err := c.Tell(ctx, campaign.By{Person: "speed"}, campaign.Tell{Entries: []campaign.Entry{entry},
			Accept: true}); err != nil {
			return err
		}
	}
	return nil
}

// service measures what a browser requests for the first view of a campaign, one request after another.
func (w *waiting) service() {
	w.table("million.csv", serviceRows, 300)
	w.run("campaign", "new", "million.db", "million.csv", "--target", "y", "--id", "name", "--quiet")
	if w.err != nil {
		return
	}
	c := exec.CommandContext(w.ctx, w.program, "serve", "million.db", "--listen", "127.0.0.1:0", "--quiet")
	c.Dir = w.folder
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		w.err = err
		return
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if base, token, found := strings.Cut(lines.Text(), "/#token="); found {
			go io.Copy(io.Discard, log)
			w.page(base[strings.Index(base, "http"):], token)
			return
		}
	}
	w.err = fmt.Errorf("the service did not start")
}

var linked = regexp.MustCompile(`(?:src|href)="\.?(/[^"]+)"`)

// page measures the page with its files, and what the views ask the service for.
func (w *waiting) page(base, token string) {
	files := []string{"/"}
	for _, found := range linked.FindAllSubmatch(w.get(base, token, "/"), -1) {
		files = append(files, string(found[1]))
	}
	const of = "/v1/campaigns/million"
	for what, paths := range map[string][]string{
		"the page and its files":  files,
		"view Overview":           {"/v1/campaigns", of, of + "/standing", of + "/people", of + "/jobs"},
		"view Rows, first screen": {of, of + "/rows?offset=0&limit=100"},
	} {
		w.medians(fmt.Sprintf("%s, %d rows", what, serviceRows), func() (one wait) {
			begin := time.Now()
			for i, path := range paths {
				w.get(base, token, path)
				if one.all = milliseconds(time.Since(begin)); i == 0 {
					one.first = one.all
				}
			}
			return one
		})
	}
}

func (w *waiting) get(base, token, path string) []byte {
	if w.err != nil {
		return nil
	}
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, base+path, nil)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+token)
		var a *http.Response
		if a, err = http.DefaultClient.Do(r); err == nil {
			defer a.Body.Close()
			body, failed := io.ReadAll(a.Body)
			if err = failed; a.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s: %s", path, a.Status, body)
			}
			if err == nil {
				return body
			}
		}
	}
	w.err = err
	return nil
}
