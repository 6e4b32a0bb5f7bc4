package place

import "errors"

// Block is the number of rows that a pool is cut at multiples of.
const Block = 1 << 14

// Ranks connects the processes that share a pool. All of them make the same calls in the
// same order, each from one goroutine at a time. After a call has failed, all later ones fail.
type Ranks interface {
	Rank() int // of this process, from 0
	Size() int // how many there are
	// Gather sends own, of the same length on all ranks, to all: all holds them in the
	// order of ranks.
	Gather(all, own []byte) error
	// Broadcast sends the data of one rank to all others.
	Broadcast(data []byte, from int) error
	Send(data []byte, to int) error
	Receive(data []byte, from int) error
}

// ErrLost means that the connection between ranks has failed.
var ErrLost = errors.New("selection: the ranks lost each other")
