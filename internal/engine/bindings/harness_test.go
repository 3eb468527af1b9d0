package bindings_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// classedError is an error of the fake AWS.
type classedError struct {
	class failure.Class
	text  string
}

func (e classedError) Error() string { return e.text }

// fakeAWS is an AWS in memory: target groups with targets, and security groups with rules. Registered targets have the state
// "initial" until a test changes it.
type fakeAWS struct {
	// mu is locked by each call, because runs make calls concurrently. It is not locked while a call waits for
	// holdRuleChange or holdRegister.
	mu                  sync.Mutex
	targetsByGroup      map[string][]*observed.Target
	enis                map[string][]network.ENI
	rules               map[string][]model.IngressRule
	log                 []string // every mutating call, and every read of targets that is not cached
	refusedItems        map[string]failure.Class
	readsUntilCallback  int // onSecurityGroupRead is called in the read of security groups that decrements this number to 0
	onSecurityGroupRead func()
	holdRuleChange      chan struct{} // if set, the next change of rules waits until this channel is closed
	holdRegister        chan struct{} // if set, the next registration of targets waits until this channel is closed
	maxTargets          int           // per target group; 0 for no limit
	targetGroupsInUse   map[string]bool
	ownerNamespaces     map[string]string // namespace for which the controller created a target group, by ARN
	zonesRequired       bool              // whether addresses outside the VPC require an availability zone
	refusals            int               // number of refused calls
	// cachedTargets are returned to callers that accept an answer older than 1 s; nil: such callers get the current targets.
	cachedTargets   []*observed.Target
	targetType      model.TargetType  // target type of all target groups; ip if empty
	addressType     model.AddressType // address type of all target groups; ipv4 if empty
	largestENIQuery int               // the largest number of instances in one query so far
	// store has the bindings. The settings of a target group are copied from the binding that names it, unless targetType is
	// set.
	store *cluster.Memory
}

func (a *fakeAWS) Class(err error) failure.Class {
	var c classedError
	if errors.As(err, &c) {
		return c.class
	}
	return failure.Unknown
}

func (a *fakeAWS) TargetGroupsOf(account bindings.Account) bindings.TargetGroups {
	a.mu.Lock()
	defer a.mu.Unlock()
	if account.Role != "" {
		a.log = append(a.log, "as "+account.Role+" "+string(account.ExternalID))
	}
	return a
}

func (a *fakeAWS) TargetGroup(_ context.Context, arn, name string, _ time.Duration) (bindings.TargetGroup, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, known := range slices.Sorted(maps.Keys(a.targetsByGroup)) {
		if known == arn || arn == "" && (strings.HasSuffix(known, "/"+name) || strings.Contains(known, ":targetgroup/"+name+"/")) {
			g := bindings.TargetGroup{ARN: known, Type: cmp.Or(a.targetType, model.IPTargets), Protocol: "HTTP", AddressType: cmp.Or(a.addressType, model.IPv4), VPC: "vpc-1"}
			return g, a.setFromBinding(&g)
		}
	}
	return bindings.TargetGroup{}, classedError{failure.Gone, "no such group"}
}

// setFromBinding copies the settings in the spec of the binding that names target group g to g.
func (a *fakeAWS) setFromBinding(g *bindings.TargetGroup) error {
	list, err := a.store.List(cluster.Query{Kind: cluster.KindBinding})
	for _, o := range list {
		s := o.(*elbv2.TargetGroupBinding).Spec
		if s.TargetGroupARN != g.ARN || a.targetType != "" {
			continue
		}
		g.VPC = cmp.Or(s.VpcID, g.VPC)
		if s.TargetType != nil {
			g.Type = model.TargetType(*s.TargetType)
		}
		if s.TargetGroupProtocol != nil {
			g.Protocol = string(*s.TargetGroupProtocol)
		}
		if s.IPAddressType != nil {
			g.AddressType = model.AddressType(*s.IPAddressType)
		}
	}
	return err
}

func (a *fakeAWS) IsInUse(_ context.Context, arn string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.targetsByGroup[arn]; !ok {
		return false, classedError{failure.Gone, "no such group"}
	}
	a.log = append(a.log, "in use "+shortName(arn))
	return a.targetGroupsInUse[arn], nil
}

func (a *fakeAWS) OwnerNamespaces(_ context.Context, arn string, _ bool) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.ownerNamespaces[arn]; of != "" {
		return []string{of}, nil
	}
	return nil, nil
}

