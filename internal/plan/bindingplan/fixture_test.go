package bindingplan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

var (
	now              = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	errRefused       = errors.New("AWS says no")
	deniedFailure    = Failure{Err: errRefused, Class: failure.Denied}
	invalidFailure   = Failure{Err: errRefused, Class: failure.Invalid}
	goneFailure      = Failure{Err: errRefused, Class: failure.Gone}
	quotaFailure     = Failure{Err: errRefused, Class: failure.Quota}
	temporaryFailure = Failure{Err: errRefused, Class: failure.Unknown}
	throttledFailure = Failure{Err: errRefused, Class: failure.Throttled, RetryAfter: 3 * time.Second}
	serviceYAML      = `
apiVersion: v1
kind: Service
metadata: {namespace: ns, name: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
`
)

// testBinding returns a binding with its finalizer, for a target group of type ip.
func testBinding() *elbv2.TargetGroupBinding {
	kind, protocol, family := elbv2.TargetTypeIP, elbv2.Protocol("HTTP"), elbv2.TargetGroupIPAddressTypeIPv4
	return &elbv2.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "b", Generation: 2, Finalizers: []string{naming.BindingFinalizer},
			CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour)),
		},
		Spec: elbv2.TargetGroupBindingSpec{
			TargetGroupARN: "arn/a", TargetType: &kind, TargetGroupProtocol: &protocol, IPAddressType: &family, VpcID: "vpc-1",
			ServiceRef: elbv2.ServiceReference{Name: "web"},
		},
	}
}

