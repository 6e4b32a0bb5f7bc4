package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// ChangeSettings replaces the settings, from the next ask on. Settings without a learner keep that of the campaign, so
// that clients which do not know of learners change none.
func (c *Campaign) ChangeSettings(ctx context.Context, by By, settings Settings) (Changed, error) {
	return changed(c.change(ctx, by.call(kindSettings, settings), func(s *State) (decision, error) {
		settings := settings
		settings.Learner = cmp.Or(settings.Learner, s.Settings.Learner)
		if err := settings.Check(); err != nil {
			return decision{}, err
		}
		if err := errors.Join(settings.fit(s), s.Created.checkInputs(settings.Columns)); err != nil {
			return decision{}, refused{err}
		}
		return decision{events: []Event{{Settings: &settings}}}, nil
	}))
}

// UndoError reports an event that cannot be undone.
type UndoError struct {
	Seq    int64
	Reason string
}

func (e *UndoError) Error() string {
	return fmt.Sprintf("event %d cannot be undone: %s", e.Seq, e.Reason)
}

// Undo undoes an event, by another one. An event that later ones depend on, such as
// rows that have labels, cannot be undone before these are.
func (c *Campaign) Undo(ctx context.Context, by By, seq int64, reason string) (Changed, error) {
	return changed(c.change(ctx, by.call(kindUndone, seq, reason), func(s *State) (decision, error) {
		refuse := func(format string, args ...any) (decision, error) {
			return decision{}, &UndoError{seq, fmt.Sprintf(format, args...)}
		}
		if seq < 1 || seq > s.Seq {
			return refuse("the log has the events 1 to %d", s.Seq)
		}
		log, err := c.upTo(ctx, s.Seq)
		if err != nil {
			return decision{}, err
		}
		if by := undoneBy(log)[seq]; by > 0 {
			return refuse("event %d has done so already", by)
		}
		if log[seq-1].Created != nil {
			return refuse("it created the campaign")
		}
		e := Event{Seq: s.Seq + 1, Time: s.stampTime(), Undone: &Undone{seq, reason}}
		after, err := s.extend(log, []Event{e}, s.Now)
		if wrong := (*FoldError)(nil); errors.As(err, &wrong) {
			return refuse("event %d depends on it (%s); undo that first", wrong.Seq, wrong.Reason)
		}
		if err != nil {
			return decision{}, err
		}
		if err := c.checkDistinct(ctx, after, len(s.spans)); err != nil {
			return refuse("%v", err)
		}
		return decision{events: []Event{e}}, nil
	}))
}
