package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/mcp"
	"github.com/nextbatch/nextbatch/internal/server"
)

// assisting is the command mcp.
type assisting struct {
	person, campaign     string
	folders              []string
	readOnly, mayConfirm bool
	memory               memory
}

func newMCP() *cobra.Command {
	a := &assisting{}
	c := &cobra.Command{
		Use:        "mcp STORE|TABLE",
		SuggestFor: []string{"assistant", "agent", "tools"},
		Short:      "Let an assistant work on a campaign or a table, by the Model Context Protocol",
		Example: `  nextbatch mcp c.db --folder ~/lab
  nextbatch mcp table.csv --read-only`,
		Args: cobra.ExactArgs(1),
		Long: `Offers tools and resources to an assistant on standard input and output, until the
input ends. A client starts it, as docs/assistants.md describes. Of a store, the tools are
those of its campaigns: status, ask, tell, correct, history and others. Of tables, they are
select, advise, audit and predict, which write nothing.

What the assistant does is marked in the history: it is done by 'ada (assistant)' if ada
runs the command. It corrects and undoes only what it did itself, and labels far from what
was expected wait for a person, unless --may-confirm says otherwise.

The assistant reads the table that the command names and the files in each --folder, and
nothing else.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringArrayVar(&a.folders, "folder", nil, "folder of files that the assistant may read; repeatable")
	f.StringVar(&a.campaign, "campaign", "", "the only campaign of the store that the assistant may use")
	f.StringVar(&a.person, "person", "", "for whom it works, for the history (default the user name of the system)")
	f.BoolVar(&a.readOnly, "read-only", false, "no tool changes anything")
	f.BoolVar(&a.mayConfirm, "may-confirm", false, "the assistant may confirm labels that wait for a second look")
	registerDevice(c)
	a.memory.register(c)
	return c
}

func (a *assisting) run(ctx context.Context, address string, in io.Reader, out, log io.Writer) (err error) {
	if err := a.memory.check(); err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	door := &mcp.Door{Log: logger, Version: thisBuild().Version}
	var files []string
	if isTableFile(filepath.Base(address)) {
		files = []string{address}
	} else {
		service, end, err := a.service(ctx, address, logger)
		if err != nil {
			return err
		}
		defer end()
		door = service.Assistant(server.Grant{Person: cmp.Or(a.person, userName(), "owner"), Role: server.Labeller,
			Campaign: a.campaign})
	}
	if door.Files, err = realPaths(append(files, a.folders...)); err != nil {
		return err
	}
	door.ReadOnly, door.MayConfirm = a.readOnly, a.mayConfirm
	door.Flags = func(command string) *pflag.FlagSet { return commandOf(command).Flags() }
	door.Run = func(ctx context.Context, args []string, out, log io.Writer) int {
		root := newRoot(out, log)
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); err != nil {
			return explain(log, err)
		}
		return exitOK
	}
	if err := door.Serve(ctx, io.NopCloser(in), noClose{out}); err != nil {
		return dataError{err} // what came was no message
	}
	return nil
}

// service returns a service that answers nobody but the assistant.
func (a *assisting) service(ctx context.Context, address string, log *slog.Logger) (_ *server.Server, end func(),
	err error) {
	store, err := openStore(ctx, address, false)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "nextbatch-mcp-")
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	tokens, err := server.OpenTokens(ctx, filepath.Join(folder, "tokens.db"))
	if err != nil {
		return nil, nil, errors.Join(err, store.Close(), os.RemoveAll(folder))
	}
	service := server.New(server.Options{Store: store, Tokens: tokens, Version: thisBuild().Version, Log: log,
		Available: a.memory.forJobs, MaxMemory: a.memory.forRequests(), Device: device.Of(ctx)})
	return service, func() {
		service.Close()
		_, _, _ = tokens.Close(), store.Close(), os.RemoveAll(folder)
	}, nil
}

// commandOf returns a command of the program.
func commandOf(name string) *cobra.Command {
	c, _, err := newRoot(io.Discard, io.Discard).Find([]string{name})
	if err != nil {
		panic(err) // the table of tools names no other
	}
	return c
}

// realPaths returns where files and folders are, after all links.
func realPaths(list []string) (paths []string, err error) {
	for _, name := range list {
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, dataError{err}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }
