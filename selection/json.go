package selection

import (
	"encoding/json"
	"fmt"
	"math"
)

// MarshalText writes "p" or "tp".
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// MarshalText writes "chosen", "required" or "filled".
func (w Why) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// MarshalText writes "none", "train", "pool" or "pending".
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Set) UnmarshalText(text []byte) error {
	for _, *s = range []Set{NoSet, TrainSet, PoolSet, PendingSet} {
		if s.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("there is no set %q", text)
}

// MarshalJSON omits what a pick does not have: a cluster, and a score or a distance
// that is not finite.
func (p Pick) MarshalJSON() ([]byte, error) {
	type centre struct {
		Set      Set      `json:"set"`
		Row      int      `json:"row"`
		Distance *float64 `json:"distance,omitempty"`
		Rows     int      `json:"rows"`
	}
	object := struct {
		Row      int      `json:"row"`
		Step     int      `json:"step"`
		Why      Why      `json:"why"`
		Score    *float64 `json:"score,omitempty"`
		Tied     bool     `json:"tied"`
		Cluster  *centre  `json:"cluster,omitempty"`
		Run      int      `json:"run,omitempty"`
		Labelled int      `json:"labelled"`
		Distance *float64 `json:"distance,omitempty"`
	}{Row: p.Row, Step: p.Step, Why: p.Why, Score: orNothing(p.Score), Tied: p.Tied, Run: p.Run, Labelled: p.Labelled,
		Distance: orNothing(p.Distance)}
	if c := p.Cluster; c.Centre.Set != NoSet {
		object.Cluster = &centre{c.Centre.Set, c.Centre.Row, orNothing(c.Distance), c.Rows}
	}
	return json.Marshal(object)
}

// MarshalJSON omits a score that is not finite.
func (r Removal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Row    int      `json:"row"`
		Picked int      `json:"picked"`
		Step   int      `json:"step"`
		Score  *float64 `json:"score,omitempty"`
	}{r.Row, r.Picked, r.Step, orNothing(r.Score)})
}

func orNothing(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
