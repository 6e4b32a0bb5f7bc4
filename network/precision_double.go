//go:build network64

package network

// Real is the number that networks compute with, here in the precision that tests need. The packages that
// import this one compile in float32 only.
type Real = float64
