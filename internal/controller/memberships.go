package controller

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Memberships keep what Ingresses are and were part of beyond the life of a process. What an Ingress was
// made part of is stored before anything is made for it. Without it a process finds a stack that an
// Ingress left while no process ran, and whose finalizer is off, without an owner.
type Memberships struct {
	Memory *cluster.Memberships
	Store  CheckpointStore
	// Fence, if not nil, keeps a process that leads no more from writing over what its successor
	// has written.
	Fence func() error
	Log   logr.Logger

	mu     sync.Mutex
	failed bool
}

// keepFor is how long a run waits at most until something is stored.
const keepFor = 5 * time.Second

// Load takes up what the process before has stored, and compares it with the Ingresses that there are.
// It returns those that have left a stack and are gone. watched reports whether Ingresses of a namespace
// are seen at all.
func (m *Memberships) Load(ctx context.Context, ingresses []cluster.Object, watched func(namespace string) bool) []cluster.Ref {
	text, err := m.Store.Read(ctx)
	if err != nil {
		m.Log.Error(err, "failed to read memberships", "effect", "Ingresses that left a load balancer while no controller ran are not noticed")
	}
	gone := m.Memory.Begin(text, watched, ingresses)
	m.Keep(ctx)
	return gone
}

// Keep stores at once what nobody else knows. After a failure it leaves that to Start.
func (m *Memberships) Keep(ctx context.Context) {
	if !m.Memory.Urgent() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed || !m.Memory.Urgent() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepFor)
	defer cancel()
	m.save(ctx)
}

// Save stores the memberships if there are news.
func (m *Memberships) Save(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.save(ctx)
}

func (m *Memberships) save(ctx context.Context) {
	text, news := m.Memory.Text()
	if !news || m.Fence != nil && m.Fence() != nil {
		return
	}
	err := m.Store.Write(ctx, text)
	if err == nil {
		m.Memory.Stored(text)
	} else if !m.failed {
		m.Log.Error(err, "failed to write memberships", "effect", "Ingresses that leave a load balancer while no controller runs are not noticed")
	}
	m.failed = err != nil
}

// Start saves the memberships until ctx ends, and then for the last time. It implements a runnable of the
// manager that runs while this process leads.
func (m *Memberships) Start(ctx context.Context) error { return saveUntil(ctx, m.Save) }
