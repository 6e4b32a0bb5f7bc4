package postgresdb

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Query reads the rows of a query in a transaction that cannot write. Begin gets the names of the columns, then row the
// values of each row, which it may keep: nil, int64, float64, bool, []byte or, of any other type, the text that the
// server writes.
func Query(ctx context.Context, address, query string, begin func(names []string), row func(values []any) error) error {
	d, err := Connect(ctx, address, 1)
	if err != nil {
		return err
	}
	defer d.Close()
	err = pgx.BeginTxFunc(ctx, d, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, pgx.QueryExecModeDescribeExec, pgx.QueryResultFormats{pgx.TextFormatCode})
		if err != nil {
			return err
		}
		defer rows.Close()
		var names []string
		for _, field := range rows.FieldDescriptions() {
			names = append(names, field.Name)
		}
		begin(names)
		for rows.Next() {
			values := make([]any, len(names))
			for i, raw := range rows.RawValues() {
				if raw != nil {
					values[i] = valueOf(rows.FieldDescriptions()[i].DataTypeOID, string(raw))
				}
			}
			if err := row(values); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return Ended(ctx, d.Explain(err))
}

// valueOf returns a value that the server has written as text.
func valueOf(kind uint32, text string) any {
	switch kind {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return v
		}
	case pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return v
		}
	case pgtype.BoolOID:
		return text == "t"
	case pgtype.BPCharOID: // padded to its length
		return strings.TrimRight(text, " ")
	case pgtype.ByteaOID:
		return []byte(text)
	}
	return text
}

// TableQuery reads a whole table, whose name may begin with that of a schema.
func TableQuery(name string) string {
	return "SELECT * FROM " + pgx.Identifier(strings.Split(name, ".")).Sanitize()
}
