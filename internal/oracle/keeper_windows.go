package oracle

import (
	"errors"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// keeper has nothing to do on Windows: each command is in a job, which the system ends when the
// last handle of it is closed, at the latest with this process.
type keeper struct{}

func newKeeper() (*keeper, error) { return &keeper{}, nil }

func (k *keeper) close() error { return nil }

// family is a command and the processes that it starts.
type family struct {
	job windows.Handle
	cmd *exec.Cmd
}

// prepare is called before a command starts.
func (k *keeper) prepare(cmd *exec.Cmd) (*family, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(job))
	}
	// A group of its own keeps Ctrl-C from reaching the command.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	cmd.Cancel = func() error { return windows.TerminateJobObject(job, 1) }
	return &family{job, cmd}, nil
}

// adopt is called once the command has started.
func (f *family) adopt() error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_QUERY_LIMITED_INFORMATION
	process, err := windows.OpenProcess(access, false, uint32(f.cmd.Process.Pid))
	if err != nil {
		_ = f.cmd.Process.Kill() // the caller reports the other error
		return err
	}
	defer windows.CloseHandle(process)
	if err = windows.AssignProcessToJobObject(f.job, process); err == nil || ended(process) {
		return nil
	}
	_ = f.cmd.Process.Kill()
	return err
}

// ended reports whether a process has ended; such a one cannot join a job.
func ended(process windows.Handle) bool {
	const stillActive = 259
	var code uint32
	return windows.GetExitCodeProcess(process, &code) == nil && code != stillActive
}

// end kills all that is left of the family.
func (f *family) end() { _ = windows.CloseHandle(f.job) }
