package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	campaigns "github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/server"
)

const (
	serveStore    = "campaigns.db" // in the folder where serve starts
	serveAddress  = "127.0.0.1:8080"
	serveShutdown = 10 * time.Second // for requests that are under way
)

// serving is the command serve.
type serving struct {
	listen, cert, key, tokens string
	results                   string
	behindProxy               bool
	maxUpload                 string
	memory                    memory
	rate                      int
	quiet                     bool
}

func newServe() *cobra.Command {
	s := &serving{}
	c := &cobra.Command{
		Use:        "serve [STORE]",
		SuggestFor: []string{"server", "service", "web"},
		Short:      "Serve the campaigns of a store to browsers and programs",
		Args:       cobra.MaximumNArgs(1),
		Example: `  nextbatch serve
  nextbatch serve c.db --listen 127.0.0.1:9000
  nextbatch serve postgres://lab@db/campaigns --listen :443 --tls-cert cert.pem --tls-key key.pem`,
		Long: `Starts a service with a page for browsers, where people label rows and watch a campaign, and an interface for
programs, which /docs and /openapi.json describe. STORE is a campaign file, which is created if it does not exist, ` +
			`or the address of a PostgreSQL database; without it, the service
uses ` + serveStore + ` in the current folder.

Files with damaged pages are rejected; 'nextbatch doctor STORE' shows the damage.

Every request needs a token ('nextbatch token'). If there is none, the service makes one for an owner and prints a link
with it, once. Ctrl-C ends the service: running requests finish, and jobs resume when it starts again. Stored labels are
never lost.

The service listens on this machine only. To serve others, give it a certificate (--tls-cert, --tls-key), or put it
behind a proxy that encrypts (--behind-proxy): without encryption, anybody between client and service can ` +
			`read the tokens.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			store := serveStore
			if len(args) == 1 {
				store = args[0]
			}
			return s.run(cmd.Context(), store, cmd.ErrOrStderr())
		},
	}
	registerDevice(c)
	flags := c.Flags()
	flags.StringVar(&s.memory.text, "max-memory", "",
		"use no more than this for jobs, and of the GPU's memory, and half of it for all tables that are being uploaded, "+
			"such as 4GiB (default what is available)")
	flags.StringVar(&s.listen, "listen", serveAddress, "address to listen on, as HOST:PORT")
	flags.StringVar(&s.cert, "tls-cert", "", "file with the certificate, in PEM")
	flags.StringVar(&s.key, "tls-key", "", "file with its key, in PEM")
	flags.BoolVar(&s.behindProxy, "behind-proxy", false,
		"listen beyond this machine without TLS, because a proxy in front encrypts")
	flags.StringVar(&s.tokens, "tokens", "", "file of tokens (default tokens.db beside the campaign file)")
	flags.StringVar(&s.maxUpload, "max-upload", strconv.Itoa(server.DefaultUpload>>30)+"GiB",
		"size of the largest table to accept")
	flags.StringVar(&s.results, "results", "",
		"results of 'nextbatch bench run' to show: a file, a folder with some, or postgres://…")
	flags.IntVar(&s.rate, "rate", server.DefaultRate, "requests per second that each token may make")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "log errors only")
	return c
}

func (s *serving) run(ctx context.Context, address string, log io.Writer) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.checkResults(ctx); err != nil {
		return err
	}
	if err := s.memory.check(); err != nil {
		return err
	}
	upload, err := parseBytes("--max-upload", s.maxUpload)
	if err != nil {
		return err
	}
	path := s.tokens
	if path == "" {
		path = tokenFile(address)
	}
	if err := s.checkFiles(ctx, address, path, log); err != nil {
		return err
	}
	store, err := openStore(ctx, address, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tokens, err := server.OpenTokens(ctx, path)
	if err != nil {
		return dataError{err}
	}
	defer func() { err = errors.Join(err, tokens.Close()) }()
	listener, err := s.listener()
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := s.announce(ctx, listener.Addr(), tokens, path, log); err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.quiet {
		level = slog.LevelError
	}
	// A thread beyond those that jobs compute with answers requests without waiting for them:
	// the system lets a thread that has slept run first.
	cores := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(cores + server.JobsAtOnce)
	defer runtime.GOMAXPROCS(cores)
	if s.memory.text != "" { // rather collect garbage than exceed it; what the machine has available changes
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(s.memory.bytes))
	}
	service := server.New(server.Options{
		Store: store, Tokens: tokens, Version: thisBuild().Version, MaxUpload: upload, Rate: s.rate,
		Results: s.results, MaxMemory: (s.memory.forRequests() + 1) / 2, Available: s.memory.forJobs, Threads: cores,
		Device: device.Of(ctx),
		Secure: s.cert != "" || s.behindProxy, BehindProxy: s.behindProxy,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: level})),
	})
	defer service.Close()
	return serve(ctx, listener, service)
}

// checkFiles returns an error for files that are damaged.
func (s *serving) checkFiles(ctx context.Context, address, tokens string, log io.Writer) error {
	if path := storeFile(address); path != "" {
		if err := checkServed(ctx, path, campaigns.Check, log); err != nil {
			return err
		}
	}
	return checkServed(ctx, tokens, server.CheckTokens, log)
}

// checkResults checks that the results to show are there.
func (s *serving) checkResults(ctx context.Context) error {
	switch {
	case s.results == "":
		return nil
	case isDatabase(s.results):
		results, err := openResults(ctx, s.results)
		if err != nil {
			return dataError{fmt.Errorf("--results: %w", err)}
		}
		return results.Close()
	}
	if _, err := os.Stat(s.results); err != nil {
		return dataError{fmt.Errorf("--results: %w", err)}
	}
	return nil
}

// check returns an error if tokens would be sent over a network in the clear.
func (s *serving) check() error {
	if s.rate < 1 {
		return usagef("--rate takes a number of requests a second, not %d", s.rate)
	}
	if (s.cert == "") != (s.key == "") {
		return usagef("--tls-cert and --tls-key go together")
	}
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return usagef("--listen takes HOST:PORT, such as %s, not %q", serveAddress, s.listen)
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if !local && s.cert == "" && !s.behindProxy {
		return usagef(
			"--listen %s can be reached from other machines, and without encryption anybody on the way can read the tokens: "+
				"give --tls-cert and --tls-key, or --behind-proxy if a proxy in front encrypts", s.listen)
	}
	return nil
}

func (s *serving) listener() (net.Listener, error) {
	plain, err := net.Listen("tcp", s.listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", s.listen, err)
	}
	if s.cert == "" {
		return plain, nil
	}
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		plain.Close()
		return nil, dataError{fmt.Errorf("--tls-cert %s and --tls-key %s: %w", s.cert, s.key, err)}
	}
	return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

// announce prints the address of the service, and makes the first token.
func (s *serving) announce(ctx context.Context, at net.Addr, tokens *server.Tokens, path string, log io.Writer) error {
	scheme := "http"
	if s.cert != "" {
		scheme = "https"
	}
	list, err := tokens.List(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "nextbatch: listening on %s://%s\n", scheme, at)
	if len(list) > 0 {
		fmt.Fprintf(log,
			"nextbatch: to sign in with a browser, run 'nextbatch token add NAME --role owner --tokens %s' and open "+
				"%s://%s/#token=TOKEN\n", shown(path), scheme, at)
		return nil
	}
	person := cmp.Or(userName(), "owner") // a container's user may have no name
	_, secret, err := tokens.Add(ctx, server.Grant{Person: person, Role: server.Owner}, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(log, `nextbatch: open this link, which holds the token of an owner and is not shown again:

    %s://%s/#token=%s

  'nextbatch token add' makes further tokens. Programs send theirs in a header:
  curl -H 'Authorization: Bearer %s' %s://%s/v1/campaigns

`, scheme, at, secret, secret, scheme, at)
	return nil
}

// serve answers requests until the context ends.
func serve(ctx context.Context, listener net.Listener, service *server.Server) error {
	h := service.HTTP()
	h.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), serveShutdown)
	defer cancel()
	if err := h.Shutdown(wait); err != nil {
		return errors.Join(err, h.Close())
	}
	return nil
}

// tokenFile returns where the tokens of a store are by default: beside a file, and in
// the current folder for a database.
func tokenFile(address string) string {
	const name = "tokens.db"
	if strings.Contains(address, "://") {
		return name
	}
	return filepath.Join(filepath.Dir(address), name)
}
