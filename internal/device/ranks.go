package device

import (
	"errors"
	"sync"

	"github.com/nextbatch/nextbatch/internal/place"
)

// Ranks are the processes of a program that runs on several machines, or several times
// on one.
type Ranks interface {
	place.Ranks
	// Describe describes what connects them, in one line.
	Describe() string
	// Abort ends the program on all ranks.
	Abort(code int)
	// Close leaves the others. All ranks must call it.
	Close() error
}

var (
	connecting sync.Mutex
	connect    func() (Ranks, error)
)

// RegisterRanks makes a way to connect ranks known. It panics if there is one.
func RegisterRanks(by func() (Ranks, error)) {
	connecting.Lock()
	defer connecting.Unlock()
	if connect != nil {
		panic("device: ranks are registered twice")
	}
	connect = by
}

// ErrNoRanks means that this program cannot run on several machines.
var ErrNoRanks = errors.New("this program does not know MPI")

// ConnectRanks joins the other ranks.
func ConnectRanks() (Ranks, error) {
	connecting.Lock()
	by := connect
	connecting.Unlock()
	if by == nil {
		return nil, ErrNoRanks
	}
	return by()
}
