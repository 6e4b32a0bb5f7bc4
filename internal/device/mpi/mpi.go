//go:build linux && (amd64 || arm64)

// Package mpi connects the ranks of an MPI program, started by mpirun or srun, for
// selections from a pool that they share (selection.SelectAcross). It loads Open MPI or
// MPICH at run time, without cgo. A main makes it available by importing it.
package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/place"
)

func init() {
	device.RegisterRanks(func() (device.Ranks, error) {
		w, err := Connect()
		if err != nil {
			return nil, err
		}
		return w, nil
	})
}

// World is all ranks of the program.
type World struct {
	lib        *library
	rank, size int
}

var _ place.Ranks = (*World)(nil)

// chunk is the most that one call sends, because MPI counts bytes in 32 bits.
const chunk = 1 << 30

// library is MPI as it was loaded. Handles are pointers in Open MPI and numbers in MPICH.
type library struct {
	comm, bytes, errorsReturn, statusIgnore uintptr

	initThread     func(argc, argv uintptr, required int32, provided *int32) int32
	finalize       func() int32
	commRank       func(comm uintptr, rank *int32) int32
	commSize       func(comm uintptr, size *int32) int32
	setErrhandler  func(comm, handler uintptr) int32
	errorString    func(code int32, text *byte, length *int32) int32
	libraryVersion func(text *byte, length *int32) int32
	allgather      func(send unsafe.Pointer, count int32, kind uintptr, receive unsafe.Pointer, each int32,
		kind2, comm uintptr) int32
	broadcast func(data unsafe.Pointer, count int32, kind uintptr, root int32, comm uintptr) int32
	send      func(data unsafe.Pointer, count int32, kind uintptr, to, tag int32, comm uintptr) int32
	receive   func(data unsafe.Pointer, count int32, kind uintptr, from, tag int32, comm, status uintptr) int32
	abort     func(comm uintptr, code int32) int32
}

// maxText is at least MPI_MAX_LIBRARY_VERSION_STRING and MPI_MAX_ERROR_STRING of both.
const maxText = 1 << 14

// names lists libraries to try: the one that the user names, that of the launcher, then
// any.
func names() []string {
	if own := os.Getenv("NEXTBATCH_MPI"); own != "" {
		return []string{own}
	}
	openMPI, mpich := []string{"libmpi.so.40", "libmpi.so.80"}, []string{"libmpi.so.12", "libmpich.so.12"}
	if os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && os.Getenv("PMI_SIZE") != "" {
		openMPI, mpich = mpich, openMPI
	}
	return append(append(openMPI, mpich...), "libmpi.so")
}

// load finds a library of MPI.
func load() (*library, error) {
	var tried []string
	for _, name := range names() {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return bind(handle, name)
		}
		tried = append(tried, name)
	}
	return nil,
		fmt.Errorf("there is no MPI on this machine (looked for %s): install Open MPI or MPICH, or name its library in "+
			"NEXTBATCH_MPI", strings.Join(tried, ", "))
}

// bind finds the functions and the handles of a library.
func bind(handle uintptr, name string) (*library, error) {
	l := &library{comm: 0x44000000, bytes: 0x4c00010d, errorsReturn: 0x54000001, statusIgnore: 1} // MPICH
	if world, err := purego.Dlsym(handle, "ompi_mpi_comm_world"); err == nil {
		l.comm, l.statusIgnore = world, 0
		for symbol, to := range map[string]*uintptr{"ompi_mpi_byte": &l.bytes, "ompi_mpi_errors_return": &l.errorsReturn} {
			if *to, err = purego.Dlsym(handle, symbol); err != nil {
				return nil, fmt.Errorf("%s has no %s", name, symbol)
			}
		}
	}
	for symbol, function := range map[string]any{
		"MPI_Init_thread": &l.initThread, "MPI_Finalize": &l.finalize, "MPI_Comm_rank": &l.commRank,
		"MPI_Comm_size":           &l.commSize,
		"MPI_Comm_set_errhandler": &l.setErrhandler, "MPI_Error_string": &l.errorString,
		"MPI_Get_library_version": &l.libraryVersion,
		"MPI_Allgather":           &l.allgather, "MPI_Bcast": &l.broadcast, "MPI_Send": &l.send,
		"MPI_Recv": &l.receive, "MPI_Abort": &l.abort,
	} {
		at, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return nil, fmt.Errorf("%s is no MPI: it has no %s", name, symbol)
		}
		purego.RegisterFunc(function, at)
	}
	return l, nil
}

