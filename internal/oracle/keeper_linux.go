package oracle

import "syscall"

// dieWithParent lets the system kill a command with its parent, so that it does not
// survive even in the moment before the keeper knows of it.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
