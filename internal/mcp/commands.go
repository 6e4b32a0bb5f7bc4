package mcp

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/report"
)

// kinds are what a flag takes, in JSON, by the type of the flag; others take a text.
var kinds = map[string]string{"int": "integer", "uint": "integer", "float64": "number", "bool": "boolean",
	"stringSlice": "array", "stringArray": "array"}

// flagArguments describes the arguments of a command by its flags.
func flagArguments(d *Door, t tool) (list []argument) {
	if len(d.Files) == 0 || d.Flags == nil {
		return nil
	}
	list = []argument{{Name: t.first, Schema: map[string]any{"type": "string",
		"description": "the file; by its name, in a folder that the assistant may read"}}}
	flags := d.Flags(t.command)
	for _, name := range t.flags {
		f := flags.Lookup(name)
		if f == nil {
			panic("the command " + t.command + " has no flag " + name)
		}
		schema := map[string]any{"type": "string", "description": f.Usage}
		if kind := kinds[f.Value.Type()]; kind != "" {
			schema["type"] = kind
		}
		if schema["type"] == "array" {
			schema["items"] = map[string]any{"type": "string"}
		}
		if usual, there := t.usually[name]; there {
			schema["default"] = usual
		}
		list = append(list, argument{Name: strings.ReplaceAll(name, "-", "_"), Schema: schema})
	}
	return list
}

// run runs the command of the tool.
func (c *call) run() (report.Said, error) {
	args := []string{c.tool.command, "--quiet"}
	var first string
	flags := c.door.Flags(c.tool.command)
	for _, a := range c.arguments {
		raw, there := c.given[a.Name]
		if usual, some := c.tool.usually[a.Name]; !there && some {
			raw, there = json.RawMessage(fmt.Sprint(usual)), true
		}
		if !there {
			continue
		}
		values, err := c.values(a, raw)
		if err != nil {
			return nil, err
		}
		if a.Name == c.tool.first {
			first = values[0]
			continue
		}
		name := strings.ReplaceAll(a.Name, "_", "-")
		for _, value := range values {
			if flags.Lookup(name).Value.Type() == "stringSlice" {
				value = quoted(value)
			}
			args = append(args, "--"+name+"="+value)
		}
	}
	if only := c.door.onlyTable(); first == "" && only != "" && c.given["pool"] == nil {
		first = only
	}
	if first != "" {
		args = append(args, "--", first)
	}
	c.door.running.Lock()
	defer c.door.running.Unlock()
	var out, log bytes.Buffer
	exit := c.door.Run(c, args, &out, &log)
	said := strings.TrimSpace(log.String() + out.String())
	const partial = 4 // the batch is smaller than asked for
	if exit != 0 && exit != partial {
		return nil, errors.New(said)
	}
	return report.Said{said}, nil
}

// values returns the values of a flag. Files are those that the assistant may read.
func (c *call) values(a argument, raw json.RawMessage) ([]string, error) {
	values, err := scalars(raw)
	many := a.Schema["type"] == "array"
	if err != nil || len(values) != 1 && !many {
		return nil, fmt.Errorf("%s takes %s", a.Name, map[bool]string{true: "a list of texts", false: "one value"}[many])
	}
	isFile := a.Name == c.tool.first || slices.Contains(c.tool.files, strings.ReplaceAll(a.Name, "_", "-"))
	for i, value := range values {
		switch {
		case isFile:
			if values[i], err = c.door.file(value); err != nil {
				return nil, err
			}
			if a.Name != c.tool.first || c.tool.tables == nil {
				continue
			}
			for _, table := range c.tool.tables(values[i]) {
				if _, err := c.door.file(table); err != nil {
					return nil, err
				}
			}
		case strings.HasPrefix(strings.TrimSpace(value), "@"):
			return nil, fmt.Errorf("%s takes names, and no file of names: %.200q", a.Name, value)
		}
	}
	return values, nil
}

// quoted is an entry of a list of a flag.
func quoted(entry string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{entry}) // a strings.Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// onlyTable is the table that a call means which names none: the only file that the door names.
func (d *Door) onlyTable() string {
	if info, err := os.Stat(d.Files[0]); err == nil && info.Mode().IsRegular() {
		return d.Files[0]
	}
	return ""
}

// file returns where a file is that the assistant may read, after all links. What is outside might as well not exist.
func (d *Door) file(name string) (string, error) {
	for _, root := range d.Files {
		path, within := name, root
		if info, err := os.Stat(root); err == nil && !info.IsDir() {
			within = filepath.Dir(root)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(within, path)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		inside, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		// A description in JSON could name a file anywhere, and reading a pipe would not end.
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && filepath.Ext(real) != ".json" {
			return real, nil
		}
	}
	return "", fmt.Errorf("%.300q is not a file that this assistant may read; it may read %.1000q", name, d.Files)
}
