package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Queue is what a person has to measure.
type Queue struct {
	Rows     []QueueRow `json:"rows" doc:"the measurements in the order in which they were asked for or, on plates, well by well; a row that is measured several times is there several times"`
	Targets  []string   `json:"targets"`
	Warnings []string   `json:"warnings" doc:"what was said about the batches that the rows belong to, each text once"`
}

// QueueRow is a measurement of a row that is out. It has no prediction and no label of the row so far, and does not say
// that the row was drawn at random to measure the error, so that none of these can bias the person.
type QueueRow struct {
	Row
	Ask    int64  `json:"ask" doc:"number of the ask that handed it out"`
	Reason string `json:"reason" doc:"why it was picked, without what was predicted; empty for rows that were drawn at random"`
	wire.Place
}

func (s *Server) getQueue(ctx context.Context, in *Named) (*output[Queue], error) {
	v, err := s.view(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	q := Queue{[]QueueRow{}, v.Created.Targets, []string{}}
	person := callerOf(ctx).token.Person
	type place struct{ ask, pick int }
	places := map[*campaign.AskedRow]place{}
	var out []campaign.Handed
	for _, h := range v.Handed() {
		if h.Person == person {
			pick := slices.IndexFunc(h.Rows, func(r campaign.AskedRow) bool {
				return r.Row == h.Pick.Row &&
					r.Replicate == h.Pick.Replicate
			})
			places[h.Pick], out = place{int(h.Ask), pick}, append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b campaign.Handed) int {
		x, y := places[a.Pick], places[b.Pick]
		return cmp.Or(cmp.Compare(x.ask, y.ask), campaign.ComparePlaces(a.Pick, b.Pick), cmp.Compare(x.pick, y.pick))
	})
	for _, h := range out {
		result, err := s.result(ctx, in.Campaign, h.AskEvent)
		if err != nil {
			return nil, err
		}
		for _, text := range result.warnings {
			if !slices.Contains(q.Warnings, text) {
				q.Warnings = append(q.Warnings, text)
			}
		}
		row := detail(v, v.At(h.Pick.Row))
		row.LeaseEnd = h.LeaseEnd
		for target := range row.Labels {
			row.Labels[target] = nil
		}
		reason := at(result.alone, places[h.Pick].pick)
		if h.Pick.Audit {
			reason = ""
		}
		q.Rows = append(q.Rows, QueueRow{row, h.Ask, reason, wire.PlaceOf(h.Asked, h.Pick, row.Inputs)})
	}
	return answer(q, nil)
}

// Person is what somebody has done for a campaign.
type Person struct {
	Person string    `json:"person"`
	Asked  int       `json:"asked" doc:"measurements that they asked for"`
	Told   int       `json:"told" doc:"measurements, with corrections"`
	Failed int       `json:"failed" doc:"rows"`
	Last   time.Time `json:"last" doc:"when they last did something"`
}

func (s *Server) peopleRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "list-people", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/people", Summary: "Who did what",
	}, s.listPeople)
}

func (s *Server) listPeople(ctx context.Context, in *Named) (*output[[]Person], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	log, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	people := map[string]*Person{}
	for _, e := range log {
		p := people[e.Person]
		if p == nil {
			p = &Person{Person: e.Person}
			people[e.Person] = p
		}
		p.Last = e.Time
		if state.Undone(e.Seq) {
			continue
		}
		switch {
		case e.Asked != nil:
			p.Asked += len(e.Asked.Rows)
		case e.Told != nil, e.Corrected != nil:
			p.Told += len(e.Rows())
		case e.Failed != nil:
			p.Failed += len(e.Failed.Rows)
		}
	}
	list := []Person{}
	for _, p := range people {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Person) int {
		return cmp.Or(cmp.Compare(b.Told, a.Told),
			cmp.Compare(a.Person, b.Person))
	})
	return answer(list, nil)
}
