package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Memberships stores, for the next process, the stacks to which each object belongs or has belonged. The stack of an object
// is stored before resources are created for the object. Without the stored stack, the resources would become orphans if a
// client removed the finalizer of the object while no controller is running.
type Memberships struct {
	Members *cluster.Memberships
	Store   TextStore
	// Fence, if not nil, prevents a process that has lost its lease from overwriting the memberships of the next leader.
	Fence engine.Fence
	Log   logr.Logger

	mu              sync.Mutex
	roots           RootObjects // nil before Load
	loaded          bool        // whether the stored text was read; a text that could not be read is never overwritten
	lastReadFailed  bool
	lastWriteFailed bool
	// limiter limits the writes of Persist.
	limiter writeLimiter
}

// RootObjects are the existing objects of all root kinds.
type RootObjects interface {
	List() ([]cluster.Object, error)
	// IsWatched reports whether this process watches an object.
	IsWatched(ref cluster.Ref) bool
	// EnqueueDeparted enqueues the stacks that objects have left. Some of the objects may not exist any more.
	EnqueueDeparted(refs []cluster.Ref)
}

// Load loads the memberships that the previous process has stored, and compares them with the objects that exist. It returns
// the objects that have left a stack and do not exist any more. If Load fails, Start repeats the load and enqueues the
// stacks that objects have left. Nothing is stored before the load succeeds, because the stored text may be the only record
// of a stack.
func (m *Memberships) Load(ctx context.Context, roots RootObjects) []cluster.Ref {
	m.mu.Lock()
	m.roots = roots
	gone, _ := m.load(ctx)
	m.mu.Unlock()
	m.Persist(ctx)
	return gone
}

// load reads the stored memberships, and sets loaded if that succeeds. It returns the objects that have left a stack and do
// not exist any more, and the objects that exist. The caller holds the lock.
func (m *Memberships) load(ctx context.Context) (gone []cluster.Ref, existing []cluster.Object) {
	text, err := m.Store.Read(ctx)
	if errors.Is(err, kube.ErrOtherFormat) {
		m.Log.Info("ignored memberships of another version", "err", err.Error(), "effect", "finalizers that were removed while no controller ran are not detected")
		err = nil // not an error: a write keeps what the other version has stored
	}
	if err == nil {
		existing, err = m.roots.List()
	}
	if err != nil {
		if !m.lastReadFailed {
			m.Log.Error(err, "failed to read memberships", "effect", "until a later read succeeds, finalizers that were removed while no controller ran are not detected, and no memberships are stored")
		}
		m.lastReadFailed = true
		return nil, nil
	}
	gone, leftOut := m.Members.Restore(text, m.roots.IsWatched, existing)
	if leftOut > 0 {
		m.Log.Info("ignored memberships of another version", "lines", leftOut, "effect", "finalizers that were removed while no controller ran may not be detected")
	}
	m.loaded = true
	return gone, existing
}

// Persist stores urgent changes (cluster.Memberships.HasUrgentChange). A run calls Persist and waits until it returns. If
// the stored memberships were not read, or if a write fails, Persist returns. Start then repeats the read or the write.
func (m *Memberships) Persist(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, durations.AnswerTimeout)
	defer cancel()
	for {
		if wait := m.tryPersist(ctx); wait <= 0 || !pause(ctx, wait) {
			return
		}
	}
}

// tryPersist stores urgent changes, or returns the time that Persist has to wait before it may store them.
func (m *Memberships) tryPersist(ctx context.Context) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded || m.lastWriteFailed || !m.Members.HasUrgentChange() {
		return 0
	}
	if wait = m.limiter.delay(); wait <= 0 {
		m.save(ctx)
	}
	return wait
}

// Save stores the memberships if they have changed. If Load has failed, Save first repeats the load.
func (m *Memberships) Save(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.roots != nil && !m.loaded {
		departed, existing := m.load(ctx)
		for _, obj := range existing { // no later event reports that one of these objects has left a stack
			departed = append(departed, cluster.RefOf(obj))
		}
		m.roots.EnqueueDeparted(departed)
	}
	if m.loaded {
		m.save(ctx)
	}
}

// save stores the memberships if they have changed and the fence permits it. The caller holds the lock.
func (m *Memberships) save(ctx context.Context) {
	text, changed := m.Members.Text()
	if !changed || m.Fence != nil && m.Fence.CheckFence() != nil {
		return
	}
	err := m.Store.Write(ctx, text)
	if err == nil {
		m.Members.RecordStored(text)
	} else if !m.lastWriteFailed {
		m.Log.Error(err, "failed to write memberships", "effect", "finalizers that are removed while no controller runs are not detected")
	}
	m.lastWriteFailed = err != nil
	m.limiter.countWrite(len(text))
}

// Start saves the memberships periodically, and a last time when ctx ends. It implements manager.Runnable and runs while
// this process leads.
func (m *Memberships) Start(ctx context.Context) error { return saveUntil(ctx, m.Save, nil, nil) }
