package kernel

import "fmt"

// WidthError reports rows that do not have the width that a kernel takes.
type WidthError struct{ Got, Want int }

func (e *WidthError) Error() string {
	return fmt.Sprintf("the rows have %d columns, but the kernel takes %d", e.Got, e.Want)
}

// RowError reports a number that is not finite. Row and Column count from 0.
type RowError struct {
	What        string // what the number is: "input", "feature"
	Row, Column int
	Value       float64
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d, %s %d is %v", e.Row, e.What, e.Column, e.Value)
}
