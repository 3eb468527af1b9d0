package targets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

const demandObjectsYAML = `
apiVersion: v1
kind: Service
metadata: {namespace: ns, name: web}
spec: {ports: [{name: http, port: 80, targetPort: web}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}, {name: metrics, port: 9000}]
endpoints: [{addresses: [10.0.1.1], targetRef: {kind: Pod, name: p1}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: web-2, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 9090}]
endpoints: [{addresses: [10.0.2.1], targetRef: {kind: Pod, name: p2}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: ns, name: web-6, labels: {kubernetes.io/service-name: web}}
addressType: IPv6
ports: [{name: http, port: 8080}]
endpoints: [{addresses: ["2001:db8::1"], targetRef: {kind: Pod, name: p1}}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: ns, name: p1, annotations: {PODENI}}
spec:
  nodeName: n1
  containers: [{name: c, ports: [{name: web, containerPort: 8080}]}]
  initContainers: [{name: proxy, restartPolicy: Always, ports: [{name: admin, containerPort: 15000}]}]
status: {podIPs: [{ip: 10.0.1.1}, {ip: "2001:db8::1"}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: ns, name: p2}
spec: {nodeName: n2, containers: [{name: c, ports: [{name: web, containerPort: 9090}]}]}
status: {podIPs: [{ip: 10.0.2.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {LABELS}}
spec: {providerID: aws:///a/i-1}
status: {addresses: [{type: InternalIP, address: 10.0.0.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
spec: {providerID: aws:///b/i-2}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ns, name: a}
spec: {targetType: ip, serviceRef: {name: web, port: PORT}, ipAddressType: FAMILY, networking: {ingress: [RULE]}}
`

// resolveDemand resolves demandObjectsYAML, and returns the endpoints and the demand of the binding. words has pairs of a
// text in demandObjectsYAML and its replacement.
func resolveDemand(t *testing.T, words ...string) (targets.Resolution, targets.RuleDemand) {
	t.Helper()
	words = append(words, "{PODENI}", "{}", "{LABELS}", "{}", "PORT", "80", "FAMILY", "ipv4", "RULE", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: 8080}]}")
	loaded, err := cluster.LoadYAML([]byte(strings.NewReplacer(words...).Replace(demandObjectsYAML)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Put(loaded.Objects...); err != nil {
		t.Fatal(err)
	}
	v := cluster.NewView(&cluster.ReducedSource{Source: m})
	b, ok := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, "ns", "a")
	if !ok {
		t.Fatal("no binding", v.Err())
	}
	r := targets.Resolve(v, b, targets.Options{})
	d := targets.RuleDemandOf(v, b, r)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	return r, d
}

