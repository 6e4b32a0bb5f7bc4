package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand names the commands that the user may have meant.
func unknownCommand(c *cobra.Command, name string) error {
	c.SuggestionsMinimumDistance = typos(name)
	return usagef("unknown command %q; %s%s --help lists the commands", name,
		didYouMean("", c.SuggestionsFor(name)), c.CommandPath())
}

// unknownFlag names the flags that the user may have meant.
func unknownFlag(c *cobra.Command, name string) error {
	flags := &cobra.Command{SuggestionsMinimumDistance: typos(name)} // cobra compares words only with names of commands
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return usagef("unknown flag --%s; %s%s --help lists the flags", name,
		didYouMean("--", flags.SuggestionsFor(name)), c.CommandPath())
}

// typos is the largest edit distance at which a name is suggested: with two of its
// letters changed, a word of three is another word.
func typos(name string) int { return max(1, min(2, len(name)/2)) }

func didYouMean(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + prefix + strings.Join(names, " or "+prefix) + "? "
}
