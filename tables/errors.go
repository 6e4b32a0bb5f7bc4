package tables

import "fmt"

// RequestError reports a request that contradicts itself or cannot be met.
type RequestError struct{ Reason string }

func (e *RequestError) Error() string { return e.Reason }

// DataError reports rows of a request that cannot be used.
type DataError struct{ Cause error }

func (e *DataError) Error() string { return e.Cause.Error() }
func (e *DataError) Unwrap() error { return e.Cause }

// Refuse returns a *RequestError.
func Refuse(format string, args ...any) error { return &RequestError{fmt.Sprintf(format, args...)} }

// Unusable returns a *DataError.
func Unusable(format string, args ...any) error { return &DataError{fmt.Errorf(format, args...)} }
