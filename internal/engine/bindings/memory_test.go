package bindings

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A target that is wanted again, and later not, has waited since then.
func TestATargetThatIsWantedAgainDoesNotWait(t *testing.T) {
	now := time.Unix(1000, 0)
	m := newMemory(Config{Now: func() time.Time { return now }})
	key, first, second := Key{Name: "a"}, []*observed.Target{{ID: "10.0.0.1"}}, []*observed.Target{{ID: "10.0.0.2"}}
	m.noteLeaving(key, first)
	now = now.Add(time.Minute)
	m.noteLeaving(key, second)
	m.noteLeaving(key, append(first, second...))
	if since := m.leavingSince(key); !since["10.0.0.1"].Equal(now) || !since["10.0.0.2"].Equal(now) {
		t.Errorf("waiting since %v at %s", since, now)
	}
}
