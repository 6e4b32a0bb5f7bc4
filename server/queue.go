package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
)

// Queue is the rows that a person has to label.
type Queue struct {
	Rows    []QueueRow `json:"rows" doc:"in the order in which they were asked for"`
	Targets []string   `json:"targets"`
}

// QueueRow is a row that is out. It has no prediction, and does not say that the row
// was drawn at random to measure the error, so that neither can bias the person.
type QueueRow struct {
	Row
	Ask    int64  `json:"ask" doc:"number of the ask that handed it out"`
	Reason string `json:"reason" doc:"why it was picked, without what was predicted; empty for rows that were drawn at random"`
}

func (s *Server) getQueue(ctx context.Context, in *Named) (*output[Queue], error) {
	v, err := s.view(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	q := Queue{[]QueueRow{}, v.Created.Targets}
	person := callerOf(ctx).token.Person
	type place struct{ ask, pick int }
	places := map[int64]place{}
	for _, ref := range v.With(campaign.StatusAsked) {
		ask, asked := v.AskOf(ref.Row)
		if asked == nil || ask.Person != person {
			continue
		}
		result, err := s.result(ctx, in.Campaign, ask)
		if err != nil {
			return nil, err
		}
		pick := slices.IndexFunc(ask.Rows, func(r campaign.AskedRow) bool { return r.Row == ref.Row })
		places[ref.Row] = place{int(ask.Ask), pick}
		reason := unsteered(result.reason(pick))
		if pick >= 0 && ask.Rows[pick].Audit {
			reason = ""
		}
		q.Rows = append(q.Rows, QueueRow{detail(v, v.At(ref.Row)), ask.Ask, reason})
	}
	slices.SortFunc(q.Rows, func(a, b QueueRow) int {
		x, y := places[a.Row.Row], places[b.Row.Row]
		return cmp.Or(cmp.Compare(x.ask, y.ask), cmp.Compare(x.pick, y.pick))
	})
	return answer(q, nil)
}

// unsteered returns a reason without the prediction that it ends with.
func unsteered(reason string) string {
	if at := strings.LastIndex(reason, "; predicted "); at >= 0 {
		return reason[:at]
	}
	return reason
}

// Person is what somebody has done for a campaign.
type Person struct {
	Person string    `json:"person"`
	Asked  int       `json:"asked" doc:"rows"`
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
	slices.SortFunc(list, func(a, b Person) int { return cmp.Or(cmp.Compare(b.Told, a.Told), cmp.Compare(a.Person, b.Person)) })
	return answer(list, nil)
}
