//go:build unix

package campaign

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// keeper makes sure that no process of an oracle outlives this process, even if that is
// killed: a shell reads from a pipe which process groups begin and end, and kills those that
// are left when the pipe ends. It has a group of its own, so that Ctrl-C does not reach it.
type keeper struct {
	shell *exec.Cmd
	mu    sync.Mutex
	pipe  io.WriteCloser
}

const keeperScript = `trap '' INT TERM HUP
groups=" "
while read -r what group; do
  case $what in
  begin) groups="$groups$group " ;;
  end) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
exit 0`

func newKeeper() (*keeper, error) {
	shell := exec.Command("/bin/sh", "-c", keeperScript, "nextbatch-oracle-keeper")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, err
	}
	return &keeper{shell: shell, pipe: pipe}, nil
}

func (k *keeper) close() error { return errors.Join(k.pipe.Close(), k.shell.Wait()) }

func (k *keeper) say(what string, group int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := fmt.Fprintf(k.pipe, "%s %d\n", what, group)
	return err
}

// family is a command and the processes that it starts.
type family struct {
	keeper *keeper
	cmd    *exec.Cmd
}

// prepare is called before a command starts.
func (k *keeper) prepare(cmd *exec.Cmd) (*family, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return &family{k, cmd}, nil
}

// adopt is called once the command has started. If the keeper has died, so does the command.
func (f *family) adopt() error {
	err := f.keeper.say("begin", f.cmd.Process.Pid)
	if err != nil {
		f.kill()
		return fmt.Errorf("the shell that watches over the commands of the oracle has died: %w", err)
	}
	return nil
}

// end kills all that is left of the family.
func (f *family) end() {
	if f.cmd.Process != nil {
		f.kill()
		_ = f.keeper.say("end", f.cmd.Process.Pid) // the next adopt reports a dead keeper
	}
}

func (f *family) kill() { _ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) } // there may be nobody left
