package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// errProcessKilled is the error of a write at which the process is killed. The killed process does not use it.
var errProcessKilled = errors.New("the process died")

// writeFaults counts the writes to Kubernetes of all processes, and injects a fault into one of them.
type writeFaults struct {
	harness    *Harness
	writes     int
	writeNames []string
	// faultAt is the number of the write with the fault, from 1; 0 for none.
	faultAt  int
	fault    func(f *writeFaults, write func() error) error
	hasFired bool
}

// newFaultyShop is like newShop, but the n-th write to Kubernetes has the fault. If n is 0, no write has a fault.
func newFaultyShop(t *testing.T, n int, fault func(*writeFaults, func() error) error) (*Harness, *writeFaults) {
	t.Helper()
	f := &writeFaults{faultAt: n, fault: fault}
	r := New(t, Options{API: func(api kube.API) kube.API { return faultyAPI{api, f} }})
	f.harness = r
	for i, a := range podAddresses {
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[i%3], a); err != nil {
			t.Fatal(err)
		}
	}
	r.Emulator.Calls().Reset()
	return r, f
}

func (f *writeFaults) perform(what string, obj cluster.Object, write func() error) error {
	f.writes++
	f.writeNames = append(f.writeNames, fmt.Sprintf("%s %T %s", what, obj, obj.GetName()))
	if f.writes != f.faultAt {
		return write()
	}
	f.hasFired = true
	return f.fault(f, write)
}

type faultyAPI struct {
	kube.API
	faults *writeFaults
}

func (a faultyAPI) Create(ctx context.Context, obj cluster.Object) error {
	return a.faults.perform("create", obj, func() error { return a.API.Create(ctx, obj) })
}

func (a faultyAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	return a.faults.perform("patch", obj, func() error { return a.API.Patch(ctx, obj, part, kind, data) })
}

func (a faultyAPI) Update(ctx context.Context, obj cluster.Object) error {
	return a.faults.perform("update", obj, func() error { return a.API.Update(ctx, obj) })
}

func (a faultyAPI) Delete(ctx context.Context, obj cluster.Object) error {
	return a.faults.perform("delete", obj, func() error { return a.API.Delete(ctx, obj) })
}

// killBeforeWrite is a fault of writeFaults. It kills the process before the write.
func killBeforeWrite(f *writeFaults, _ func() error) error { f.harness.Kill(); return errProcessKilled }

// killAfterWrite is a fault of writeFaults. It kills the process after the write.
func killAfterWrite(f *writeFaults, write func() error) error {
	err := write()
	f.harness.Kill()
	return errors.Join(err, errProcessKilled)
}

// conflict is a fault of writeFaults. It returns a conflict and does not write.
func conflict(*writeFaults, func() error) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "it", errors.New("the object has been modified"))
}

// loseResponse is a fault of writeFaults. It writes, but returns a timeout.
func loseResponse(_ *writeFaults, write func() error) error {
	if err := write(); err != nil {
		return err
	}
	return apierrors.NewServerTimeout(schema.GroupResource{Resource: "objects"}, "write", 1)
}

