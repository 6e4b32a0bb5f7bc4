package server

import (
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table string
		want  Suggested
	}{
		"labels that most rows lack":           {"name,a,strength\ns1,1,2\ns2,2,\ns3,3,\n", Suggested{Target: "strength", ID: "name"}},
		"a column y with gaps":                 {"a,y\n1,2\n2,\n3,4\n", Suggested{Target: "y"}},
		"a coordinate y, and labels":           {"x,y,price\n1,5,2\n2,6,\n3,7,\n", Suggested{Target: "price"}},
		"a coordinate y, all rows labelled":    {"x,y,price\n1,5,2\n2,6,3\n3,7,4\n", Suggested{}},
		"y before an input with gaps":          {"a,y,n\n1,2,5\n,,5\n,,5\n,,5\n", Suggested{Target: "y"}},
		"an input with one gap":                {"a,b\n1,2\n2,\n3,4\n", Suggested{}},
		"numbers that are all different":       {"a,b\n1,2\n2,3\n3,4\n", Suggested{}},
		"ids of text, and one of them missing": {"id,b\ns1,2\n,3\ns3,4\n", Suggested{}},
	} {
		table, err := source.Read(t.Context(), strings.NewReader(c.table), source.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := suggest(t.Context(), table); err != nil || got != c.want {
			t.Errorf("%s: %+v, not %+v (%v)", name, got, c.want, err)
		}
	}
}
