package rowfile

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// FaultError reports a mapped file that could not be read.
type FaultError struct{ File string }

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s became shorter while it was in use, or its disk failed; leave the file alone until the run "+
		"has ended, and start again", e.File)
}

// Guard calls f and returns its error, or a *FaultError if a mapped file could not be read,
// in this goroutine or in a worker of linalg.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		file, found := faultIn(value)
		if !found {
			panic(value)
		}
		err = &FaultError{file}
	}()
	return f()
}

// IsFault reports whether a value that was recovered from a panic is the fault of a mapped
// file, which Guard reports.
func IsFault(value any) bool {
	_, found := faultIn(value)
	return found
}

// faultIn returns the mapped file that a panic is about.
func faultIn(value any) (file string, found bool) {
	cause, _ := value.(error)
	var fault interface {
		error
		Addr() uintptr
	}
	if !errors.As(cause, &fault) {
		return "", false
	}
	return mappedAt(fault.Addr())
}
