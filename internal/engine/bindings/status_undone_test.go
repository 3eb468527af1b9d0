package bindings_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// oldDefinitionAPI is an API server whose CustomResourceDefinition of TargetGroupBindings has no conditions. It drops them
// from each write.
type oldDefinitionAPI struct{ kube.API }

func (o oldDefinitionAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if _, ok := obj.(*elbv2.TargetGroupBinding); ok && part == cluster.StatusPart {
		var body map[string]map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			return err
		}
		delete(body["status"], "conditions")
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return o.API.Patch(ctx, obj, part, kind, data)
}

// TestStatusThatIsNotKeptDelaysNoReadinessGate checks a binding whose conditions the API server never stores. The health of
// its targets is read as often as usual. One event names the possible causes, and none says that the status cannot be written.
func TestStatusThatIsNotKeptDelaysNoReadinessGate(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1))
	w.conf.Cluster = kube.New(w.store, oldDefinitionAPI{kube.MemoryAPI{Store: w.store}}, testclock.FromVariable(&w.now))
	w.restart()
	for begun := w.now; w.now.Sub(begun) < 5*time.Minute; {
		out := w.run("a")
		if out.RetryAfter <= 0 || out.RetryAfter > 15*time.Second {
			t.Fatalf("after %s: looked at again after %s", w.now.Sub(begun), out.RetryAfter)
		}
		w.now = w.now.Add(out.RetryAfter)
	}
	var events []string
	for _, o := range w.store.All("Event") {
		if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
			events = append(events, e.Message)
		}
	}
	if len(events) != 1 || !strings.HasPrefix(events[0], "WriteUndone: status is reverted by ") || !strings.Contains(events[0], "or its CustomResourceDefinition lacks a field") {
		t.Errorf("events %q", events)
	}
}
