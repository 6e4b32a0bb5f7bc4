package server

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// mostMapped is how many rows a map shows.
const mostMapped = 100000

// mostMaps is the number of campaigns that have a map; the oldest map is dropped first.
const mostMaps = 16

// number is a number of a map; NaN is null in JSON. Seven digits suffice to draw it.
type number float32

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 32), nil
}

// Schema implements huma.SchemaProvider.
func (number) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Nullable: true}
}

// PoolMap is rows in the plane in which they vary most. Lists have an entry for each row.
type PoolMap struct {
	Labels     int        `json:"labels" doc:"labelled rows that the model was fitted to; 0 without a model"`
	Rows       []int64    `json:"rows" doc:"numbers of the rows"`
	X          []number   `json:"x"`
	Y          []number   `json:"y"`
	Status     []int      `json:"status" doc:"0 open, 1 asked, 2 labelled, 3 failed, 4 retired, 5 waiting"`
	Prediction [][]number `json:"prediction" nullable:"true" doc:"of each target; null without a model"`
	Interval   [][]number `json:"interval" nullable:"true" doc:"half the width of each target's interval"`
	Label      [][]number `json:"label" doc:"of each target"`
	Distance   []number   `json:"distance" nullable:"true" doc:"from the nearest labelled row, in the kernel; null without labels"`
	Sampled    bool       `json:"sampled" doc:"some open rows are not shown"`
	Of         int64      `json:"of" doc:"rows that could be shown"`
	Explained  []number   `json:"explained" doc:"share of the variance along each direction"`
}

// LastMap is the newest map of a campaign.
type LastMap struct {
	Map *PoolMap `json:"map" doc:"null if none was made since the service started"`
}

func (s *Server) mapRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "make-map", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/maps",
		Summary:       "Make a map of the rows",
		DefaultStatus: http.StatusAccepted,
	}, s.makeMap)
	route(s, Viewer, huma.Operation{
		OperationID: "get-map", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/map",
		Summary: "The newest map of the rows",
	}, s.getMap)
}

func (s *Server) makeMap(ctx context.Context, in *Named) (*output[wire.Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: wire.Job{Campaign: in.Campaign, Kind: "map", Person: callerOf(ctx).token.Person}})
}

// runMap makes a map and keeps it.
func (s *Server) runMap(ctx context.Context, _ *job, c *campaign.Campaign, a campaign.Ask) (jobResult, error) {
	m, err := c.Map(ctx, a, mostMapped)
	if err != nil {
		return jobResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.mapOrder {
		if name == c.Name() {
			s.mapOrder = append(s.mapOrder[:i], s.mapOrder[i+1:]...)
			break
		}
	}
	if s.mapOrder = append(s.mapOrder, c.Name()); len(s.mapOrder) > mostMaps {
		delete(s.maps, s.mapOrder[0])
		s.mapOrder = s.mapOrder[1:]
	}
	s.maps[c.Name()] = m
	return jobResult{}, nil
}

func (s *Server) getMap(ctx context.Context, in *Named) (*output[LastMap], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	m := s.maps[in.Campaign]
	s.mu.Unlock()
	if m == nil {
		return &output[LastMap]{}, nil
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	return answer(LastMap{new(poolMap(m, state))}, nil)
}

var statusCodes = map[campaign.Status]int{
	campaign.StatusOpen: 0, campaign.StatusAsked: 1, campaign.StatusLabelled: 2, campaign.StatusFailed: 3,
	campaign.StatusRetired: 4, campaign.StatusWaiting: 5,
}

// poolMap returns a map with the present status of the rows.
func poolMap(m *campaign.Map, state *campaign.State) PoolMap {
	p := PoolMap{
		Labels: m.Labels, Of: m.Of, Sampled: m.Of > int64(len(m.Rows)),
		Explained: []number{number(m.Share[0]), number(m.Share[1])},
		Rows:      []int64{}, X: []number{}, Y: []number{}, Status: []int{}, Label: [][]number{},
	}
	for i, row := range m.Rows {
		if !state.Exists(row) { // the event that added it was undone
			continue
		}
		p.Rows = append(p.Rows, row)
		p.X, p.Y = append(p.X, number(m.At[i][0])), append(p.Y, number(m.At[i][1]))
		p.Status = append(p.Status, statusCodes[state.Status(row)])
		label := []number{}
		for _, v := range state.Label(row) {
			label = append(label, number(v))
		}
		p.Label = append(p.Label, label)
		if m.Distances != nil {
			p.Distance = append(p.Distance, number(m.Distances[i]))
		}
		if m.Predictions != nil {
			values, widths := []number{}, []number{}
			for _, one := range m.Predictions[i] {
				values, widths = append(values, number(one.Value)), append(widths, number(campaign.HalfWidth(one)))
			}
			p.Prediction, p.Interval = append(p.Prediction, values), append(p.Interval, widths)
		}
	}
	return p
}
