package harness

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// A random walk makes random changes to a few Ingresses and Services, while AWS calls fail and the controller restarts.
// The final state in AWS must be the same as if the cluster had only ever had the last objects.

const walkBase = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
`

// walkDocs has the last manifests of a random walk. The keys are "namespace/name" of Ingresses, and "endpoints " with the
// name of a Service.
type walkDocs map[string]string

// walker makes random manifests, which refer to the AWS resources w.
type walker struct {
	*rand.Rand
	seeded Seeded
}

func (w walker) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w walker) chance(percent int) bool { return w.IntN(100) < percent }

func (w walker) service(namespace, name string, n int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s, uid: 11111111-0000-4000-8000-00000000000%[3]d}
spec: {type: NodePort, selector: {app: %[2]s}, ports: [{port: 80, targetPort: 8080, nodePort: 3008%[3]d}]}
`, namespace, name, n)
}

// endpoints returns the manifests of an EndpointSlice with one or two ready pods, and of the pods. n is the index of the
// Service in walkServices.
func (w walker) endpoints(namespace, service string, n int) string {
	var b strings.Builder
	addresses := []string{podAddresses[n], podAddresses[n+3]}
	addresses = addresses[:1+w.IntN(2)]
	fmt.Fprintf(&b, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints:`, service, namespace)
	for i, a := range addresses {
		fmt.Fprintf(&b, `
- {addresses: [%s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: %s, name: %s-%d}}`, a, namespace, service, i)
	}
	for i, a := range addresses {
		fmt.Fprintf(&b, `
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-%[2]d, namespace: %[4]s, uid: %[1]s-%[2]d, labels: {app: %[1]s}}
spec: {nodeName: node-%[5]d, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[3]s, phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
`, service, i, a, namespace, n%3)
	}
	return b.String()
}

// ingress returns the manifest of a random Ingress. If sound is false, one annotation is invalid or names a missing
// certificate, and backends may name missing Services.
func (w walker) ingress(namespace, name string, sound bool) string {
	notes := map[string]string{
		"target-type": w.pick("ip", "instance"),
		"scheme":      "internal",
	}
	set := func(percent int, key string, values ...string) {
		if w.chance(percent) {
			notes[key] = w.pick(values...)
		}
	}
	set(60, "group.name", "g", "h")
	set(40, "group.order", "5", "10", "-1")
	set(60, "listen-ports", `[{"HTTP":80}]`, `[{"HTTP":80},{"HTTP":8080}]`, `[{"HTTPS":443}]`, `[{"HTTP":80},{"HTTPS":443}]`)
	if strings.Contains(notes["listen-ports"], "HTTPS") {
		notes["certificate-arn"] = w.seeded.Certs[w.pick("example.com", "app.test")]
		if group := notes["group.name"]; sound && group != "" {
			// If members want different default certificates for a port, the current one stays. All members of an
			// IngressGroup want the same certificate here, so the final state does not depend on the history.
			notes["certificate-arn"] = w.seeded.Certs[map[string]string{"g": "example.com", "h": "app.test"}[group]]
		}
	}
	if strings.HasSuffix(notes["listen-ports"], `80},{"HTTPS":443}]`) {
		set(50, "ssl-redirect", "443")
	}
	set(15, "enable-frontend-nlb", "true", "false")
	set(20, "inbound-cidrs", "10.0.0.0/8", "10.0.0.0/8,192.168.0.0/16")
	set(30, "tags", "team=a", "team=b,cost=1")
	set(30, "healthcheck-path", "/ok", "/live")
	set(20, "healthcheck-port", "traffic-port", "9000")
	if notes["listen-ports"] == `[{"HTTPS":443}]` {
		set(30, "backend-protocol-version", "HTTP1", "GRPC")
	}
	set(30, "success-codes", "0-5", "200")
	if notes["backend-protocol-version"] == "GRPC" {
		notes["success-codes"] = "0-5"
	} else if notes["success-codes"] == "0-5" {
		notes["success-codes"] = "200-299"
	}
	if !sound {
		switch w.IntN(5) {
		case 0:
			notes["certificate-arn"] = strings.Replace(w.seeded.Certs["app.test"], w.seeded.Certs["app.test"][len(w.seeded.Certs["app.test"])-12:], "000000000000", 1)
			notes["listen-ports"] = `[{"HTTPS":443}]`
		case 1:
			notes["healthcheck-interval-seconds"] = "often"
		case 2:
			notes["listen-ports"] = `{"HTTP"`
		case 3:
			notes["group.order"] = "first"
		case 4:
			notes["scheme"] = "outside"
		}
	}
	const split = "split"
	services := map[string][]string{"shop": {"web", "api"}, "team": {"app"}}[namespace]
	splits := []string{`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"418","messageBody":"tea"}}`}
	if len(services) > 1 {
		splits = append(splits, fmt.Sprintf(`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":%q,"servicePort":80,"weight":20},{"serviceName":%q,"servicePort":"80","weight":80}]}}`,
			services[0], services[1]))
	}
	set(30, "actions."+split, splits...)
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: %s
  annotations:`, name, namespace)
	for _, k := range sortedKeys(notes) {
		fmt.Fprintf(&b, "\n    alb.ingress.kubernetes.io/%s: %q", k, notes[k])
	}
	fmt.Fprintf(&b, `
