package queue

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// tenantReconciler is a Reconciler with items of several tenants. The part of an item before the slash is the tenant.
type tenantReconciler struct{ runFunc }

// Tenant implements Reconciler.
func (tenantReconciler) Tenant(k string) string {
	tenant, _, _ := strings.Cut(k, "/")
	return tenant
}

// TestATenantWithManyOpenItemsHasLowerPriority checks that each open item of a tenant lowers the priority of its next item,
// and does not affect other tenants.
func TestATenantWithManyOpenItemsHasLowerPriority(t *testing.T) {
	w := newItems(Controller[string]{Reconciler: tenantReconciler{}})
	var got []int
	for _, k := range []string{"a/1", "a/2", "b/1", "a/3", "a/2", "b/1"} {
		got = append(got, w.addOpenItem(k, priorityEdits)-priorityEdits)
	}
	if want := []int{0, -1, 0, -2, -2, 0}; !slices.Equal(got, want) {
		t.Errorf("put back by %v, want %v", got, want)
	}
	for _, k := range []string{"a/4", "a/5", "a/6", "a/7", "a/8", "a/9", "a/10", "a/11", "a/12"} {
		w.addOpenItem(k, priorityEdits)
	}
	if at := w.addOpenItem("a/1", priorityTargets); at <= priorityEdits {
		t.Errorf("targets come at %d, behind edits", at)
	}
	for k := range w.openItems {
		w.removeOpenItem(k)
	}
	if at := w.addOpenItem("a/1", priorityEdits); at != priorityEdits || len(w.openByTenant) != 1 {
		t.Errorf("put back to %d after all are closed; tenants %v", at, w.openByTenant)
	}
}

// TestItemsAwaitingTheirResyncAreNotOpen checks that an item that only waits for its next comparison with AWS is not open,
// so it does not lower the priority of its tenant.
func TestItemsAwaitingTheirResyncAreNotOpen(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		next NextRun
		open bool
	}{
		{NextRun{}, false},
		{NextRun{After: time.Second}, true},
		{NextRun{After: durations.MinuteInterval}, true},
		{NextRun{After: durations.MinuteInterval + time.Second}, false},
		{NextRun{After: time.Second, Idle: true}, false},
		{NextRun{After: time.Hour, Postponed: true}, true},
	} {
		l := Controller[string]{
			Triggers:   NewTriggers(storedObjects{store}, nil, noItemChanges{}),
			Reconciler: tenantReconciler{func(context.Context, string) (NextRun, error) { return c.next, nil }},
		}
		l.items = newItems(l)
		l.items.addOpenItem("a/1", priorityEdits)
		if _, err := l.reconcile(t.Context(), "a/1"); err != nil {
			t.Fatal(err)
		}
		if _, open := l.items.openItems["a/1"]; open != c.open {
			t.Errorf("%+v: open %t, want %t", c.next, open, c.open)
		}
	}
}
