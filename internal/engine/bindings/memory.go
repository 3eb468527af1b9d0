package bindings

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// memory is what a process remembers of bindings: an entry for each.
type memory struct {
	clock             clock.PassiveClock
	firstLook, resync time.Duration

	mu      sync.Mutex
	entries map[Key]entry
	notes   int // how many there were
}

// note is something that has happened: what is remembered of a binding then. It depends on nothing but its arguments, and
// changes no map of the entry.
type note func(entry, moment) entry

// moment is when something is noted, and what follows from it for a binding.
type moment struct {
	now               time.Time
	key               Key
	firstLook, resync time.Duration
	number            int // of the note
}

func newMemory(c Config) *memory {
	return &memory{clock: c.Clock, firstLook: c.FirstLook, resync: c.Resync, entries: map[Key]entry{}}
}

func (m *memory) at(key Key) moment {
	return moment{m.clock.Now(), key, m.firstLook, m.resync, m.notes}
}

// get returns what is remembered of a binding, the zero value for nothing.
func (m *memory) get(key Key) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key]
}

// planned returns what a plan needs of that.
func (m *memory) planned(key Key) bindingplan.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key].planMemory(m.at(key))
}

// note remembers what has happened to a binding, and returns what is remembered of it then.
func (m *memory) note(key Key, n note) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apply(key, n)
}

// noteKnown does so for a binding that something is remembered of.
func (m *memory) noteKnown(key Key, n note) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.entries[key]; ok {
		m.apply(key, n)
	}
}

// apply needs the lock.
func (m *memory) apply(key Key, n note) entry {
	m.notes++
	e := n(m.entries[key], m.at(key))
	m.entries[key] = e
	return e
}

// forget drops all that is remembered of a binding.
func (m *memory) forget(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

// keysWhere returns the bindings of whose entries something is true.
func (m *memory) keysWhere(is func(entry) bool) (out []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.entries {
		if is(e) {
			out = append(out, key)
		}
	}
	return out
}

// firstDue returns when a binding is compared with AWS first, though it did not change.
func (at moment) firstDue() time.Time {
	return at.now.Add(min(at.firstLook+resync.Spread(at.key.String(), at.firstLook/2), resync.Interval(at.resync, at.key.String())))
}

// nextDue returns when a binding that is compared now is compared next.
func (at moment) nextDue() time.Time {
	return at.now.Add(resync.Interval(at.resync, at.key.String()))
}