func (a *fakeAWS) OwnerStack(string) (model.StackID, string, bool) { return model.StackID{}, "", false }

func (a *fakeAWS) TargetHealth(_ context.Context, arn string, maxAge time.Duration) (observed.Health, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.targetsByGroup[arn]
	if !ok {
		return observed.Health{}, classedError{failure.Gone, "no such group"}
	}
	if a.cachedTargets != nil && maxAge > time.Second {
		return observed.Health{Targets: copyTargets(a.cachedTargets)}, nil
	}
	a.log = append(a.log, "list "+shortName(arn))
	return observed.Health{Targets: copyTargets(list)}, nil
}

// copyTargets returns deep copies of targets, so that a test that changes a target does not change earlier answers.
func copyTargets(list []*observed.Target) []*observed.Target {
	out := make([]*observed.Target, len(list))
	for i, t := range list {
		c := *t
		out[i] = &c
	}
	return out
}

func (a *fakeAWS) Register(_ context.Context, arn string, _ bindings.CallPriority, add []bindings.Target) error {
	if wait := a.takeWait(&a.holdRegister); wait != nil {
		<-wait
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range add {
		if c, ok := a.refusedItems[t.ID]; ok {
			a.refusals++
			return classedError{c, fmt.Sprintf("refused %s, RequestID: 0e6a1b2c-0000-4000-8000-%012d", t.ID, a.refusals)}
		}
	}
	if a.maxTargets > 0 && len(a.targetsByGroup[arn])+len(add) > a.maxTargets {
		return classedError{failure.Quota, "too many targets"}
	}
	for _, t := range add {
		if a.zonesRequired && t.Zone == "all" {
			a.log = append(a.log, "refuse "+t.ID+" "+t.Zone)
			return errors.Join(bindings.ErrZoneNeeded, classedError{failure.Invalid, "you must specify an Availability Zone"})
		}
	}
	for _, t := range add {
		a.log = append(a.log, fmt.Sprintf("register %s %s:%d%s%s", shortName(arn), t.ID, t.Port, t.Zone, t.ServerID))
		a.targetsByGroup[arn] = slices.DeleteFunc(a.targetsByGroup[arn], func(o *observed.Target) bool { return o.ID == t.ID && o.Port == t.Port })
		a.targetsByGroup[arn] = append(a.targetsByGroup[arn], &observed.Target{ID: t.ID, Port: t.Port, ServerID: t.ServerID, State: "initial", Reason: "Elb.RegistrationInProgress"})
	}
	return nil
}

func (a *fakeAWS) Deregister(_ context.Context, arn string, _ bindings.CallPriority, out []*observed.Target) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range out {
		if c, ok := a.refusedItems["out "+t.ID]; ok {
			return classedError{c, "refused to take out " + t.ID}
		}
	}
	for _, t := range out {
		a.log = append(a.log, fmt.Sprintf("deregister %s %s:%d", shortName(arn), t.ID, t.Port))
		a.targetsByGroup[arn] = slices.DeleteFunc(a.targetsByGroup[arn], func(o *observed.Target) bool { return o.ID == t.ID && o.Port == t.Port })
	}
	return nil
}

func (a *fakeAWS) VPCRanges(_ context.Context, vpc string) ([]string, error) {
	if vpc == "vpc-unseen" {
		return nil, classedError{failure.Gone, "no such VPC"}
	}
	return []string{"10.0.0.0/16", "fd00::/64"}, nil
}

func (a *fakeAWS) ENIs(_ context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := bindings.ENIs{ByInstance: map[string][]network.ENI{}}
	a.largestENIQuery = max(a.largestENIQuery, len(q.Instances))
	for _, id := range q.Instances {
		for _, eni := range a.enis[id] {
			slices.Sort(eni.Addresses)
		}
		out.ByInstance[id] = a.enis[id]
	}
	return out, nil
}

