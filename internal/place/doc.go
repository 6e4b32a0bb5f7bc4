// Package place describes where the rows of a selection may be, besides the memory of this
// process: on a device, such as a GPU, or in other processes, the ranks. It has their contracts, the
// features that a device keeps, and the errors about rows, which are the same wherever the
// rows are.
package place
