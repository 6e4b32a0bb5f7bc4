package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError explains in plain words what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		return unknownFlag(c, unknown.GetSpecifiedName())
	}
	bad := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &bad) {
		return usageError{err}
	}
	wanted := map[string]string{
		"int": "a whole number", "uint64": "a whole number that is not negative", "float64": "a number", "bool": "true or false",
		"intSlice":    "whole numbers, separated by commas",
		"stringSlice": "a list, separated by commas; put a name with a comma or a quote in quotes, and double its own quotes",
	}[bad.GetFlag().Value.Type()]
	return usagef("--%s is %q; it must be %s", bad.GetFlag().Name, bad.GetValue(), wanted)
}
