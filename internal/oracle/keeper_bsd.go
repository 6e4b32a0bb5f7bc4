//go:build unix && !linux

package oracle

import "syscall"

// dieWithParent does nothing: only Linux kills commands with their parents. The keeper
// does so everywhere, a moment later.
func dieWithParent(*syscall.SysProcAttr) {}
