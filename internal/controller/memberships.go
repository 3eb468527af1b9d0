package controller

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Memberships keep what Ingresses are and were part of beyond the life of a process. What an Ingress was
// made part of is stored before anything is made for it. Without it a process finds a stack that an
// Ingress left while no process ran, and whose finalizer is off, without an owner.
type Memberships struct {
	Memory *cluster.Memberships
	Store  CheckpointStore
	// Fence, if not nil, keeps a process that leads no more from writing over what its successor
	// has written.
	Fence engine.Fence
	Log   logr.Logger

	mu     sync.Mutex
	failed bool
	// pace spaces the writes of Keep.
	pace writePace
}

// Load loads what the process before has stored, and compares it with the Ingresses that there are.
// It returns those that have left a stack and are gone. watched reports whether an object would be
// seen at all.
func (m *Memberships) Load(ctx context.Context, ingresses []cluster.Object, watched func(cluster.Ref) bool) []cluster.Ref {
	text, err := m.Store.Read(ctx)
	if err != nil {
		m.Log.Error(err, "failed to read memberships", "effect", "Ingresses that left a load balancer while no controller ran are not noticed")
	}
	gone, leftOut := m.Memory.Begin(text, watched, ingresses)
	if leftOut > 0 {
		m.Log.Info("left out memberships of another version", "lines", leftOut, "effect", "Ingresses that left a load balancer while no controller ran are not noticed")
	}
	m.Keep(ctx)
	return gone
}

// Keep stores what is known nowhere else before the run goes on. After a failure it leaves that to Start.
func (m *Memberships) Keep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, durations.Answer)
	defer cancel()
	for {
		wait := m.keep(ctx)
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// keep stores what Keep has to, unless it must wait for that.
func (m *Memberships) keep(ctx context.Context) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed || !m.Memory.Urgent() {
		return 0
	}
	if wait = m.pace.left(); wait <= 0 {
		m.save(ctx)
	}
	return wait
}

// Save stores the memberships if there are news.
func (m *Memberships) Save(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.save(ctx)
}

func (m *Memberships) save(ctx context.Context) {
	text, news := m.Memory.Text()
	if !news || m.Fence != nil && m.Fence.Fence() != nil {
		return
	}
	err := m.Store.Write(ctx, text)
	if err == nil {
		m.Memory.Stored(text)
	} else if !m.failed {
		m.Log.Error(err, "failed to write memberships", "effect", "Ingresses that leave a load balancer while no controller runs are not noticed")
	}
	m.failed = err != nil
	m.pace.wrote(len(text))
}

// Start saves the memberships until ctx ends, and then for the last time. It implements a runnable of the
// manager that runs while this process leads.
func (m *Memberships) Start(ctx context.Context) error { return saveUntil(ctx, m.Save, nil, nil) }
