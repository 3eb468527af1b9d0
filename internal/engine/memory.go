package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/imports"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// memory is the state of one stack that a process stores between runs, to delay or avoid calls. After a restart it is empty.
// The routes are then regarded as changed at the start, and the stack as created by another process.
type memory struct {
	// firstRun is the time at which the process began the first run of any stack.
	firstRun time.Time
	// routesChangedAt is the time at which this process last changed listeners or rules of the stack. It is zero if this
	// process changed none of them.
	routesChangedAt time.Time
	// createdByThisProcess reports whether this process added the first finalizer to the objects of the stack. No other
	// process has then created resources for it.
	createdByThisProcess bool
	// lastRunFinished reports whether the last run carried out all steps.
	lastRunFinished bool
	repeats         repeatedChanges
	stepRefusals    refusals
	waits           waits
	comparison      resync.State
	drift           driftMemory
	// unansweredSince is the start of the first of several consecutive runs without an answer from AWS; zero if AWS answered
	// the last run.
	unansweredSince time.Time
}

// memories has the memories of all stacks. A run begins with a copy of the memory of its stack, and stores the copy when the
// run ends. No two runs of a stack overlap.
type memories struct {
	mu       sync.Mutex
	firstRun time.Time
	byStack  map[model.StackID]memory
	// reservedStacks are the stacks on which runs work: the stack of the run, and a stack whose load balancer it takes over.
	reservedStacks map[model.StackID]bool
	// imports has the budgets of certificate imports. The budgets count the imports of all stacks, including deleted stacks.
	imports imports.Budgets
}

// memoryOf returns the memory of a stack. It returns a new memory if the stack has none.
func (m *memories) memoryOf(id model.StackID) memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.byStack[id]
	out.firstRun = m.firstRun
	return out
}

// reserve reserves a stack for a run. It returns false if another run has reserved the stack.
func (m *memories) reserve(id model.StackID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reservedStacks[id] {
		return false
	}
	if m.reservedStacks == nil {
		m.reservedStacks = map[model.StackID]bool{}
	}
	m.reservedStacks[id] = true
	return true
}

// release ends the reservation of stacks.
func (m *memories) release(ids []model.StackID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		delete(m.reservedStacks, id)
	}
}

// recordFirstRun records the time of the first run. Later calls do nothing.
func (m *memories) recordFirstRun(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.firstRun.IsZero() {
		m.firstRun = now
	}
}

// store stores the memory of a stack.
func (m *memories) store(id model.StackID, of memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byStack == nil {
		m.byStack = map[model.StackID]memory{}
	}
	m.byStack[id] = of
}

// forget removes the memory of a stack that does not exist any more.
func (m *memories) forget(id model.StackID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byStack, id)
}

// importPauses returns, by certificate ID, the pauses during which certificates of a stack are not imported.
func (m *memories) importPauses(stack model.Stack, now time.Time) map[string]plan.ImportPause {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.imports.ImportPauses(stack, now)
}

// countImport counts an import if the step has imported a certificate.
func (m *memories) countImport(id model.StackID, s plan.Step, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.imports.RecordImport(id, s, now)
}

// planMemory returns the part of the memory on which a plan depends.
func (m memory) planMemory(now time.Time, propagation time.Duration, imports map[string]plan.ImportPause) plan.Memory {
	return plan.Memory{
		LastChangeUnfinished: !m.lastRunFinished, RemainingPropagation: m.propagationLeft(now, propagation), WaitedTimes: m.waits.waitDurations(now), PausedImports: imports,
	}
}

// propagationLeft returns how much longer nodes of the load balancer may use its previous routes. It is 0 if all nodes use
// the current routes, and if there is no clock (now is zero). If this process has not changed the routes, they are regarded
// as changed at its first run.
func (m memory) propagationLeft(now time.Time, propagation time.Duration) time.Duration {
	if now.IsZero() {
		return 0
	}
	changed := m.routesChangedAt
	if changed.IsZero() {
		changed = m.firstRun
	}
	return max(changed.Add(propagation).Sub(now), 0)
}
