package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
	"github.com/nextbatch/nextbatch/spec"
)

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// dataError is a file that cannot be used.
type dataError struct{ error }

func (e dataError) Unwrap() error { return e.error }

// partialError reports that the batch is smaller than requested.
type partialError struct {
	picked, asked int
	reason        string
}

func (e partialError) Error() string {
	return fmt.Sprintf("the batch has %d of %d rows: %s", e.picked, e.asked, e.reason)
}

// unsaid is an error that has been printed, here or by another process.
type unsaid struct{ error }

func (e unsaid) Unwrap() error { return e.error }

// unknownColumn returns the column that an error reports as absent.
func unknownColumn(err error) (string, bool) {
	at := (*source.Error)(nil)
	if errors.As(err, &at) && errors.Is(err, source.ErrColumn) {
		return at.Name, true
	}
	return "", false
}

// diskFailed reports a disk that is full or broken, and a store in a folder that cannot be written to.
func diskFailed(err error) bool {
	unwritable := errors.As(err, new(*sqlitefile.Error)) && errors.Is(err, fs.ErrPermission)
	return unwritable || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO)
}

// explain prints an error and returns the exit code that belongs to it.
func explain(log io.Writer, err error) int {
	if errors.As(err, new(unsaid)) {
		log = io.Discard
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(log, "nextbatch:", strings.ReplaceAll(shownError(err), context.Canceled.Error(), "interrupted"))
		return exitInterrupted
	}
	fmt.Fprintln(log, "nextbatch:", shownError(err))
	var (
		usage   usageError
		data    dataError
		partial partialError
		some    someError
		memory  memoryError
		stop    stopError
		spec    *spec.Error
	)
	if errors.As(err, &spec) {
		fmt.Fprintln(log, spec.Caret())
		return exitUsage
	}
	switch {
	case errors.As(err, &memory), errors.Is(err, source.ErrMemory), errors.Is(err, device.ErrMemory):
		return exitMemory
	case device.Failed(err):
		return exitFailure
	case errors.As(err, &stop):
		return exitGoOn
	case errors.As(err, &some):
		return exitPartial
	case diskFailed(err): // whatever it was to hold
		return exitFailure
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &data):
		return exitData
	case errors.As(err, &partial):
		return exitPartial
	}
	return exitFailure
}
