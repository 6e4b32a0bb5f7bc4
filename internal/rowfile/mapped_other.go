//go:build !linux

package rowfile

// ReadAhead does nothing: this is for Linux.
func (Mapped) ReadAhead() {}

// InSequence does nothing: this is for Linux.
func (Mapped) InSequence() {}

// AtRandom does nothing: this is for Linux.
func (Mapped) AtRandom() {}

// AsUsual does nothing: this is for Linux.
func (Mapped) AsUsual() {}

// Fetch does nothing: this is for Linux.
func (Mapped) Fetch() {}

// Drop does nothing: this is for Linux.
func (Mapped) Drop() {}

// Resident returns 1: it is not known here.
func (Mapped) Resident() float64 { return 1 }
