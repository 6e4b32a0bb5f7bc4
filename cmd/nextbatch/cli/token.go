package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/server"
)

func newToken() *cobra.Command {
	c := &cobra.Command{
		Use:     "token",
		Short:   "Add, list and revoke the tokens of a service",
		Example: "  nextbatch token add ada --role labeller --campaign solubility",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: `A token identifies who makes a request to 'nextbatch serve' and what they may do. A viewer reads; a ` +
			`labeller also
asks, tells, reports failures and returns rows; an owner may do everything. Changes take effect with the next
request, without a restart.`,
	}
	c.AddCommand(newTokenAdd(), newTokenList(), newTokenRevoke())
	return c
}

// withTokens calls a function with the tokens in a file.
func withTokens(ctx context.Context, path string, do func(*server.Tokens) (*answer, error)) (_ *answer, err error) {
	tokens, err := server.OpenTokens(ctx, path)
	if err != nil {
		return nil, dataError{err}
	}
	defer func() { err = errors.Join(err, tokens.Close()) }()
	return do(tokens)
}

func tokenFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "tokens", tokenFile(serveStore), "file of tokens")
}

func newTokenAdd() *cobra.Command {
	var path, role, lasts string
	var grant server.Grant
	asJSON := false
	c := &cobra.Command{
		Use:   "add PERSON",
		Short: "Add a token and print it, once",
		Example: `  nextbatch token add ada --role labeller
  nextbatch token add ben --role viewer --campaign solubility --lasts 30d`,
		Args: cobra.ExactArgs(1),
		RunE: performs(func(ctx context.Context, args []string) (_ *answer, err error) {
			if grant.Role, err = server.ParseRole(role); err != nil {
				return nil, usageError{err}
			}
			if grant.Person = args[0]; lasts != "" {
				if grant.Lasts, err = parseLease(lasts); err != nil || grant.Lasts <= 0 {
					return nil, usagef("--lasts takes a time such as 30d or 12h, not %q", lasts)
				}
			}
			return withTokens(ctx, path, func(tokens *server.Tokens) (*answer, error) {
				token, secret, err := tokens.Add(ctx, grant, time.Now())
				if err != nil {
					return nil, usageError{err}
				}
				return &answer{text: func(out io.Writer) error { return printToken(out, token, secret, asJSON) }}, nil
			})
		}),
		Long: `Prints the secret of the token, which is not stored anywhere: only its hash is.`,
	}
	c.Flags().StringVar(&role, "role", string(server.Labeller), "viewer, labeller or owner")
	c.Flags().StringVar(&grant.Campaign, "campaign", "", "the only campaign that the token gives access to (default all)")
	c.Flags().StringVar(&lasts, "lasts", "", "when it expires, such as 30d (default never)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	tokenFlag(c, &path)
	return c
}

func printToken(out io.Writer, token server.Token, secret string, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(out, secret)
		return err
	}
	return json.NewEncoder(out).Encode(struct {
		server.Token
		Secret string `json:"secret"`
	}{token, secret})
}

func newTokenList() *cobra.Command {
	var path string
	asJSON := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Args:  cobra.NoArgs,
		RunE: performs(func(ctx context.Context, _ []string) (*answer, error) {
			return withTokens(ctx, path, func(tokens *server.Tokens) (*answer, error) {
				list, err := tokens.List(ctx)
				return &answer{text: func(out io.Writer) error { return printTokens(out, list, asJSON) }}, err
			})
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	tokenFlag(c, &path)
	return c
}

func printTokens(out io.Writer, list []server.Token, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(append([]server.Token{}, list...))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "token\tperson\trole\tcampaign\tcreated\texpires")
	for _, t := range list {
		campaign, expires := "all", "never"
		if t.Campaign != "" {
			campaign = t.Campaign
		}
		if t.Expires != nil {
			expires = report.TimeText(*t.Expires)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, shown(t.Person), t.Role, shown(campaign),
			report.TimeText(t.Created), expires)
	}
	return w.Flush()
}

func newTokenRevoke() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:     "revoke TOKEN",
		Short:   "Revoke a token, by its id",
		Example: "  nextbatch token revoke k3m9x2q7ab",
		Args:    cobra.ExactArgs(1),
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			return withTokens(ctx, path, func(tokens *server.Tokens) (*answer, error) {
				return nil, tokens.Revoke(ctx, args[0])
			})
		}),
	}
	tokenFlag(c, &path)
	return c
}