// clusterState returns what the controller has written to Kubernetes: a line for each TargetGroupBinding, Ingress and
// readiness gate of a pod.
func clusterState(r *Harness) []string {
	var out []string
	for _, o := range r.Store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		line := fmt.Sprintf("binding %s/%s type %v service %v finalizers %v checkpoint %t", b.Namespace, b.Name,
			*b.Spec.TargetType, b.Spec.ServiceRef, b.Finalizers, b.Annotations[targets.CheckpointAnnotation] != "")
		for _, c := range b.Status.Conditions {
			line += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
		}
		out = append(out, line)
	}
	for _, o := range r.Store.All(cluster.KindIngress) {
		in := o.(*networkingv1.Ingress)
		out = append(out, fmt.Sprintf("ingress %s/%s finalizers %v with %d load balancers", in.Namespace, in.Name, in.Finalizers, len(in.Status.LoadBalancer.Ingress)))
	}
	for _, o := range r.Store.All(cluster.KindPod) {
		p := o.(*corev1.Pod)
		for _, g := range p.Spec.ReadinessGates {
			for _, c := range p.Status.Conditions {
				if c.Type == g.ConditionType {
					out = append(out, fmt.Sprintf("pod %s/%s %s=%s %s %s", p.Namespace, p.Name, c.Type, c.Status, c.Reason, c.Message))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// runWithFaultAtEachWrite calls live once without a fault, and once for each write to Kubernetes with the fault at that
// write. live must always return the same states. The result has the recovery times of the harness.
func runWithFaultAtEachWrite(t *testing.T, live func(t *testing.T, r *Harness) [][]string, fault func(*writeFaults, func() error) error) (recovered []time.Duration) {
	t.Helper()
	var want [][]string
	limit := 0
	synctest.Test(t, func(t *testing.T) {
		r, f := newFaultyShop(t, 0, nil)
		want = live(t, r)
		limit = f.writes
	})
	if limit == 0 {
		t.Fatal("nothing is written, so no write can have a fault")
	}
	for n := 1; n <= limit; n++ {
		synctest.Test(t, func(t *testing.T) {
			r, f := newFaultyShop(t, n, fault)
			got := live(t, r)
			if !f.hasFired {
				t.Errorf("no fault happened at write %d", n)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fault at write %d (%s) ends in another state (-clean +fault):\n%s", n, f.writeNames[min(n, len(f.writeNames))-1], diff)
			}
			recovered = append(recovered, r.recoveryTimes...)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d writes, a fault at each ends in the state of the clean run", limit)
	return recovered
}

// wholeLifecycle calls ingressLifecycleWithState. Its result is the state of AWS and of the cluster after each step.
func wholeLifecycle(t *testing.T, r *Harness) [][]string {
	t.Helper()
	return ingressLifecycleWithState(t, r, func() []string { return append(r.State(), clusterState(r)...) })
}

// gatedLifecycle creates an Ingress, adds pods with readiness gates and deletes the Ingress. It returns the state of AWS
// and of the cluster after each of the three steps.
func gatedLifecycle(t *testing.T, r *Harness) (states [][]string) {
	t.Helper()
	act := func() {
		t.Helper()
		r.settleAndRecordRecovery(10 * time.Minute)
		states = append(states, append(r.State(), clusterState(r)...))
	}
	r.Apply(shop, webIngress("", "/=web"))
	act()
	all := r.Store.All(cluster.KindBinding)
	if len(all) != 1 {
		t.Fatalf("there are %d bindings", len(all))
	}
	gated := strings.NewReplacer(
		"spec: {nodeName", "spec: {readinessGates: [{conditionType: "+targets.ReadinessGatePrefix+all[0].GetName()+"}], nodeName",
		`{type: Ready, status: "True"}`, `{type: Ready, status: "False"}`, "{ready: true}", "{ready: false}")
	r.Apply(gated.Replace(readyPods("web", podAddresses[:2]...)))
	act()
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	act()
	return states
}

func TestReadinessGatesFollowTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyShop(t, 0, nil)
		states := gatedLifecycle(t, r)
		for i, want := range []string{"", "=True  \n", "=True  Target Group Binding is deleted\n"} {
			var got string
			for _, l := range states[i] {
				if strings.HasPrefix(l, "pod ") {
					got += l + "\n"
				}
			}
			if n := strings.Count(got, want); want != "" && n != 2 {
				t.Errorf("act %d: %s", i, got)
			}
		}
	})
}

func TestKillBeforeEachWriteEndsInSameState(t *testing.T) {
	t.Parallel()
	logRecoveryTimes(t, "before each write to Kubernetes", append(runWithFaultAtEachWrite(t, wholeLifecycle, killBeforeWrite), runWithFaultAtEachWrite(t, gatedLifecycle, killBeforeWrite)...))
}

func TestKillAfterEachWriteEndsInSameState(t *testing.T) {
	t.Parallel()
	logRecoveryTimes(t, "after each write to Kubernetes", append(runWithFaultAtEachWrite(t, wholeLifecycle, killAfterWrite), runWithFaultAtEachWrite(t, gatedLifecycle, killAfterWrite)...))
}

func TestConflictAtEachWriteEndsInSameState(t *testing.T) {
	t.Parallel()
	runWithFaultAtEachWrite(t, wholeLifecycle, conflict)
	runWithFaultAtEachWrite(t, gatedLifecycle, conflict)
}

func TestLostWriteResponseEndsInSameState(t *testing.T) {
	t.Parallel()
	runWithFaultAtEachWrite(t, wholeLifecycle, loseResponse)
	runWithFaultAtEachWrite(t, gatedLifecycle, loseResponse)
}
