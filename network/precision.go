//go:build !network64

package network

// Real is the number that networks compute with.
type Real = float32
