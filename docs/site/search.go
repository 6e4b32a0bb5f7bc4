package main

import (
	"encoding/json"
	"slices"
)

// searchIndex is a program that assigns the texts of all pages to a variable: unlike data, a page that was opened
// from a file may load it. A page is its title, group and address; a section is the number of its page, its anchor,
// heading and text.
func (s *site) searchIndex(order []*page) ([]byte, error) {
	type indexed struct {
		Pages    [][3]string `json:"pages"`
		Sections [][4]any    `json:"sections"`
	}
	var all indexed
	for _, p := range order {
		at := len(all.Pages)
		in := slices.IndexFunc(s.groups, func(g group) bool { return slices.Contains(g.pages, p) })
		all.Pages = append(all.Pages, [3]string{p.title, s.groups[in].name, outPath(p.source)})
		for i := range p.sections {
			part := &p.sections[i]
			all.Sections = append(all.Sections, [4]any{at, part.id, part.heading, part.text.String()})
		}
	}
	text, err := json.Marshal(all)
	return slices.Concat([]byte("window.searchIndex = "), text, []byte(";\n")), err
}
