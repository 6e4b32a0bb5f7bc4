package source

import (
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// The parts of this package are in internal/source: cells reads the text of a cell, sheets makes tables of cells,
// and formats reads and writes files.
type (
	Options  = sheets.Options // how to read a table
	Header   = sheets.Header  // whether a CSV file starts with the names of its columns
	Censored = cells.Censored // how values are read of which only a limit is known, such as <0.5
	Error    = sheets.Error   // where a file is wrong, how, and what to do
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
