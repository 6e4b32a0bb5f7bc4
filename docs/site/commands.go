package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// help is what a command prints for --help.
type help struct {
	about    string
	usage    string
	examples string
	flags    []flagHelp
	commands [][2]string // names, and what they do
}

type flagHelp struct{ name, about string }

// addCommands makes a page of the help of each command.
func (s *site) addCommands(program string) error {
	return s.addCommand(program, nil, "")
}

func (s *site) addCommand(program string, names []string, short string) error {
	text, err := exec.Command(program, append(names, "--help")...).Output()
	if err != nil {
		return fmt.Errorf("%s %s --help: %w", program, strings.Join(names, " "), err)
	}
	h := parseHelp(string(text))
	source := "commands/README.md"
	if len(names) > 0 {
		source = "commands/" + strings.Join(names, "-") + ".md"
	}
	s.add(source, commandLabel(names), h.markdown(names, short))
	for _, sub := range h.commands {
		if err := s.addCommand(program, append(names[:len(names):len(names)], sub[0]), sub[1]); err != nil {
			return err
		}
	}
	return nil
}

func commandLabel(names []string) string {
	if len(names) == 0 {
		return "All commands"
	}
	return strings.Join(names, " ")
}

var (
	helpPart = regexp.MustCompile(`(?m)^(Usage|Examples|Available Commands|Flags|Global Flags):$`)
	helpEnd  = regexp.MustCompile(`(?m)^Use "nextbatch .*$`)
	flagForm = regexp.MustCompile(`^ +((?:-\w, )?--[\w-]+(?: [^ ]+)?) {2,}(.*)$`)
	nameForm = regexp.MustCompile(`^ +(\S+) +(.*)$`)
)

// parseHelp takes the help of a command apart.
func parseHelp(text string) (h help) {
	text = helpEnd.ReplaceAllString(text, "")
	parts := helpPart.FindAllStringSubmatchIndex(text, -1)
	h.about = strings.TrimSpace(text[:parts[0][0]])
	for i, at := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		lines := strings.Split(strings.Trim(text[at[1]:end], "\n"), "\n")
		switch text[at[2]:at[3]] {
		case "Usage":
			h.usage = unindented(lines)
		case "Examples":
			h.examples = unindented(lines)
		case "Available Commands":
			h.commands = commandsIn(lines)
		default:
			h.flags = append(h.flags, flagsIn(lines)...)
		}
	}
	return h
}

func unindented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	return b.String()
}

// commandsIn leaves out what Go's library for command lines adds to every program.
func commandsIn(lines []string) (list [][2]string) {
	for _, line := range lines {
		if m := nameForm.FindStringSubmatch(line); m != nil && m[1] != "help" && m[1] != "completion" {
			list = append(list, [2]string{m[1], m[2]})
		}
	}
	return list
}

func flagsIn(lines []string) (list []flagHelp) {
	for _, line := range lines {
		if m := flagForm.FindStringSubmatch(line); m != nil {
			list = append(list, flagHelp{m[1], m[2]})
		} else if len(list) > 0 {
			list[len(list)-1].about += " " + strings.TrimSpace(line)
		}
	}
	return list
}

func (h help) markdown(names []string, short string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", strings.Join(append([]string{"nextbatch"}, names...), " "))
	if short != "" && short != h.about {
		fmt.Fprintf(&b, "%s.\n\n", inHelp(short))
	}
	for paragraph := range strings.SplitSeq(h.about, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			b.WriteString(fenced("text", unindented(strings.Split(paragraph, "\n"))))
		} else {
			fmt.Fprintf(&b, "%s\n\n", inHelp(paragraph))
		}
	}
	b.WriteString(fenced("sh", h.usage))
	if h.examples != "" {
		b.WriteString("## Examples\n\n" + fenced("sh", h.examples))
	}
	if len(h.commands) > 0 {
		b.WriteString("## Commands\n\n| command | what it does |\n|---|---|\n")
		for _, sub := range h.commands {
			file := strings.Join(append(names[:len(names):len(names)], sub[0]), "-")
			fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", escaped(sub[0]), file, inHelp(sub[1]))
		}
		b.WriteByte('\n')
	}
	if len(h.flags) > 0 {
		b.WriteString("## Flags\n\n")
		for _, f := range h.flags {
			fmt.Fprintf(&b, "%s\n:   %s\n\n", codeSpan(f.name), inHelp(f.about))
		}
	}
	return b.String()
}

var inHelpForm = regexp.MustCompile(`'nextbatch [^']+'|'(?:campaign|bench) [^']+'|--[a-z][a-z-]*`)

// inHelp shows the flags and commands in a sentence of the help as code.
func inHelp(words string) string {
	var b strings.Builder
	at := 0
	for _, m := range inHelpForm.FindAllStringIndex(words, -1) {
		b.WriteString(escaped(words[at:m[0]]))
		b.WriteString(codeSpan(strings.Join(strings.Fields(strings.Trim(words[m[0]:m[1]], "'")), " ")))
		at = m[1]
	}
	b.WriteString(escaped(words[at:]))
	return b.String()
}
