package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Row is a row with its inputs and its labels.
type Row struct {
	campaign.RowRef
	Status   string                `json:"status" enum:"open,asked,waiting,labelled,failed,retired"`
	Inputs   map[string]wire.Value `json:"inputs" doc:"by column; null where a value is missing"`
	Labels   map[string]*float64   `json:"labels" doc:"by target; null where there is none"`
	Censored map[string]int8       `json:"censored,omitempty" doc:"by target, for labels of which only a limit is known: -1 where the true one lies below the limit, which is the label, 1 where it lies above"`
	LeaseEnd *time.Time            `json:"lease_end,omitempty" doc:"when a row that is out is open again"`
	Failures int                   `json:"failures" doc:"how often it could not be labelled"`
	Measured int                   `json:"measured" doc:"how often it was measured"`
}

// RowPage is a part of the rows.
type RowPage struct {
	Rows  []Row `json:"rows"`
	Total int64 `json:"total" doc:"rows that the filter leaves"`
}

func (s *Server) rowRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "list-rows", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/rows",
		Summary: "Rows, a page at a time",
	}, s.listRows)
	route(s, Viewer, huma.Operation{
		OperationID: "export-rows", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/rows/export",
		Summary:   "Download rows as a table",
		Responses: exported(),
	}, s.exportRows)
	route(s, Viewer, huma.Operation{
		OperationID: "get-row", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/rows/{row}",
		Summary: "A row by its number",
	}, s.getRow)
	route(s, Owner, upload(huma.Operation{
		OperationID: "add-rows", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/rows", Summary: "Add rows",
		DefaultStatus: http.StatusCreated,
	}), s.addRows)
	route(s, Owner, upload(huma.Operation{
		OperationID: "add-earlier-data", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/earlier",
		Summary: "Add labelled rows of an earlier campaign, another instrument or a simulation",
	}), s.addEarlier)
	route(s, Owner, huma.Operation{
		OperationID: "retire-rows", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/retirements",
		Summary:      "Remove rows from the campaign",
		MaxBodyBytes: listBody,
	}, s.retireRows)
}

