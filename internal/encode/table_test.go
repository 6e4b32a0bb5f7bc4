package encode

import (
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

func categorical(name string, values ...string) *dataset.Categorical {
	c := dataset.NewCategorical(name)
	for _, v := range values {
		if v == "" {
			c.Append(-1)
			continue
		}
		c.Append(c.AddLevel(v))
	}
	return c
}

func table(t testing.TB, columns ...dataset.Column) *dataset.Table {
	t.Helper()
	made, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
