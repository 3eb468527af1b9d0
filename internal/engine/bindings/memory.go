package bindings

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// memory has an entry for each binding that the process has run. Entries are changed only by updates.
type memory struct {
	clock                              clock.PassiveClock
	firstComparisonDelay, resyncPeriod time.Duration

	mu          sync.Mutex
	entries     map[Key]entry
	updateCount int // number of updates since the start
}

// update is a change of the memory of a binding, as a function that returns the entry after the change. The result depends
// only on the arguments. The function must not modify a map of the entry that it gets.
type update func(entry, updateInput) entry

// updateInput is the time at which an update is applied, with the values that are needed to compute the next comparison of
// the binding.
type updateInput struct {
	now                                time.Time
	key                                Key
	firstComparisonDelay, resyncPeriod time.Duration
	number                             int // number of the update since the start
}

func newMemory(c Config) *memory {
	return &memory{clock: c.Clock, firstComparisonDelay: c.FirstComparisonDelay, resyncPeriod: c.Resync, entries: map[Key]entry{}}
}

// newUpdateInput returns the current time and update number for a binding. The caller holds the lock.
func (m *memory) newUpdateInput(key Key) updateInput {
	return updateInput{m.clock.Now(), key, m.firstComparisonDelay, m.resyncPeriod, m.updateCount}
}

// get returns the entry of a binding; the zero value if there is none.
func (m *memory) get(key Key) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key]
}

// planMemory returns the part of the entry of a binding that a plan depends on.
func (m *memory) planMemory(key Key) bindingplan.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key].planMemory(m.newUpdateInput(key))
}

// update applies an update to the entry of a binding, and returns the new entry.
func (m *memory) update(key Key, n update) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apply(key, n)
}

// updateIfKnown applies an update if the binding has an entry.
func (m *memory) updateIfKnown(key Key, n update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.entries[key]; ok {
		m.apply(key, n)
	}
}

// apply applies an update to the entry of a binding, and returns the new entry. The caller holds the lock.
func (m *memory) apply(key Key, n update) entry {
	m.updateCount++
	e := n(m.entries[key], m.newUpdateInput(key))
	m.entries[key] = e
	return e
}

// forget removes the entry of a binding.
func (m *memory) forget(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

// keysWhere returns the keys of the bindings whose entries satisfy matches.
func (m *memory) keysWhere(matches func(entry) bool) (out []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.entries {
		if matches(e) {
			out = append(out, key)
		}
	}
	return out
}

// firstDue returns the time of the first comparison of an unchanged binding with AWS after the start of the process.
func (at updateInput) firstDue() time.Time {
	return at.now.Add(min(at.firstComparisonDelay+resync.Spread(at.key.String(), at.firstComparisonDelay/2), resync.Interval(at.resyncPeriod, at.key.String())))
}

// nextDue returns the time of the next comparison with AWS if the binding is compared now.
func (at updateInput) nextDue() time.Time {
	return at.now.Add(resync.Interval(at.resyncPeriod, at.key.String()))
}
