package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// chromium drives a browser without a window over two pipes, by its own protocol:
// messages in JSON, each ended by a zero byte.
type chromium struct {
	t       *testing.T
	to      io.WriteCloser
	from    *bufio.Reader
	session string // of the tab
	last    int    // number of the last command
}

// newChromium starts the browser with an empty tab. Without one the test is skipped,
// or fails with NEXTBATCH_REQUIRE_CHROMIUM=1.
func newChromium(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("NEXTBATCH_REQUIRE_CHROMIUM") == "1" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("no chromium")
	}
	read, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir())
	c.ExtraFiles = []*os.File{read, write} // 3 and 4, as the protocol has it
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	errs := errors.Join(read.Close(), write.Close())
	b := &chromium{t: t, to: to, from: bufio.NewReaderSize(from, 1<<20)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		c.Wait() // how it ends does not matter
		to.Close()
		from.Close()
	})
	if errs != nil {
		t.Fatal(errs)
	}
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	return b
}

// message is a command, an answer or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// call sends a command and reads until its answer.
func (b *chromium) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	raw, err := json.Marshal(message{ID: b.last, Session: b.session, Method: method, Params: params})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatal(err)
	}
	answer := b.until(func(m message) bool { return m.ID == b.last })
	if answer.Error != nil {
		b.t.Fatalf("%s: %s", method, answer.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			b.t.Fatal(err)
		}
	}
}

// until reads messages up to the one that is wanted.
func (b *chromium) until(wanted func(message) bool) message {
	b.t.Helper()
	for {
		raw, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatal(err)
		}
		var m message
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			b.t.Fatal(err)
		}
		if wanted(m) {
			return m
		}
	}
}

// open shows a file in a window of this width, in a light or a dark theme.
func (b *chromium) open(file string, width int, dark bool) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.resize(width)
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	b.loaded()
}

// loaded waits until a page is there.
func (b *chromium) loaded() {
	b.t.Helper()
	b.until(func(m message) bool { return m.Method == "Page.loadEventFired" })
}

// resize gives the window another width.
func (b *chromium) resize(width int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1,
		"mobile": width < 600}, nil)
}

// press presses a key, such as Enter.
func (b *chromium) press(key string, code int) {
	b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key,
			"windowsVirtualKeyCode": code}, nil)
	}
}

// evaluate returns the value of an expression of JavaScript, or that of its promise.
func (b *chromium) evaluate(expression string, value any) {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &answer)
	if answer.Exception != nil {
		b.t.Fatalf("%s", answer.Exception)
	}
	if err := json.Unmarshal(answer.Result.Value, value); err != nil {
		b.t.Fatal(fmt.Errorf("%s: %w", answer.Result.Value, err))
	}
}

// picture returns the page down to this height as a PNG file; 0 means all of it.
func (b *chromium) picture(height int) []byte {
	b.t.Helper()
	var size struct{ Width, Height int }
	b.evaluate(`({Width: innerWidth, Height: document.documentElement.scrollHeight})`, &size)
	if height == 0 || height > size.Height {
		height = size.Height
	}
	var answer struct {
		Data []byte `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": size.Width, "height": height, "scale": 1}}, &answer)
	return answer.Data
}
