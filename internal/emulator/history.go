package emulator

import (
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// pastState is the emulator state after a change.
type pastState struct {
	at    time.Time
	state []byte
}

// remember stores the present state if stale reads need it, after a change. It must be
// called without the lock.
func (em *Emulator) remember() { em.keep(false) }

// rememberFirst keeps the state before the first change, as that of all time
// before.
func (em *Emulator) rememberFirst() { em.keep(true) }

func (em *Emulator) keep(first bool) {
	window := em.faults.History()
	if window <= 0 {
		return
	}
	em.store.Lock()
	defer em.store.Unlock()
	em.historyMu.Lock()
	defer em.historyMu.Unlock()
	if first && len(em.history) > 0 {
		return
	}
	now := em.store.Clock.Now()
	at := now
	if first {
		at = time.Time{}
	}
	state, err := em.store.Export()
	if err != nil {
		panic(fmt.Sprintf("the state cannot be exported: %v", err))
	}
	em.history = append(em.history, pastState{at, state})
	// One state older than the window is the one that was valid when it began.
	for len(em.history) > 1 && now.Sub(em.history[1].at) > window {
		em.history = em.history[1:]
	}
}

// pastStore is the emulator as it was.
type pastStore struct {
	store    *store.Store
	services []*service
}

// past returns the emulator state at that time before now, nil if nothing changed
// since. The caller holds the lock of the present state.
func (em *Emulator) past(ago time.Duration) *pastStore {
	em.historyMu.Lock()
	defer em.historyMu.Unlock()
	then := em.store.Clock.Now().Add(-ago)
	found := -1
	for i, p := range em.history {
		if !p.at.After(then) {
			found = i
		}
	}
	if found < 0 || found == len(em.history)-1 {
		return nil
	}
	cfg := em.store.Config
	w := store.New(store.Options{Clock: frozenClock{em.store.Clock, then}, Config: &cfg, Account: em.store.DefaultAccount(), Partition: em.store.AWS().Name})
	if err := w.Restore(em.history[found].state); err != nil {
		panic(fmt.Sprintf("a remembered state cannot be restored: %v", err))
	}
	return &pastStore{store: w, services: services(w)}
}

func (p *pastStore) operation(service, name string) wire.Operation {
	for _, s := range p.services {
		if s.name == service {
			return s.operations[name]
		}
	}
	return wire.Operation{}
}

// frozenClock always returns one instant.
type frozenClock struct {
	store.Clock
	at time.Time
}

func (c frozenClock) Now() time.Time { return c.at }
