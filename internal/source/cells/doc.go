// Package cells reads the text of a cell: a number, with a unit, beyond a limit, or a mark of a missing value. It also
// finds out how the numbers of a column are written.
package cells
