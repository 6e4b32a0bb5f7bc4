package sheets

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
)

// MostColumns bounds the columns of a table.
const MostColumns = dataset.MostColumns

// TooManyColumns rejects a table with more columns than MostColumns.
func TooManyColumns() *Error {
	return &Error{Kind: ErrColumns, Detail: fmt.Sprintf("more than %d", MostColumns),
		Advice: "check the delimiter, transpose the table, or give the numbers as features in a .npy file"}
}

// Allow returns an error for more bytes than the options allow.
func Allow(o Options, need int64, what string) error {
	if o.MaxMemory <= 0 || need <= o.MaxMemory {
		return nil
	}
	return &Error{Kind: ErrMemory, Detail: fmt.Sprintf("%s takes %s, but only %s is allowed", what, sizeText(need),
		sizeText(o.MaxMemory)),
		Advice: "allow more, ignore columns, or read fewer rows"}
}

// Holding returns the options with the memory limit reduced by the bytes already held.
func Holding(o Options, held int64) Options {
	if o.MaxMemory > 0 {
		o.MaxMemory = max(1, o.MaxMemory-held)
	}
	return o
}

// AllowRows rejects columns that have grown beyond what the options allow,
// given further bytes held besides them. Where they may overflow, they do first.
func AllowRows(o Options, r *Rows, beside int64) error {
	if o.MaxMemory <= 0 {
		return nil
	}
	bytes := r.Bytes()
	var full error
	if Overflows(o, bytes) {
		full = r.MoveTo(o.Overflow)
		bytes = r.Bytes()
	}
	return Because(full, Allow(o, beside+bytes, fmt.Sprintf("the table up to row %d", r.length())))
}

// overflowShare is the part of the allowed memory, one of this many, that a table may
// take before its rows move to a file. What follows needs memory, too.
const overflowShare = 4

// Overflows reports whether the rows of a table that takes the given number of bytes of memory move to a file.
func Overflows(o Options, bytes int64) bool {
	return o.Overflow != nil && o.MaxMemory > 0 && bytes > o.MaxMemory/overflowShare
}

// CheckSpace rejects something of at least the given number of bytes for which neither MaxMemory
// nor the folder of Overflow has space.
func (o Options) CheckSpace(what string, need int64) error {
	err := Allow(o, need, what)
	if err == nil || o.Overflow == nil {
		return err
	}
	if full := o.Overflow.CheckSpace(need); full != nil {
		return Because(full, err)
	}
	return nil
}

// Because adds a cause, if there is one, to an error that allow returned.
func Because(cause, err error) error {
	if at := (*Error)(nil); cause != nil && errors.As(err, &at) {
		at.Cause = cause
	}
	return err
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
