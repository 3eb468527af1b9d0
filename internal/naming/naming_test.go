package naming_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

func stackOfKind(kind model.Kind, s string) model.StackID {
	ns, name, ok := strings.Cut(s, "/")
	if !ok {
		return model.StackID{Kind: kind, Name: s}
	}
	return model.StackID{Kind: kind, Namespace: ns, Name: name}
}

func ingressStack(s string) model.StackID { return stackOfKind(model.Ingress, s) }

func ref(kind, s string) finding.Ref {
	ns, name, _ := strings.Cut(s, "/")
	return finding.Ref{Kind: kind, Namespace: ns, Name: name}
}

func TestLogicalIDs(t *testing.T) {
	tests := []struct{ want, got string }{
		{"garden/rose-bed-kiosk:80", naming.IngressTargetGroupID("garden", "rose-bed", "kiosk", "80")},
		{"garden/rose-bed-kiosk:web", naming.IngressTargetGroupID("garden", "rose-bed", "kiosk", "web")},
		{"harbour/pier-9:443", naming.ServiceTargetGroupID("harbour", "pier-9", 443)},
		{"harbour/pier-9-canary:443", naming.ServiceTargetGroupID("harbour", "pier-9-canary", 443)},
		{"bridge/alb-gate:meadow-paths.v1:HTTPRoute-meadow-barn:8080", naming.GatewayTargetGroupID(
			ref("Gateway", "bridge/alb-gate"), ref("HTTPRoute", "meadow/paths.v1"), ref("Service", "meadow/barn"), "8080")},
		{"bridge/alb-gate:meadow-calls:GRPCRoute-cellar-vats:9000", naming.GatewayTargetGroupID(
			ref("Gateway", "bridge/alb-gate"), ref("GRPCRoute", "meadow/calls"), ref("Service", "cellar/vats"), "9000")},
		{"bridge/nlb-gate.v2:bridge-to-alb:TCPRoute-bridge-alb-gate:443", naming.GatewayTargetGroupID(
			ref("Gateway", "bridge/nlb-gate.v2"), ref("TCPRoute", "bridge/to-alb"), ref("Gateway", "bridge/alb-gate"), "443")},
		{"443", naming.ListenerID(443)},
		{"443:3", naming.RuleID(443, 3)},
		{"FrontendNlb-ls-TCP-443", naming.FrontendListenerID(443)},
		{"FrontendNlb-tg-TCP-443", naming.FrontendTargetGroupID(443)},
		{"amazon_issued/wildcard.garden.example-c353b3c7", naming.CertificateID("amazon_issued", ref("Ingress", "garden/rose-bed"), "*.garden.example")},
		{"private/rose.garden.example-c353b3c7", naming.CertificateID("private", ref("Ingress", "garden/rose-bed"), "rose.garden.example")},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestLongIDsFitTagsAndStayDistinct(t *testing.T) {
	long := strings.Repeat("a", 253)
	one := naming.IngressTargetGroupID("ns", long, "svc", "80")
	two := naming.IngressTargetGroupID("ns", long, "svc", "81")
	if len(one) > 256 || len(two) > 256 || one == two {
		t.Errorf("%d and %d characters, equal: %v", len(one), len(two), one == two)
	}
}

// TestOnlyTheClusterTagDecidesIfThereIsOne checks that a resource with the tag of a cluster belongs to no other cluster, even
// if a user of the cluster has set the tag by which the first generation of controllers named the cluster.
func TestOnlyTheClusterTagDecidesIfThereIsOne(t *testing.T) {
	id := ingressStack("shop/web")
	forged := naming.ResourceTags("theirs", id, "LoadBalancer", map[string]string{"ingress.k8s.aws/cluster": "ours"})
	first := map[string]string{"ingress.k8s.aws/cluster": "ours", "ingress.k8s.aws/stack": "shop/web", "ingress.k8s.aws/resource": "LoadBalancer"}
	for name, c := range map[string]struct {
		tags    map[string]string
		cluster string
		want    bool
	}{
		"the cluster that a user names":               {forged, "ours", false},
		"the cluster of the controller":               {forged, "theirs", true},
		"the first generation":                        {first, "ours", true},
		"the first generation, of another cluster":    {first, "theirs", false},
		"the first generation, after it was adopted":  {naming.ResourceTags("ours", id, "LoadBalancer", first), "ours", true},
		"a stack of the cluster that a user has made": {naming.ResourceTags("ours", id, "LoadBalancer", map[string]string{"ingress.k8s.aws/cluster": "theirs"}), "ours", true},
	} {
		if got := naming.BelongsToCluster(c.cluster, c.tags); got != c.want {
			t.Errorf("%s: belongs to the cluster: %v", name, got)
		}
		if got := naming.BelongsToStack(c.cluster, id, c.tags); got != c.want {
			t.Errorf("%s: belongs to the stack: %v", name, got)
		}
	}
}

func TestTags(t *testing.T) {
	id := ingressStack("shop/web-front")
	want := map[string]string{
		"elbv2.k8s.aws/cluster":    "prod-eu",
		"ingress.k8s.aws/stack":    "shop/web-front",
		"ingress.k8s.aws/resource": "443:3",
		"team":                     "a",
	}
	got := naming.ResourceTags("prod-eu", id, "443:3", map[string]string{"team": "a", "elbv2.k8s.aws/cluster": "evil"})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for key := range want {
		if got, want := naming.IsReservedTag(key), key != "team"; got != want {
			t.Errorf("IsReservedTag(%s) = %v", key, got)
		}
	}
	wantBackend := map[string]string{"elbv2.k8s.aws/cluster": "c", "elbv2.k8s.aws/resource": "backend-sg", "team": "a"}
	if d := cmp.Diff(wantBackend, naming.BackendSecurityGroupTags("c", map[string]string{"team": "a", "elbv2.k8s.aws/resource": "x"})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if !naming.IsLegacyTag("c", "kubernetes.io/cluster/c") || naming.IsLegacyTag("c", "kubernetes.io/cluster/d") {
		t.Error("legacy cluster tag of another cluster")
	}
}

func TestStackFromLabelsReturnsTheLabeledStack(t *testing.T) {
	tests := []struct {
		id   model.StackID
		want map[string]string
	}{
		{ingressStack("shop/web"), map[string]string{"ingress.k8s.aws/stack-namespace": "shop", "ingress.k8s.aws/stack-name": "web"}},
		{ingressStack("group"), map[string]string{"ingress.k8s.aws/stack": "group"}},
		{stackOfKind(model.NLBGateway, "a/b"), map[string]string{"gateway.k8s.aws.nlb/stack-namespace": "a", "gateway.k8s.aws.nlb/stack-name": "b"}},
		{ingressStack("shop/" + strings.Repeat("a", 70)), nil},
	}
	for _, tt := range tests {
		got := naming.StackLabels(tt.id)
		if tt.want != nil {
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		}
		for k, v := range got {
			if len(v) > 63 {
				t.Errorf("label %s has %d characters", k, len(v))
			}
		}
		if back, ok := naming.StackFromLabels(got); !ok || back != naming.StackInLabels(tt.id) {
			t.Errorf("%v came back as %v, %v", tt.id, back, ok)
		}
	}
}

func TestFinalizers(t *testing.T) {
	for id, want := range map[model.StackID]string{
		ingressStack("a/b"):                      "ingress.k8s.aws/resources",
		ingressStack("team"):                     "group.ingress.k8s.aws/team",
		stackOfKind(model.Service, "a/b"):        "service.k8s.aws/resources",
		stackOfKind(model.ALBGateway, "a/b"):     "gateway.k8s.aws/alb",
		stackOfKind(model.NLBGateway, "infra/b"): "gateway.k8s.aws/nlb",
	} {
		if got := naming.Finalizer(id); got != want {
			t.Errorf("%v: got %s, want %s", id, got, want)
		}
	}
}

func TestLoadBalancerNameFault(t *testing.T) {
	for name, ok := range map[string]bool{
		"web-1": true, "": false, "-a": false, "a-": false, "internal-a": false, "a_b": false, "ä": false,
		strings.Repeat("a", 32): true, strings.Repeat("a", 33): false,
	} {
		if got := naming.LoadBalancerNameFault(name); (got == "") != ok {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func FuzzGeneratedNamesAreValid(f *testing.F) {
	f.Add("c", "ns", "name")
	f.Add("", "", "x-")
	f.Fuzz(func(t *testing.T, cluster, ns, name string) {
		got := naming.IngressLoadBalancerName(cluster, model.StackID{Kind: model.Ingress, Namespace: ns, Name: name}, model.Internal)
		if fault := naming.LoadBalancerNameFault(got); fault != "" {
			t.Errorf("%q: %s", got, fault)
		}
	})
}

func TestDistinctIDsFitIntoTags(t *testing.T) {
	long := strings.Repeat("a", 256)
	seen := map[string]bool{}
	for _, id := range []string{naming.DistinctID("ns/web-api:80", "x", "y"), naming.DistinctID("ns/web-api:80", "xy", ""), naming.DistinctID(long, "x"), naming.DistinctID(long+"b", "x")} {
		if len(id) > 256 || seen[id] {
			t.Errorf("%d characters, seen: %v: %s", len(id), seen[id], id)
		}
		seen[id] = true
	}
}
