package server

import (
	"fmt"
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
		"labels that most rows lack": {"name,a,strength\ns1,1,2\ns2,2,\ns3,3,\n",
			Suggested{Target: "strength", ID: "name"}},
		"a column y with gaps":              {"a,y\n1,2\n2,\n3,4\n", Suggested{Target: "y"}},
		"a coordinate y, and labels":        {"x,y,price\n1,5,2\n2,6,\n3,7,\n", Suggested{Target: "price"}},
		"a coordinate y, all rows labelled": {"x,y,price\n1,5,2\n2,6,3\n3,7,4\n", Suggested{}},
		"y before an input with gaps":       {"a,y,n\n1,2,5\n,,5\n,,5\n,,5\n", Suggested{Target: "y"}},
		"an input with one gap":             {"a,b\n1,2\n2,\n3,4\n", Suggested{}},
		"numbers that are all different":    {"a,b\n1,2\n2,3\n3,4\n", Suggested{}},
		"results measured together": {"id,a,conversion,purity\n" +
			strings.Repeat("%d,1,,\n", 20) + strings.Repeat("%d,2,3.5,4\n", 5), Suggested{ID: "id"}},
		"results measured together, of which one has the name of a label": {
			"id,a,conversion,Yield (%%)\n" + strings.Repeat("%d,1,,\n", 20) + strings.Repeat("%d,2,3.5,4\n", 5),
			Suggested{Target: "Yield (%)", ID: "id"}},
		"ids of text, and one of them missing": {"id,b\ns1,2\n,3\ns3,4\n", Suggested{}},
	} {
		if rows := strings.Count(c.table, "%d"); rows > 0 {
			numbers := make([]any, rows)
			for i := range numbers {
				numbers[i] = 7 * (i + 1)
			}
			c.table = fmt.Sprintf(c.table, numbers...)
		}
		table, err := source.Read(t.Context(), strings.NewReader(c.table), source.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := suggest(t.Context(), table); err != nil || got != c.want {
			t.Errorf("%s: %+v, not %+v (%v)", name, got, c.want, err)
		}
	}
}
