package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// check reads the pages of the site as a strict parser does, and follows their links.
func (s *site) check() error {
	anchors := map[string]map[string]bool{} // by page
	links := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if path.Ext(name) != ".html" {
			continue
		}
		found, err := readHTML(s.files[name])
		if err != nil {
			s.fault("%s: %v", name, err)
			continue
		}
		anchors[name], links[name] = found.ids, found.links
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		for _, link := range links[name] {
			if err := follow(name, link, s.files, anchors); err != nil {
				s.fault("%s: %v", name, err)
			}
		}
	}
	if len(s.faults) > 0 {
		return errors.New(strings.Join(s.faults, "\n"))
	}
	return nil
}

// elementsOf is what a page has to do with others.
type elementsOf struct {
	ids   map[string]bool
	links []string // addresses of pages, pictures, styles and scripts
}

// readHTML reads a page that has to be well formed, with every id once and a text for every picture.
func readHTML(page []byte) (found elementsOf, err error) {
	found.ids = map[string]bool{}
	decoder := xml.NewDecoder(bytes.NewReader(page))
	decoder.Entity = xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return found, nil
		} else if err != nil {
			return found, err
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if err := found.take(element); err != nil {
			return found, err
		}
	}
}

func (found *elementsOf) take(element xml.StartElement) error {
	values := map[string]string{}
	for _, a := range element.Attr {
		values[a.Name.Local] = a.Value
	}
	if id, ok := values["id"]; ok {
		if id == "" || found.ids[id] {
			return fmt.Errorf("the id %q is empty, or there twice", id)
		}
		found.ids[id] = true
	}
	if element.Name.Local == "img" && values["alt"] == "" {
		return fmt.Errorf("the picture %s has no text", values["src"])
	}
	for _, name := range []string{"href", "src", "srcset"} {
		address, ok := values[name]
		if !ok {
			continue
		}
		if element.Name.Local != "a" && strings.Contains(address, "//") {
			return fmt.Errorf("%s asks another site for %s", element.Name.Local, address)
		}
		found.links = append(found.links, address)
	}
	return nil
}

// follow returns what is wrong with a link of a page.
func follow(name, link string, files map[string][]byte, anchors map[string]map[string]bool) error {
	target, err := url.Parse(link)
	if err != nil || target.Scheme != "" {
		return err
	}
	file := name
	if target.Path != "" {
		file = path.Join(path.Dir(name), target.Path)
	}
	if _, ok := files[file]; !ok {
		return fmt.Errorf("%s leads nowhere", link)
	}
	if target.Fragment != "" && !anchors[file][target.Fragment] {
		return fmt.Errorf("%s: that page has no such section", link)
	}
	return nil
}
