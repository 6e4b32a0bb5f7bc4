package main

import (
	"errors"
	"html/template"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// hero is what the front page begins with. It is that of the README: the question, what the program does, the
// picture with its caption, and the command of the first batch.
type hero struct {
	Question, Lead, Picture, Rest template.HTML
	Command                       []string // its words
}

// hero takes the README apart: what comes before the first heading is the hero.
func (s *site) hero(p *page) (h hero, err error) {
	parts := []*template.HTML{&h.Question, &h.Lead}
	rest := false
	for node := p.tree.FirstChild().NextSibling(); node != nil; node = node.NextSibling() {
		shown, err := markup(p, node)
		if err != nil {
			return h, err
		}
		if node.Kind() == ast.KindHeading {
			rest = true
		}
		switch {
		case rest:
			h.Rest += shown
		case len(parts) > 0:
			*parts[0] = shown
			parts = parts[1:]
		default:
			h.Picture += shown
		}
	}
	h.Command = strings.Fields(firstCommand(p))
	if len(h.Command) == 0 || !strings.Contains(string(h.Picture), "<img") {
		return h, errors.New("README.md has no picture before its first heading, or no command nextbatch select")
	}
	return h, nil
}

func firstCommand(p *page) string {
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if block, ok := node.(*ast.FencedCodeBlock); ok && string(block.Language(p.text)) == "sh" {
			if code := string(block.Lines().Value(p.text)); strings.HasPrefix(code, "nextbatch select ") {
				first, _, _ := strings.Cut(code, "\n")
				return first
			}
		}
	}
	return ""
}
