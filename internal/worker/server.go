package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/spec"
)

// Server answers the requests of one client.
type Server struct {
	Version  string // of the program
	Platform string
	// Available returns how many bytes of memory the machine has available; 0 or a nil
	// function means unknown.
	Available func() int64
	// OpenStore opens the store of campaigns at an address, and NewStore returns one that
	// exists once a campaign is created in it. Without them there are no campaigns.
	OpenStore func(ctx context.Context, address string) (campaign.Store, error)
	NewStore  func(address string) campaign.Store
}

// Serve answers requests until the stream ends or the context is cancelled. It cancels
// the requests that are still running then, and returns once they have ended, or after a
// moment if one does not notice: its client has gone, and the process ends. The
// error is nil if the stream ended between two frames.
//
// Requests are answered as they finish, so one may overtake another. A stream that the
// context should interrupt has to be closed by the caller.
func (s Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &connection{server: s, out: out, cancels: map[uint64]context.CancelFunc{}}
	defer c.wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := bufio.NewReader(in)
	for {
		f, err := readFrame(r, s.limit)
		tooLarge := (*SizeError)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &tooLarge):
			c.refuse(tooLarge.ID, err)
		case err != nil:
			c.refuse(f.ID, err)
			return err
		case f.Kind == "cancel":
			c.cancel(f)
		default:
			c.start(ctx, f)
		}
	}
}

// grace is how long requests may take to end once they are cancelled. What computes checks
// its context far more often, but an answer that nobody reads cannot be written.
const grace = 800 * time.Millisecond

// wait waits for the requests that are running.
func (c *connection) wait() {
	ended := make(chan struct{})
	go func() {
		c.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(grace):
	}
}

// limit is what the arrays of a request may take.
func (s Server) limit() int64 {
	if s.Available != nil {
		if bytes := s.Available(); bytes > 0 {
			return bytes
		}
	}
	return math.MaxInt64
}

// connection is the state of a Serve.
type connection struct {
	server  Server
	running sync.WaitGroup
	kept    kept.Features // of the campaign that asked last

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of the requests that are running
}

// start runs a request in a goroutine of its own, so that it can be cancelled.
func (c *connection) start(ctx context.Context, f Frame) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	_, taken := c.cancels[f.ID]
	if !taken {
		c.cancels[f.ID] = cancel
	}
	c.mu.Unlock()
	if taken {
		cancel()
		c.refuse(f.ID, &requestError{fmt.Sprintf("request %d is still running: number requests differently", f.ID)})
		return
	}
	c.running.Go(func() {
		c.respond(ctx, cancel, f)
		f = Frame{} // so that its arrays can be freed
		if c.idle() {
			release()
		}
	})
}

// respond runs a request and sends its result or its error. Before it does so, the
// number of the request is free again.
func (c *connection) respond(ctx context.Context, cancel context.CancelFunc, f Frame) {
	answer, err := c.answer(ctx, f)
	c.mu.Lock()
	delete(c.cancels, f.ID)
	c.mu.Unlock()
	cancel()
	if err != nil {
		c.fail(f.ID, err)
		return
	}
	answer.ID, answer.Kind = f.ID, "result"
	c.send(answer)
}

// idle reports whether no request is running.
func (c *connection) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cancels) == 0
}

// keptMemory is the memory that an idle worker may keep.
const keptMemory = 256 << 20

// release gives memory back to the system after a large request, because a worker may
// be idle for hours. Go itself would return it bit by bit, and garbage only at its next
// collection.
func release() {
	held := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(held)
	bytes := uint64(0)
	for _, class := range held {
		bytes += class.Value.Uint64()
	}
	if bytes > keptMemory {
		debug.FreeOSMemory()
	}
}

// verbs are the kinds of requests.
var verbs = map[string]func(*call) (any, error){
	"hello": (*call).hello, "ping": (*call).ping,
	"select": (*call).selectRows, "select_features": (*call).selectFeatures, "leaks": (*call).leaks,
	"fit": (*call).fit, "predict": (*call).predict, "labels": (*call).labels,
	"campaign_new": (*call).campaignNew, "campaign_encode": (*call).campaignEncode,
	"campaign_settings": (*call).campaignSettings,
	"campaign_status":   (*call).campaignStatus, "campaign_history": (*call).campaignHistory,
	"campaign_ask": (*call).campaignAsk, "campaign_predict": (*call).campaignPredict,
	"campaign_tell": (*call).campaignTell,
	"campaign_fail": (*call).campaignFail, "campaign_return": (*call).campaignReturn,
	"campaign_retire": (*call).campaignRetire, "campaign_confirm": (*call).campaignConfirm,
	"campaign_add": (*call).campaignAdd, "campaign_earlier": (*call).campaignEarlier,
	"campaign_undo": (*call).campaignUndo,
	"campaign_rows": (*call).campaignRows, "campaign_decode": (*call).campaignDecode,
	"campaign_export": (*call).campaignExport, "campaign_audit": (*call).campaignAudit,
}

