// Package postgresdb connects to PostgreSQL databases that hold tables of this program:
// campaigns, results of benchmarks. It creates and migrates the tables, and turns the
// errors of the database into plain words, without passwords.
package postgresdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Database is a pool of connections to a database.
type Database struct {
	*pgxpool.Pool
	name string // in messages, without the password
}

// Error is why a database cannot be used.
type Error struct {
	Store  string // its kind and name
	Reason string
	Advice string
	Away   bool // it cannot be reached, or the connection was lost: another attempt may succeed
	Cause  error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Store, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// connectWithin is how long to wait for a server that does not answer at all, unless the address sets another limit.
const connectWithin = 10 * time.Second

// Connect returns a pool of at most the given number of connections to a database with an address such
// as postgres://user:password@host/database. They are made when they are needed.
func Connect(ctx context.Context, address string, connections int32) (*Database, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWithin
	}
	// A server has about a hundred connections for everybody.
	config.MaxConns = min(config.MaxConns, connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	at := config.ConnConfig
	return &Database{pool, fmt.Sprintf("PostgreSQL database %s at %s", at.Database, at.Host)}, nil
}

func parse(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, &Error{Store: "PostgreSQL database", Reason: "its address cannot be used: " + err.Error(),
			Advice: "write postgres://user@host/database", Cause: err}
	}
	return config, nil
}

// Named returns the name of the database in an address.
func Named(address string) (string, error) {
	config, err := parse(address)
	if err != nil {
		return "", err
	}
	return config.ConnConfig.Database, nil
}

// Name names the database in messages.
func (d *Database) Name() string { return d.name }

// Fail returns an error about the database.
func (d *Database) Fail(reason, advice string, cause error) error {
	return &Error{Store: d.name, Reason: reason, Advice: advice, Cause: cause}
}

// diskFull is the code with which a server reports that its disk is full.
const diskFull = "53100"

// Explain turns an error of the driver into plain words. Errors of contexts remain as they are.
func (d *Database) Explain(err error) error {
	refused, unreachable := (*pgconn.PgError)(nil), (*pgconn.ConnectError)(nil)
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.As(err, new(*Error)):
		return err
	case errors.As(err, &unreachable): // also after connectWithin
		return &Error{Store: d.name, Reason: "it cannot be reached: " + unreachable.Error(), Away: !refusedForGood(err),
			Advice: "check the address, and whether the server runs", Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &refused) && refused.Code == diskFull:
		return &Error{Store: d.name, Reason: "the disk of the PostgreSQL server is full: " + refused.Message,
			Advice: "what was written so far is safe; free some disk space there and run the command again",
			Cause:  errors.Join(err, syscall.ENOSPC)}
	case errors.As(err, &refused):
		return &Error{Store: d.name, Reason: refused.Message + " (" + refused.Code + ")", Away: Lost(err), Cause: err}
	}
	return &Error{Store: d.name, Reason: err.Error(), Away: Lost(err), Cause: err}
}

// refusedForGood reports whether a server answered that it has no such user, password (class 28)
// or database (class 3D): only a person can change that.
func refusedForGood(err error) bool {
	refused := (*pgconn.PgError)(nil)
	return errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "28") || strings.HasPrefix(refused.Code, "3D"))
}

// Lost reports whether an error means that the connection was lost, as when the server
// restarts: another attempt may succeed.
func Lost(err error) bool {
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		// Class 08 is a broken connection; the server shuts down, or starts.
		return strings.HasPrefix(refused.Code, "08") || slices.Contains([]string{"57P01", "57P02", "57P03"}, refused.Code)
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// Hold makes a connection of its own that holds an advisory lock, which ends with the
// connection. The statement takes the lock. The server notices within a minute that the
// machine of the holder is gone.
func (d *Database) Hold(ctx context.Context, statement string, args ...any) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, d.Config().ConnConfig)
	if err != nil {
		return nil, Ended(ctx, d.Explain(err))
	}
	for _, setting := range []string{"SET tcp_keepalives_idle = 20", "SET tcp_keepalives_interval = 8",
		"SET tcp_keepalives_count = 5"} {
		if _, err = conn.Exec(ctx, setting); err != nil {
			break
		}
	}
	if err == nil {
		_, err = conn.Exec(ctx, statement, args...)
	}
	if err != nil {
		_ = CloseSoon(conn) // it can no longer be used
		return nil, Ended(ctx, d.Explain(err))
	}
	return conn, nil
}

// Ended replaces an error by that of the context, if there is one: a context that ends may
// break the connection, which the driver reports in words of its own.
func Ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// CloseSoon closes a connection, even if a context has ended, but waits for a few seconds only.
func CloseSoon(conn *pgx.Conn) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return conn.Close(ctx)
}