func (a *fakeAWS) EndpointSecurityGroups(_ context.Context, _ []string, _ time.Duration) ([]bindings.EndpointSecurityGroup, error) {
	if a.countSecurityGroupRead() {
		a.onSecurityGroupRead()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []bindings.EndpointSecurityGroup
	for _, id := range slices.Sorted(maps.Keys(a.rules)) {
		out = append(out, bindings.EndpointSecurityGroup{ID: id, Ingress: slices.Clone(a.rules[id])})
	}
	return out, nil
}

func (a *fakeAWS) ChangedEndpointSecurityGroups(context.Context) ([]string, error) { return nil, nil }

func (a *fakeAWS) ChangeEndpointRules(_ context.Context, group string, authorize, revoke []model.IngressRule) error {
	if wait := a.takeWait(&a.holdRuleChange); wait != nil {
		<-wait
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range authorize {
		if c, ok := a.refusedItems[r.Group]; ok {
			return classedError{c, "refused " + r.Group}
		}
	}
	for _, r := range authorize {
		a.log = append(a.log, fmt.Sprintf("authorize %s %s", group, ruleText(r)))
		a.rules[group] = append(a.rules[group], r)
	}
	for _, r := range revoke {
		a.log = append(a.log, fmt.Sprintf("revoke %s %s", group, ruleText(r)))
		a.rules[group] = slices.DeleteFunc(a.rules[group], func(o model.IngressRule) bool { return o == r })
	}
	return nil
}

// takeWait returns the channel for which the next call must wait, and sets *wait to nil; nil if the call must not wait.
func (a *fakeAWS) takeWait(wait *chan struct{}) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := *wait
	*wait = nil
	return c
}

// countSecurityGroupRead counts a read of security groups, and reports whether this read calls onSecurityGroupRead.
func (a *fakeAWS) countSecurityGroupRead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.readsUntilCallback--
	return a.readsUntilCallback == 0
}

func ruleText(r model.IngressRule) string {
	return fmt.Sprintf("%s %d-%d %s%s", r.Protocol, r.From, r.To, r.Group, r.CIDR)
}

