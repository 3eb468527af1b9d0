package kube

import (
	"context"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// statusEntryEdit returns an edit that adds an entry with host to the status of an Ingress, unless the entry exists.
func statusEntryEdit(host string) cluster.StatusEdit {
	return cluster.StatusEdit{
		Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"},
		Edit: func(obj cluster.Object, _ metav1.Time) any {
			all := obj.(*networkingv1.Ingress).Status.LoadBalancer.Ingress
			entry := networkingv1.IngressLoadBalancerIngress{Hostname: host}
			if slices.ContainsFunc(all, func(x networkingv1.IngressLoadBalancerIngress) bool { return x.Hostname == host }) {
				return nil
			}
			return networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: append(slices.Clone(all), entry)}}
		},
	}
}

// racingAPI is an API server on which another controller writes the next of otherEdits before each patch.
type racingAPI struct {
	MemoryAPI
	t          *testing.T
	otherEdits []cluster.StatusEdit
	patches    int
}

func (r *racingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if r.patches++; len(r.otherEdits) > 0 {
		next := r.otherEdits[0]
		r.otherEdits = r.otherEdits[1:]
		if err := New(r.Store, r.MemoryAPI, clock.RealClock{}).Write(ctx, []cluster.Patch{next}); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.MemoryAPI.Patch(ctx, obj, part, kind, data)
}

// TestConcurrentStatusEditsLoseNoEntries checks that no writer removes an entry that another writer has added between the
// read and the patch of the first one, although each writer replaces the whole list.
func TestConcurrentStatusEditsLoseNoEntries(t *testing.T) {
	_, m := newTestCluster(t, newIngress())
	api := &racingAPI{MemoryAPI: MemoryAPI{m}, t: t, otherEdits: []cluster.StatusEdit{statusEntryEdit("b"), statusEntryEdit("c")}}
	c := New(m, api, clock.RealClock{})
	if err := c.Write(context.Background(), []cluster.Patch{statusEntryEdit("a")}); err != nil {
		t.Fatal(err)
	}
	if got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web").Status.LoadBalancer.Ingress; len(got) != 3 || api.patches != 3 {
		t.Errorf("%d patches, entries %v", api.patches, got)
	}
	if err := c.Write(context.Background(), []cluster.Patch{statusEntryEdit("a")}); err != nil || api.patches != 3 {
		t.Errorf("%d patches, error %v", api.patches, err)
	}
}

// TestUndoneStatusOfSeveralStacksIsDelayed checks that writes of two stacks to the status of one object are delayed if another
// client undoes them, although the content differs from that of the last write each time.
func TestUndoneStatusOfSeveralStacksIsDelayed(t *testing.T) {
	_, m := newTestCluster(t, newIngress())
	now := time.Unix(1700000000, 0)
	c := New(m, MemoryAPI{m}, testclock.FromVariable(&now))
	writes := 0
	for range 100 {
		for _, stack := range []string{"a", "b"} {
			err := c.Write(t.Context(), []cluster.Patch{statusEntryEdit(stack), cluster.LastingWarnings{Subject: stack}})
			switch {
			case err == nil:
				writes++
			case !isUndoneError(err):
				t.Fatal(err)
			}
		}
		ing := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web").DeepCopy()
		ing.Status = networkingv1.IngressStatus{}
		if _, err := m.Update(ing, cluster.StatusPart); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if writes > writesPerMinute {
		t.Errorf("%d writes in ten seconds", writes)
	}
}
