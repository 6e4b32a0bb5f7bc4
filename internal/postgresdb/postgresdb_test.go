package postgresdb

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
)

func TestExplain(t *testing.T) {
	d := &Database{name: "PostgreSQL database results at host"}
	for _, c := range []struct {
		from pgconn.PgError
		full bool
		want string
	}{
		{pgconn.PgError{Code: "53100", Message: "could not extend file"}, true,
			"the disk of the PostgreSQL server is full: could not extend file; what was written so far is safe; free some " +
				"disk space there and run the command again"},
		{pgconn.PgError{Code: "53200", Message: "out of memory"}, false, "out of memory (53200)"},
	} {
		err := d.Explain(fmt.Errorf("commit: %w", &c.from))
		if !errors.As(err, new(*Error)) || errors.Is(err, syscall.ENOSPC) != c.full || err.Error() != d.name+": "+c.want {
			t.Errorf("%s: %v", c.from.Code, err)
		}
		if !errors.As(err, new(*pgconn.PgError)) || Lost(err) {
			t.Errorf("%s: the cause is lost, or another attempt is made: %v", c.from.Code, err)
		}
	}
}

// A server that cannot be reached is away; one that refuses a statement is there.
func TestAway(t *testing.T) {
	d, err := Connect(t.Context(), "postgres://ada@127.0.0.1:1/none?sslmode=disable", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Config().ConnConfig.ConnectTimeout != connectWithin {
		t.Errorf("a connection may take %v", d.Config().ConnConfig.ConnectTimeout)
	}
	for _, c := range []struct {
		from error
		want bool
	}{
		{d.Ping(t.Context()), true},
		{&pgconn.PgError{Code: "57P01"}, true},
		{io.ErrUnexpectedEOF, true},
		{&pgconn.PgError{Code: "42P01"}, false},
	} {
		at := (*Error)(nil)
		if err := d.Explain(c.from); !errors.As(err, &at) || at.Away != c.want {
			t.Errorf("%v: %+v", c.from, at)
		}
	}
}

// A server that knows no such database answers so for ever.
func TestADatabaseThatIsNotThereIsNotAway(t *testing.T) {
	address, err := url.Parse(postgrestest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/nobody_made_this"
	d, err := Connect(t.Context(), address.String(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	at := (*Error)(nil)
	if err := d.Explain(d.Ping(t.Context())); !errors.As(err, &at) || at.Away ||
		!strings.Contains(err.Error(), "nobody_made_this") {
		t.Errorf("%v: %+v", err, at)
	}
}
