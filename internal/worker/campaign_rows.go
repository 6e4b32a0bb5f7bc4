package worker

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// rowsOf is an answer with a table: its columns are like those of a request, numeric or text.
type rowsOf struct {
	Columns []frameColumn `json:"columns"`
}

func (c *call) campaignRows() (any, error) {
	return about(c, func(_ address, camp *campaign.Campaign) (any, error) {
		v, err := camp.View(c.ctx)
		if err != nil {
			return nil, err
		}
		every := []int{}
		if v.Table != nil {
			for i := range v.Table.Rows() {
				every = append(every, i)
			}
		}
		t, err := v.RowTable(every)
		if err != nil {
			return nil, err
		}
		return c.answerRows(t), nil
	})
}

// servedBody describes a campaign of a service, of which a file with all rows comes with the request.
type servedBody struct {
	ID      string                     `json:"id"`
	Targets []string                   `json:"targets"`
	Columns []campaign.Column          `json:"columns"`
	Labels  map[string]dataset.History `json:"labels"`
}

// campaignDecode turns the rows of a service, as a Parquet file, into those that campaign_rows answers.
func (c *call) campaignDecode() (any, error) {
	var body servedBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	t, err := c.served(body)
	if err != nil {
		return nil, err
	}
	return c.answerRows(t), nil
}

func (c *call) served(body servedBody) (*dataset.Table, error) {
	file, err := c.array(0)
	if err != nil {
		return nil, err
	}
	created := campaign.Created{IDColumn: body.ID, Targets: body.Targets, Columns: body.Columns}
	return source.ReadParquet(c.ctx, bytes.NewReader(file.Uint8), created.RowTableOptions())
}

// current returns the columns of a table like the one that the campaign began with.
func (b servedBody) current(t *dataset.Table) (*dataset.Table, error) {
	names := []string{b.ID}
	if b.ID == "" {
		names[0] = t.Names()[0] // the numbers of the rows
	}
	for _, column := range b.Columns {
		names = append(names, column.Name)
	}
	style := dataset.Style{}
	for _, target := range b.Targets {
		names = append(names, target, dataset.CensoredColumn(target))
		if mark := b.Labels[target].Decimal; mark != "" {
			style.Decimal = mark[0]
		}
	}
	columns := slices.DeleteFunc(slices.Clone(t.Columns()),
		func(c dataset.Column) bool { return !slices.Contains(names, c.Name()) })
	chosen, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return chosen.WrittenLike(style), nil
}

// exportBody names a file, and a campaign in a store or, without one, on a service.
type exportBody struct {
	address
	servedBody
	Path string `json:"path"`
}

// campaignExport writes a file like 'nextbatch campaign export', also of a campaign of a service.
func (c *call) campaignExport() (any, error) {
	var body exportBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	archive := strings.HasSuffix(strings.ToLower(body.Path), ".zip")
	switch {
	case body.Store != "":
		return about(c, func(_ exportBody, camp *campaign.Campaign) (any, error) {
			if archive {
				return nil, atomicfile.Write(body.Path, func(w io.Writer) error { return camp.Export(c.ctx, w) })
			}
			t, err := camp.Current(c.ctx)
			if err != nil {
				return nil, err
			}
			return nil, source.WriteFile(body.Path, t)
		})
	case archive:
		return nil,
			refuse("a service hands out no archives: run 'nextbatch campaign export' where its campaigns are kept, or export " +
				"a table")
	}
	t, err := c.served(body.servedBody)
	if err != nil {
		return nil, err
	}
	if t, err = body.current(t); err != nil {
		return nil, err
	}
	return nil, source.WriteFile(body.Path, t)
}

func (c *call) campaignAudit() (any, error) {
	return about(c, func(_ address, camp *campaign.Campaign) (any, error) {
		return wire.AuditOf(c.ctx, camp, c.asking(), c.report)
	})
}

// answerRows adds the arrays of a table to the answer.
func (c *call) answerRows(t *dataset.Table) rowsOf {
	answer := rowsOf{[]frameColumn{}}
	add := func(a Array) int {
		c.data = append(c.data, a)
		return len(c.data) - 1
	}
	for _, one := range t.Columns() {
		n := one.Len()
		if numbers, ok := one.(*dataset.Numeric); ok {
			values := make([]float64, n)
			for row := range values {
				values[row] = numbers.Float(row)
			}
			at := add(Array{Shape: Shape{"float64", []int{n}}, Float64: values})
			answer.Columns = append(answer.Columns, frameColumn{Name: one.Name(), Kind: "numeric", Arrays: []int{at}})
			continue
		}
		ends, text := make([]int64, n), []byte{}
		for row := range n {
			if !one.Missing(row) {
				text = append(text, one.Format(row)...)
			}
			ends[row] = int64(len(text))
		}
		first := add(Array{Shape: Shape{"int64", []int{n}}, Int64: ends})
		second := add(Array{Shape: Shape{"uint8", []int{len(text)}}, Uint8: text})
		answer.Columns = append(answer.Columns, frameColumn{Name: one.Name(), Kind: "text", Arrays: []int{first, second}})
	}
	return answer
}
