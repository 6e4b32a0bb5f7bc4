package worker

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/network"
)

// Python sends null for what its caller does not name, and the worker's defaults stay.
func TestNullLeavesTheDefaults(t *testing.T) {
	for _, text := range []string{`{}`, `{"hidden": null, "activation": null, "epochs": null}`} {
		body := fitBody{Choice: choice.DefaultChoice()}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		config, err := trained(body.Choice, 0)
		if want := (network.Config{}).WithDefaults(); err != nil || !reflect.DeepEqual(config.WithDefaults(), want) {
			t.Errorf("%s means %+v, %v", text, config, err)
		}
	}
	body := fitBody{Choice: choice.DefaultChoice()}
	if err := json.Unmarshal([]byte(`{"epochs": 0}`), &body); err != nil {
		t.Fatal(err)
	}
	if _, err := trained(body.Choice, 0); err == nil {
		t.Error("0 epochs were accepted")
	}
}
