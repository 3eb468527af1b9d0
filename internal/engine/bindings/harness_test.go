package bindings_test

import (
	"fmt"
	"strings"
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
