package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nextbatch/nextbatch/network"
)

// TestProgressLines: without a terminal, each of a few steps gets a line, many
// steps get four, and quick work gets none.
func TestProgressLines(t *testing.T) {
	lines := func(steps int, pause time.Duration) (text string) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := newProgress(&log, false)
			for i := range steps {
				time.Sleep(pause)
				p.step("counting", i+1, steps, fmt.Sprintf("at %d", i))
			}
			text = log.String()
		})
		return text
	}
	if got := lines(100, time.Millisecond); got != "" {
		t.Errorf("quick work says %q", got)
	}
	want := "counting: 25 of 100, at 24\ncounting: 50 of 100, at 49\ncounting: 75 of 100, at 74\ncounting: 100 of 100, " +
		"at 99\n"
	if got := lines(100, time.Second); got != want {
		t.Errorf("many steps: %q", got)
	}
	if got := lines(3, 2*time.Second); strings.Count(got, "\n") != 2 ||
		!strings.HasSuffix(got, "counting: 3 of 3, at 2\n") {
		t.Errorf("few steps: %q", got) // the clock starts with the first
	}
}

// TestProgressBars draws on a pretended terminal: a finished bar, an unfinished
// one, and a line in between.
func TestProgressBars(t *testing.T) {
	var log bytes.Buffer
	p := newProgress(&log, false)
	p.terminal = true
	epoch := p.epoch(2)
	for member := range 2 {
		for i := range 20 {
			epoch(network.Epoch{Member: member, Number: i + 1, Of: 20, ValidRMSE: 0.25})
		}
	}
	if p.bars != nil {
		t.Error("a bar is open at the end")
	}
	p.step("other work", 1, 3, "")
	p.warn("careful")
	p.done()
	p.say("afterwards")
	if p.bars != nil || !strings.HasSuffix(log.String(), "afterwards\n") ||
		!strings.Contains(log.String(), "warning: careful\n") {
		t.Errorf("%q", log.String())
	}
}

func TestProgressQuiet(t *testing.T) {
	var log bytes.Buffer
	p := newProgress(&log, true)
	p.terminal = true
	p.step("work", 1, 2, "")
	p.say("word")
	p.warn("careful")
	p.done()
	if log.String() != "warning: careful\n" || len(p.warnings) != 1 {
		t.Errorf("%q", log.String())
	}
}