// call is a request while it is answered.
type call struct {
	Frame
	ctx    context.Context
	server Server
	kept   *kept.Features
	report func(wire.Progress)
	data   []Array // of the answer
}

// answer runs a request. A panic is a bug in this program, but not a reason to lose the
// other requests of the worker.
func (c *connection) answer(ctx context.Context, f Frame) (answer Frame, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &faultError{fmt.Sprintf("%v\n%s", fault, debug.Stack())}
		}
	}()
	verb := verbs[f.Kind]
	if verb == nil {
		return answer, &requestError{fmt.Sprintf("there is no request %q", f.Kind)}
	}
	r := &call{Frame: f, ctx: ctx, server: c.server, kept: &c.kept, report: c.progress(f.ID)}
	body, err := verb(r)
	if err != nil {
		return answer, err
	}
	answer.Data = r.data
	answer.Body, err = json.Marshal(body)
	return answer, err
}

// cancel ends a running request. One that has ended already has its answer.
func (c *connection) cancel(f Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.cancels[f.ID]; stop != nil {
		stop()
	}
}

// send writes a frame. If nobody reads it, the client has gone, which the reading
// side notices, too.
func (c *connection) send(f Frame) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = writeFrame(c.out, f)
}

// refuse answers a request that did not start. It does so in a goroutine of its own: whoever reads
// the input must not wait for an answer to be read, or it would miss the end of the input.
func (c *connection) refuse(id uint64, err error) { c.running.Go(func() { c.fail(id, err) }) }

func (c *connection) fail(id uint64, err error) {
	f := wire.Failure{Error: kindOf(err), Message: messageOf(err)}
	if wrong := (*campaign.TellError)(nil); errors.As(err, &wrong) {
		f.Rows = wrong.Faults
	}
	body, _ := json.Marshal(f) // strings and numbers always marshal
	c.send(Frame{Header: Header{ID: id, Kind: "error", Body: body}})
}

// requestError is a request that cannot be met.
type requestError struct{ reason string }

func (e *requestError) Error() string { return e.reason }

func refuse(format string, args ...any) error { return &requestError{fmt.Sprintf(format, args...)} }

// faultError is a bug in this program.
type faultError struct{ reason string }

func (e *faultError) Error() string { return "nextbatch has a fault, please report it: " + e.reason }

// memoryError is a request that would not fit into memory.
type memoryError struct{ reason string }

func (e *memoryError) Error() string { return e.reason }

func kindOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case is[*requestError](err), is[*nextbatch.RequestError](err), is[*spec.Error](err),
		is[*campaign.RequestError](err), is[*campaign.NameError](err), is[*campaign.UndoError](err),
		is[*estimate.StopRuleError](err),
		errors.Is(err, campaign.ErrExists), errors.Is(err, campaign.ErrNotFound):
		return "request"
	case is[*memoryError](err), is[*SizeError](err), errors.Is(err, device.ErrMemory):
		return "memory"
	case device.Failed(err):
		return "device"
	case is[*FrameError](err), errors.Is(err, io.ErrUnexpectedEOF):
		return "frame"
	case is[*faultError](err):
		return "fault"
	}
	return "data"
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// messageOf is the text of an error, with the place where a spec is wrong.
func messageOf(err error) string {
	if wrong := (*spec.Error)(nil); errors.As(err, &wrong) {
		return err.Error() + "\n" + wrong.Caret()
	}
	return options.Error(options.Argument, err)
}

// hello identifies the worker. A client of another protocol is rejected, so that it does
// not misread what follows.
func (c *call) hello() (any, error) {
	var client struct {
		Protocol int `json:"protocol"`
	}
	if err := c.read(&client); err != nil {
		return nil, err
	}
	if client.Protocol != protocol {
		return nil,
			refuse("the client speaks version %d of the protocol, this program (%s) version %d: install versions of both that "+
				"belong together",
				client.Protocol, c.server.Version, protocol)
	}
	return map[string]any{"protocol": protocol, "version": c.server.Version, "platform": c.server.Platform}, nil
}

// ping returns what it was sent.
func (c *call) ping() (any, error) {
	c.data = c.Data
	return c.Body, nil
}

// read decodes the body. An unknown field is an error, because it would have no effect.
func (c *call) read(into any) error {
	if len(c.Body) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.Body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return refuse("%s cannot be this %s", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], wrong.Value)
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) || err != nil &&
		strings.HasPrefix(err.Error(), "json: ") {
		return refuse("the body of the request %q cannot be used: %v", c.Kind, err)
	}
	if err != nil { // of a value that reads itself
		return refuse("%v", err)
	}
	return nil
}

// array returns an array of the frame.
func (c *call) array(i int) (Array, error) {
	if i < 0 || i >= len(c.Data) {
		return Array{}, refuse("the request refers to array %d, but has %d", i, len(c.Data))
	}
	return c.Data[i], nil
}
