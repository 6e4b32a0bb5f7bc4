package source

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
)

// mostColumns bounds the columns of a table.
const mostColumns = dataset.MostColumns

// tooManyColumns rejects a table with more columns than mostColumns.
func tooManyColumns() *Error {
	return &Error{Kind: ErrColumns, Detail: fmt.Sprintf("more than %d", mostColumns),
		Advice: "check the delimiter, transpose the table, or give the numbers as features in a .npy file"}
}

// allow returns an error for more bytes than the options allow.
func (o Options) allow(need int64, what string) error {
	if o.MaxMemory <= 0 || need <= o.MaxMemory {
		return nil
	}
	return &Error{Kind: ErrMemory, Detail: fmt.Sprintf("%s takes %s, but only %s is allowed", what, sizeText(need),
		sizeText(o.MaxMemory)),
		Advice: "allow more, ignore columns, or read fewer rows"}
}

// holding returns the options with the memory limit reduced by the bytes already held.
func (o Options) holding(held int64) Options {
	if o.MaxMemory > 0 {
		o.MaxMemory = max(1, o.MaxMemory-held)
	}
	return o
}

// allowRows rejects columns that have grown beyond what the options allow,
// given further bytes held besides them. Where they may overflow, they do first.
func (o Options) allowRows(r *rows, beside int64) error {
	if o.MaxMemory <= 0 {
		return nil
	}
	bytes := r.bytes()
	var full error
	if o.overflows(bytes) {
		full = r.moveTo(o.Overflow)
		bytes = r.bytes()
	}
	return because(full, o.allow(beside+bytes, fmt.Sprintf("the table up to row %d", r.length())))
}

// overflowShare is the part of the allowed memory, one of this many, that a table may
// take before its rows move to a file. What follows needs memory, too.
const overflowShare = 4

// overflows reports whether the rows of a table that takes the given number of bytes of memory
// move to a file.
func (o Options) overflows(bytes int64) bool {
	return o.Overflow != nil && o.MaxMemory > 0 && bytes > o.MaxMemory/overflowShare
}

// CheckSpace rejects something of at least the given number of bytes for which neither MaxMemory
// nor the folder of Overflow has space.
func (o Options) CheckSpace(what string, need int64) error {
	err := o.allow(need, what)
	if err == nil || o.Overflow == nil {
		return err
	}
	if full := o.Overflow.CheckSpace(need); full != nil {
		return because(full, err)
	}
	return nil
}

// because adds a cause, if there is one, to an error that allow returned.
func because(cause, err error) error {
	if at := (*Error)(nil); cause != nil && errors.As(err, &at) {
		at.Cause = cause
	}
	return err
}

// arrayBytes is the peak memory of reading an array of the shape: the numbers,
// a second copy while they are transposed or the first grows to its size, and
// the columns if they become a table.
func (a array) arrayBytes(element int64, known, table bool) int64 {
	numbers := int64(a.rows) * int64(a.cols) * element // newArray has ruled out an overflow
	copies := numbers
	if a.columnMajor && a.rows > 1 && a.cols > 1 || table || !known {
		copies += numbers
	}
	if table {
		copies += int64(a.cols) * int64(dataset.NewNumeric("").Bytes())
	}
	return copies
}

// sizeText formats a number of bytes for a message.
func sizeText(bytes int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(bytes), 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
