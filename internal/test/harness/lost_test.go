package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func onlyBinding(t *testing.T, r *Harness) *elbv2.TargetGroupBinding {
	t.Helper()
	all := r.Store.All(cluster.KindBinding)
	if len(all) != 1 {
		t.Fatalf("there are %d bindings", len(all))
	}
	return all[0].(*elbv2.TargetGroupBinding)
}

func deleteInShop(t *testing.T, r *Harness, kind cluster.Kind, name string) {
	t.Helper()
	if err := r.Store.Delete(cluster.Ref{Kind: kind, Namespace: "shop", Name: name}); err != nil {
		t.Fatal(err)
	}
}

// deleteListenersAndTargetGroup deletes all listeners, and then the target group with the given ARN, like a user.
func deleteListenersAndTargetGroup(t *testing.T, r *Harness, arn string) {
	t.Helper()
	api := elb.NewFromConfig(AWSConfig(r.Emulator))
	w := r.Emulator.Store()
	w.Lock()
	var listeners []string
	for l := range w.Partition(Account, Region).ELB.Listeners {
		listeners = append(listeners, l)
	}
	w.Unlock()
	for _, l := range listeners {
		if _, err := api.DeleteListener(t.Context(), &elb.DeleteListenerInput{ListenerArn: &l}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.DeleteTargetGroup(t.Context(), &elb.DeleteTargetGroupInput{TargetGroupArn: &arn}); err != nil {
		t.Fatal(err)
	}
}

func TestDeletedTargetGroupIsRecreated(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(r *Harness){
		"noticed by new pods":  func(r *Harness) { r.Apply(readyPods("web", podAddresses[3:6]...)) },
		"noticed at a restart": func(r *Harness) { r.Apply(readyPods("web", podAddresses[3:6]...)); r.Start() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.settleOrFail(10 * time.Minute)
				r.Apply(readyPods("web", podAddresses[3:6]...))
				r.settleOrFail(10 * time.Minute)
				want := r.State()
				r.Apply(readyPods("web", podAddresses[:3]...))
				r.settleOrFail(10 * time.Minute)
				lost := onlyBinding(t, r).Spec.TargetGroupARN
				deleteListenersAndTargetGroup(t, r, lost)
				time.Sleep(time.Hour)
				notice(r)
				r.settleOrFail(10 * time.Minute)
				if diff := cmp.Diff(want, r.State()); diff != "" {
					t.Errorf("-before +after:\n%s", diff)
				}
				b := onlyBinding(t, r)
				if b.Spec.TargetGroupARN == lost {
					t.Error("the binding still names the deleted target group")
				}
				expectEqual(t, "condition", "SuccessfullyReconciled", b.Status.Conditions[0].Reason)
			})
		})
	}
}

func TestManuallyDeletedBindingIsRecreated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.settleOrFail(10 * time.Minute)
		want := append(r.State(), clusterState(r)...)
		deleteInShop(t, r, cluster.KindBinding, onlyBinding(t, r).Name)
		r.settleOrFail(10 * time.Minute)
		if diff := cmp.Diff(want, append(r.State(), clusterState(r)...)); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
}

