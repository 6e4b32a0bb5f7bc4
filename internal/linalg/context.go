package linalg

import "context"

type teamKey struct{}

// WithThreads returns a context that carries a team of at most n threads; see
// NewTeam.
func WithThreads(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, teamKey{}, NewTeam(n))
}

// TeamOf returns the team that the context carries, or nil if there is none.
func TeamOf(ctx context.Context) *Team {
	team, _ := ctx.Value(teamKey{}).(*Team)
	return team
}