// serialized is MPI_THREAD_SERIALIZED: calls come from any thread, one at a time.
const serialized = 2

// Connect joins the other ranks. Without a launcher this process is the only one.
func Connect() (*World, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	var provided, rank, size int32
	if err := l.check("MPI_Init_thread", l.initThread(0, 0, serialized, &provided)); err != nil {
		return nil, err
	}
	if provided < serialized {
		return nil, errors.New("this MPI serves one thread only; use one that was built with threads")
	}
	if err := errors.Join(l.check("MPI_Comm_set_errhandler", l.setErrhandler(l.comm, l.errorsReturn)),
		l.check("MPI_Comm_rank", l.commRank(l.comm, &rank)), l.check("MPI_Comm_size",
			l.commSize(l.comm, &size))); err != nil {
		return nil, err
	}
	return &World{l, int(rank), int(size)}, nil
}

// check turns a code of MPI into an error.
func (l *library) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	text, length := make([]byte, maxText), int32(0)
	l.errorString(code, &text[0], &length)
	return fmt.Errorf("%s: %s", call, text[:length])
}

// Describe returns the name and version of the library.
func (w *World) Describe() string {
	text, length := make([]byte, maxText), int32(0)
	w.lib.libraryVersion(&text[0], &length)
	line, _, _ := strings.Cut(string(text[:max(length, 0)]), "\n")
	return strings.Join(strings.Fields(strings.TrimRight(line, "\x00")), " ")
}

// Rank implements place.Ranks, as do the following methods.
func (w *World) Rank() int { return w.rank }

// Size returns how many ranks there are.
func (w *World) Size() int { return w.size }

// Gather sends own to all ranks.
func (w *World) Gather(all, own []byte) error {
	if len(own) == 0 {
		return nil
	}
	if len(own) > chunk {
		return w.gatherLong(all, own)
	}
	defer runtime.KeepAlive(all)
	defer runtime.KeepAlive(own)
	n := int32(len(own))
	return w.lib.check("MPI_Allgather", w.lib.allgather(unsafe.Pointer(&own[0]), n, w.lib.bytes, unsafe.Pointer(&all[0]),
		n, w.lib.bytes, w.lib.comm))
}

// gatherLong gathers by one broadcast from each rank.
func (w *World) gatherLong(all, own []byte) error {
	copy(all[w.rank*len(own):], own)
	for from := range w.size {
		if err := w.Broadcast(all[from*len(own):][:len(own)], from); err != nil {
			return err
		}
	}
	return nil
}

// Broadcast sends data from one rank to all others.
func (w *World) Broadcast(data []byte, from int) error {
	return w.each("MPI_Bcast", data, func(at unsafe.Pointer, n int32) int32 {
		return w.lib.broadcast(at, n, w.lib.bytes, int32(from), w.lib.comm)
	})
}

// Send sends data to another rank, which receives it.
func (w *World) Send(data []byte, to int) error {
	return w.each("MPI_Send", data, func(at unsafe.Pointer, n int32) int32 {
		return w.lib.send(at, n, w.lib.bytes, int32(to), 0, w.lib.comm)
	})
}

// Receive receives data from another rank.
func (w *World) Receive(data []byte, from int) error {
	return w.each("MPI_Recv", data, func(at unsafe.Pointer, n int32) int32 {
		return w.lib.receive(at, n, w.lib.bytes, int32(from), 0, w.lib.comm, w.lib.statusIgnore)
	})
}

// each calls MPI for pieces of data that it can count.
func (w *World) each(call string, data []byte, do func(at unsafe.Pointer, n int32) int32) error {
	defer runtime.KeepAlive(data)
	for len(data) > 0 {
		n := min(len(data), chunk)
		if err := w.lib.check(call, do(unsafe.Pointer(&data[0]), int32(n))); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Abort ends the program on all ranks.
func (w *World) Abort(code int) { w.lib.abort(w.lib.comm, int32(code)) }

// Close leaves the other ranks. All of them must call it.
func (w *World) Close() error { return w.lib.check("MPI_Finalize", w.lib.finalize()) }
