package choice

import (
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/network"
)

// Defaults are written once: the choice of a user who says nothing is the zero Config.
func TestDefaultChoiceIsTheZeroConfig(t *testing.T) {
	c, err := DefaultChoice().Config(0, func(field string, value ...string) string { return field })
	if err != nil || !reflect.DeepEqual(c.WithDefaults(), network.Config{}.WithDefaults()) {
		t.Errorf("the default choice means %+v, %v", c, err)
	}
}

func TestChoiceIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Choice){
		"Network.Training.Epochs must be at least 1, not 0": func(c *Choice) { c.Epochs = 0 },
		"Members must be from 0 to 1000, not 1001":          func(c *Choice) { c.Members = network.MostMembers + 1 },
		"hidden layer 1 has width 0":                        func(c *Choice) { c.Hidden = []int{0} },
	} {
		c := DefaultChoice()
		change(&c)
		if _, err := c.Config(0, func(field string, value ...string) string { return field }); err == nil ||
			err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
