package choice

import "fmt"

import "github.com/nextbatch/nextbatch/network"

// Choice is what users choose about networks, in the form in which flags and arguments of Python
// functions spell it. Their defaults are those of DefaultChoice.
type Choice struct {
	Hidden     []int  `json:"hidden"` // widths of the hidden layers; nil means the default
	Activation string `json:"activation"`
	Epochs     int    `json:"epochs"`
	Members    int    `json:"ensemble"` // networks to train; 0 means as many as are needed
}

// DefaultChoice returns the choice that means the zero Config.
func DefaultChoice() Choice {
	c := network.Config{}.WithDefaults()
	return Choice{Hidden: c.Architecture.Hidden, Activation: c.Architecture.Activation.String(), Epochs: c.Training.Epochs}
}

// Config checks the choice and returns the configuration that it means. nameOf returns what
// messages call Network.Architecture.Activation, Network.Training.Epochs and Members.
func (c Choice) Config(seed uint64, nameOf func(field string, value ...string) string) (network.Config, error) {
	activation, err := network.ParseActivation(c.Activation)
	if err != nil {
		return network.Config{}, fmt.Errorf("%s: %w", nameOf("Network.Architecture.Activation"), err)
	}
	config := network.Config{
		Architecture: network.Architecture{Hidden: c.Hidden, Activation: activation},
		Training:     network.Training{Epochs: c.Epochs},
		Seed:         seed,
	}
	if c.Epochs < 1 {
		return config, fmt.Errorf("%s must be at least 1, not %d", nameOf("Network.Training.Epochs"), c.Epochs)
	}
	if err := CheckMembers(nameOf("Members"), c.Members); err != nil {
		return config, err
	}
	return config, config.Check()
}

// CheckMembers reports a number of networks that no ensemble has. Name is what the message calls it.
func CheckMembers(name string, n int) error {
	if n < 0 || n > network.MostMembers {
		return fmt.Errorf("%s must be from 0 to %d, not %d", name, network.MostMembers, n)
	}
	return nil
}
