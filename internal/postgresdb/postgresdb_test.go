package postgresdb

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestExplain(t *testing.T) {
	d := &Database{name: "PostgreSQL database results at host"}
	for _, c := range []struct {
		from pgconn.PgError
		full bool
		want string
	}{
		{pgconn.PgError{Code: "53100", Message: "could not extend file"}, true,
			"the disk of the PostgreSQL server is full: could not extend file; what was written so far is safe; free some disk space there and run the command again"},
		{pgconn.PgError{Code: "53200", Message: "out of memory"}, false, "out of memory (53200)"},
	} {
		err := d.Explain(fmt.Errorf("commit: %w", &c.from))
		at := (*Error)(nil)
		if !errors.As(err, &at) || at.Full != c.full || err.Error() != d.name+": "+c.want {
			t.Errorf("%s: %v", c.from.Code, err)
		}
		if !errors.As(err, new(*pgconn.PgError)) || Lost(err) {
			t.Errorf("%s: the cause is lost, or another attempt is made: %v", c.from.Code, err)
		}
	}
}
