package server

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// RowDetail is a row with its inputs and its labels.
type RowDetail struct {
	Row
	Status   string              `json:"status" enum:"open,asked,labelled,failed,retired"`
	Inputs   map[string]any      `json:"inputs" doc:"by column; null where a value is missing"`
	Labels   map[string]*float64 `json:"labels" doc:"by target; null where there is none"`
	LeaseEnd *time.Time          `json:"lease_end,omitempty" doc:"when a row that is out is open again"`
	Failures int                 `json:"failures" doc:"how often it could not be labelled"`
}

// RowPage is a part of the rows.
type RowPage struct {
	Rows  []RowDetail `json:"rows"`
	Total int64       `json:"total" doc:"rows that the filter leaves"`
}

func (s *Server) rowRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "list-rows", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/rows", Summary: "Rows, a page at a time",
	}, s.listRows)
	route(s, Owner, upload(huma.Operation{
		OperationID: "add-rows", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/rows", Summary: "Add rows",
		DefaultStatus: http.StatusCreated,
	}), s.addRows)
	route(s, Owner, huma.Operation{
		OperationID: "retire-rows", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/retirements", Summary: "Remove rows from the campaign",
	}, s.retireRows)
}

func (s *Server) listRows(ctx context.Context, in *struct {
	Named
	Status string `query:"status" enum:"open,asked,labelled,failed,retired" doc:"only rows of this status"`
	Offset int64  `query:"offset" minimum:"0" doc:"rows to skip"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*output[RowPage], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	refs, total := page(state, campaign.Status(in.Status), in.Offset, in.Limit)
	rows, err := details(ctx, c, state, refs)
	return answer(RowPage{rows, total}, err)
}

// page returns a part of the rows of a status, or of all, and how many there are.
func page(state *campaign.State, status campaign.Status, offset int64, limit int) (refs []campaign.RowRef, total int64) {
	switch status {
	case "":
		total = state.Total()
	case campaign.StatusOpen:
		total = state.Counts().Open
	default:
		list := state.With(status)
		total = int64(len(list))
		from := min(offset, total)
		return list[from:min(from+int64(limit), total)], total
	}
	at := int64(0)
	for row := range state.Numbers() {
		if status != "" && state.Status(row) != status {
			continue
		}
		if at++; at > offset {
			refs = append(refs, campaign.RowRef{Row: row})
		}
		if len(refs) == limit {
			break
		}
	}
	return refs, total
}

// details returns rows with everything that is known about them.
func details(ctx context.Context, c *campaign.Campaign, state *campaign.State, refs []campaign.RowRef) ([]RowDetail, error) {
	list := make([]RowDetail, len(refs))
	if len(refs) == 0 {
		return list, nil
	}
	inputs, err := c.Inputs(ctx, refs)
	if err != nil {
		return nil, err
	}
	id := state.Created.IDColumn
	if id == "" {
		id = campaign.RowColumn
	}
	names, err := inputs.Column(id)
	if err != nil {
		return nil, err
	}
	for i, ref := range refs {
		d := RowDetail{
			Row: Row{ref.Row, names.Format(i)}, Status: string(state.Status(ref.Row)), Inputs: map[string]any{},
			Labels: map[string]*float64{}, LeaseEnd: state.LeaseEnd(ref.Row), Failures: state.Failures(ref.Row),
		}
		for _, column := range inputs.Columns() {
			if column.Name() != id {
				d.Inputs[column.Name()] = value(column, i)
			}
		}
		label := state.Label(ref.Row)
		for t, target := range state.Created.Targets {
			d.Labels[target] = nil
			if t < len(label) && !math.IsNaN(label[t]) {
				d.Labels[target] = &label[t]
			}
		}
		list[i] = d
	}
	return list, nil
}

// value returns a value of a column as JSON has it.
func value(column dataset.Column, row int) any {
	if column.Missing(row) {
		return nil
	}
	if numbers, ok := column.(*dataset.Numeric); ok {
		if v := numbers.Float(row); !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v
		}
		return nil
	}
	return column.Format(row)
}

// Added is what was added.
type Added struct {
	Event     int64               `json:"event"`
	Rows      int64               `json:"rows" doc:"how many"`
	Labelled  int                 `json:"labelled" doc:"rows that came with a label"`
	Repeated  bool                `json:"repeated"`
	NewLevels map[string][]string `json:"new_levels,omitempty" doc:"by column, levels that no row had before"`
}

func (s *Server) addRows(ctx context.Context, in *struct {
	Change
	Upload
}) (*output[Added], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.read(ctx, &in.Upload, source.Options{ID: state.Created.IDColumn})
	if err != nil {
		return nil, err
	}
	added, err := c.Add(ctx, in.by(ctx), t)
	return answer(Added{added.Seq, added.Rows, added.Labelled, added.Repeated, added.NewLevels}, err)
}

// IDs is a request about rows.
type IDs struct {
	Change
	Body struct {
		IDs    []string `json:"ids" minItems:"1" maxItems:"100000" doc:"ids of the rows"`
		Reason string   `json:"reason,omitempty" maxLength:"1000"`
	}
}

func (s *Server) retireRows(ctx context.Context, in *IDs) (*output[Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Retire(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason))
}
