package server

import (
	"context"
	"io"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// exportBlock is the number of rows of an export that are assembled at a time.
const exportBlock = 10000

var exportKinds = map[string]string{
	"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet",
}

// exported documents the answer to a download.
func exported() map[string]*huma.Response {
	content := map[string]*huma.MediaType{}
	for _, kind := range []string{"text/csv", "application/x-ndjson", "application/vnd.apache.parquet"} {
		content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return map[string]*huma.Response{"200": {Description: "a table with numbers, ids and status of the rows, their " +
		"inputs and their labels, how often they were measured and, where a batch had plates, in which wells, and who told " +
		"the last label or has the row, and since when", Content: content}}
}

func (s *Server) exportRows(ctx context.Context, in *struct {
	Named
	RowQuery
	Format string `query:"format" enum:"csv,jsonl,parquet" default:"csv"`
}) (*huma.StreamResponse, error) {
	v, err := s.view(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	list, err := s.find(in.Campaign, v, in.RowQuery)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		h.SetHeader("Content-Type", exportKinds[in.Format])
		h.SetHeader("Content-Disposition", mime.FormatMediaType("attachment",
			map[string]string{"filename": in.Campaign + "." + in.Format}))
		if err := writeRows(ctx, h.BodyWriter(), v, list, in.Format); err != nil {
			s.options.Log.Error("an export ended early", "error", err)
			panic(http.ErrAbortHandler) // so that the client notices
		}
	}}, nil
}

// writeRows writes rows as a table. Parquet files are written as a whole.
func writeRows(ctx context.Context, w io.Writer, v *campaign.View, list rowList, format string) error {
	if format == "parquet" {
		t, err := exportTable(v, list, 0, list.len())
		if err != nil {
			return err
		}
		return source.WriteParquet(w, t)
	}
	for from := 0; from == 0 || from < list.len(); from += exportBlock {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := exportTable(v, list, from, min(from+exportBlock, list.len()))
		if err != nil {
			return err
		}
		switch {
		case format == "jsonl":
			err = source.WriteJSONLines(w, t)
		case from == 0:
			err = source.WriteCSV(w, t)
		default:
			err = source.WriteCSV(&afterFirstLine{w: w}, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportTable returns some of the rows as a table.
func exportTable(v *campaign.View, list rowList, from, to int) (*dataset.Table, error) {
	at := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		at = append(at, list.at(i))
	}
	return v.RowTable(at)
}

// afterFirstLine drops the first line of what is written to it. The names of columns may
// contain line ends, but only between quotes.
type afterFirstLine struct {
	w            io.Writer
	quoted, done bool
}

func (a *afterFirstLine) Write(p []byte) (int, error) {
	i := 0
	for ; i < len(p) && !a.done; i++ {
		switch p[i] {
		case '"':
			a.quoted = !a.quoted
		case '\n':
			a.done = !a.quoted
		}
	}
	if i == len(p) {
		return len(p), nil
	}
	n, err := a.w.Write(p[i:])
	return i + n, err
}
