package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/imports"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// memory is what a process remembers of one stack from one run to the next. It sets the pace and saves calls: what a
// restart forgets is found out again, and where it matters, what is not known counts as recent and as another's.
type memory struct {
	// begun is when the process ran its first stack.
	begun time.Time
	// rerouted is when listeners or rules were changed last; zero: not by this process.
	rerouted time.Time
	// own reports that nothing existed of the stack when this process claimed its objects.
	own bool
	// finished reports that the last run carried everything out.
	finished   bool
	repeats    repeats
	refused    refusals
	waits      waits
	comparison resync.State
	drift      drifts
	// silentSince is when the first run began of those to which AWS has not answered; zero: it answered the last one.
	silentSince time.Time
}

// memories are the memories of all stacks. A run takes the memory of its stack as a value and puts it back; no two runs
// of a stack overlap.
type memories struct {
	mu    sync.Mutex
	begun time.Time
	of    map[model.StackID]memory
	// reserved are stacks that a run works on, its own and those whose load balancer it takes over.
	reserved map[model.StackID]bool
	// imports are the budgets of certificate imports, counted over all stacks and kept when a stack is gone.
	imports imports.Budgets
}

// recall returns the memory of a stack, a new one if nothing is remembered.
func (m *memories) recall(id model.StackID) memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.of[id]
	out.begun = m.begun
	return out
}

// reserve keeps other runs away from a stack; false if one has it.
func (m *memories) reserve(id model.StackID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved[id] {
		return false
	}
	if m.reserved == nil {
		m.reserved = map[model.StackID]bool{}
	}
	m.reserved[id] = true
	return true
}

// release gives stacks free again.
func (m *memories) release(ids []model.StackID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		delete(m.reserved, id)
	}
}

// begin notes the time of the first run; later calls do nothing.
func (m *memories) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun.IsZero() {
		m.begun = now
	}
}

// store remembers a stack as a run leaves it.
func (m *memories) store(id model.StackID, of memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[model.StackID]memory{}
	}
	m.of[id] = of
}

// forget drops a stack of which nothing is left.
func (m *memories) forget(id model.StackID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, id)
}

// importsPaused returns how long certificates of a stack are not imported.
func (m *memories) importsPaused(stack model.Stack, now time.Time) map[string]plan.ImportPause {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.imports.Paused(stack, now)
}

// noteImport counts a step that has imported a certificate.
func (m *memories) noteImport(id model.StackID, s plan.Step, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.imports.Note(id, s, now)
}

// planMemory returns what a plan needs of the memory.
func (m memory) planMemory(now time.Time, propagation time.Duration, imports map[string]plan.ImportPause) plan.Memory {
	return plan.Memory{
		Unfinished: !m.finished, PropagationLeft: m.propagationLeft(now, propagation), Waited: m.waits.waitedTimes(now), ImportsPaused: imports,
	}
}

// propagationLeft returns how long nodes of the stack's load balancer may not know its routes; 0: they do. What
// another process did before this one counts as changed when this one ran its first stack. Without a clock nothing is
// known, and nothing is waited for.
func (m memory) propagationLeft(now time.Time, propagation time.Duration) time.Duration {
	if now.IsZero() {
		return 0
	}
	at := m.rerouted
	if at.IsZero() {
		at = m.begun
	}
	return max(at.Add(propagation).Sub(now), 0)
}