func TestServicePortSelectsEndpointPorts(t *testing.T) {
	tests := []struct{ name, port, family, want string }{
		{"number", "80", "ipv4", "10.0.1.1:8080 10.0.2.1:9090"},
		{"name", "http", "ipv4", "10.0.1.1:8080 10.0.2.1:9090"},
		{"IPv6", "80", "ipv6", "2001:db8::1:8080"},
		{"a target port is not a Service port", "web", "ipv4", "not found"},
		{"another number", "8080", "ipv4", "not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := resolveDemand(t, "PORT", tt.port, "FAMILY", tt.family)
			var got []string
			for _, e := range r.Endpoints() {
				got = append(got, e.Identity())
			}
			if r.BackendMissing {
				got = []string{"not found"}
			}
			if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestENILookups(t *testing.T) {
	p2 := []targets.ENILookup{{Instance: "i-2", EndpointIP: "10.0.2.1"}}
	tests := []struct {
		name   string
		change []string
		want   [][]targets.ENILookup
	}{
		{"on an instance", nil, [][]targets.ENILookup{{{Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"with a branch ENI", []string{"{PODENI}", `{vpc.amazonaws.com/pod-eni: '[{"eniId":"eni-9","privateIp":"10.0.1.1"}]'}`}, [][]targets.ENILookup{{{ENI: "eni-9", EndpointIP: "10.0.1.1"}, {Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"a wildcard instead of an ID", []string{"{PODENI}", `{vpc.amazonaws.com/pod-eni: '[{"eniId":"eni-*","privateIp":"10.0.1.1"}]'}`}, [][]targets.ENILookup{{{Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"an ID that is too long for a filter", []string{"{PODENI}", `{vpc.amazonaws.com/pod-eni: '[{"eniId":"eni-` + strings.Repeat("0", 256) + `","privateIp":"10.0.1.1"}]'}`}, [][]targets.ENILookup{{{Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"the ENI of another address", []string{"{PODENI}", `{vpc.amazonaws.com/pod-eni: '[{"eniId":"eni-9","privateIp":"10.0.1.9"}]'}`}, [][]targets.ENILookup{{{Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"an unreadable annotation", []string{"{PODENI}", `{vpc.amazonaws.com/pod-eni: 'x'}`}, [][]targets.ENILookup{{{Instance: "i-1", EndpointIP: "10.0.1.1"}}, p2}},
		{"Fargate", []string{"{LABELS}", "{eks.amazonaws.com/compute-type: fargate}"}, [][]targets.ENILookup{{{Address: "10.0.1.1"}}, p2}},
		{"HyperPod", []string{"{LABELS}", "{sagemaker.amazonaws.com/compute-type: hyperpod}"}, [][]targets.ENILookup{{{Address: "10.0.1.1"}, {Address: "10.0.0.1", EndpointIP: "10.0.1.1"}}, p2}},
		{"hybrid", []string{"{LABELS}", "{eks.amazonaws.com/compute-type: hybrid}"}, [][]targets.ENILookup{p2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, d := resolveDemand(t, tt.change...)
			var got [][]targets.ENILookup
			for _, n := range d.PodDemands {
				got = append(got, n.Lookups)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestDemandRules(t *testing.T) {
	rule := func(protocol string, from, to int32, group, cidr string) model.IngressRule {
		return model.IngressRule{Protocol: protocol, From: from, To: to, Group: group, CIDR: cidr, Description: network.SharedRuleDescription}
	}
	tests := []struct {
		name, rule string
		want       []model.IngressRule // rules for p1
		faulty     bool
		reasons    []finding.Reason
	}{
		{"a number", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: 8080}]}", []model.IngressRule{rule("tcp", 8080, 8080, "sg-b", "")}, false, nil},
		{"no number", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{protocol: UDP}]}", []model.IngressRule{rule("udp", 0, 65535, "sg-b", "")}, false, nil},
		{"a name that differs by pod", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: web}]}", []model.IngressRule{rule("tcp", 8080, 8080, "sg-b", "")}, false, nil},
		{"a name that one pod lacks", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: admin}]}", []model.IngressRule{rule("tcp", 15000, 15000, "sg-b", "")}, true, []finding.Reason{finding.NetworkingInvalid}},
		{"ranges in canonical form", "{from: [{ipBlock: {cidr: 10.0.0.1/8}}, {ipBlock: {cidr: '2001:DB8::/32'}}], ports: [{port: 80}]}", []model.IngressRule{rule("tcp", 80, 80, "", "10.0.0.0/8"), rule("tcp", 80, 80, "", "2001:db8::/32")}, false, nil},
		{"a range that is none", "{from: [{ipBlock: {cidr: x}}, {securityGroup: {groupID: sg-b}}], ports: [{port: 80}]}", []model.IngressRule{rule("tcp", 80, 80, "sg-b", "")}, true, []finding.Reason{finding.NetworkingInvalid}},
		{"numbers that are no ports", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: 8080}, {port: 70000}, {port: -1}]}", []model.IngressRule{rule("tcp", 8080, 8080, "sg-b", "")}, true, []finding.Reason{finding.NetworkingInvalid, finding.NetworkingInvalid}},
		{"empty peer", "{from: [{}], ports: [{port: 80}]}", nil, true, []finding.Reason{finding.NetworkingInvalid}},
		{"no ports", "{from: [{securityGroup: {groupID: sg-b}}], ports: []}", nil, false, []finding.Reason{finding.NetworkingInvalid}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, d := resolveDemand(t, "RULE", tt.rule)
			var reasons []finding.Reason
			for _, f := range d.Findings {
				reasons = append(reasons, f.Reason)
			}
			if diff := cmp.Diff(tt.want, d.PodDemands[0].Rules); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.reasons, reasons); diff != "" || d.Faulty != tt.faulty {
				t.Errorf("faulty %v, -want +got\n%s", d.Faulty, diff)
			}
		})
	}
}

// TestNetworkingWithTooManyRulesIsRefused checks that a binding whose ports and peers make too many rules gets none, and that
// its security groups are still known, so that their rules stay.
func TestNetworkingWithTooManyRulesIsRefused(t *testing.T) {
	var ports, peers []string
	for i := range 101 {
		ports = append(ports, fmt.Sprintf("{port: %d}", i+1))
		peers = append(peers, fmt.Sprintf("{ipBlock: {cidr: 10.0.%d.0/24}}", i))
	}
	_, d := resolveDemand(t, "RULE", "{from: ["+strings.Join(peers, ", ")+"], ports: ["+strings.Join(ports, ", ")+"]}")
	if len(d.PodDemands) == 0 || len(d.PodDemands[0].Rules) != 0 || !d.Faulty || len(d.Findings) != 1 {
		t.Errorf("demand %+v", d)
	}
	_, d = resolveDemand(t, "RULE", "{from: ["+strings.Join(peers[:99], ", ")+"], ports: ["+strings.Join(ports, ", ")+"]}")
	if len(d.PodDemands[0].Rules) != 99*101 || d.Faulty {
		t.Errorf("%d rules within the limit, findings %v", len(d.PodDemands[0].Rules), d.Findings)
	}
}

// TestRulesOfPortNamesAreLimited checks that the limit counts port names once for each number that they have in the pods: p1
// and p2 have different numbers for the name "web".
func TestRulesOfPortNamesAreLimited(t *testing.T) {
	var ports []string
	for i := range 99 {
		ports = append(ports, fmt.Sprintf("{port: %d}", i+1))
	}
	demand := func(peers int) targets.RuleDemand {
		var from []string
		for i := range peers {
			from = append(from, fmt.Sprintf("{ipBlock: {cidr: 10.0.%d.0/24}}", i))
		}
		_, d := resolveDemand(t, "RULE", "{from: ["+strings.Join(from, ", ")+"], ports: [{port: web}, "+strings.Join(ports, ", ")+"]}")
		return d
	}
	if d := demand(50); len(d.PodDemands[0].Rules) != 5000 || len(d.PodDemands[1].Rules) != 5000 || d.Faulty {
		t.Errorf("%d and %d rules within the limit, findings %v", len(d.PodDemands[0].Rules), len(d.PodDemands[1].Rules), d.Findings)
	}
	if d := demand(51); len(d.PodDemands[0].Rules) != 5100 || len(d.PodDemands[1].Rules) != 0 || !d.Faulty || len(d.Findings) != 1 {
		t.Errorf("%d and %d rules above the limit, findings %v", len(d.PodDemands[0].Rules), len(d.PodDemands[1].Rules), d.Findings)
	}
}

// TestPodsWithTheSamePortNumbersShareRules checks that the rules of a port name are computed once for all pods in which it has
// the same number.
func TestPodsWithTheSamePortNumbersShareRules(t *testing.T) {
	_, d := resolveDemand(t, "containerPort: 9090", "containerPort: 8080", "RULE", "{from: [{securityGroup: {groupID: sg-b}}], ports: [{port: web}]}")
	if a, b := d.PodDemands[0].Rules, d.PodDemands[1].Rules; len(a) != 1 || len(b) != 1 || &a[0] != &b[0] {
		t.Errorf("rules %v and %v, want one shared list", a, b)
	}
}