spec:
  ingressClassName: alb
  rules:`)
	for _, host := range []string{name + ".example.com", "all.example.com"} {
		if host == "all.example.com" && w.chance(50) {
			continue
		}
		fmt.Fprintf(&b, "\n  - host: %s\n    http:\n      paths:", host)
		for _, path := range []string{"/", "/a", "/b"}[:1+w.IntN(3)] {
			backend := w.pick(services...)
			if !sound && w.chance(20) {
				backend = "none"
			}
			port := "number: 80"
			if _, ok := notes["actions."+split]; ok && w.chance(30) {
				backend, port = split, "name: use-annotation"
			}
			fmt.Fprintf(&b, "\n      - {path: %s, pathType: %s, backend: {service: {name: %s, port: {%s}}}}",
				path, w.pick("Prefix", "Exact"), backend, port)
		}
	}
	return b.String() + "\n"
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

var (
	walkIngresses = [][2]string{{"shop", "one"}, {"shop", "two"}, {"team", "three"}, {"team", "four"}}
	walkServices  = [][2]string{{"shop", "web"}, {"shop", "api"}, {"team", "app"}}
)

// step makes one random change in the cluster, and returns a text for the log. It stores the manifests of changed
// Ingresses and endpoints in docs.
func (w walker) step(r *Harness, docs walkDocs) string {
	if w.chance(25) {
		n := w.IntN(len(walkServices))
		s := walkServices[n]
		doc := w.endpoints(s[0], s[1], n)
		r.Apply(doc)
		docs["endpoints "+s[1]] = doc
		return "endpoints of " + s[1]
	}
	if w.chance(10) {
		n := w.IntN(len(walkServices))
		s := walkServices[n]
		ref := cluster.Ref{Kind: cluster.KindService, Namespace: s[0], Name: s[1]}
		if err := r.Store.Delete(ref); err == nil {
			return "delete service " + s[1]
		}
		r.Apply(w.service(s[0], s[1], n))
		return "put service " + s[1]
	}
	in := walkIngresses[w.IntN(len(walkIngresses))]
	name := in[0] + "/" + in[1]
	if _, there := docs[name]; there && w.chance(25) {
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: in[0], Name: in[1]}); err != nil {
			r.T.Fatal(err)
		}
		delete(docs, name)
		return "delete " + name
	}
	for _, obj := range r.Store.All(cluster.KindIngress) {
		if obj.GetNamespace() == in[0] && obj.GetName() == in[1] && obj.GetDeletionTimestamp() != nil {
			return name + " is still being deleted"
		}
	}
	doc := w.ingress(in[0], in[1], w.chance(75))
	r.Apply(doc)
	docs[name] = doc
	return "put " + name + doc
}

func newWalk(t *testing.T, seed uint64) (walker, *Harness) {
	t.Helper()
	return newWalkWith(t, seed, walkOptions(seed, nil))
}

func walkOptions(seed uint64, planned func(engine.Draft)) Options {
	o := Options{Checkpoints: seed%2 == 1, OnPlan: planned}
	if seed%3 == 2 {
		o.TaggingLag = 10 * time.Minute
	}
	return o
}

func newWalkWith(t *testing.T, seed uint64, o Options) (walker, *Harness) {
	t.Helper()
	r := shopWith(t, o)
	r.Apply(walkBase)
	for n, s := range walkServices {
		r.Apply(walker{}.service(s[0], s[1], n))
	}
	return walker{rand.New(rand.NewPCG(seed, 1)), r.Seeded}, r
}

// logFailure logs the steps of a random walk and its last manifests if the test has failed. Callers must defer it.
func (docs walkDocs) logFailure(t *testing.T, seed uint64, log *[]string) {
	t.Helper()
	if t.Failed() {
		t.Logf("seed %d:\n%s\nlast objects:\n%s", seed, strings.Join(*log, "\n"), strings.Join(lastObjects(docs), "\n"))
	}
}

// stepWithFaults calls step the given number of times, and appends the results to log. Meanwhile, AWS calls are
// throttled, responses are lost, connections are reset, and the controller is killed and restarted. No call fails after
// stepWithFaults returns.
func (w walker) stepWithFaults(r *Harness, steps int, log *[]string, step func() string) {
	broken := true
	r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if !broken {
			return fault.Action{}
		}
		switch w.IntN(100) {
		case 0, 1:
			return fault.Action{Throttle: true}
		case 2, 3:
			return fault.Action{Lose: true}
		case 4:
			return fault.Action{Reset: true}
		case 5:
			if c.Mutating {
				r.Kill()
			}
		}
		return fault.Action{}
	})
	for range steps {
		*log = append(*log, step())
		if w.chance(15) {
			*log = append(*log, "restart")
			r.Start()
		}
		r.Settle([]time.Duration{0, 100 * time.Millisecond, 3 * time.Second, 20 * time.Second, 2 * time.Minute, time.Hour}[w.IntN(6)])
		if r.WasKilled() {
			*log = append(*log, "killed")
			time.Sleep(time.Duration(w.IntN(int(20 * time.Second))))
			r.Start()
		}
	}
	broken = false
}

func TestResultDependsOnlyOnLastObjects(t *testing.T) {
	t.Parallel()
	seeds.Each(t, seeds.Amount(10, 20), checkWalk)
}

// checkWalk compares the final state of one random walk with the state of a cluster that only ever had the last objects.
// It also checks that a restart changes nothing in AWS, that all resources are deleted with the Ingresses, and that the
// plans are reproducible.
func checkWalk(t *testing.T, seed uint64) {
	t.Helper()
	var log []string
	docs := walkDocs{}
	defer docs.logFailure(t, seed, &log)
	var got, empty, before []string
	var drafts []engine.Draft
	synctest.Test(t, func(t *testing.T) {
		w, r := newWalkWith(t, seed, walkOptions(seed, func(d engine.Draft) { drafts = append(drafts, d) }))
		before = r.State()
		broken := true
		if seed%4 >= 2 {
			r.Emulator.Faults().RetainHistory(time.Minute)
		}
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if !broken {
				return fault.Action{}
			}
			switch w.IntN(100) {
			case 0, 1:
				return fault.Action{Throttle: true}
			case 2:
				return fault.Action{Lose: true}
			case 3:
				return fault.Action{Reset: true}
			case 4, 5, 6:
				if seed%4 >= 2 && !c.Mutating {
					return fault.Action{Stale: time.Duration(1+w.IntN(10)) * time.Second}
				}
			}
			return fault.Action{}
		})
		for range 6 + w.IntN(10) {
			log = append(log, w.step(r, docs))
			if w.chance(15) {
				log = append(log, "restart")
				r.Start()
			}
			r.Settle([]time.Duration{0, 100 * time.Millisecond, 3 * time.Second, 20 * time.Second, 2 * time.Minute, time.Hour}[w.IntN(6)])
		}
		for n, s := range walkServices {
			r.Apply(w.service(s[0], s[1], n))
			docs["endpoints "+s[1]] = w.endpoints(s[0], s[1], n)
			r.Apply(docs["endpoints "+s[1]])
		}
		for _, in := range walkIngresses {
			name := in[0] + "/" + in[1]
			if _, there := docs[name]; there {
				docs[name] = w.ingress(in[0], in[1], true)
				r.Apply(docs[name])
			}
		}
		broken = false
		if failed := r.Settle(3 * time.Hour); len(failed) > 0 {
			t.Errorf("still failing: %v", failed)
		}
		got = r.State()
		time.Sleep(15 * time.Minute) // until the tagging service is up to date
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(2 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("a restart makes %d mutating calls: %v\n%s\n%v", n, r.Emulator.Calls().Counts(), cmp.Diff(got, r.State()), warningsByObject(r))
		}
		for _, in := range walkIngresses {
			if _, there := docs[in[0]+"/"+in[1]]; there {
				if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: in[0], Name: in[1]}); err != nil {
					t.Fatal(err)
				}
			}
		}
		failed := r.Settle(3 * time.Hour)
		empty = r.State()
		for _, k := range []cluster.Kind{cluster.KindIngress, cluster.KindBinding} {
			for _, o := range r.Store.All(k) {
				t.Errorf("%s %s/%s is left after deletion at %s, finalizers %v; failing: %v", k, o.GetNamespace(), o.GetName(), o.GetDeletionTimestamp(), o.GetFinalizers(), failed)
			}
		}
	})
	if diff := cmp.Diff(before, empty); diff != "" {
		t.Errorf("deletion does not restore the initial state (-before +after):\n%s", diff)
	}
	checkPlansAreReproducible(t, drafts)
	var want []string
	synctest.Test(t, func(t *testing.T) {
		_, r := newWalk(t, seed)
		for _, k := range sortedKeys(docs) {
			r.Apply(docs[k])
		}
		r.Settle(3 * time.Hour)
		want = r.State()
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the final state depends on the history (-without +with):\n%s", diff)
	}
}

// checkPlansAreReproducible computes the plan of each draft again from the same inputs, and checks that it is equal. A
// plan must depend only on its inputs, and later runs must not change these inputs.
func checkPlansAreReproducible(t *testing.T, drafts []engine.Draft) {
	t.Helper()
	if len(drafts) == 0 {
		t.Error("no plan is made")
	}
	for n, d := range drafts {
		if again := d.Replan(); !reflect.DeepEqual(d.Plan, again) {
			t.Errorf("plan %d of %d, of %s:\n%s\nmade again:\n%s", n, len(drafts), d.Stack.ID, d.Plan.Text(), again.Text())
			return
		}
	}
}

func lastObjects(docs walkDocs) (out []string) {
	for _, k := range sortedKeys(docs) {
		out = append(out, docs[k])
	}
	return out
}
