//go:build unix

package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// keeper makes sure that no process of an oracle outlives this process, even if that is
// killed: a shell reads from a pipe which process groups begin and end, and kills those that
// are left when the pipe ends. It has a group of its own, so that Ctrl-C does not reach it.
//
// A command announces its group itself, before it becomes the program of the oracle:
// announced by its parent, which may die at that moment, it could have children by then that
// nobody knows of.
type keeper struct {
	shell *exec.Cmd
	pipe  *os.File
}

const announceScript = `echo begin $$ >&3; exec "$@" 3>&-`

const keeperScript = `trap '' INT TERM HUP
groups=" "
while read -r what group; do
  case $what in
  begin) groups="$groups$group " ;;
  end) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
exit 0`

func newKeeper() (*keeper, error) {
	end, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	shell := exec.Command("/bin/sh", "-c", keeperScript, "nextbatch-oracle-keeper")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Stdin = end
	err = shell.Start()
	if err := errors.Join(err, end.Close()); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	return &keeper{shell, pipe}, nil
}

func (k *keeper) close() error { return errors.Join(k.pipe.Close(), k.shell.Wait()) }

// say writes a line, which is short enough that the system writes it in one piece.
func (k *keeper) say(what string, group int) error {
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
	cmd.Args = append([]string{"/bin/sh", "-c", announceScript, "nextbatch-oracle", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = "/bin/sh", []*os.File{k.pipe} // the latter is number 3 for the command
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return &family{k, cmd}, nil
}

// adopt is called once the command has started. If the keeper has died, so does the command.
func (f *family) adopt() error {
	err := f.keeper.say("started", f.cmd.Process.Pid)
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
