package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
)

// bom is a list of components in the format of CycloneDX 1.6.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
	Contains   []contains  `json:"dependencies"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"` // "excluded" if it only helps to build the page
	Licenses   []licence  `json:"licenses"`
	URL        string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`

	texts []string // of its licences
}

type licence struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type contains struct {
	Ref   string   `json:"ref"`
	Parts []string `json:"dependsOn"`
}

// components writes the list of all that the programs contain, of what builds the page, and the texts of the licences.
func (r *release) components() error {
	all, err := r.modules()
	if err != nil {
		return err
	}
	page, err := npmPackages()
	if err != nil {
		return err
	}
	all = append(all, page...)
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	program := newComponent("application", "golang", "github.com/nextbatch/nextbatch", "v"+nextbatch.Version, "Apache-2.0")
	list := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.time, program}, Components: all,
		Contains: []contains{{Ref: program.Ref}}}
	var notices strings.Builder
	for _, c := range all {
		if c.Scope == "excluded" {
			continue
		}
		list.Contains[0].Parts = append(list.Contains[0].Parts, c.Ref)
		fmt.Fprintf(&notices, "%s\n%s %s (%s)\n\n", strings.Repeat("=", 80), c.Name, c.Version, c.Licenses[0].Expression)
		for _, text := range c.texts {
			fmt.Fprintf(&notices, "%s\n\n", strings.TrimSpace(text))
		}
	}
	r.notices = filepath.Join(r.work, "THIRD-PARTY-LICENSES.txt")
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.notices, []byte(notices.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.folder, named()+".cdx.json"), append(text, '\n'), 0o644)
}

func newComponent(kind, ecosystem, name, version, expression string) component {
	url := "pkg:" + ecosystem + "/" + strings.ReplaceAll(name, "@", "%40") + "@" + version
	return component{Type: kind, Ref: url, Name: name, Version: version, Licenses: []licence{{expression}}, URL: url}
}

// modules lists the Go modules that are compiled into the programs of any platform, and Go itself.
func (r *release) modules() ([]component, error) {
	found := map[string]component{}
	for _, platform := range r.platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		args := []string{"GOOS=" + system, "GOARCH=" + architecture, "CGO_ENABLED=0", "go", "list", "-deps",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"}
		for _, program := range programs(system) {
			args = append(args, "./cmd/"+program)
		}
		out, err := output("env", args...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			version, dir, _ := strings.Cut(rest, " ")
			if _, known := found[path]; known || path == "" {
				continue
			}
			if found[path], err = module(path, version, dir); err != nil {
				return nil, err
			}
		}
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	library, err := module("std", strings.TrimPrefix(runtime.Version(), "go"), strings.TrimSpace(goroot))
	if err != nil {
		return nil, err
	}
	found["std"] = library
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return nil, err
	}
	for path, c := range found {
		if _, rest, ok := strings.Cut(string(sums), path+" "+c.Version+" "); ok {
			sum, _, _ := strings.Cut(rest, "\n")
			c.Properties = []property{{"go.sum", sum}}
			found[path] = c
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// licenceFile matches the licences in the folder of a module. One of them offers a choice, of which ftl.txt is taken.
var licenceFile = regexp.MustCompile(`(?i)^((un)?(licen[cs]e|copying|copyright)[^/]*|licenses/ftl.txt)$`)

// module describes a module by its folder.
func module(path, version, dir string) (component, error) {
	files, err := filesOf(dir, ".")
	if err != nil {
		return component{}, err
	}
	var ids, texts []string
	for _, file := range files {
		if !licenceFile.MatchString(file.name) {
			continue
		}
		text, err := os.ReadFile(file.path)
		if err != nil {
			return component{}, err
		}
		ids = append(ids, identify(string(text))...)
		texts = append(texts, string(text))
	}
	if len(ids) == 0 {
		return component{}, fmt.Errorf("%s has no licence that is known here", path)
	}
	slices.Sort(ids)
	c := newComponent("library", "golang", path, version, strings.Join(slices.Compact(ids), " AND "))
	c.texts = texts
	return c, nil
}

// phrases tell licences apart, by their names in SPDX.
var phrases = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`Apache License,?\s+Version 2\.0`),
	"MIT":        regexp.MustCompile(`Permission is hereby granted, free of charge, to any person`),
	"BSD-3-Clause": regexp.MustCompile(
		`(?s)Redistribution and use in source and binary forms.*to\s+endorse\s+or\s+promote`),
	"CC-BY-4.0": regexp.MustCompile(`Creative Commons Attribution 4\.0 International`),
	"FTL":       regexp.MustCompile(`The FreeType License, which`),
	"OFL-1.1":   regexp.MustCompile(`SIL OPEN FONT LICENSE Version 1\.1`),
	"Unlicense": regexp.MustCompile(`This is free and unencumbered software`),
	"blessing":  regexp.MustCompile(`SQLite Is Public Domain`),
}

var bsd = regexp.MustCompile(`Redistribution and use in source and binary forms`)

// identify returns the licences of a text.
func identify(text string) (ids []string) {
	for id, phrase := range phrases {
		if phrase.MatchString(text) {
			ids = append(ids, id)
		}
	}
	if bsd.MatchString(text) && !slices.Contains(ids, "BSD-3-Clause") {
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

var imported = regexp.MustCompile(`(?m) from '(@[^/']+/[^/']+|[^./'@:]+)`)

// npmPackages lists what npm installs to build the page. The page contains only what its source imports; the licences
// of these are in internal/server/web/LICENSES.txt.
func npmPackages() ([]component, error) {
	const web = "internal/server/web"
	var lock struct {
		Packages map[string]struct {
			Version, License, Integrity string
			Dependencies                map[string]string
		}
	}
	text, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	texts, err := os.ReadFile(filepath.Join(web, "LICENSES.txt"))
	if err != nil {
		return nil, err
	}
	contained, err := imports(filepath.Join(web, "src"))
	if err != nil {
		return nil, err
	}
	found := map[string]component{}
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 {
			continue // the page itself
		}
		name := path[at+len("node_modules/"):]
		c := newComponent("library", "npm", name, p.Version, p.License)
		c.Properties, c.Scope = []property{{"integrity", p.Integrity}}, "excluded"
		if slices.Contains(contained, name) {
			_, own, known := strings.Cut("\n"+string(texts), "\n# "+name+"\n")
			if own, _, _ = strings.Cut(own, "\n# "); !known || len(p.Dependencies) > 0 {
				return nil, fmt.Errorf("%s/LICENSES.txt lacks the licence of %s, or of a package that it needs", web, name)
			}
			c.Scope, c.texts = "", []string{own}
		}
		found[c.Ref] = c
	}
	return slices.Collect(maps.Values(found)), nil
}

// imports lists the packages that the source of the page imports.
func imports(folder string) (names []string, err error) {
	entries, err := filesOf(folder, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.Contains(e.name, ".test.") {
			continue
		}
		text, err := os.ReadFile(e.path)
		if err != nil {
			return nil, err
		}
		for _, m := range imported.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names, nil
}
