package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// errorf is fmt.Errorf; its name is short because messages are long.
var errorf = fmt.Errorf

// progress reports on standard error how far a command is: bars on a terminal,
// lines elsewhere. It is safe for concurrent use.
type progress struct {
	log      io.Writer
	quiet    bool
	terminal bool
	warnings []string

	mu   sync.Mutex
	told map[string]*told // what was reported about each task
	open map[string]*bar  // bars of tasks in progress
	bars *mpb.Progress    // the part of the screen that shows them; nil if none is open
}

func newProgress(log io.Writer, quiet bool) *progress {
	p := &progress{log: log, quiet: quiet}
	if file, ok := log.(*os.File); ok {
		p.terminal = cwriter.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// say prints a line, unless quiet.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.line(fmt.Sprintf(format, args...))
	}
}

// warn prints warnings, even when quiet.
func (p *progress) warn(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range texts {
		p.warnings = append(p.warnings, text)
		p.line("warning: " + text)
	}
}

// report prints what happened to the rows of tables.
func (p *progress) report(rows *tables.Rows) {
	p.warn(rows.Warnings...)
	for _, note := range rows.Notes {
		p.say("%s", note)
	}
}

// reportOrigin prints the warnings and notes from reading a table.
func (p *progress) reportOrigin(path string, t *dataset.Table) {
	for _, w := range t.Origin().Warnings {
		p.warn(nameOf(path) + ": " + w)
	}
	for _, note := range t.Origin().Notes {
		p.say("%s: %s", nameOf(path), note)
	}
}

// line prints above the bars, if there are any.
func (p *progress) line(text string) {
	text = shown(text)
	if p.bars != nil {
		if _, err := fmt.Fprintln(p.bars, text); err == nil {
			return
		}
	}
	fmt.Fprintln(p.log, text)
}

// Without a terminal, each of a few steps gets a line, and many steps get four;
// tasks done within a second get none.
const (
	fewSteps  = 16
	fewerSaid = 4
	patience  = time.Second
)

type told struct {
	begin time.Time
	lines int
}

// step reports how many steps of a task are done. Concurrent tasks have
// different names.
func (p *progress) step(name string, done, of int, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quiet || of < 1:
	case p.terminal:
		p.draw(name, done, of, detail)
	default:
		p.tell(name, done, of, detail)
	}
}

func (p *progress) tell(name string, done, of int, detail string) {
	if p.told == nil {
		p.told = map[string]*told{}
	}
	t := p.told[name]
	if t == nil {
		t = &told{begin: time.Now()}
		p.told[name] = t
	}
	lines := of
	if of >= fewSteps {
		lines = fewerSaid
	}
	if reached := done * lines / of; reached > t.lines && time.Since(t.begin) >= patience {
		t.lines = reached
		p.line(fmt.Sprintf("%s: %d of %d%s", name, done, of, after(detail)))
	}
	if done >= of {
		delete(p.told, name)
	}
}

func after(detail string) string {
	if detail == "" {
		return ""
	}
	return ", " + detail
}

// bar is one task in progress.
type bar struct {
	*mpb.Bar
	detail atomic.Pointer[string]
}

const barWidth = 40

func (p *progress) draw(name string, done, of int, detail string) {
	if p.bars == nil {
		p.bars = mpb.New(mpb.WithOutput(p.log), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
		p.open = map[string]*bar{}
	}
	b := p.open[name]
	if b == nil {
		if b = p.newBar(name, of); b == nil {
			p.terminal = false // nobody is watching
			return
		}
	}
	text := shown(after(detail))
	b.detail.Store(&text)
	b.SetCurrent(int64(done))
	if done >= of {
		delete(p.open, name)
		if len(p.open) == 0 {
			p.close()
		}
	}
}

var barStyle = mpb.BarStyle().Lbound("[").Filler("#").Tip("#").Padding(".").Rbound("]")

func (p *progress) newBar(name string, of int) *bar {
	b := &bar{}
	detail := func(decor.Statistics) string {
		if text := b.detail.Load(); text != nil {
			return *text
		}
		return ""
	}
	var err error
	b.Bar, err = p.bars.Add(int64(of), barStyle.Build(), mpb.PrependDecorators(decor.Name(shown(name)+" ")),
		mpb.AppendDecorators(decor.CountersNoUnit(" %d of %d"), decor.Any(detail)))
	if err != nil {
		return nil
	}
	p.open[name] = b
	return b
}

// done closes what is still in progress, such as after an error. The command
// then prints lines of its own.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = nil
	for _, b := range p.open {
		b.Abort(false)
	}
	p.close()
}

