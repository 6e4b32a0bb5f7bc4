package storetest_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
)

// FuzzLog reads damaged logs: they are refused, or fold into a state that can be used.
func FuzzLog(f *testing.F) {
	for _, line := range []string{
		`{"seq":1,"time":"2026-01-01T00:00:00Z","created":{"identity":"i","id_column":"id","targets":["y"],` +
			`"columns":[{"name":"x","kind":"numeric"}],"settings":{"network":{},"seed":1,"lease":"1h0m0s"}}}`,
	} {
		for _, rest := range []string{
			``,
			`{"seq":2,"time":"2026-01-01T00:00:01Z","rows_added":{"first":0,"blocks":[{"rows":9,"blob":"rows-1"}]}}`,
			`{"seq":2,"time":"2026-01-01T00:00:01Z","rows_added":{"first":0,"blocks":[{"rows":9223372036854775807,"blob":"a"},` +
				`{"rows":9223372036854775807,"blob":"b"}]}}`,
			`{"seq":2,"time":"2026-01-01T00:00:01Z","rows_added":{"first":0,"blocks":[{"rows":9,"blob":"rows-1"}]}}
{"seq":3,"time":"2026-01-01T00:00:02Z","asked":{"ask":1,"lease_end":"2026-01-02T00:00:00Z","spec":"random","seed":1,` +
				`"trained":0,"result":"ask-1","rows":[{"row":1,"id":"a","audit":true,"predictions":[{"value":1.5,"low":1,` +
				`"high":2}]},{"row":2,"id":"b"}]}}
{"seq":4,"time":"2026-01-01T00:00:03Z","told":{"labels":[{"row":1,"id":"a","values":[1.25]}]}}
{"seq":5,"time":"2026-01-01T00:00:04Z","corrected":{"labels":[{"row":1,"id":"a","values":[2]}]}}
{"seq":6,"time":"2026-01-01T00:00:05Z","failed":{"rows":[{"row":2,"id":"b"}],"reason":"broke","again":true}}
{"seq":7,"time":"2026-01-01T00:00:06Z","undone":{"seq":6}}
{"seq":8,"time":"2026-01-01T00:00:07Z","returned":{"rows":[{"row":2,"id":"b"}]}}
{"seq":9,"time":"2026-01-01T00:00:08Z","retired":{"rows":[{"row":3,"id":"c"}]}}
{"seq":10,"time":"2026-01-01T00:00:09Z","settings":{"network":{},"seed":2,"latest":true}}`,
			`{"seq":2,"time":"2026-01-01T00:00:01Z","rows_added":{"first":0,"blocks":[{"rows":9,"blob":"rows-1"}]}}
{"seq":3,"time":"2026-01-01T00:00:02Z","told":{"labels":[{"row":1,"id":"a","values":[125],"doubts":[{"low":1,` +
				`"high":2,"prediction":1.5,"slip":"two digits too many?"}]},{"row":2,"id":"b","values":[2]}]}}
{"seq":4,"time":"2026-01-01T00:00:03Z","corrected":{"labels":[{"row":2,"id":"b","values":[200],"doubts":[{"low":1,` +
				`"high":2}]}]}}
{"seq":5,"time":"2026-01-01T00:00:04Z","confirmed":{"rows":[{"row":2,"id":"b"}],"reason":"measured twice"}}
{"seq":6,"time":"2026-01-01T00:00:05Z","undone":{"seq":5}}`,
		} {
			f.Add([]byte(line + "\n" + rest))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var log []campaign.Event
		for line := range strings.Lines(string(data)) {
			e, err := new(campaign.EventDecoder).Decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil {
				continue // a store would refuse the log here
			}
			raw, err := campaign.EncodeEvent(e)
			if err != nil {
				t.Fatalf("%s was read, but cannot be written: %v", line, err)
			}
			if again, err := new(campaign.EventDecoder).Decode(raw); err != nil || !same(t, again, raw) {
				t.Fatalf("%s was written as %s: %v", line, raw, err)
			}
			log = append(log, e)
		}
		s, err := campaign.Fold(log, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		if err != nil {
			return
		}
		counts := s.Counts()
		if counts.Open < 0 ||
			counts.Rows != counts.Open+counts.Asked+counts.Labelled+counts.Waiting+counts.Failed+counts.Retired {
			t.Errorf("counts are %+v", counts)
		}
		if waiting := s.Waiting(); int64(len(waiting)) < counts.Waiting {
			t.Errorf("%d rows wait, but %d labels do", counts.Waiting, len(waiting))
		}
		s.Outcomes()
		s.Noise()
	})
}

func same(t *testing.T, e campaign.Event, raw []byte) bool {
	t.Helper()
	got, err := campaign.EncodeEvent(e)
	return err == nil && bytes.Equal(got, raw)
}