// resolveWithPods returns the endpoints of a binding whose Service has the given pods. Each pod is given by the last number
// of its address. The prefix "!" adds a readiness gate to the pod.
func resolveWithPods(t testing.TB, b *elbv2.TargetGroupBinding, pods ...string) targets.Resolution {
	t.Helper()
	b.Spec.ServiceRef.Port.IntVal = 80
	docs := serviceYAML + `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: ["10.9.9.9"]}
`
	var rest strings.Builder
	for _, p := range pods {
		n, gated := strings.CutPrefix(p, "!")
		docs += fmt.Sprintf("- {addresses: [10.0.0.%s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: ns, name: p%s}}\n", n, n)
		gates := ""
		if gated {
			gates = "readinessGates: [{conditionType: target-health.elbv2.k8s.aws/b}], "
		}
		fmt.Fprintf(&rest, `---
apiVersion: v1
kind: Pod
metadata: {namespace: ns, name: p%s, uid: u%s, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {nodeName: n1, %scontainers: [{name: c, image: i, ports: [{containerPort: 8080}]}]}
status: {podIP: 10.0.0.%s, podIPs: [{ip: 10.0.0.%s}], conditions: [{type: ContainersReady, status: "True"}]}
`, n, n, gates, n, n)
	}
	store, err := cluster.NewMemory(testclock.FromVariable(&now))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := cluster.LoadYAML([]byte(docs + rest.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(loaded.Objects...); err != nil {
		t.Fatal(err)
	}
	return targets.Resolve(cluster.NewView(store), b, targets.Options{})
}

// testTarget returns a registered target. n is the last number of its address.
func testTarget(n, state string) *observed.Target {
	return &observed.Target{ID: "10.0.0." + n, Port: 8080, State: state}
}

// healthOf returns registered targets, each given as "number state".
func healthOf(list ...string) *Health {
	h := &Health{}
	for _, x := range list {
		n, state, _ := strings.Cut(x, " ")
		h.Targets = append(h.Targets, testTarget(n, state))
	}
	return h
}

// completeFacts returns facts that were all read. The endpoints are the given pods, by default pods 1 and 2. Pods 1 and 2
// are registered and healthy.
func completeFacts(t testing.TB, pods ...string) *Facts {
	b := testBinding()
	if len(pods) == 0 {
		pods = []string{"1", "2"}
	}
	f := &Facts{
		Now: now, Key: Key{Namespace: "ns", Name: "b"}, Options: Options{VPC: "vpc-1", Requeue: 15 * time.Second, ResyncAge: time.Minute},
		Memory: Memory{WasRead: true, ComparisonDueIn: time.Hour}, StoredBinding: b, CompletedBinding: b, DesiredCheckpoint: "want", Resolution: resolveWithPods(t, b, pods...),
		LiveTargetGroup: &TargetGroupAnswer{TargetGroup: &TargetGroup{ARN: "arn/a", Type: model.IPTargets, Protocol: "HTTP", AddressType: model.IPv4, VPC: "vpc-1"}},
		Conflict:        &Conflict{}, Record: &TargetRecord{}, Health: healthOf("1 healthy", "2 healthy"), Network: &Network{Ranges: []string{"10.0.0.0/16"}},
	}
	for _, e := range f.Resolution.Endpoints() {
		if targets.HasReadinessGate(e.Pod, f.gateType()) {
			f.GatedPods = append(f.GatedPods, e.Pod)
		}
	}
	return f
}

// setDeleted changes the facts to those of a binding that is being deleted, or that no longer exists.
func setDeleted(f *Facts, absent bool) {
	at := metav1.NewTime(now)
	f.StoredBinding.DeletionTimestamp, f.Absent, f.InUse = &at, absent, &UsageAnswer{}
}

// planText returns a plan as text: its questions, and then its steps in order.
func planText(p Plan) string {
	var out []string
	for _, a := range p.Questions {
		x := strings.TrimPrefix(fmt.Sprintf("%T", a), "bindingplan.Ask")
		if h, ok := a.(AskHealth); ok {
			x += " of " + h.MaxAge.String()
		}
		out = append(out, "ask "+x)
	}
	return strings.Join(append(out, stepsText(p.Steps)...), "; ")
}

func stepsText(steps []Step) (out []string) {
	for _, s := range steps {
		out = append(out, actionText(s.Do))
	}
	return out
}

var memoryUpdateNames = map[MemoryUpdate]string{
	RecordBindingRead: "known", RecordBackendFound: "backend seen", RecordBackendMissing: "backend missing",
	RecordDeletedInUse: "departed", RecordResourcesRemoved: "released", ForgetBinding: "forgotten",
	RecordComparison: "compared", RecordSuccessPending: "success pending", RecordSuccessReported: "success reported", RecordRemovalNotNeeded: "no removal",
}

func actionText(a Action) string {
	switch a := a.(type) {
	case MemoryUpdate:
		return memoryUpdateNames[a]
	case Register:
		var ids []string
		for _, e := range a.Endpoints {
			ids = append(ids, e.ID)
		}
		return "register " + strings.Join(ids, " ") + textIf(a.UpToCapacity, " as many as fit")
	case Deregister:
		var ids []string
		for _, t := range a.Targets {
			ids = append(ids, t.ID)
		}
		return "deregister " + strings.Join(ids, " ") + textIf(a.AllowMissing, " if there") + textIf(a.AllowPostponed, " or later")
	case SyncRules:
		return "rules" + textIf(a.ExcludeBinding, " without it") + textIf(a.RetainPreviousRules, " and of old targets") + textIf(a.OnlyIfRequested, " if it has any") + textIf(a.MaxAge > 0, " compared")
	case SetCheckpoint:
		return strings.TrimSpace("checkpoint "+a.Value) + textIf(a.IfRulesMissing, " if rules are missing")
	case SetGate:
		return strings.TrimSpace(fmt.Sprintf("gate %s %s %s", a.Pod.Name, a.Want.Status, a.Want.Reason))
	case SetStatus:
		c := a.Conditions[len(a.Conditions)-1]
		return fmt.Sprintf("status %s %s", c.Status, c.Reason) + textIf(a.ReconciledGeneration != nil, " observed")
	case WriteEvents:
		var reasons []string
		for _, p := range a.Patches {
			if e, ok := p.(cluster.Event); ok {
				reasons = append(reasons, e.Reason)
			}
		}
		return strings.TrimSpace("events " + strings.Join(reasons, " "))
	case RecordRegistered:
		return ""
	case SetRecord:
		return fmt.Sprintf("record %d", len(a.Identities))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "bindingplan.")
}

func textIf(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

func reportText(r Report) string {
	out := stepsText(r.Steps)
	if r.RetryAfter > 0 {
		out = append(out, "again in "+r.RetryAfter.String())
	}
	out = append(out, textIf(r.Complete, "complete"), textIf(r.CallPostponed, "waiting"))
	if r.Err != nil {
		out = append(out, "error")
	}
	return strings.Join(out, "; ")
}

// withoutEmptyParts removes the empty parts of a text whose parts are separated by semicolons.
func withoutEmptyParts(s string) string {
	var out []string
	for _, x := range strings.Split(s, "; ") {
		if x != "" {
			out = append(out, x)
		}
	}
	return strings.Join(out, "; ")
}

// setCondition adds the readiness gate condition to a pod. ago is the time since the last transition of the condition.
func setCondition(p *corev1.Pod, status corev1.ConditionStatus, reason string, ago time.Duration) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: "target-health.elbv2.k8s.aws/b", Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
	})
}

// setNotInUse sets the state of target 1 to "unused" with the reason Target.NotInUse, and adds this condition to its pod.
// since is the time since the last transition of the condition.
func setNotInUse(f *Facts, since time.Duration) {
	f.Health.Targets[0].State, f.Health.Targets[0].Reason = "unused", "Target.NotInUse"
	setCondition(f.GatedPods[0], "Unknown", "Target.NotInUse", since)
}
