package engine

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestUnknownRoutesCountAsChangedAtStartup(t *testing.T) {
	const propagation = 10 * time.Second
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var all memories
	all.recordFirstRun(start)
	all.recordFirstRun(at(5)) // has no effect, because the time of the first run is recorded already
	a := all.memoryOf(model.StackID{Name: "a"})
	check := func(s int, want time.Duration) {
		t.Helper()
		if got := a.propagationLeft(at(s), propagation); got != want {
			t.Errorf("after %d s the remaining propagation time is %s, want %s", s, got, want)
		}
	}
	check(4, 6*time.Second)
	check(10, 0)
	a.routesChangedAt = at(20)
	check(23, 7*time.Second)
	check(41, 0)
	if got := a.propagationLeft(time.Time{}, propagation); got != 0 {
		t.Errorf("without a clock, want 0, got %s", got)
	}
}

// TestMemoryOfADeletedStackIsRemoved checks that the memory of a stack is removed when no resource of the stack exists any
// more, whatever the memory contains.
func TestMemoryOfADeletedStackIsRemoved(t *testing.T) {
	e := New(Config{})
	id := model.StackID{Kind: model.Ingress, Name: "a"}
	mem := memory{createdByThisProcess: true, routesChangedAt: time.Unix(1, 0), waits: waits{"x": time.Unix(1, 0)}}
	e.storeMemory(Outcome{ID: id, Stack: model.Stack{Members: []model.Member{{}}}}, mem)
	if !e.memories.memoryOf(id).createdByThisProcess {
		t.Fatal("a stack with members is forgotten")
	}
	e.storeMemory(Outcome{ID: id, Done: true}, mem)
	if len(e.memories.byStack) > 0 {
		t.Errorf("%d stacks are remembered", len(e.memories.byStack))
	}
}