func (s *Server) listRows(ctx context.Context, in *struct {
	Named
	RowQuery
	Offset int64 `query:"offset" minimum:"0" doc:"rows to skip"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*output[RowPage], error) {
	v, err := s.view(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	list, err := s.find(in.Campaign, v, in.RowQuery)
	if err != nil {
		return nil, err
	}
	page := RowPage{[]Row{}, int64(list.len())}
	from := int(min(in.Offset, page.Total))
	for i := from; i < min(from+in.Limit, list.len()); i++ {
		page.Rows = append(page.Rows, detail(v, list.at(i)))
	}
	return answer(page, nil)
}

// view returns all rows of a campaign.
func (s *Server) view(ctx context.Context, name string) (*campaign.View, error) {
	c, err := s.campaign(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.View(ctx)
}

// detail returns a row with everything that is known about it.
func detail(v *campaign.View, at int) Row {
	row := v.Number(at)
	d := Row{
		RowRef: v.Ref(at), Status: string(v.Status(row)), Inputs: wire.Inputs(v.Table, at, v.Created.IDColumn),
		Labels: map[string]*float64{}, Censored: map[string]int8{}, Failures: v.Failures(row), Measured: v.Measured(row),
	}
	if d.Status == string(campaign.StatusAsked) {
		d.LeaseEnd = v.LeaseEnd(row)
	}
	label := v.Label(row)
	for t, target := range v.Created.Targets {
		d.Labels[target] = nil
		if !math.IsNaN(label[t]) {
			d.Labels[target] = &label[t]
			if side := v.Side(row, t); side != 0 {
				d.Censored[target] = side
			}
		}
	}
	return d
}

// RowHistory is a row with its measurements, and its reason and predictions from when it was handed out.
type RowHistory struct {
	Row
	Waiting      []campaign.Waiting            `json:"waiting" doc:"numbers of its measurements that wait for a second look; its labels are without them"`
	Measurements []Measurement                 `json:"measurements" doc:"the oldest first; the label is their mean or, by the settings, the last"`
	Out          []Outstanding                 `json:"out" doc:"measurements that are out"`
	Ask          int64                         `json:"ask,omitempty" doc:"the last ask that handed it out before its label came"`
	Person       string                        `json:"person,omitempty" doc:"who asked"`
	Reason       string                        `json:"reason,omitempty" doc:"why it was picked"`
	Predictions  map[string]*fitted.Prediction `json:"predictions,omitempty" doc:"by target, made before the label came; only of rows that have one, so that no prediction can steer a label"`
}

// Measurement is one measurement of a row.
type Measurement struct {
	Event    int64              `json:"event" doc:"number of its event"`
	Time     time.Time          `json:"time"`
	Person   string             `json:"person,omitempty" doc:"who told it"`
	Values   map[string]float64 `json:"values" doc:"by target; absent where there is none"`
	Censored map[string]int8    `json:"censored,omitempty" doc:"by target, for values of which only a limit is known: -1 where the true one lies below the limit, which is the value, 1 where it lies above"`
	Ask      int64              `json:"ask,omitempty" doc:"that handed it out; absent if nobody had asked for it"`
	wire.Place
}

// Outstanding is a measurement of a row that is out.
type Outstanding struct {
	Ask      int64      `json:"ask" doc:"that handed it out"`
	Person   string     `json:"person,omitempty" doc:"who asked"`
	LeaseEnd *time.Time `json:"lease_end,omitempty" doc:"when the lease ends; never if it is absent"`
	wire.Place
}

func measurementsOf(v *campaign.View, row int64) []Measurement {
	list := []Measurement{}
	for _, m := range v.Measurements(row) {
		values, censored := map[string]float64{}, map[string]int8{}
		for t, target := range v.Created.Targets {
			if !math.IsNaN(m.Values[t]) {
				values[target] = m.Values[t]
				if side := m.Censored.Of(t); side != 0 {
					censored[target] = side
				}
			}
		}
		one := Measurement{m.Seq, m.Time, m.Person, values, censored, m.Ask, wire.Place{Replicate: m.Replicate}}
		if m.Pick != nil {
			one.Repeat, one.Run, one.Plate, one.Well = m.Pick.Repeat, m.Pick.Run, m.Pick.Plate, m.Pick.Well
		}
		list = append(list, one)
	}
	return list
}

// outstandingOf returns the measurements of a row that are out.
func outstandingOf(v *campaign.View, row int64, inputs map[string]wire.Value) []Outstanding {
	list := []Outstanding{}
	for _, h := range v.Out(row) {
		list = append(list, Outstanding{h.Ask, h.Person, h.LeaseEnd, wire.PlaceOf(h.Asked, h.Pick, inputs)})
	}
	return list
}

func (s *Server) getRow(ctx context.Context, in *struct {
	Named
	Row int64 `path:"row" minimum:"0" doc:"number of the row"`
}) (*output[RowHistory], error) {
	v, err := s.view(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	if !v.Exists(in.Row) {
		return nil, huma.Error404NotFound(fmt.Sprintf("the campaign has no row %d", in.Row))
	}
	h := RowHistory{Row: detail(v, v.At(in.Row)), Waiting: []campaign.Waiting{}, Measurements: measurementsOf(v, in.Row)}
	for _, w := range v.Waiting() {
		if w.Row == in.Row {
			h.Waiting = append(h.Waiting, w)
		}
	}
	h.Out = outstandingOf(v, in.Row, h.Inputs)
	ask, asked := v.AskOf(in.Row)
	if asked == nil {
		return answer(h, nil)
	}
	h.Ask, h.Person = ask.Ask, ask.Person
	measured := len(h.Measurements) > 0
	if measured {
		h.Predictions = wire.Predictions(v.Created.Targets, asked.Predictions)
	}
	h.Reason, err = s.reason(ctx, in.Campaign, ask, in.Row, measured)
	return answer(h, err)
}

func (s *Server) addRows(ctx context.Context, in *struct {
	Change
	Upload
}) (*output[wire.Added], error) {
	c, state, err := s.state(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	t, done, err := s.read(ctx, &in.Upload, state.RowOptions())
	if err != nil {
		return nil, err
	}
	defer done()
	added, err := c.Add(ctx, in.by(ctx), t)
	if err != nil {
		return nil, err
	}
	leaks, err := c.NewLeaks(ctx, added, campaign.Ask{})
	return answer(wire.AddedOf(added, slices.Concat(t.Origin().Warnings, leaks)), err)
}

func (s *Server) addEarlier(ctx context.Context, in *struct {
	Change
	Upload
	Name string `query:"name" required:"true" minLength:"1" maxLength:"200" doc:"what messages call the table"`
}) (*output[wire.AddedEarlier], error) {
	c, state, err := s.state(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	t, done, err := s.read(ctx, &in.Upload, state.Created.RowOptions())
	if err != nil {
		return nil, err
	}
	defer done()
	added, err := c.AddEarlier(ctx, in.by(ctx), in.Name, t)
	return answer(wire.AddedEarlierOf(added, t.Origin().Warnings), err)
}

// IDs is a request about rows.
type IDs struct {
	Change
	Body wire.IDsRequest
}

func (s *Server) retireRows(ctx context.Context, in *IDs) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Retire(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason))
}
