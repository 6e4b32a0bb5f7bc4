package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset/source"
)

const (
	partSuffix = ".part"
	tagSuffix  = ".part.tag" // next to the part: the version of the file that it belongs to

	mostAttempts = 5 // in a row without a new byte
	mostAnswer   = 4 << 20
)

// download fetches a file over HTTP. The bytes received so far are in the part,
// and an attempt resumes after them if the server still has the same version of
// the file, which it must state by an ETag or a date.
type download struct {
	*Fetcher
	url  string
	part string
}

func (d *download) run(ctx context.Context) error {
	failures := 0
	for {
		before := fileSize(d.part)
		err := d.attempt(ctx)
		if err == nil {
			return remove(d.tag())
		}
		failures++
		if fileSize(d.part) > before {
			failures = 1
		}
		if !passing(err) || failures == mostAttempts || !sleep(ctx, d.pauseAfter(failures)) {
			return d.explain(ctx, err)
		}
	}
}

func (d *download) tag() string { return strings.TrimSuffix(d.part, partSuffix) + tagSuffix }

// passingError is an error that a retry may avoid.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

func passing(err error) bool { return errors.As(err, new(passingError)) }

func (f *Fetcher) pauseAfter(failures int) time.Duration {
	return cmp.Or(f.pause, time.Second) << (failures - 1)
}

// sleep returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (d *download) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	e := &source.Error{File: d.url, Kind: ErrFetch, Cause: err, Advice: "check the connection, or give a mirror"}
	if n := fileSize(d.part); n > 0 {
		e.Advice = fmt.Sprintf("the %d bytes received are kept in %s; fetch again to resume", n, d.part)
	}
	return e
}

// attempt requests the missing bytes and appends them to the part.
func (d *download) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := cmp.Or(d.stall, time.Minute)
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing was received for %v", stall)) })
	defer watch.Stop()

	there, tag := d.resumable()
	answer, err := d.ask(ctx, d.url, there, tag)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return errors.Join(passingError{errors.New("the part is not the start of the file")},
			os.Remove(d.part), remove(d.tag()))
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if answer.StatusCode == http.StatusOK {
		flags, there = os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0
		if err := errors.Join(remove(d.tag()), os.WriteFile(d.tag(), []byte(version(answer)), 0o644)); err != nil {
			return err
		}
	} else if want := fmt.Sprintf("bytes %d-", there); !strings.HasPrefix(answer.Header.Get("Content-Range"), want) {
		return errors.Join(fmt.Errorf("the server answered %s with the range %q, not %q",
			answer.Status, answer.Header.Get("Content-Range"), want), os.Remove(d.part))
	}
	file, err := d.openPart(d.part, flags)
	if err != nil {
		return err
	}
	total := int64(-1)
	if answer.ContentLength >= 0 {
		total = there + answer.ContentLength
	}
	body := &body{from: d.counted(answer.Body, there, total), ctx: ctx, again: func() { watch.Reset(stall) }}
	_, err = io.Copy(file, d.bounded(body, there))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if got := fileSize(d.part); total >= 0 && got != total {
		return passingError{fmt.Errorf("%d bytes were received, but the file has %d", got, total)}
	}
	return nil
}

// resumable returns how many bytes of which version of the file the part holds.
func (d *download) resumable() (there int64, tag string) {
	text, err := os.ReadFile(d.tag())
	if err != nil || len(text) == 0 {
		return 0, ""
	}
	return fileSize(d.part), string(text)
}

// version returns the validator of a file's version for If-Range.
func version(answer *http.Response) string {
	if tag := answer.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return answer.Header.Get("Last-Modified")
}

// ask sends a request. Any answer is an error except success and, to a range, 416.
func (f *Fetcher) ask(ctx context.Context, address string, there int64, tag string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // so that sizes and ranges are those of the file
	request.Header.Set("User-Agent", "nextbatch")
	if there > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", there))
		request.Header.Set("If-Range", tag)
	}
	answer, err := f.client().Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, passingError{err}
	}
	switch code := answer.StatusCode; {
	case code == http.StatusOK, there > 0 && (code == http.StatusPartialContent ||
		code == http.StatusRequestedRangeNotSatisfiable):
		return answer, nil
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		err = passingError{fmt.Errorf("the server answered %s", answer.Status)}
	default:
		err = fmt.Errorf("the server answered %s", answer.Status)
	}
	_ = answer.Body.Close()
	return nil, err
}

// get returns a small response.
func (f *Fetcher) get(ctx context.Context, address string) ([]byte, error) {
	for failures := 1; ; failures++ {
		text, err := f.getOnce(ctx, address)
		if err == nil {
			return text, nil
		}
		if !passing(err) || failures == mostAttempts || !sleep(ctx, f.pauseAfter(failures)) {
			return nil, &source.Error{File: address, Kind: ErrFetch, Cause: cmp.Or(ctx.Err(), err),
				Advice: "check the connection, or give a mirror"}
		}
	}
}

func (f *Fetcher) getOnce(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.stall, time.Minute))
	defer cancel()
	answer, err := f.ask(ctx, address, 0, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return nil, passingError{err}
	}
	return text, nil
}

// body distinguishes errors of the connection, which may pass, from those of the disk.
type body struct {
	from  io.Reader
	ctx   context.Context
	again func() // called whenever bytes arrive
}

func (b *body) Read(to []byte) (int, error) {
	n, err := b.from.Read(to)
	if n > 0 {
		b.again()
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
		err = passingError{err}
	}
	return n, err
}

// remove is os.Remove for a file that may not exist.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
