package adversary

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// The fixed cases are regression tests for faults that were found. As in random histories, the facts about the
// victims are compared at every step, and each case has further checks.

// runCase runs f in a test cluster with setup s. It reports the failures that f records and those of the comparison.
func runCase(t *testing.T, name string, s setup, f func(w *testCluster)) {
	t.Helper()
	runCaseWith(t, name, s, harness.Options{}, f)
}

func runCaseWith(t *testing.T, name string, s setup, opt harness.Options, f func(w *testCluster)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		c := runWithoutAttacker(t, s)
		for _, text := range runInTestCluster(t, s, opt, func(w *testCluster) {
			w.startComparison(c)
			f(w)
			w.rec.failures = append(w.rec.failures, w.comparison.failures...)
			w.rec.failures = append(w.rec.failures, w.log.findFaultyEvents()...)
		}) {
			t.Error(text)
		}
	})
}

// attackerBackends is the attacker's Service "app" with a pod and an EndpointSlice.
const attackerBackends = `
apiVersion: v1
kind: Service
metadata: {name: app, namespace: evil}
spec: {type: NodePort, selector: {app: app}, ports: [{port: 80, targetPort: 8080, nodePort: 31000}]}
---
apiVersion: v1
kind: Pod
metadata: {name: app-0, namespace: evil, labels: {app: app}}
spec: {nodeName: node-0, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: 10.0.133.1, podIPs: [{ip: 10.0.133.1}], phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app-1, namespace: evil, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.0.133.1], conditions: {ready: true}, nodeName: node-0, targetRef: {kind: Pod, namespace: evil, name: app-0}}]
`

// attackerIngress is an Ingress of the attacker.
type attackerIngress struct {
	name, class string   // defaults: name "x", no class
	finalizers  string   // separated by commas
	pairs       []string // annotations
	host, path  string
	service     string // "app" if empty; "act" for the action in annotation actions.act
}

func (a attackerIngress) docs() string {
	class, host, service, port := "", "", a.service, "number: 80"
	if a.class != "" {
		class = "\n  ingressClassName: " + a.class
	}
	if a.host != "" {
		host = fmt.Sprintf("host: %q, ", a.host)
	}
	switch service {
	case "":
		service = "app"
	case "act":
		port = "name: use-annotation"
	}
	if a.path == "" {
		a.path = "/"
	}
	if a.name == "" {
		a.name = "x"
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: evil
  finalizers: [%s]
  annotations:
    example.com/note: none
%sspec:%s
  rules:
  - {%shttp: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: %s, port: {%s}}}}]}}
`, a.name, a.finalizers, annotations(a.pairs...), class, host, a.path, service, port)
}

// countRefusedCalls returns the number of refused calls of an operation.
func (w *testCluster) countRefusedCalls(operation string) int {
	n := 0
	for _, e := range w.Emulator.Calls().Entries() {
		if e.Operation == operation && e.Code != "" {
			n++
		}
	}
	return n
}

// deny makes AWS deny an operation to the controller.
func (w *testCluster) deny(operations ...string) {
	for _, op := range operations {
		w.Emulator.Faults().Add(fault.Rule{Operation: op, Action: fault.Action{Error: &emulated.Error{
			Code: "AccessDenied", Message: "User is not authorized to perform: " + op, Status: 403,
		}}})
	}
}

func (w *testCluster) setQuota(name string, n int) {
	all := w.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	all.Config.Quotas[name] = n
}

// expectTrue records a failure if ok is false.
func (w *testCluster) expectTrue(ok bool, format string, args ...any) {
	if !ok {
		w.rec.Errorf(format, args...)
	}
}

// scenarioActs returns the acts of the scenario.
func (w *testCluster) scenarioActs() []act { return scenarios()[w.scenario] }

const (
	shortRunTime = time.Minute
	longRunTime  = 10 * time.Minute
)
