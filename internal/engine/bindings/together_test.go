package bindings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// releaseCallbackCluster is a cluster that calls beforeRelease just before the finalizer of a binding is removed.
type releaseCallbackCluster struct {
	bindings.Cluster
	beforeRelease func(bindings.Key)
}

func (m releaseCallbackCluster) Change(ctx context.Context, w bindings.Write) error {
	if r, ok := w.(bindings.RemoveFinalizer); ok {
		m.beforeRelease(r.Binding)
	}
	return m.Cluster.Change(ctx, w)
}

// TestRulesOfTwoBindingsDeletedTogetherAreRevoked checks that the rules of two bindings that are deleted at the same time
// are removed in the end. While both runs are active, each run treats the rules of the other binding as desired.
func TestRulesOfTwoBindingsDeletedTogetherAreRevoked(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1, p2), bindingDoc("a", "web", "ip", 8080),
		strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/a", "arn/b"))
	inside := false
	w.conf.Cluster = releaseCallbackCluster{w.conf.Cluster, func(k bindings.Key) {
		if k == keyOf("a") && !inside {
			inside = true
			if _, err := w.reconciler.Reconcile(t.Context(), keyOf("b")); err != nil {
				t.Error(err)
			}
		}
	}}
	w.restart()
	w.run("a")
	w.run("b")
	if len(w.aws.rules["sg-node"]) == 0 {
		t.Fatal("there are no rules to begin with")
	}
	w.deleteObject(cluster.KindBinding, "b")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	w.run("a")
	w.run("b")
	if left := w.aws.rules["sg-node"]; len(left) > 0 {
		t.Errorf("rules that no binding asks for: %v", left)
	}
}
