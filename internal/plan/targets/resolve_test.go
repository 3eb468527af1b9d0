package targets_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// resolvedText loads manifests and resolves TargetGroupBinding "ns/a". It returns the identities of the endpoints, followed
// by words for Faulty and ViewInconsistent and by the reasons of the findings.
func resolvedText(t *testing.T, o targets.Options, docs ...string) string {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		loaded, err := cluster.LoadYAML([]byte(doc))
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if err := m.Put(loaded.Objects...); err != nil {
			t.Fatal(err)
		}
	}
	v := cluster.NewView(&cluster.ReducedSource{Source: m, QUICEnv: targets.DefaultQUICVariable})
	b, ok := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, "ns", "a")
	if !ok {
		t.Fatal("no binding", v.Err())
	}
	r := targets.Resolve(v, b, o)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	var out []string
	for _, e := range r.Endpoints() {
		out = append(out, e.Identity())
	}
	if r.Faulty {
		out = append(out, "faulty")
	}
	if r.ViewInconsistent {
		out = append(out, "inconsistent")
	}
	for _, f := range r.Findings {
		out = append(out, string(f.Reason))
	}
	return strings.Join(out, " ")
}

// podYAML returns a pod with an IP address on node "n1".
func podYAML(name, ip, containersReady string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: ns, name: %s, uid: uid-%s, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {nodeName: n1, containers: [{name: c}]}
status: {podIPs: [{ip: %q}], conditions: [{type: ContainersReady, status: %q}]}
`, name, name, ip, containersReady)
}

// finishedPod returns the manifest of a pod with a phase, such as "Failed".
func finishedPod(pod, phase string) string {
	return strings.Replace(pod, "status: {", "status: {phase: "+phase+", ", 1)
}

// hostNetworkPod returns the manifest of a pod with hostNetwork: true.
func hostNetworkPod(pod string) string {
	return strings.Replace(pod, "spec: {", "spec: {hostNetwork: true, ", 1)
}

// podOfOtherNamespace returns a pod of another namespace that has the IP address of pod "p1".
func podOfOtherNamespace(created, spec string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {namespace: other, name: p9, uid: uid-p9, creationTimestamp: %q}
spec: {%snodeName: n1, containers: [{name: c}]}
status: {podIPs: [{ip: 10.0.1.1}]}
`, created, spec)
}

const twoPortServiceYAML = `
apiVersion: v1
kind: Service
metadata: {namespace: ns, name: web}
spec: {ports: [{name: http, port: 80}, {name: admin, port: 81}]}
`

const podBindingYAML = `
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ns, name: a}
spec: {targetType: ip, targetGroupARN: arn, serviceRef: {name: web, port: 80}}
`

func nodeYAML(name, status string) string {
	return fmt.Sprintf("\napiVersion: v1\nkind: Node\nmetadata: {name: %s}\nspec: {providerID: aws:///a/i-%s}\nstatus: {conditions: [{type: Ready, status: %q}]}\n", name, name, status)
}

