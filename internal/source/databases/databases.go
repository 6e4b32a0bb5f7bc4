// Package databases reads tables from SQLite files and PostgreSQL databases, without writing to them. An address is
// sqlite:lab.db?table=runs or postgres://user@host/lab?table=runs; in place of the name of a table it may end in a
// query, as in ?query=SELECT … FROM runs, which is taken as it stands.
package databases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Is reports whether a path is the address of a database.
func Is(path string) bool {
	return strings.HasPrefix(path, "sqlite:") || strings.HasPrefix(path, "postgres://") ||
		strings.HasPrefix(path, "postgresql://")
}

var wanted = regexp.MustCompile(`[?&](table|query)=`)

// address is a database and what is read from it.
type address struct {
	database     string // without what is read
	table, query string // one of them
}

func parse(text string) (a address, err error) {
	at := wanted.FindStringIndex(text)
	if at == nil {
		return a, fmt.Errorf("%s: say what to read: end the address in ?table=NAME or ?query=SELECT …", Name(text))
	}
	a.database = text[:at[0]]
	if value := text[at[1]:]; strings.HasPrefix(text[at[0]+1:], "table=") {
		a.table = value
	} else {
		a.query = value
	}
	if strings.TrimSpace(a.table+a.query) == "" {
		return a, fmt.Errorf("%s: nothing stands after the =", Name(text))
	}
	return a, nil
}

// Check reports what is wrong with an address.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// Name is what messages call an address: without a password.
func Name(text string) string {
	end := len(text)
	if at := wanted.FindStringIndex(text); at != nil {
		end = at[0]
	}
	if strings.HasPrefix(text, "sqlite:") {
		return text
	}
	u, err := url.Parse(text[:end])
	if err != nil {
		return "the PostgreSQL database"
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted() + text[end:]
}

// Table is the name of the table that is read; empty for a query.
func Table(text string) string {
	a, _ := parse(text)
	return a.table
}

// Read reads the rows of an address. Numbers and truth values are numeric, all other values text, and a null is a
// missing value; the options have the same meaning as for a Parquet file with such columns.
func Read(ctx context.Context, text string, opts sheets.Options) (*dataset.Table, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	r := &reader{ignore: opts.Ignore}
	if path, isFile := strings.CutPrefix(a.database, "sqlite:"); isFile {
		if a.table != "" {
			a.query = `SELECT * FROM "` + strings.ReplaceAll(a.table, `"`, `""`) + `"`
		}
		err = sqlitefile.Query(ctx, path, a.query, r.begin, r.row)
	} else {
		if a.table != "" {
			a.query = postgresdb.TableQuery(a.table)
		}
		err = postgresdb.Query(ctx, a.database, a.query, r.begin, r.row)
	}
	if err != nil {
		return nil, err
	}
	rows, err := r.table()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name(text), err)
	}
	var file bytes.Buffer
	if err := formats.WriteParquet(&file, rows); err != nil {
		return nil, err
	}
	t, err := formats.ReadParquet(ctx, bytes.NewReader(file.Bytes()), opts)
	if at := (*sheets.Error)(nil); errors.As(err, &at) {
		at.File = Name(text)
	}
	return t, err
}

// reader collects the rows of a query.
type reader struct {
	ignore  []string
	columns []*column
}

// column is numbers, as long as all values are, or texts.
type column struct {
	name    string
	numbers []float64
	texts   []string // nil for numbers; empty where there is none
}

func (r *reader) begin(names []string) {
	for _, name := range names {
		r.columns = append(r.columns, &column{name: name})
	}
}

func (r *reader) row(values []any) error {
	for i, c := range r.columns {
		if _, isBytes := values[i].([]byte); isBytes {
			if !slices.Contains(r.ignore, c.name) {
				return fmt.Errorf("column %q holds bytes, which are no values of a table: leave it out, by a query", c.name)
			}
			values[i] = nil
		}
		c.add(values[i])
	}
	return nil
}

// mostWhole is up to where a number can be any whole one.
const mostWhole = 1 << 53

func (c *column) add(value any) {
	number, isNumber := math.NaN(), true
	switch v := value.(type) {
	case nil:
	case int64:
		number, isNumber = float64(v), -mostWhole <= v && v <= mostWhole
	case float64:
		number = v
	case bool:
		number = map[bool]float64{true: 1}[v]
	default:
		isNumber = false
	}
	if !isNumber && c.texts == nil {
		c.texts = make([]string, len(c.numbers))
		for i, v := range c.numbers {
			if !math.IsNaN(v) {
				c.texts[i] = strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
		c.numbers = nil
	}
	if c.texts == nil {
		c.numbers = append(c.numbers, number)
		return
	}
	text := ""
	switch v := value.(type) {
	case nil:
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if text = v.Format(time.RFC3339Nano); strings.HasSuffix(text, "T00:00:00Z") {
			text = v.Format(time.DateOnly)
		}
	default:
		text = fmt.Sprint(v)
	}
	c.texts = append(c.texts, text)
}

// table returns the columns.
func (r *reader) table() (*dataset.Table, error) {
	var columns []dataset.Column
	for _, c := range r.columns {
		if c.texts == nil {
			numbers := dataset.NewNumeric(c.name)
			for _, v := range c.numbers {
				numbers.Append(v)
			}
			columns = append(columns, numbers)
			continue
		}
		texts := dataset.NewText(c.name)
		for _, text := range c.texts {
			texts.Append([]byte(text))
		}
		columns = append(columns, texts)
	}
	return dataset.NewTable(columns...)
}
