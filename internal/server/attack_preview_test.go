package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// wide returns a compressed table with the given number of columns.
func wide(columns int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	fmt.Fprint(w, "y")
	for i := range columns - 1 {
		fmt.Fprintf(w, ",c%d", i)
	}
	for row := range 8 {
		fmt.Fprint(w, "\n", map[bool]string{true: "1.5", false: ""}[row < 6],
			strings.Repeat(fmt.Sprintf(",%d.5", row%3), columns-1))
	}
	w.Close()
	return b.String()
}

// TestWidePreviews: as many columns as a file may have are shown, one more is refused with
// advice, and a network that would not fit into memory is not measured.
func TestWidePreviews(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.jobs.memory.available = func() int64 { return 512 << 20 }
	status, body := v.do(t, "owner", "POST", "/v1/previews", wide(dataset.MostColumns))
	answer := string(body)
	if status != http.StatusOK || !strings.Contains(answer, `"c131070"`) ||
		!strings.Contains(answer, "an ask would need about") || strings.Contains(answer, `"forecast"`) {
		t.Errorf("%d %.500s", status, answer[max(0, len(answer)-500):])
	}
	status, body = v.do(t, "owner", "POST", "/v1/previews", wide(dataset.MostColumns+1))
	answer = string(body)
	if status != http.StatusUnprocessableEntity || !strings.Contains(answer, "more than 131072") ||
		!strings.Contains(answer, "transpose the table") {
		t.Errorf("%d %.500s", status, answer)
	}
}

// countdown is a context that is cancelled once it has been asked so often.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestAPreviewEndsWithItsClient: what is said about columns is cancelled at each of them.
func TestAPreviewEndsWithItsClient(t *testing.T) {
	t.Parallel()
	table, err := source.Read(t.Context(), strings.NewReader(strings.Repeat("a,", 99)+"y\n"+strings.Repeat("1.5,", 99)+
		"\n"), source.Options{Header: source.HeaderAbsent})
	if err != nil {
		t.Fatal(err)
	}
	for after := range int64(100) {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(after)
		if _, err := suggest(ctx, table); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d of 100 columns: %v", after, err)
		}
	}
}
