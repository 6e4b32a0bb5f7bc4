package server

import (
	"encoding/json"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestProblemsAreThoseOfWire: operations write their problems themselves, in the shape that package wire describes.
func TestProblemsAreThoseOfWire(t *testing.T) {
	t.Parallel()
	want, err := json.Marshal(faults([]campaign.Fault{{Line: 3, ID: "s017", Reason: "there is no such row"}}))
	if err != nil {
		t.Fatal(err)
	}
	var problem wire.Problem
	if err := json.Unmarshal(want, &problem); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(problem); err != nil || string(got) != string(want) {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
