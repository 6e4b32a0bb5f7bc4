package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/network"
)

// errorf is fmt.Errorf; its name is short because messages are long.
var errorf = fmt.Errorf

// progress tells on standard error how far a command is: lines, and on a
// terminal a bar for what takes long.
type progress struct {
	log      io.Writer
	quiet    bool
	terminal bool
	open     bool // a bar is on the current line
	last     time.Time
	warnings []string
}

func newProgress(log io.Writer, quiet bool) *progress {
	p := &progress{log: log, quiet: quiet}
	if file, ok := log.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

func (p *progress) say(format string, args ...any) {
	p.done()
	if !p.quiet {
		fmt.Fprintf(p.log, format+"\n", args...)
	}
}

// warn says what a reader should know. Warnings are printed also when quiet.
func (p *progress) warn(text string) {
	p.done()
	p.warnings = append(p.warnings, text)
	fmt.Fprintln(p.log, "warning:", text)
}

// done ends the bar.
func (p *progress) done() {
	if p.open {
		fmt.Fprintln(p.log)
		p.open = false
	}
}

const (
	barWidth    = 30
	barEvery    = 100 * time.Millisecond
	linesInAll  = 4 // of a training, where there is no terminal
	minForLines = 16
)

// epoch returns the function to call after each epoch of training.
func (p *progress) epoch(members int) func(network.Epoch) {
	return func(e network.Epoch) {
		if p.quiet {
			return
		}
		if !p.terminal {
			if step := max(e.Of/linesInAll, 1); e.Of >= minForLines && e.Number%step == 0 || e.Number == e.Of {
				p.say("training network %d of %d: epoch %d of %d, validation RMSE %.4g (labels have deviation 1)",
					e.Member+1, members, e.Number, e.Of, e.ValidRMSE)
			}
			return
		}
		if e.Number < e.Of && time.Since(p.last) < barEvery {
			return
		}
		p.last, p.open = time.Now(), true
		full := barWidth * e.Number / e.Of
		fmt.Fprintf(p.log, "\rtraining network %d of %d [%s%s] epoch %d of %d ", e.Member+1, members,
			strings.Repeat("#", full), strings.Repeat(".", barWidth-full), e.Number, e.Of)
	}
}

// unknownColumn tells which column an error says is not there.
func unknownColumn(err error) (string, bool) {
	at := (*source.Error)(nil)
	if errors.As(err, &at) && errors.Is(err, source.ErrColumn) {
		return at.Name, true
	}
	return "", false
}
