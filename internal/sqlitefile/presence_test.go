package sqlitefile

import (
	"os"
	"testing"
	"time"
)

// A process elsewhere that has not signalled for a while no longer counts, whether the clock
// went on or was set back; one that has just signalled does.
func TestPresenceOutlivesClocks(t *testing.T) {
	for _, test := range []struct {
		ago  time.Duration
		want bool
	}{
		{0, true}, {Heartbeat, true}, {-Heartbeat, true}, {2 * Lease, false}, {-5 * time.Hour, false},
	} {
		p := Presence{Host: "elsewhere", PID: os.Getpid(), Seen: Now() - test.ago.Milliseconds()}
		if got := p.Working(); got != test.want {
			t.Errorf("signalled %v ago: working %v", test.ago, got)
		}
	}
}
