// Package dataset holds tables: named columns of numbers, categories and text, where they come from, and in which
// units. Package dataset/source reads them from files, package tables turns them into rows that a model can learn from.
package dataset
