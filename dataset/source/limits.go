package source

import (
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
)

// mostColumns bounds the columns of a table. A column takes memory even without
// rows, and a header of a few kilobytes, compressed, can name millions.
const mostColumns = 1 << 17

// tooManyColumns refuses a table with more columns than mostColumns.
func tooManyColumns() *Error {
	return &Error{Kind: ErrColumns, Detail: fmt.Sprintf("more than %d", mostColumns),
		Advice: "check the delimiter, transpose the table, or give the numbers as features in a .npy file"}
}

// allow refuses to take more bytes than the options allow.
func (o Options) allow(need int64, what string) error {
	if o.MaxMemory <= 0 || need <= o.MaxMemory {
		return nil
	}
	return &Error{Kind: ErrMemory, Detail: fmt.Sprintf("%s takes %s, but only %s is allowed", what, sizeText(need), sizeText(o.MaxMemory)),
		Advice: "allow more, ignore columns, or read fewer rows"}
}

// holding returns the options with the memory limit reduced by the bytes already held.
func (o Options) holding(held int64) Options {
	if o.MaxMemory > 0 {
		o.MaxMemory = max(1, o.MaxMemory-held)
	}
	return o
}

// allowRows refuses columns that have grown beyond what the options allow,
// given further bytes held besides them.
func (o Options) allowRows(r *rows, beside int64) error {
	if o.MaxMemory <= 0 {
		return nil
	}
	need, done := beside, 0
	for _, s := range r.sinks {
		if s != nil {
			column := s.soFar()
			need += column.Bytes()
			done = max(done, column.Len())
		}
	}
	return o.allow(need, fmt.Sprintf("the table up to row %d", done))
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
