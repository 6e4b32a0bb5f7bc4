// Command site builds the documentation as a site of plain files: the pages of the project in Markdown, a page
// for each command from its help, the Go and the Python interface from the source, and the tables of the
// paper's benchmark. All of these become Markdown first, so that there is one way from a text to a page.
//
// It reads nothing but the project, and checks what it writes: every link, anchor and picture has to be there, every
// page has to be well formed, and every code block has to name its language.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "folder of the project")
	program := flag.String("program", "", "the program nextbatch, whose help is shown")
	out := flag.String("out", "", "folder of the site, which is replaced")
	flag.Parse()
	if err := makeSite(*root, *program, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func makeSite(root, program, out string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	s := newSite(root)
	for _, collect := range []func() error{
		s.readPages,
		func() error { return s.addCommands(program) },
		s.addGo,
		s.addPython,
		func() error { return s.addTables(program) },
		s.arrange,
		s.render,
		s.check,
	} {
		if err := collect(); err != nil {
			return err
		}
	}
	if err := s.write(out); err != nil {
		return err
	}
	fmt.Printf("%s: %d pages, %d files, %d links to other sites, which %s lists\n", out, len(s.pages), len(s.files),
		len(s.external), externalName)
	return nil
}
