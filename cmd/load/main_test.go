package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
)

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestLoad is the load for a few seconds, with three kills.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("puts a service under load for seconds")
	}
	var out bytes.Buffer
	o := options{rows: 2000, rate: 50, labellers: 4, lasts: 2 * time.Second, kills: 3}
	if err := o.run(context.Background(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "none twice") || !strings.Contains(text, " 0 lost") ||
		strings.Contains(text, " 0 labels") {
		t.Errorf("%s", text)
	}
	for _, line := range []string{
		`8 people, alone: status \d+ a second, median \S+, 99 % within \S+, all within \S+; tell [1-9]`,
		`8 people, beside one who wants 31 predictions at a time: status \d+ a second, median \S+, 99 % within \S+, all ` +
			`within \S+; tell [1-9]`,
		`the greedy client got \d+ predictions`,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("%s\nlacks %s", out.String(), line)
		}
	}
	t.Log(out.String())
}