func shortName(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// setAllStates sets the state of all targets of a target group.
func (a *fakeAWS) setAllStates(arn, state string) {
	for i := range a.targetsByGroup[arn] {
		a.targetsByGroup[arn][i].State, a.targetsByGroup[arn][i].Reason = state, ""
	}
}

// targetsOf returns the registered targets of a target group as "address:port ...", sorted.
func (a *fakeAWS) targetsOf(arn string) string {
	var out []string
	for _, t := range a.targetsByGroup[arn] {
		out = append(out, fmt.Sprintf("%s:%d", t.ID, t.Port))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (a *fakeAWS) rulesOf(group string) string {
	var out []string
	for _, r := range a.rules[group] {
		out = append(out, ruleText(r))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// takeLog returns the logged calls since the last takeLog, and clears the log.
func (a *fakeAWS) takeLog() string {
	out := strings.Join(a.log, "; ")
	a.log = nil
	return out
}

// harness connects a reconciler to a fake AWS and a Kubernetes cluster in memory.
type harness struct {
	t          testing.TB
	aws        *fakeAWS
	store      *cluster.Memory
	now        time.Time
	conf       bindings.Config
	reconciler *bindings.Reconciler
}

func newHarness(t testing.TB, objects ...string) *harness {
	t.Helper()
	w := &harness{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	store, err := cluster.NewMemory(testclock.FromVariable(&w.now))
	if err != nil {
		t.Fatal(err)
	}
	eni := func(ips ...string) []network.ENI {
		return []network.ENI{{ID: "eni", Addresses: ips, SecurityGroups: []network.ENISecurityGroup{{ID: "sg-node"}}}}
	}
	w.store = store
	w.aws = &fakeAWS{
		targetsByGroup: map[string][]*observed.Target{"arn/a": nil, "arn/b": nil},
		enis:           map[string][]network.ENI{"i-1": eni("10.0.0.1", "10.0.1.1", "10.0.1.2"), "i-2": eni("10.0.0.2", "10.0.2.1", "10.0.2.2", "100.64.0.1", "100.64.0.2")},
		rules:          map[string][]model.IngressRule{"sg-node": nil}, refusedItems: map[string]failure.Class{}, store: store,
	}
	w.conf = bindings.Config{
		Cloud: w.aws, Cluster: kube.New(store, kube.MemoryAPI{Store: store}, testclock.FromVariable(&w.now)),
		ClusterName: "c", VPC: "vpc-1", Targets: targets.Options{FailOpen: true}, Clock: testclock.FromVariable(&w.now),
	}
	w.restart()
	w.putObjects(nodesDoc)
	w.putObjects(objects...)
	return w
}

// enqueuedBindings is a bindings.Queue that records the names of the enqueued bindings.
type enqueuedBindings []string

// Enqueue implements bindings.Queue.
func (r *enqueuedBindings) Enqueue(k bindings.Key) { *r = append(*r, k.Name) }

// restart replaces the reconciler by a new one without memory, like a restart of the process.
func (w *harness) restart() { w.reconciler = bindings.New(w.conf) }

func (w *harness) putObjects(docs ...string) {
	w.t.Helper()
	for _, doc := range docs {
		loaded, err := cluster.LoadYAML([]byte(doc))
		if err != nil {
			w.t.Fatalf("%v in\n%s", err, doc)
		}
		if err := w.store.Put(loaded.Objects...); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *harness) deleteObject(kind cluster.Kind, name string) {
	w.t.Helper()
	if err := w.store.Delete(cluster.Ref{Kind: kind, Namespace: "ns", Name: name}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *harness) run(name string) bindings.Outcome {
	w.t.Helper()
	out, err := w.reconciler.Reconcile(w.t.Context(), bindings.Key{Namespace: "ns", Name: name})
	if err != nil {
		w.t.Fatalf("reconcile %s: %v", name, err)
	}
	return out
}

func (w *harness) binding(name string) *elbv2.TargetGroupBinding {
	w.t.Helper()
	obj, err := w.store.Get(cluster.Ref{Kind: cluster.KindBinding, Namespace: "ns", Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	if obj == nil {
		return nil
	}
	return obj.(*elbv2.TargetGroupBinding)
}

// readyStatus returns the Ready condition of a binding as "Status Reason".
func (w *harness) readyStatus(name string) string {
	w.t.Helper()
	for _, c := range w.binding(name).Status.Conditions {
		if c.Type == "Ready" {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

const nodesDoc = `
apiVersion: v1
kind: Node
metadata: {name: n1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {providerID: aws:///a/i-1}
status: {conditions: [{type: Ready, status: "True"}], addresses: [{type: InternalIP, address: 10.0.0.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {providerID: aws:///b/i-2}
status: {conditions: [{type: Ready, status: "True"}], addresses: [{type: InternalIP, address: 10.0.0.2}]}
`

// bindingDoc returns the manifest of a binding with target group "arn/<name>". Its networking rule admits the security group
// "sg-b" to the port.
func bindingDoc(name, service, targetType string, port int) string {
	return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ns, name: %s}
spec:
  targetGroupARN: arn/%s
  targetType: %s
  vpcID: vpc-1
  serviceRef: {name: %s, port: 80}
  networking: {ingress: [{from: [{securityGroup: {groupID: sg-b}}], ports: [{protocol: TCP, port: %d}]}]}
`, name, name, targetType, service, port)
}

func serviceDoc(name, kind string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {namespace: ns, name: %s}
spec: {type: %s, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]}
`, name, kind)
}

// pod describes a pod and its endpoint in an EndpointSlice.
type pod struct {
	name, ip, node       string
	notReady             bool // the endpoint is not ready, although the containers are ready
	hasUnreadyContainers bool // containers are not ready
	terminating          bool
	gate                 string // name of the binding in the readiness gate of the pod; empty for none
	readyCondition       bool   // whether the Ready condition of the pod is True
}

// podDocs returns the manifests of the EndpointSlice of a Service and of its pods.
func podDocs(service string, pods ...pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: %s-1, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
`, service, service)
	if len(pods) == 0 {
		b.WriteString("- {addresses: [\"10.9.9.9\"]}\n")
	}
	for _, p := range pods {
		fmt.Fprintf(&b, "- {addresses: [%q], conditions: {ready: %v, terminating: %v}, targetRef: {kind: Pod, namespace: ns, name: %s}}\n",
			p.ip, !p.notReady && !p.hasUnreadyContainers && !p.terminating, p.terminating, p.name)
	}
	for _, p := range pods {
		gates := ""
		if p.gate != "" {
			gates = fmt.Sprintf("readinessGates: [{conditionType: target-health.elbv2.k8s.aws/%s}], ", p.gate)
		}
		status := "True"
		if p.hasUnreadyContainers {
			status = "False"
		}
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {namespace: ns, name: %s, uid: uid-%s, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {nodeName: %s, %scontainers: [{name: c, image: i, ports: [{name: web, containerPort: 8080}]}]}
status: {podIP: %s, podIPs: [{ip: %s}], conditions: [{type: ContainersReady, status: %q}, {type: Ready, status: %q}]}
`, p.name, p.name, p.node, gates, p.ip, p.ip, status, map[bool]string{true: "True", false: "False"}[p.readyCondition])
	}
	return b.String()
}

func keyOf(name string) bindings.Key { return bindings.Key{Namespace: "ns", Name: name} }
