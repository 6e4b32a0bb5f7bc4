package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/atomicfile"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write a manual page for each command",
		Example: "  nextbatch man share/man/man1",
		Args:    cobra.ExactArgs(1),
		Long:    "Writes manual pages of section 1 to the directory, which is created if necessary.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usagef("cannot create the directory for the manual pages: %w", err)
			}
			return writeManuals(args[0], cmd.Root())
		},
	}
}

func writeManuals(dir string, c *cobra.Command) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := atomicfile.Write(filepath.Join(dir, name),
		func(w io.Writer) error { return writeManual(w, c) }); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if err := writeManuals(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

// flagLine is a line of a usage text: the flag, at least three blanks, and its meaning.
var flagLine = regexp.MustCompile(`(?m)^ +(\S.*?) {3,}(.*)$`)

// writeManual writes a page in the language of man(7).
func writeManual(w io.Writer, c *cobra.Command) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(roff(c.Long), "\n\n", "\n.PP\n"))
	}
	if usage := strings.TrimRight(c.LocalFlags().FlagUsages(), "\n"); usage != "" {
		fmt.Fprintf(&b, ".SH OPTIONS\n%s\n", flagLine.ReplaceAllString(roff(usage), ".TP\n.B $1\n\\&$2"))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLE\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if subs := c.Commands(); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// roff escapes text: backslashes, hyphens, and characters that would start a
// request at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
