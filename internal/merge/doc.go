// Package merge takes labels that come back, in the rows that a batch was written to, into their table.
package merge
