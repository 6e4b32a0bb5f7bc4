package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Role determines what the holder of a token may do. Each role may do everything that the one
// before it may.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // reads
	Labeller Role = "labeller" // asks, tells, reports failures, returns rows
	Owner    Role = "owner"    // creates campaigns, adds and retires rows, corrects, undoes, changes settings
)

var roles = []Role{Viewer, Labeller, Owner}

// ParseRole returns the role of that name.
func ParseRole(name string) (Role, error) {
	if slices.Contains(roles, Role(name)) {
		return Role(name), nil
	}
	return "", fmt.Errorf("there is no role %q: use viewer, labeller or owner", name)
}

func (r Role) includes(other Role) bool {
	return slices.Index(roles, r) >= slices.Index(roles, other)
}

// Token describes a token. Its secret is not stored anywhere.
type Token struct {
	ID       string     `json:"id"`
	Person   string     `json:"person"` // whom events name
	Role     Role       `json:"role"`
	Campaign string     `json:"campaign,omitempty"` // empty means all
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
}

// expired reports whether the token is no longer valid.
func (t Token) expired(now time.Time) bool { return t.Expires != nil && !now.Before(*t.Expires) }

// Tokens is a file of tokens. Several processes may use it at the same time: a running
// service notices a new or revoked token with the next request.
//
// The file is an SQLite database. A secret has the form nb_ID_BITS, with
// 256 random bits; hash is the SHA-256 of all of it. Times are seconds since 1970. Version 2
// added what the service keeps about browsers that signed in, and about its jobs.
type Tokens struct{ file *sqlitefile.File }

const tokenSchema = `
CREATE TABLE tokens (
	id       TEXT PRIMARY KEY,
	person   TEXT NOT NULL,
	role     TEXT NOT NULL,
	campaign TEXT NOT NULL,
	created  INTEGER NOT NULL,
	expires  INTEGER,
	hash     BLOB NOT NULL
) STRICT;
`

const tokenSchema2 = `
CREATE TABLE sessions (
	hash    BLOB PRIMARY KEY,
	token   TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
	expires INTEGER NOT NULL
) STRICT;
CREATE TABLE jobs (
	id       TEXT PRIMARY KEY,
	campaign TEXT NOT NULL,
	body     TEXT NOT NULL
) STRICT;
`

var tokenFormat = sqlitefile.Format{
	What: "file of tokens", Schema: tokenSchema, ApplicationID: 0x4e42544b,
	Later:   []string{tokenSchema2},
	Damaged: "restore a copy, or remove it and add the tokens again; the campaigns do not depend on it",
	Full:    "free some disk space and run the command again",
}

// OpenTokens opens a file of tokens, and creates it if it does not exist.
func OpenTokens(ctx context.Context, path string) (*Tokens, error) {
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	file, err := tokenFormat.Open(ctx, path, false)
	if err != nil {
		return nil, err
	}
	return &Tokens{file}, nil
}

// CheckTokens reads all of a file of tokens and rejects one that is damaged.
func CheckTokens(ctx context.Context, path string) error { return tokenFormat.Check(ctx, path) }

// makePrivate creates a file that only its owner can read, unless it exists.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// Close closes the file.
func (t *Tokens) Close() error { return t.file.Close() }

// Grant is what a new token allows.
type Grant struct {
	Person   string
	Role     Role
	Campaign string        // empty means all
	Lasts    time.Duration // 0 means without end
}

// Add adds a token and returns it with its secret.
func (t *Tokens) Add(ctx context.Context, g Grant, now time.Time) (Token, string, error) {
	if strings.TrimSpace(g.Person) == "" {
		return Token{}, "", errors.New("a token needs the name of a person, which its events carry")
	}
	if _, err := ParseRole(string(g.Role)); err != nil {
		return Token{}, "", err
	}
	if g.Lasts < 0 {
		return Token{}, "", fmt.Errorf("a token cannot last %v", g.Lasts)
	}
	token := Token{
		ID: strings.ToLower(rand.Text()[:10]), Person: g.Person, Role: g.Role, Campaign: g.Campaign,
		Created: now.UTC().Truncate(time.Second),
	}
	var expires sql.NullInt64
	if g.Lasts > 0 {
		token.Expires = new(token.Created.Add(g.Lasts))
		expires = sql.NullInt64{Int64: token.Expires.Unix(), Valid: true}
	}
	secret := newSecret(token.ID)
	hash := sha256.Sum256([]byte(secret))
	err := t.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)",
			token.ID, token.Person, string(token.Role), token.Campaign, token.Created.Unix(), expires, hash[:])
		return err
	})
	return token, secret, err
}

// Revoke removes a token.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	return t.file.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.Exec("DELETE FROM tokens WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("there is no token %q; 'nextbatch token list' shows them", id))
		}
		return nil
	})
}

const tokenColumns = "id, person, role, campaign, created, expires, hash FROM tokens"

// scanned is a row of the table.
type scanned struct {
	token   Token
	created int64
	expires sql.NullInt64
	hash    []byte
}

func (s *scanned) into() []any {
	return []any{&s.token.ID, &s.token.Person, &s.token.Role, &s.token.Campaign, &s.created, &s.expires, &s.hash}
}

func (s *scanned) read() Token {
	t := s.token
	t.Created = time.Unix(s.created, 0).UTC()
	if s.expires.Valid {
		t.Expires = new(time.Unix(s.expires.Int64, 0).UTC())
	}
	return t
}

// List returns the tokens, the oldest first.
func (t *Tokens) List(ctx context.Context) (list []Token, err error) {
	err = t.file.Each(ctx, "SELECT "+tokenColumns+" ORDER BY created, id", func(rows *sql.Rows) error {
		var s scanned
		err := rows.Scan(s.into()...)
		list = append(list, s.read())
		return err
	})
	return list, err
}

// find returns the token that a secret belongs to, and false if there is none or it has
// expired. Secrets are compared in constant time.
func (t *Tokens) find(ctx context.Context, secret string, now time.Time) (Token, bool, error) {
	id, ok := tokenID(secret)
	if !ok {
		return Token{}, false, nil
	}
	var s scanned
	err := t.file.Row(ctx, "SELECT "+tokenColumns+" WHERE id = ?", s.into(), id)
	if errors.Is(err, sql.ErrNoRows) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, err
	}
	hash := sha256.Sum256([]byte(secret))
	token := s.read()
	if subtle.ConstantTimeCompare(hash[:], s.hash) != 1 || token.expired(now) {
		return Token{}, false, nil
	}
	return token, true, nil
}

// secretPrefix lets people and scanners of files recognise a secret.
const secretPrefix = "nb_"

func newSecret(id string) string {
	var bits [32]byte
	rand.Read(bits[:]) // never fails
	return secretPrefix + id + "_" + base64.RawURLEncoding.EncodeToString(bits[:])
}

// tokenID returns the id in a secret.
func tokenID(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(rest) > 200 {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}
