package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// Replace updates the objects in YAML documents as "kubectl replace" does. It removes all fields that a document does
// not contain, such as finalizers, but not the status.
func (r *Harness) Replace(docs ...string) {
	r.T.Helper()
	for _, doc := range docs {
		loaded, err := cluster.LoadYAML([]byte(doc))
		if err != nil {
			r.T.Fatal(err)
		}
		for _, obj := range loaded.Objects {
			if _, err := r.Store.Update(obj, cluster.MainPart); err != nil {
				r.T.Fatal(err)
			}
		}
	}
}

// nginx is IngressClass "nginx" of another controller.
const nginx = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
`

const groupNameAnnotation = ", alb.ingress.kubernetes.io/group.name: "

// stripFinalizers removes all finalizers of Ingress "shop/web", as a user could.
func stripFinalizers(r *Harness) {
	r.T.Helper()
	obj, err := r.Store.Get(ingressRef)
	if err != nil || obj == nil {
		r.T.Fatalf("there is no Ingress: %v", err)
	}
	obj = obj.DeepCopyObject().(cluster.Object)
	obj.SetFinalizers(nil)
	if _, err := r.Store.Update(obj, cluster.MainPart); err != nil {
		r.T.Fatal(err)
	}
}

var ingressRef = cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}

// TestIngressWithoutFinalizerLeavesNothing checks that no resource remains in AWS if an edit or a deletion of an
// Ingress also removes its finalizers.
func TestIngressWithoutFinalizerLeavesNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		from    string // annotations before the edit
		edit    func(r *Harness)
		deleted bool
	}{
		"another group": {from: groupNameAnnotation + "one", edit: func(r *Harness) { r.Replace(webIngress(groupNameAnnotation+"two", "/=web")) }},
		"into a group":  {edit: func(r *Harness) { r.Replace(webIngress(groupNameAnnotation+"two", "/=web")) }},
		"out of a group": {from: groupNameAnnotation + "one", edit: func(r *Harness) {
			r.Replace(webIngress("", "/=web"))
		}},
		"back again": {from: groupNameAnnotation + "one", edit: func(r *Harness) {
			r.Replace(webIngress(groupNameAnnotation+"two", "/=web"))
			r.Replace(webIngress(groupNameAnnotation+"one", "/=web"))
		}},
		"the class of another controller": {edit: func(r *Harness) {
			r.Apply(nginx)
			r.Replace(strings.Replace(webIngress("", "/=web"), "ingressClassName: alb", "ingressClassName: nginx", 1))
		}},
		"deletion": {deleted: true, edit: func(r *Harness) {
			stripFinalizers(r)
			deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
		}},
		"deletion out of a group": {from: groupNameAnnotation + "one", deleted: true, edit: func(r *Harness) {
			stripFinalizers(r)
			deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
		}},
		"finalizers taken off during deletion": {deleted: true, edit: func(r *Harness) {
			deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
			stripFinalizers(r)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[0]))
				before := r.State()
				r.Apply(webIngress(c.from, "/=web"))
				r.settleOrFail(10 * time.Minute)
				c.edit(r)
				r.settleOrFail(10 * time.Minute)
				want := before
				if !c.deleted {
					if obj, _ := r.Store.Get(ingressRef); len(obj.GetFinalizers()) > 1 {
						t.Errorf("the Ingress has the finalizers %v", obj.GetFinalizers())
					}
					got := r.State()
					r.Start()
					r.settleOrFail(10 * time.Minute)
					if diff := cmp.Diff(got, r.State()); diff != "" {
						t.Errorf("a restart changes the state of AWS:\n%s", diff)
					}
					deleteInShop(t, r, cluster.KindIngress, "web")
					r.settleOrFail(10 * time.Minute)
				}
				if diff := cmp.Diff(want, r.State()); diff != "" {
					t.Errorf("resources are left (-before +after):\n%s", diff)
				}
				if n := len(r.Store.All(cluster.KindBinding)); n > 0 {
					t.Errorf("%d bindings are left", n)
				}
			})
		})
	}
}

// TestResourcesLeftDuringDowntimeAreDeleted checks that the resources of an Ingress that was changed while no
// controller ran are deleted after the next start, even if the previous process was killed while it created or deleted
// resources. If an Ingress was deleted without its finalizer, the resources are kept and reported as an orphan.
func TestResourcesLeftDuringDowntimeAreDeleted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		meanwhile func(r *Harness)
		// alive, if not nil, is called while a process runs. The process is killed at mutating call number during.
		alive  func(r *Harness)
		during int
		kept   bool // the resources remain as an orphan
	}{
		"another group": {meanwhile: func(r *Harness) { r.Replace(webIngress(groupNameAnnotation+"two", "/=web")) }},
		"the class of another controller": {meanwhile: func(r *Harness) {
			r.Apply(nginx)
			r.Replace(strings.Replace(webIngress("", "/=web"), "ingressClassName: alb", "ingressClassName: nginx", 1))
		}},
		// The resources are kept, because the user may have wanted this.
		"deletion without a controller": {kept: true, meanwhile: func(r *Harness) {
			stripFinalizers(r)
			deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
		}},
		"deletion of which the process has seen something": {during: 3, alive: func(r *Harness) {
			stripFinalizers(r)
			deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
		}},
		"deletion after an edit of which the process has seen something": {during: 3,
			alive: func(r *Harness) { r.Replace(webIngress(groupNameAnnotation+"two", "/=web")) },
			meanwhile: func(r *Harness) {
				stripFinalizers(r)
				deleteInShop(r.T.(*testing.T), r, cluster.KindIngress, "web")
			},
		},
	}
	for name, c := range cases {
		for _, age := range []time.Duration{0, 10 * time.Minute} {
			t.Run(fmt.Sprintf("%s after %v", name, age), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{Checkpoints: true})
					r.Apply(shop, readyPods("web", podAddresses[0]))
					before := r.State()
					r.Apply(webIngress(groupNameAnnotation+"one", "/=web"))
					r.Settle(age)
					if c.alive != nil {
						killAtCall(r, c.during)
						c.alive(r)
						r.Settle(time.Minute)
						if !r.WasKilled() {
							t.Fatal("the controller was not killed")
						}
					}
					r.Kill()
					had := len(r.State())
					if c.meanwhile != nil {
						c.meanwhile(r)
					}
					r.Emulator.Faults().SetHook(nil)
					r.Emulator.Calls().Reset()
					r.Start()
					r.settleOrFail(10 * time.Minute)
					if obj, _ := r.Store.Get(ingressRef); obj != nil {
						deleteInShop(t, r, cluster.KindIngress, "web")
						r.settleOrFail(10 * time.Minute)
					}
					after := r.State()
					if c.kept {
						if n := r.Emulator.Calls().CountMutating(); n > 0 || len(after) != had {
							t.Errorf("%d mutating calls, and %d of %d resources are left", n, len(after), had)
						}
						orphans := r.Orphans()
						if len(orphans) != 1 || orphans[0].ID.Name != "one" || len(orphans[0].Resources) < 2 {
							t.Errorf("orphans: %v", orphans)
						}
						// Delete the orphan as documented: create the Ingress again, and delete it.
						r.Apply(webIngress(groupNameAnnotation+"one", "/=web"))
						r.settleOrFail(10 * time.Minute)
						deleteInShop(t, r, cluster.KindIngress, "web")
						r.settleOrFail(10 * time.Minute)
						after = r.State()
					}
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("resources are left (-before +after):\n%s", diff)
					}
					if n := len(r.Store.All(cluster.KindBinding)); n > 0 {
						t.Errorf("%d bindings are left", n)
					}
					if orphans := r.Orphans(); len(orphans) > 0 {
						t.Errorf("orphans: %v", orphans)
					}
				})
			})
		}
	}
}

// killAtCall installs a fault hook that kills the controller at the n-th mutating call from now.
func killAtCall(r *Harness, n int) {
	r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if c.Mutating {
			if n--; n == 0 {
				r.Kill()
			}
		}
		return fault.Action{}
	})
}

// membershipServer is an API server that fails the next refusals reads of the stored memberships.
type membershipServer struct {
	kube.API
	refusals *int
}

func (s membershipServer) Read(ctx context.Context, obj cluster.Object) error {
	if obj.GetName() == kube.MembershipsName && *s.refusals > 0 {
		*s.refusals--
		return errors.New("etcdserver: request timed out")
	}
	return s.API.Read(ctx, obj)
}

// TestResourcesLeftDuringDowntimeAreDeletedAfterALateRead checks that the resources of an Ingress that was changed while no
// controller ran are deleted, even if the next process can read the stored memberships only after it has acted.
func TestResourcesLeftDuringDowntimeAreDeletedAfterALateRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refusals := 0
		r := shopWith(t, Options{Checkpoints: true, API: func(api kube.API) kube.API { return membershipServer{api, &refusals} }})
		r.Apply(shop, readyPods("web", podAddresses[0]))
		before := r.State()
		r.Apply(webIngress(groupNameAnnotation+"one", "/=web"))
		r.settleOrFail(10 * time.Minute)
		r.Kill()
		r.Replace(webIngress(groupNameAnnotation+"two", "/=web"))
		refusals = 1
		r.Start()
		r.Settle(time.Second)
		r.process.saveCheckpoints()
		r.settleOrFail(10 * time.Minute)
		deleteInShop(t, r, cluster.KindIngress, "web")
		r.settleOrFail(10 * time.Minute)
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
}
