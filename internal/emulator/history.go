package emulator

import (
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// savedState is an exported state of the emulator, which was current from the time since. since is zero for the first
// saved state.
type savedState struct {
	since time.Time
	state []byte
}

// saveBeforeChange is called before a change. If stale reads need older states, it adds the state after the previous change
// to the history, unless that change was made at the same instant. For the first change, it adds the initial state, which
// stale reads return for all earlier times.
func (em *Emulator) saveBeforeChange() {
	window := em.faults.HistoryDuration()
	if window <= 0 {
		return
	}
	em.store.Lock()
	defer em.store.Unlock()
	em.historyMu.Lock()
	defer em.historyMu.Unlock()
	now := em.store.Clock.Now()
	switch {
	case em.lastChange.IsZero() && len(em.history) == 0:
		em.saveState(time.Time{})
	case em.lastChange.Before(now) && !em.lastChange.IsZero():
		em.saveState(em.lastChange)
		em.lastChange = time.Time{}
	}
	// Keep one state from before the window, which was valid at the beginning of the window.
	for len(em.history) > 1 && now.Sub(em.history[1].since) > window {
		em.history = em.history[1:]
	}
}

// saveState adds the current state to the history. The caller holds the locks of the store and of the history.
func (em *Emulator) saveState(since time.Time) {
	state, err := em.store.Export()
	if err != nil {
		panic(fmt.Sprintf("the state cannot be exported: %v", err))
	}
	em.history = append(em.history, savedState{since, state})
}

// recordChange records the time of a change. The state after the change is the current state until the next change. Then
// saveBeforeChange adds it to the history.
func (em *Emulator) recordChange() {
	if em.faults.HistoryDuration() <= 0 {
		return
	}
	em.historyMu.Lock()
	defer em.historyMu.Unlock()
	em.lastChange = em.store.Clock.Now()
}

// savedStore is a store with a saved state, and the services that read from it.
type savedStore struct {
	store    *store.Store
	services []*service
}

// stateAt returns the state that was current at a time in the past; ago is the time since then. It returns nil if the state
// has not changed since then. The caller holds the lock of the current state.
func (em *Emulator) stateAt(ago time.Duration) *savedStore {
	em.historyMu.Lock()
	defer em.historyMu.Unlock()
	then := em.store.Clock.Now().Add(-ago)
	if !em.lastChange.IsZero() && !em.lastChange.After(then) {
		return nil
	}
	found := -1
	for i, p := range em.history {
		if !p.since.After(then) {
			found = i
		}
	}
	if found < 0 || found == len(em.history)-1 && em.lastChange.IsZero() {
		return nil
	}
	cfg := em.store.Config
	w := store.New(store.Options{Clock: frozenClock{em.store.Clock, then}, Config: &cfg, Account: em.store.DefaultAccount(), Partition: em.store.AWSPartition().Name})
	if err := w.Restore(em.history[found].state); err != nil {
		panic(fmt.Sprintf("a saved state cannot be restored: %v", err))
	}
	return &savedStore{store: w, services: services(w)}
}

func (p *savedStore) operation(service, name string) wire.Operation {
	for _, s := range p.services {
		if s.name == service {
			return s.operations[name]
		}
	}
	return wire.Operation{}
}

// frozenClock is a clock whose Now always returns the same time.
type frozenClock struct {
	store.Clock
	now time.Time
}

func (c frozenClock) Now() time.Time { return c.now }