func TestEndpointsOfSlices(t *testing.T) {
	const ref = "targetRef: {kind: Pod, name: p1}"
	up, down := podYAML("p1", "10.0.1.1", "True"), podYAML("p1", "10.0.1.1", "False")
	at := func(conditions, ref string) string {
		return fmt.Sprintf("{addresses: [10.0.1.1], conditions: {%s}, %s}", conditions, ref)
	}
	tests := []struct{ name, endpoint, pod, node, want string }{
		{"ready", at("ready: true", ref), up, "True", "10.0.1.1:8080"},
		{"of unknown readiness", at("", ref), up, "True", "10.0.1.1:8080"},
		{"ready and terminating, as where unready addresses are published", at("ready: true, terminating: true", ref), down, "False", "10.0.1.1:8080"},
		{"unready by a gate", at("ready: false", ref), up, "True", "10.0.1.1:8080"},
		{"unready by a gate, terminating", at("ready: false, serving: true, terminating: true", ref), up, "True", ""},
		{"unready by a gate, node status Unknown", at("ready: false", ref), up, "Unknown", "10.0.1.1:8080"},
		{"terminating, node status Unknown", at("ready: false, terminating: true", ref), up, "Unknown", "10.0.1.1:8080"},
		{"unready by a gate, node not ready", at("ready: false", ref), up, "False", ""},
		{"unready by a gate, no such node", at("ready: false", ref), up, "", ""},
		{"unready containers", at("ready: false", ref), down, "True", ""},
		{"no pod", at("ready: true", ""), up, "True", ""},
		{"not a pod", at("ready: true", "targetRef: {kind: Node, name: n1}"), up, "True", ""},
		{"no address", "{addresses: [], conditions: {ready: true}, " + ref + "}", up, "True", ""},
		{"several addresses", "{addresses: [10.0.1.1, 10.0.1.9], conditions: {ready: true}, " + ref + "}", up, "True", "10.0.1.1:8080"},
		{"a pod that the view does not have yet", at("ready: true", ref), "", "True", "inconsistent"},
		{"an earlier pod of the name", at("ready: true", "targetRef: {kind: Pod, name: p1, uid: other}"), up, "True", "inconsistent"},
		{"a pod without address yet", at("ready: true", ref), strings.Replace(up, `podIPs: [{ip: "10.0.1.1"}], `, "", 1), "True", "inconsistent"},
		{"another address than the pod's", at("ready: true", ref), podYAML("p1", "10.0.1.2", "True"), "True", "inconsistent EndpointIgnored"},
		{"a pod that has finished", at("ready: true", ref), finishedPod(up, "Succeeded"), "True", "inconsistent"},
		{"a pod that has failed", at("ready: true", "targetRef: {kind: Pod, name: p1, uid: uid-p1}"), finishedPod(up, "Failed"), "True", "inconsistent"},
		{"an address given to a newer pod of another namespace", at("ready: true", ref), up + podOfOtherNamespace("2026-01-02T00:00:00Z", ""), "True", "inconsistent EndpointIgnored"},
		{"an address that an older pod still lists", at("ready: true", ref), up + podOfOtherNamespace("2025-01-02T00:00:00Z", ""), "True", "10.0.1.1:8080"},
		{"an address that a newer pod has given back", at("ready: true", ref), up + finishedPod(podOfOtherNamespace("2026-01-02T00:00:00Z", ""), "Failed"), "True", "10.0.1.1:8080"},
		{"the node's address, which a newer pod of the host network lists too", at("ready: true", ref), hostNetworkPod(up) + podOfOtherNamespace("2026-01-02T00:00:00Z", "hostNetwork: true, "), "True", "10.0.1.1:8080"},
		{"a pod of another namespace", at("ready: true", "targetRef: {kind: Pod, name: p1, namespace: other}"), up, "True", "EndpointIgnored"},
		{"named with its namespace", at("ready: true", "targetRef: {kind: Pod, name: p1, namespace: ns, uid: uid-p1}"), up, "True", "10.0.1.1:8080"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs := []string{twoPortServiceYAML, podBindingYAML, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}, {name: admin, port: 8081}]
endpoints: [` + tt.endpoint + "]\n"}
			if tt.pod != "" {
				docs = append(docs, tt.pod)
			}
			if tt.node != "" {
				docs = append(docs, nodeYAML("n1", tt.node))
			}
			if got := resolvedText(t, targets.Options{FailOpen: true}, docs...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEndpointSlicesAreChosenByServiceAndPort(t *testing.T) {
	slice := func(name, label, family, ports string) string {
		return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: %s, labels: {%s}}
addressType: %s
ports: [%s]
endpoints: [{addresses: [10.0.1.1], targetRef: {kind: Pod, name: p1}}]
`, name, label, family, ports)
	}
	const mine = "kubernetes.io/service-name: web"
	unnamed := strings.Replace(twoPortServiceYAML, "[{name: http, port: 80}, {name: admin, port: 81}]", "[{port: 80}]", 1)
	tests := []struct {
		name, service string
		slices        []string
		want          string
	}{
		{"none", twoPortServiceYAML, nil, ""},
		{"ports by name, a number for each slice", twoPortServiceYAML, []string{slice("s1", mine, "IPv4", "{name: http, port: 8080}"), slice("s2", mine, "IPv4", "{name: http, port: 9090}")}, "10.0.1.1:8080 10.0.1.1:9090"},
		{"the same endpoint twice", twoPortServiceYAML, []string{slice("s1", mine, "IPv4", "{name: http, port: 8080}"), slice("s2", mine, "IPv4", "{name: http, port: 8080}")}, "10.0.1.1:8080 10.0.1.1:8080"},
		{"all ports for a Service port without name", unnamed, []string{slice("s1", mine, "IPv4", "{port: 8080}"), slice("s2", mine, "IPv4", "{name: x, port: 9090}")}, "10.0.1.1:8080 10.0.1.1:9090"},
		{"no port of the name", twoPortServiceYAML, []string{slice("s1", mine, "IPv4", "{name: other, port: 8080}, {port: 8081}, {name: http}")}, ""},
		{"another family", twoPortServiceYAML, []string{slice("s1", mine, "IPv6", "{name: http, port: 8080}")}, ""},
		{"without label, of another Service", twoPortServiceYAML, []string{slice("s1", "", "IPv4", "{name: http, port: 8080}"), slice("s2", "kubernetes.io/service-name: api", "IPv4", "{name: http, port: 8080}")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs := append([]string{tt.service, podBindingYAML, podYAML("p1", "10.0.1.1", "True"), nodeYAML("n1", "True")}, tt.slices...)
			if got := resolvedText(t, targets.Options{FailOpen: true}, docs...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNodesForInstanceTargets(t *testing.T) {
	service := strings.Replace(twoPortServiceYAML, "spec: {ports: [{name: http, port: 80}", "spec: {type: NodePort, ports: [{name: http, port: 80, nodePort: 30080}", 1)
	good, silent := nodeYAML("n1", "True"), nodeYAML("n2", "Unknown")
	labelled := func(l string) string { return strings.Replace(good, "name: n1}", "name: n1, labels: {"+l+"}}", 1) }
	tainted := func(t string) string {
		return strings.Replace(good, "aws:///a/i-n1}", "aws:///a/i-n1, taints: [{"+t+"}]}", 1)
	}
	provider := func(id string) string { return strings.Replace(good, "aws:///a/i-n1", id, 1) }
	tests := []struct {
		name, selector string
		closed         bool
		nodes          []string
		want           string
	}{
		{"ready before Unknown", "", false, []string{good, silent}, "i-n1:30080"},
		{"Unknown if there are no others", "", false, []string{silent}, "i-n2:30080"},
		{"Unknown, without FailOpen", "", true, []string{silent}, ""},
		{"not ready", "", false, []string{nodeYAML("n1", "False")}, ""},
		{"without a Ready condition", "", false, []string{strings.Replace(good, "type: Ready", "type: Other", 1)}, ""},
		{"master", "", false, []string{labelled(`node-role.kubernetes.io/master: ""`)}, ""},
		{"control plane", "", false, []string{labelled(`node-role.kubernetes.io/control-plane: ""`)}, "i-n1:30080"},
		{"excluded", "", false, []string{labelled(`node.kubernetes.io/exclude-from-external-load-balancers: "false"`)}, ""},
		{"excluded by the legacy label", "", false, []string{labelled(`alpha.service-controller.kubernetes.io/exclude-balancer: x`)}, ""},
		{"Fargate", "", false, []string{labelled(`eks.amazonaws.com/compute-type: fargate`)}, ""},
		{"another compute type", "", false, []string{labelled(`eks.amazonaws.com/compute-type: auto`)}, "i-n1:30080"},
		{"selected", "matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]", false, []string{labelled("a: b, c: d"), silent}, "i-n1:30080"},
		{"not selected by one of two terms", "matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]", false, []string{labelled("a: b")}, ""},
		{"selected but excluded", "matchLabels: {a: b}", false, []string{labelled(`a: b, node-role.kubernetes.io/master: ""`)}, ""},
		{"an empty selector", "matchLabels: {}", false, []string{good}, "i-n1:30080"},
		{"a selector that cannot be read", "matchExpressions: [{key: c, operator: Sometimes}]", false, []string{good}, "i-n1:30080 faulty AnnotationInvalid"},
		{"about to be removed, whatever the effect", "", false, []string{tainted("key: ToBeDeletedByClusterAutoscaler, effect: PreferNoSchedule")}, ""},
		{"disrupted by Karpenter", "", false, []string{tainted("key: karpenter.sh/disrupted, effect: NoSchedule")}, ""},
		{"disrupted, another effect", "", false, []string{tainted("key: karpenter.sh/disrupted, effect: NoExecute")}, "i-n1:30080"},
		{"another taint", "", false, []string{tainted("key: node.kubernetes.io/unschedulable, effect: NoSchedule")}, "i-n1:30080"},
		{"an id alone", "", false, []string{provider("i-0")}, "i-0:30080"},
		{"hybrid", "", false, []string{provider("eks-hybrid:///r/c/mi-0"), silent}, "i-n2:30080 NodeUnusable"},
		{"no provider id", "", false, []string{provider(`""`)}, "NodeUnusable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := strings.Replace(podBindingYAML, "targetType: ip", "targetType: instance, nodeSelector: {"+tt.selector+"}", 1)
			if got := resolvedText(t, targets.Options{FailOpen: !tt.closed}, append([]string{service, b}, tt.nodes...)...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// staleSource is a source whose cache is outdated for all objects.
type staleSource struct{ *cluster.Memory }

func (staleSource) Confirm(obj cluster.Object) error {
	return cluster.StaleError{Ref: cluster.RefOf(obj)}
}

// TestMissingServiceIsConfirmed checks that Resolve confirms the cached binding before it reports a missing Service, and the
// cached Service before it reports a missing port. If the cached object is outdated, the view must have a StaleError, so
// that no targets are deregistered.
func TestMissingServiceIsConfirmed(t *testing.T) {
	t.Parallel()
	m, err := cluster.MemoryFromYAML(nil, []byte(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ns, name: service, uid: "1"}
spec: {targetGroupARN: arn, targetType: ip, serviceRef: {name: gone, port: 80}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ns, name: port, uid: "2"}
spec: {targetGroupARN: arn, targetType: ip, serviceRef: {name: s, port: 81}}
---
apiVersion: v1
kind: Service
metadata: {namespace: ns, name: s, uid: "3"}
spec: {ports: [{port: 80}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"service": "TargetGroupBinding ns/service", "port": "Service ns/s"} {
		v := cluster.NewView(staleSource{m})
		b, ok := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, "ns", name)
		if !ok {
			t.Fatal("no binding", v.Err())
		}
		targets.Resolve(v, b, targets.Options{})
		var stale cluster.StaleError
		if !errors.As(v.Err(), &stale) || stale.Ref.String() != want {
			t.Errorf("%s: error %v, want that %s has changed", name, v.Err(), want)
		}
	}
}

// TestEndpointsAreLimited checks that an EndpointSlice with many addresses and many ports, each of which is an endpoint, cannot
// fill the memory, and that the endpoints of an EndpointSlice with one port are used before those of this EndpointSlice.
func TestEndpointsAreLimited(t *testing.T) {
	resolve := func(addresses, ports int) string {
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
		slice.Namespace, slice.Name, slice.Labels = "ns", "web-1", map[string]string{discoveryv1.LabelServiceName: "web"}
		for i := range ports {
			name, number := fmt.Sprint("p", i), int32(i+1)
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
		}
		for range addresses {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.1.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p1"}})
		}
		m, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		const service = "apiVersion: v1\nkind: Service\nmetadata: {namespace: ns, name: web}\nspec: {ports: [{port: 80}]}"
		loaded, err := cluster.LoadYAML([]byte(service + "\n---" + podYAML("p1", "10.0.1.1", "True") + "\n---" + podBindingYAML))
		if err != nil {
			t.Fatal(err)
		}
		small := slice.DeepCopy()
		small.Name, small.Endpoints, small.Ports = "web-2", small.Endpoints[:1], []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(9999))}}
		if err := m.Put(append(loaded.Objects, slice, small)...); err != nil {
			t.Fatal(err)
		}
		v := cluster.NewView(&cluster.ReducedSource{Source: m})
		b, _ := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, "ns", "a")
		r := targets.Resolve(v, b, targets.Options{})
		out := fmt.Sprint(len(r.Endpoints()))
		if !slices.ContainsFunc(r.Endpoints(), func(e targets.Endpoint) bool { return e.Port == 9999 }) {
			out += " without the EndpointSlice with one port"
		}
		for _, f := range r.Findings {
			out += " " + string(f.Reason)
		}
		return out
	}
	if got, want := resolve(100, 499), "49901"; got != want {
		t.Errorf("100 addresses with 499 ports: %s, want %s", got, want)
	}
	if got, want := resolve(101, 500), "49501 EndpointIgnored"; got != want {
		t.Errorf("101 addresses with 500 ports: %s, want %s", got, want)
	}
}
