package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/databases"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// formatFlags determine how tables are written.
type formatFlags struct {
	sep, decimal, thousands string
	encoding, format, sheet string
	censored, lod           string
	marks                   []string // of missing values

	inputRead bool   // a table came from standard input
	prefix    string // of the names of the flags
}

// standardInput stands for standard input where a table is named, as elsewhere.
const standardInput = "-"

func (f *formatFlags) register(c *cobra.Command) { f.registerFor(c, "", "") }

// registerFor registers the flags for some of the files that a command reads.
func (f *formatFlags) registerFor(c *cobra.Command, prefix, files string) {
	flags := c.Flags()
	f.prefix = prefix
	flags.StringVar(&f.sep, prefix+"sep", "", files+
		"what separates the fields of a text file: a character, tab, or space for any number of blanks (default what the "+
		"file suggests)")
	flags.StringVar(&f.decimal, prefix+"decimal", "", files+
		"decimal mark of the numbers in a text file: . or , (default what the file suggests)")
	flags.StringVar(&f.thousands, prefix+"thousands", "", files+
		"what separates thousands in the numbers of a text file: a character, or space (default what the file suggests)")
	flags.StringVar(&f.encoding, prefix+"encoding", "", files+
		"encoding of a text file: utf-8, utf-16le, utf-16be, latin1 or windows-1252 (default what the file suggests)")
	flags.StringVar(&f.format, prefix+"format", "", files+
		"format of the tables: csv, tsv, jsonl, xlsx, parquet, arff, npy, npz or mat (default by the file's name, or by "+
		"the first bytes of standard input)")
	flags.StringVar(&f.sheet, prefix+"sheet", "", files+"sheet of an Excel workbook, if it has several")
	flags.StringSliceVar(&f.marks, prefix+"missing-marks", nil, files+
		"further words that mean a missing value, besides empty cells, NA, n/a and the like")
	flags.StringVar(&f.censored, prefix+"censored", "limit", files+
		"numbers of which only a limit is known, such as <0.5: limit (takes the limit, and marks them in an input of its "+
		"own) or drop (makes them missing)")
	if prefix == "" {
		flags.StringVar(&f.lod, "lod", "",
			"limit of detection of the labels, for those such as <LOD or n.d.: a number, or one for each target as in y=0.5,z=2")
	}
}

// given returns the flags that say how the tables are written, as on a command line.
func (f *formatFlags) given() (args []string) {
	for _, flag := range [][2]string{{"sep", f.sep}, {"decimal", f.decimal}, {"thousands", f.thousands},
		{"encoding", f.encoding}, {"format", f.format},
		{"sheet", f.sheet}, {"missing-marks", strings.Join(f.marks, ",")},
		{"censored", strings.TrimPrefix(f.censored, "limit")}, {"lod", f.lod}} {
		if flag[1] != "" {
			args = append(args, "--"+f.prefix+flag[0], flag[1])
		}
	}
	return args
}

// options returns the flags as options of a reader.
func (f *formatFlags) options() (o source.Options, err error) {
	if o.Delimiter, err = character(f.prefix+"sep", f.sep); err != nil {
		return o, err
	}
	if o.Thousands, err = character(f.prefix+"thousands", f.thousands); err != nil {
		return o, err
	}
	switch f.decimal {
	case "":
	case ".", ",":
		o.Decimal = f.decimal[0]
	default:
		return o, usagef("--%sdecimal must be . or , and not %q", f.prefix, f.decimal)
	}
	o.Encoding, o.Format = f.encoding, strings.TrimPrefix(f.format, ".")
	if err := formats.CheckEncoding(o.Encoding); err != nil {
		return o, usagef("--%sencoding: %w", f.prefix, err)
	}
	if err := formats.CheckFormat(o.Format); err != nil {
		return o, usagef("--%sformat: %w", f.prefix, err)
	}
	if o.Censored, err = cells.ParseCensored(f.censored); err != nil {
		return o, usagef("--%scensored %w", f.prefix, err)
	}
	if f.lod != "" {
		if o.Lod, err = sheets.ParseLod(f.lod); err != nil {
			return o, usagef("--%slod %w", f.prefix, err)
		}
	}
	if f.prefix != "" {
		o.Setting = func(field string, value ...string) string {
			flag := options.Flag(field, value...)
			if field == "Kinds" || field == "Lod" { // which the files have in common
				return flag
			}
			return "--" + f.prefix + strings.TrimPrefix(flag, "--")
		}
	}
	if f.marks != nil {
		o.Missing = slices.Concat(sheets.DefaultMissing(), f.marks)
	}
	return o, nil
}

// character returns the one that a flag names; 0 if the flag is empty.
func character(flag, value string) (byte, error) {
	switch value {
	case "":
		return 0, nil
	case "tab", `\t`:
		return '\t', nil
	case "space":
		return ' ', nil
	}
	if len(value) == 1 && value[0] < utf8.RuneSelf {
		return value[0], nil
	}
	return 0, usagef("--%s is %q; it must be one character of ASCII, tab or space", flag, value)
}

// readTable reads a file, or standard input.
func (f *formatFlags) readTable(ctx context.Context, path string, opts source.Options) (*dataset.Table, error) {
	if databases.Is(path) {
		if err := databases.Check(path); err != nil {
			return nil, usageError{err}
		}
		return databases.Read(ctx, path, opts)
	}
	if path != standardInput {
		path, opts.Array = splitArray(path)
		opts.Array = cmp.Or(opts.Array, f.sheet)
		return source.ReadFile(ctx, path, opts)
	}
	if f.inputRead {
		return nil, usagef("only one table can come from standard input")
	}
	f.inputRead = true
	opts.Array = f.sheet
	t, err := source.Read(ctx, os.Stdin, opts)
	if at := (*source.Error)(nil); errors.As(err, &at) {
		at.File = nameOf(path)
	}
	return t, err
}

// nameOf is what a message calls a table.
func nameOf(path string) string {
	if path == standardInput {
		return "standard input"
	}
	if databases.Is(path) {
		return databases.Name(path)
	}
	return path
}