// close leaves the bars as they are and releases the screen.
func (p *progress) close() {
	if p.bars != nil {
		p.bars.Wait()
		p.bars, p.open = nil, nil
	}
}

// epoch returns the function to call after each epoch of training.
func (p *progress) epoch(members int) func(network.Epoch) {
	return func(e network.Epoch) {
		name := "training epochs"
		if members > 1 {
			name = fmt.Sprintf("training epochs of network %d of %d", e.Member+1, members)
		}
		if e.Fold > 0 {
			name += fmt.Sprintf(", fold %d of %d", e.Fold, e.Folds)
		}
		detail := ""
		if !math.IsNaN(e.ValidRMSE) { // networks of a blend hold out no rows while they are trained
			detail = fmt.Sprintf("validation RMSE %.3g deviations", e.ValidRMSE)
		}
		p.step(name, e.Number, e.Of, detail)
	}
}

// fitting returns the function to call before each model of a blend is fitted. Networks report their epochs
// instead.
func (p *progress) fitting() func(learner string, fold, folds int) {
	now, done := "", 0
	return func(name string, fold, folds int) {
		if name != now {
			p.done() // the learner before may have needed fewer models
			now, done = name, 0
		}
		if name == learner.NetworkName {
			return
		}
		detail := "now all rows"
		if fold > 0 {
			detail = fmt.Sprintf("now fold %d of %d", fold, folds)
		}
		p.step("models of "+name, done%(folds+1), folds+1, detail)
		done++
	}
}

// chosen says what was chosen for each target of a blend, and why.
func (p *progress) chosen(m *learner.Model) {
	for k := range m.Targets() {
		text := fitted.Choice(m.Target(k))
		if m.Targets() > 1 {
			text = m.TargetName(k) + ": " + text
		}
		if m.Kind().Blends() {
			p.say("learner     %s", text)
		}
	}
}

// foretell says about how long something takes, as far as that is known and worth a word: with a blend, that depends
// on whether its networks get a weight.
func (p *progress) foretell(ctx context.Context, what string,
	seconds func(context.Context) (least, most float64, err error)) error {
	if p.quiet {
		return nil
	}
	least, most, err := seconds(ctx)
	if err == nil && most >= 1 {
		p.say("%s takes about %s", what, between(least, most))
	}
	return err
}

// between is a time, or two where they differ much: without and with networks.
func between(least, most float64) string {
	text := func(seconds float64) string { return roughly(time.Duration(seconds * float64(time.Second))) }
	if most < 1.3*least || text(least) == text(most) {
		return text(most)
	}
	return fmt.Sprintf("%s, or %s if networks get a weight", text(max(least, 1)), text(most))
}

// sayDevice says which part of a blend a device computes.
func (p *progress) sayDevice(ctx context.Context, kind learner.Kind) {
	d := device.Of(ctx)
	switch {
	case d == nil || !kind.Blends():
	case kind == learner.Auto:
		p.say("networks are trained on %s, the other learners on the CPU", d.Name())
	default:
		p.say("the learner %s is fitted on the CPU, not on %s, which trains networks only", kind, d.Name())
	}
}

// selection returns the function to call while rows are embedded and picked.
func (p *progress) selection() func(nextbatch.Progress) {
	names := map[nextbatch.Stage]string{nextbatch.Embedding: "rows embedded", nextbatch.Picking: "selection steps"}
	return func(now nextbatch.Progress) { p.step(names[now.Stage], now.Done, now.Of, "") }
}
