package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// storedObjects is a Cluster with its objects in memory.
type storedObjects struct{ *cluster.Memory }

// View implements Cluster.
func (s storedObjects) View() *cluster.View { return cluster.NewView(s.Memory) }

// noItemChanges implements Changes for objects that belong to no item.
type noItemChanges struct{}

func (noItemChanges) Items(*cluster.View, cluster.Object) []string { return nil }
func (noItemChanges) Ignores(_, _ cluster.Object) bool             { return false }
func (noItemChanges) NoteRootChange(_, _ cluster.Object)           {}

// runFunc is a Reconciler whose items all belong to one tenant.
type runFunc func(ctx context.Context, k string) (NextRun, error)

func (f runFunc) Reconcile(ctx context.Context, k string) (NextRun, error) { return f(ctx, k) }
func (runFunc) Label(k string) []any                                       { return []any{"item", k} }
func (runFunc) Controller(string) string                                   { return "line" }
func (runFunc) Tenant(string) string                                       { return "" }

// recordedWaits is a Metrics that records each wait as text.
type recordedWaits []string

func (w *recordedWaits) RecordWait(line, priority string, d time.Duration) {
	*w = append(*w, fmt.Sprint(line, " ", priority, " ", d))
}
