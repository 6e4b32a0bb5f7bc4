package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError explains in plain words what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	unknown, bad, empty := (*pflag.NotExistError)(nil), (*pflag.InvalidValueError)(nil), (*pflag.ValueRequiredError)(nil)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(c, unknown.GetSpecifiedName())
	case errors.As(err, &bad):
		wanted := wantedOf(bad.GetFlag())
		if errors.Is(err, strconv.ErrRange) {
			wanted += " of at most 18 digits"
		}
		return usagef("%s is %q; it must be %s", flagName(bad.GetFlag()), bad.GetValue(), wanted)
	case errors.As(err, &empty):
		return usagef("%s needs a value: %s", flagName(empty.GetFlag()), wantedOf(empty.GetFlag()))
	}
	return usageError{err}
}

// flagName is how people write the flag, with the short form first.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + " (--" + f.Name + ")"
	}
	return "--" + f.Name
}

// wantedOf is what the value of a flag must be.
func wantedOf(f *pflag.Flag) string { return wantedValues[f.Value.Type()] }

var wantedValues = map[string]string{
	"int": "a whole number", "uint64": "a whole number that is not negative", "float64": "a number",
	"bool":   "true or false",
	"string": "a text", "stringArray": "a text",
	"share":        "a share from 0 to 1, such as 1/8 or 0.125",
	"range":        "what labels can be, such as 0..100, 0.. or ..100",
	"intSlice":     "whole numbers, separated by commas",
	"float64Slice": "numbers, separated by commas",
	"stringSlice":  "a list, separated by commas; put a name with a comma or a quote in quotes, and double its own quotes",
}
