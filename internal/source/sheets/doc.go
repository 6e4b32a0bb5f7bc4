// Package sheets makes tables of cells, whatever file they come from: it finds out which row is the header,
// which kind each column is, and reports the cells that do not fit.
package sheets
