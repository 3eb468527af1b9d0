package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// TestUndoneWritesDelayNoOtherMember checks that a client that reverts the controller's writes to one member does not
// delay other members of the IngressGroup: an edit is applied and a deletion completes within a minute.
func TestUndoneWritesDelayNoOtherMember(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"status", "finalizer"} {
		for _, rules := range []string{"new", "replaced"} {
			t.Run(field+", "+rules+" rules", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := revertedWriteCases[field+" of an Ingress"]
					u := &revertingAPI{part: c.part}
					r := shopWith(t, Options{Workers: 2, API: func(api kube.API) kube.API { u.API = api; return u }})
					defer func() {
						r.stop()
						r.stop = func() {}
					}()
					r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[2:4]...), teamIngress("one", "1", "/one=web"), teamIngress("two", "2", "/two=api"))
					time.Sleep(10 * time.Minute)
					u.mu.Lock()
					u.store, u.revertObject, u.ref = r.Store, c.spoil, cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "evil"}
					u.mu.Unlock()
					r.Apply(teamIngress("evil", "-5", "/a=web", "/b=web", "/c=api"))
					time.Sleep(3 * time.Minute)
					if rules == "replaced" {
						r.Apply(teamIngress("evil", "-5", "/d=web", "/b=api", "/e=api"))
						time.Sleep(time.Minute)
					}
					if u.countWrites() < 3 {
						t.Fatalf("%d writes: the other client reverts nothing", u.countWrites())
					}
					r.Apply(teamIngress("one", "1", "/one=web", "/new=web"))
					deleteInShop(t, r, cluster.KindIngress, "two")
					time.Sleep(time.Minute)
					if !slices.ContainsFunc(stateOfKinds(r, "rule"), func(l string) bool { return strings.Contains(l, "/new") }) {
						t.Errorf("the new path is not served: %s", strings.Join(stateOfKinds(r, "rule"), "\n"))
					}
					if two, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "two"}); err != nil || two != nil {
						t.Errorf("the deleted Ingress still exists: %v %v", two.GetFinalizers(), err)
					}
				})
			})
		}
	}
}