// TestBindingIsDeletedWithoutItsDependencies checks that the deletion of a binding removes its targets and its security
// group rules, even if its Service, its pods, a node or its target group no longer exist.
func TestBindingIsDeletedWithoutItsDependencies(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, r *Harness){
		"Service and slice": func(t *testing.T, r *Harness) {
			deleteInShop(t, r, cluster.KindService, "web")
			deleteInShop(t, r, cluster.KindEndpointSlice, "web-1")
		},
		"Service, at the same moment": nil,
		"Service and pods, while the controller was down": func(t *testing.T, r *Harness) {
			r.Kill()
			deleteInShop(t, r, cluster.KindService, "web")
			deleteInShop(t, r, cluster.KindEndpointSlice, "web-1")
			deleteInShop(t, r, cluster.KindPod, "web-0")
			deleteInShop(t, r, cluster.KindPod, "web-1")
		},
		"Node": func(t *testing.T, r *Harness) {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: "node-0"}); err != nil {
				t.Fatal(err)
			}
		},
		"target group": func(t *testing.T, r *Harness) {
			arn := r.Seeded.TargetGroups["external"]
			if _, err := elb.NewFromConfig(AWSConfig(r.Emulator)).DeleteTargetGroup(t.Context(), &elb.DeleteTargetGroupInput{TargetGroupArn: &arn}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				arn := r.Seeded.TargetGroups["external"]
				rules := func() string { return strings.Join(r.State(), "\n") }
				clean := rules()
				r.Apply(shop, readyPods("web", podAddresses[:2]...), bindingTo(arn, fmt.Sprintf(
					"networking: {ingress: [{from: [{securityGroup: {groupID: %s}}], ports: [{port: 8080}]}]}", r.Seeded.NodeSG)))
				r.settleOrFail(time.Minute)
				if rules() == clean {
					t.Fatal("there are no rules")
				}
				switch {
				case before != nil:
					before(t, r)
				default:
					deleteInShop(t, r, cluster.KindService, "web")
				}
				deleteInShop(t, r, cluster.KindBinding, "shared")
				if r.WasKilled() {
					r.Start()
				}
				r.settleOrFail(10 * time.Minute)
				if left := r.Store.All(cluster.KindBinding); len(left) > 0 {
					t.Errorf("the binding is left: %v", left)
				}
				if name != "target group" {
					expectEqual(t, "targets", "", activeTargets(t, r, Account, arn))
				}
				expectEqual(t, "rules", clean, rules())
			})
		})
	}
}

// TestPodChangesDuringDowntimeAreApplied checks that changes of pods while no controller runs are applied after the
// next start, and that AWS is called only if pods have changed.
func TestPodChangesDuringDowntimeAreApplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   string
		calls  bool
	}{
		"nothing":                          {"", "10.0.132.10 10.0.148.10", false},
		"one more":                         {readyPods("web", podAddresses[:3]...), "10.0.132.10 10.0.148.10 10.0.164.10", true},
		"one less":                         {readyPods("web", podAddresses[0]), "10.0.132.10", true},
		"all others":                       {readyPods("web", podAddresses[3:5]...), "10.0.132.11 10.0.148.11", true},
		"none":                             {readyPods("web"), "", true},
		"others with the same addresses":   {strings.ReplaceAll(readyPods("web", podAddresses[:2]...), "uid: web-", `creationTimestamp: "2030-01-01T00:00:00Z", uid: new-`), "10.0.132.10 10.0.148.10", true},
		"the same, in another order":       {reversed(readyPods("web", podAddresses[:2]...)), "10.0.132.10 10.0.148.10", false},
		"one that is about to go, serving": {strings.Replace(readyPods("web", podAddresses[:2]...), "[10.0.148.10], conditions: {ready: true}", "[10.0.148.10], conditions: {ready: false, serving: true, terminating: true}", 1), "10.0.132.10", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				arn := r.Seeded.TargetGroups["external"]
				r.Apply(shop, readyPods("web", podAddresses[:2]...), bindingTo(arn))
				r.settleOrFail(time.Minute)
				r.Kill()
				r.Emulator.Calls().Reset()
				if c.change != "" {
					r.Apply(c.change)
				}
				time.Sleep(time.Hour)
				r.Start()
				r.settleOrFail(time.Minute)
				if n := r.Emulator.Calls().Total(); (n > 0) != c.calls {
					t.Errorf("%d calls: %v", n, r.Emulator.Calls().Counts())
				}
				expectEqual(t, "targets", c.want, activeTargets(t, r, Account, arn))
				if b := onlyBinding(t, r); b.Annotations[targets.CheckpointAnnotation] == "" {
					t.Error("there is no checkpoint")
				}
			})
		})
	}
}

// reversed returns a document of readyPods whose EndpointSlice has its endpoints in reverse order.
func reversed(doc string) string {
	head, list, _ := strings.Cut(doc, "endpoints:\n")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return head + "endpoints:\n" + strings.Join(lines, "\n") + "\n"
}
