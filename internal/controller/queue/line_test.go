package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// storedObjects is a cluster in memory.
type storedObjects struct{ *cluster.Memory }

// View implements Cluster.
func (s storedObjects) View() *cluster.View { return cluster.NewView(s.Memory) }

// noChanges are of objects that belong to no item.
type noChanges struct{}

func (noChanges) Items(*cluster.View, cluster.Object) []string { return nil }
func (noChanges) Ignores(_, _ cluster.Object) bool             { return false }
func (noChanges) RootChanged(_, _ cluster.Object)              {}

// runFunc is a reconciler whose items are of one tenant.
type runFunc func(ctx context.Context, k string) (Next, error)

func (f runFunc) Reconcile(ctx context.Context, k string) (Next, error) { return f(ctx, k) }
func (runFunc) Label(k string) []any                                    { return []any{"item", k} }
func (runFunc) Controller(string) string                                { return "line" }
func (runFunc) Tenant(string) string                                    { return "" }

// waitsOf are how long items of a line have waited.
type waitsOf []string

func (w *waitsOf) Waited(line, priority string, d time.Duration) {
	*w = append(*w, fmt.Sprint(line, " ", priority, " ", d))
}
