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

// Memberships stores, for the next process, the stacks to which each object belongs or has belonged. The stack of an object
// is stored before resources are created for the object. Otherwise, if the object lost its finalizer while no process runs,
// its stack would become an orphan.
type Memberships struct {
	Members *cluster.Memberships
	Store   TextStore
	// Fence, if not nil, prevents a process that has lost its lease from overwriting the memberships of the next leader.
	Fence engine.Fence
	Log   logr.Logger

	mu              sync.Mutex
	lastWriteFailed bool
	// limiter limits the writes of Persist.
	limiter writeLimiter
}

// Load loads the memberships that the previous process has stored, and compares them with the existing objects of all root
// kinds, which are in ingresses. It returns the objects that have left a stack and do not exist any more. watched reports
// whether this process watches an object.
func (m *Memberships) Load(ctx context.Context, ingresses []cluster.Object, watched func(cluster.Ref) bool) []cluster.Ref {
	text, err := m.Store.Read(ctx)
	if err != nil {
		m.Log.Error(err, "failed to read memberships", "effect", "finalizers that were removed while no controller ran are not detected")
	}
	gone, leftOut := m.Members.Restore(text, watched, ingresses)
	if leftOut > 0 {
		m.Log.Info("ignored memberships of another version", "lines", leftOut, "effect", "finalizers that were removed while no controller ran may not be detected")
	}
	m.Persist(ctx)
	return gone
}

// Persist stores urgent changes (cluster.Memberships.HasUrgentChange). A run calls it before it continues. If a write fails,
// Persist returns, and Start repeats the write.
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
	if m.lastWriteFailed || !m.Members.HasUrgentChange() {
		return 0
	}
	if wait = m.limiter.delay(); wait <= 0 {
		m.save(ctx)
	}
	return wait
}

// Save stores the memberships if they have changed.
func (m *Memberships) Save(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.save(ctx)
}

// save stores the memberships if they have changed and the fence permits it. The caller holds the lock.
func (m *Memberships) save(ctx context.Context) {
	text, changed := m.Members.Text()
	if !changed || m.Fence != nil && m.Fence.Fence() != nil {
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
