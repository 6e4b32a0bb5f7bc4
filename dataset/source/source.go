package source

import (
	"context"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source/internal/cells"
	"github.com/nextbatch/nextbatch/dataset/source/internal/formats"
	"github.com/nextbatch/nextbatch/dataset/source/internal/sheets"
)

// The parts of this package are in folders of their own: cells reads the text of a cell, sheets makes tables of cells,
// and formats reads and writes files.
type (
	Options  = sheets.Options  // how to read a table
	Header   = sheets.Header   // whether a CSV file starts with the names of its columns
	Censored = cells.Censored  // how values are read of which only a limit is known, such as <0.5
	Choice   = sheets.Choice   // which rows of a text file to keep
	Error    = sheets.Error    // where a file is wrong, how, and what to do
	Column   = sheets.Column   // of a table in memory
	Cells    = sheets.Cells    // a column of text whose kind its cells suggest
	Labels   = sheets.Labels   // a column of labels as PlainNumbers reads it
	Shards   = formats.Shards  // files that hold the rows of one array
	NPYRows  = formats.NPYRows // an array that is being written
)

const (
	HeaderGuess   = sheets.HeaderGuess
	HeaderPresent = sheets.HeaderPresent
	HeaderAbsent  = sheets.HeaderAbsent

	CensoredLimit = cells.CensoredLimit
	CensoredDrop  = cells.CensoredDrop
)

// What callers tell apart of what can be wrong with a file, for errors.Is. The text of an Error says the rest.
var (
	ErrFormat = sheets.ErrFormat
	ErrColumn = sheets.ErrColumn
	ErrRagged = sheets.ErrRagged
	ErrNumber = sheets.ErrNumber
	ErrRead   = sheets.ErrRead
	ErrArray  = sheets.ErrArray
	ErrMemory = sheets.ErrMemory
)

// LeastBytes returns how many bytes the table in a file, or in the files that a name stands for, will
// take at least, as far as can be seen quickly: the footers of Parquet files have the number of rows, and
// the first rows of a text file suggest it. It returns 0 where nothing can be seen quickly, such as for
// files that cannot be read, and for arrays, which do not go to Overflow.
func LeastBytes(ctx context.Context, name string, opts Options) int64 {
	return formats.LeastBytes(ctx, name, opts)
}

// CheckFormat rejects a name that Options.Format cannot have.
func CheckFormat(name string) error { return formats.CheckFormat(name) }

// CheckEncoding rejects a name that Options.Encoding cannot have.
func CheckEncoding(name string) error { return formats.CheckEncoding(name) }

// CheckRewrite rejects a workbook that would lose more than formats if the table of its sheet replaced it: other
// sheets, or formulas, which would become values.
func CheckRewrite(ctx context.Context, name string) error { return formats.CheckRewrite(ctx, name) }

// ReadColumns makes a table of columns, and reads those of cells as ReadFile reads those of a file: with the same
// guesses, of each column and of the table, and the same messages, which count rows from 0. Numbers in columns whose
// kinds are known tell how numbers are written, too. Unlike a file, the table has no separators that would tell; what
// is assumed instead is a warning.
func ReadColumns(ctx context.Context, columns []Column, opts Options) (*dataset.Table, error) {
	return sheets.ReadColumns(ctx, columns, opts)
}

// PlainNumbers returns a column of labels as text in which numbers are written as programs do, with < or > before a
// limit, and missing ones are empty. The origin is that of the table with the column; cells that are not numbers stay
// as they are, and so do those of which a limit is not known or that may mean a limit (UnknownLimit). Numbers in other
// units than that of the history are converted, or are an error.
func PlainNumbers(c dataset.Column, opts Options, origin dataset.Origin) (Labels, error) {
	return sheets.PlainNumbers(c, opts, origin)
}

// ParseLod reads limits of detection: one number for all labels, or a number for each of several columns, as in
// a=0.5,b=2.
func ParseLod(text string) (map[string]float64, error) { return sheets.ParseLod(text) }

// DefaultMissing returns the spellings of a missing value in a CSV file.
func DefaultMissing() []string { return sheets.DefaultMissing() }

// ParseCensored reads limit or drop.
func ParseCensored(text string) (Censored, error) { return cells.ParseCensored(text) }

// CutSign returns a number of PlainNumbers without the sign of a limit, and on which side of it the true one lies: -1
// below, 1 above.
func CutSign(text string) (number string, side int8) { return cells.CutSign(text) }

// UnknownLimit reports whether a label is one beyond a limit that is not said, such as <LOD, or a mark that may mean
// that, such as n.d.
func UnknownLimit(text string) bool { return cells.UnknownLimit(text) }
