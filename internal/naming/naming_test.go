package naming_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

const (
	u1 = "1b6f3a52-4f0c-4a7e-9f4e-0d8f6c2b7a10"
	u2 = "9e1d2c3b-0a4f-4b5c-8d6e-7f8091a2b3c4"
	u3 = "5c0de9a4-7c35-4c60-8f0e-2f0b4c1a9d77"
	u4 = "11111111-2222-3333-4444-555555555555"
	u5 = "bdca2bd0-bfc6-449a-88a3-03451f05f18c"
)

func stack(kind model.Kind, s string) model.StackID {
	ns, name, ok := strings.Cut(s, "/")
	if !ok {
		return model.StackID{Kind: kind, Name: s}
	}
	return model.StackID{Kind: kind, Namespace: ns, Name: name}
}

func ing(s string) model.StackID { return stack(model.Ingress, s) }

func ref(kind, s string) finding.Ref {
	ns, name, _ := strings.Cut(s, "/")
	return finding.Ref{Kind: kind, Namespace: ns, Name: name}
}

func ptr[T any](v T) *T { return &v }

func TestNamesAreThoseOfLiveResources(t *testing.T) {
	checkout := naming.IngressTargetGroup{
		Cluster: "prod-eu", Stack: ing("shop/web-front"), Ingress: ref("Ingress", "shop/web-front"),
		Service: ref("Service", "shop/checkout-api"), ServiceUID: u1, ServicePort: "80", Port: 8080,
		Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	frontend := naming.IngressTargetGroup{
		Cluster: "prod-eks", Stack: ing("shop/storefront"), Ingress: ref("Ingress", "shop/storefront"),
		Service: ref("Service", "shop/web-frontend"), ServiceUID: u4, ServicePort: "80", Port: 8080,
		Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	control := naming.IngressTargetGroup{
		Ingress: ref("Ingress", "ns-1/name-1"), Service: ref("Service", "ns-1/name-1"), ServiceUID: "my-uuid",
		ServicePort: "http", Port: 8080, Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	tcp := naming.ServiceTargetGroup{
		Cluster: "prod-eu", Backend: ref("Service", "edge/tcp-gateway"), BackendUID: u1, Port: 8443, ServicePort: 443,
		Type: model.IPTargets, Protocol: "TCP", HealthProtocol: "TCP", HealthInterval: 10,
	}
	myRoute := naming.GatewayTargetGroup{
		Cluster: "foo", Gateway: ref("Gateway", "my-ns/my-gw"), Route: ref("HTTPRoute", "my-ns/my-route"),
		Backend: ref("Service", "my-ns/my-svc"), Port: "80", Type: model.IPTargets, Protocol: "TCP",
	}
	route := naming.GatewayTargetGroup{
		Cluster: "prod-eu", Gateway: ref("Gateway", "infra/public-gateway"), Route: ref("HTTPRoute", "shop/checkout-route"),
		Backend: ref("Service", "shop/checkout-api"), Port: "8080", Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	nlbFront := naming.FrontendTargetGroup{Cluster: "prod-eu", Stack: ing("shop/web-front"), Port: 443, Protocol: "TCP", HealthPort: "traffic-port", HealthProtocol: "HTTP"}
	with := func(g naming.IngressTargetGroup, change func(*naming.IngressTargetGroup)) string {
		change(&g)
		return g.Name()
	}
	withService := func(change func(*naming.ServiceTargetGroup)) string {
		g := tcp
		change(&g)
		return g.Name()
	}
	withRoute := func(g naming.GatewayTargetGroup, change func(*naming.GatewayTargetGroup)) string {
		change(&g)
		return g.Name()
	}
	withFront := func(change func(*naming.FrontendTargetGroup)) string {
		g := nlbFront
		change(&g)
		return g.Name()
	}
	tests := []struct{ name, want, got string }{
		{"load balancer, implicit, public", "k8s-awesomen-ing1-43b698093c", naming.LoadBalancer("", ing("awesome-ns/ing-1"), model.InternetFacing)},
		{"load balancer, explicit, internal", "k8s-explicitgroup-5bf9e53c23", naming.LoadBalancer("", ing("explicit-group"), model.Internal)},
		{"load balancer, public", "k8s-ns1-ing1-159dd7a143", naming.LoadBalancer("cluster-dummy", ing("ns-1/ing-1"), model.InternetFacing)},
		{"load balancer, internal", "k8s-ns1-ing1-b7e914000d", naming.LoadBalancer("cluster-dummy", ing("ns-1/ing-1"), model.Internal)},
		{"managed group", "k8s-ns1-ing1-bd83176788", naming.ManagedGroup("cluster-dummy", ing("ns-1/ing-1"))},
		{"target group, instance", "k8s-ns1-svc1-9889425938", naming.IngressTargetGroup{
			Cluster: "cluster-dummy", Stack: ing("ns-1/ing-1"), Ingress: ref("Ingress", "ns-1/ing-1"),
			Service: ref("Service", "ns-1/svc-1"), ServicePort: "http", Port: 32768, Type: model.InstanceTargets,
			Protocol: "HTTP", Version: "HTTP1",
		}.Name()},
		{"target group, control port", "k8s-ns1-name1-7ed91338c9", with(control, func(g *naming.IngressTargetGroup) { g.ControlPort = ptr(int32(80)) })},
		{"target group, no control port", "k8s-ns1-name1-2c37289a00", control.Name()},
		{"Service load balancer", "k8s-default-nlbipsvc-6b0ba8ff70", naming.OwnedLoadBalancer("my-cluster", stack(model.Service, "default/nlb-ip-svc-tls"), u5, model.Internal)},
		{"Service target group", "k8s-default-nlbipsvc-d4818dcd51", naming.ServiceTargetGroup{
			Cluster: "my-cluster", Backend: ref("Service", "default/nlb-ip-svc-tls"), BackendUID: u5, Port: 80, ServicePort: 80,
			Type: model.IPTargets, Protocol: "TCP", HealthProtocol: "TCP", HealthInterval: 10,
		}.Name()},
		{"Service group", "k8s-default-nlbipsvc-1da4b78715", naming.OwnedManagedGroup("my-cluster", stack(model.Service, "default/nlb-ip-svc-tls"), u5)},
		{"Gateway target group", "k8s-myns-myroute-27d98b9190", myRoute.Name()},
		{"Gateway target group, HTTP2", "k8s-myns-myroute-d2bd5deaa7", withRoute(myRoute, func(g *naming.GatewayTargetGroup) { g.Version = "HTTP2" })},
		{"Gateway target group, control port", "k8s-myns-myroute-54e81471e4", withRoute(myRoute, func(g *naming.GatewayTargetGroup) { g.ControlPort = ptr(int32(3000)) })},
		{"backend group", "k8s-traffic-testCluster-411a1bcdb1", naming.BackendGroup("testCluster")},
		{"backend group, hyphen", "k8s-traffic-prodeu-3312b6955a", naming.BackendGroup("prod-eu")},
		{"backend group, dot", "k8s-traffic-mycluster1-9ecba75ec0", naming.BackendGroup("my.cluster_1")},
		{"backend group, my-cluster", "k8s-traffic-mycluster-4cbfcec96c", naming.BackendGroup("my-cluster")},
		{"backend group, underscore", "k8s-traffic-prodeu1-619ae9d774", naming.BackendGroup("prod_eu.1")},

		{"web-front, public", "k8s-shop-webfront-35b84a41a7", naming.LoadBalancer("prod-eu", ing("shop/web-front"), model.InternetFacing)},
		{"web-front, internal", "k8s-shop-webfront-918926d92d", naming.LoadBalancer("prod-eu", ing("shop/web-front"), model.Internal)},
		{"web-front, frontend", "k8s-shop-webfront-35b84a41a7-nlb", naming.FrontendNLB("k8s-shop-webfront-35b84a41a7")},
		{"web-front, group", "k8s-shop-webfront-ed1ece2f42", naming.ManagedGroup("prod-eu", ing("shop/web-front"))},
		{"shared, public", "k8s-mysharedgroupteam-5abfb4abc4", naming.LoadBalancer("prod-eu", ing("my.shared-group.team-a"), model.InternetFacing)},
		{"shared, frontend", "k8s-mysharedgroupteam-5abfb4-nlb", naming.FrontendNLB("k8s-mysharedgroupteam-5abfb4abc4")},
		{"shared, group", "k8s-mysharedgroupteam-b31ffa2b14", naming.ManagedGroup("prod-eu", ing("my.shared-group.team-a"))},
		{"checkout", "k8s-shop-checkout-5b47c123f2", checkout.Name()},
		{"checkout, instance", "k8s-shop-checkout-18377528b6", with(checkout, func(g *naming.IngressTargetGroup) {
			g.ServicePort, g.Port, g.Type = "http", 31080, model.InstanceTargets
		})},
		{"checkout, GRPC", "k8s-shop-checkout-56aba9ca7d", with(checkout, func(g *naming.IngressTargetGroup) { g.Version = "GRPC" })},
		{"checkout, named target port", "k8s-shop-checkout-43bf1ce9e2", with(checkout, func(g *naming.IngressTargetGroup) { g.Port = 1 })},
		{"checkout, control port", "k8s-shop-checkout-1fab6eb4e2", with(checkout, func(g *naming.IngressTargetGroup) { g.ControlPort = ptr(int32(3000)) })},
		{"checkout, explicit group", "k8s-shop-checkout-7ec430423a", with(checkout, func(g *naming.IngressTargetGroup) { g.Stack = ing("my.shared-group.team-a") })},
		{"frontend target group", "k8s-shop-webfront-5eda1aec19", nlbFront.Name()},
		{"frontend target group, explicit group", "k8s-mysharedgroupteam-ad20a46d70", withFront(func(g *naming.FrontendTargetGroup) { g.Stack = ing("my.shared-group.team-a") })},
		{"tcp-gateway, internal", "k8s-edge-tcpgatew-d90dc50c1f", naming.OwnedLoadBalancer("prod-eu", stack(model.Service, "edge/tcp-gateway"), u1, model.Internal)},
		{"tcp-gateway, public", "k8s-edge-tcpgatew-bbbe771f26", naming.OwnedLoadBalancer("prod-eu", stack(model.Service, "edge/tcp-gateway"), u1, model.InternetFacing)},
		{"tcp-gateway, group", "k8s-edge-tcpgatew-20278c38b3", naming.OwnedManagedGroup("prod-eu", stack(model.Service, "edge/tcp-gateway"), u1)},
		{"tcp-gateway, targets", "k8s-edge-tcpgatew-0443a8b34d", tcp.Name()},
		{"tcp-gateway, instance", "k8s-edge-tcpgatew-097b5e72c6", withService(func(g *naming.ServiceTargetGroup) {
			g.Type, g.Port, g.HealthProtocol = model.InstanceTargets, 30443, "HTTP"
		})},
		{"tcp-gateway, weighted", "k8s-edge-tcpgatew-7aa5915711", withService(func(g *naming.ServiceTargetGroup) {
			g.Backend, g.BackendUID, g.BaseUID = ref("Service", "edge/tcp-gateway-v2"), u2, u1
		})},
		{"public-gateway", "k8s-infra-publicga-0b2881679a", naming.OwnedLoadBalancer("prod-eu", stack(model.ALBGateway, "infra/public-gateway"), u3, model.InternetFacing)},
		{"public-gateway, group", "k8s-infra-publicga-c18da76137", naming.OwnedManagedGroup("prod-eu", stack(model.ALBGateway, "infra/public-gateway"), u3)},
		{"route", "k8s-shop-checkout-6029a4d14b", route.Name()},
		{"route, named port", "k8s-shop-checkout-c2e06d7f55", withRoute(route, func(g *naming.GatewayTargetGroup) { g.Port = "http" })},
		{"route, instance", "k8s-shop-checkout-8c813464bc", withRoute(route, func(g *naming.GatewayTargetGroup) { g.Port, g.Type = "31080", model.InstanceTargets })},
		{"route, GRPC", "k8s-shop-checkout-a5e3ddb20a", withRoute(route, func(g *naming.GatewayTargetGroup) { g.Route.Kind, g.Version = "GRPCRoute", "GRPC" })},
		{"TCP route", "k8s-shop-dbroute-e5b906e621", naming.GatewayTargetGroup{
			Cluster: "prod-eu", Gateway: ref("Gateway", "infra/public-gateway"), Route: ref("TCPRoute", "shop/db-route"),
			Backend: ref("Service", "shop/db"), Port: "5432", Type: model.IPTargets, Protocol: "TCP",
		}.Name()},
		{"TCP route to a Gateway", "k8s-infra-toalb-9d10173a55", naming.GatewayTargetGroup{
			Cluster: "prod-eu", Gateway: ref("Gateway", "infra/edge-nlb"), Route: ref("TCPRoute", "infra/to-alb"),
			Backend: ref("Gateway", "infra/public-gateway"), Port: "443", Type: model.ALBTargets, Protocol: "TCP",
		}.Name()},

		{"storefront, internal", "k8s-shop-storefro-9b510ce6f3", naming.LoadBalancer("prod-eks", ing("shop/storefront"), model.Internal)},
		{"storefront, public", "k8s-shop-storefro-05ff25d5f6", naming.LoadBalancer("prod-eks", ing("shop/storefront"), model.InternetFacing)},
		{"storefront, group", "k8s-shop-storefro-7ae56988e5", naming.ManagedGroup("prod-eks", ing("shop/storefront"))},
		{"awesome group, public", "k8s-myteamawesomegrou-f8f96ed77b", naming.LoadBalancer("prod-eks", ing("my-team.awesome-group"), model.InternetFacing)},
		{"awesome group, group", "k8s-myteamawesomegrou-01d54777f6", naming.ManagedGroup("prod-eks", ing("my-team.awesome-group"))},
		{"web-frontend by number", "k8s-shop-webfront-680c29966b", frontend.Name()},
		{"web-frontend by name", "k8s-shop-webfront-bd8721fcd6", with(frontend, func(g *naming.IngressTargetGroup) { g.ServicePort = "http" })},
		{"web-frontend, control port", "k8s-shop-webfront-4178e094ee", with(frontend, func(g *naming.IngressTargetGroup) { g.ControlPort = ptr(int32(3000)) })},
		{"storefront, frontend", "k8s-shop-storefro-05ff25d5f6-nlb", naming.FrontendNLB("k8s-shop-storefro-05ff25d5f6")},
		{"storefront, frontend targets", "k8s-shop-storefro-ecab564046", naming.FrontendTargetGroup{
			Cluster: "prod-eks", Stack: ing("shop/storefront"), Port: 80, Protocol: "TCP", HealthPort: "traffic-port", HealthProtocol: "HTTP",
		}.Name()},
		{"my-ingress group", "k8s-default-myingres-70b1d2ca08", naming.ManagedGroup("my-cluster", ing("default/my-ingress"))},
		{"shared-alb group", "k8s-sharedalb-502c7abcfb", naming.ManagedGroup("my-cluster", ing("shared-alb"))},
		{"my-svc group", "k8s-default-mysvc-12cfe5fd10", naming.OwnedManagedGroup("my-cluster", stack(model.Service, "default/my-svc"), "c6e1f1a2-0000-4000-8000-000000000001")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %s, want %s", tt.got, tt.want)
			}
		})
	}
}

func TestLogicalIDs(t *testing.T) {
	tests := []struct{ want, got string }{
		{"shop/web-front-checkout-api:http", naming.IngressTargetGroupID("shop", "web-front", "checkout-api", "http")},
		{"shop/storefront-web-frontend:80", naming.IngressTargetGroupID("shop", "storefront", "web-frontend", "80")},
		{"edge/tcp-gateway:443", naming.ServiceTargetGroupID("edge", "tcp-gateway", 443)},
		{"infra/public-gateway:shop-checkout-route:HTTPRoute-shop-checkout-api:8080", naming.GatewayTargetGroupID(
			ref("Gateway", "infra/public-gateway"), ref("HTTPRoute", "shop/checkout-route"), ref("Service", "shop/checkout-api"), "8080")},
		{"443", naming.ListenerID(443)},
		{"443:3", naming.RuleID(443, 3)},
		{"FrontendNlb-ls-TCP-443", naming.FrontendListenerID(443)},
		{"FrontendNlb-tg-TCP-443", naming.FrontendTargetGroupID(443)},
		{"amazon_issued/wildcard.example.com-aa6ac661", naming.CertificateID("amazon_issued", ref("Ingress", "shop/web-front"), "*.example.com")},
		{"amazon_issued/wildcard.example.com-d166cedb", naming.CertificateID("amazon_issued", ref("Ingress", "shop/storefront"), "*.example.com")},
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

func TestTags(t *testing.T) {
	id := ing("shop/web-front")
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
		if got, want := naming.ReservedTag(key), key != "team"; got != want {
			t.Errorf("ReservedTag(%s) = %v", key, got)
		}
	}
	wantBackend := map[string]string{"elbv2.k8s.aws/cluster": "c", "elbv2.k8s.aws/resource": "backend-sg", "team": "a"}
	if d := cmp.Diff(wantBackend, naming.BackendGroupTags("c", map[string]string{"team": "a", "elbv2.k8s.aws/resource": "x"})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if !naming.LegacyTag("c", "kubernetes.io/cluster/c") || naming.LegacyTag("c", "kubernetes.io/cluster/d") {
		t.Error("legacy cluster tag of another cluster")
	}
}

func TestLabelsComeBackAsStack(t *testing.T) {
	tests := []struct {
		id   model.StackID
		want map[string]string
	}{
		{ing("shop/web"), map[string]string{"ingress.k8s.aws/stack-namespace": "shop", "ingress.k8s.aws/stack-name": "web"}},
		{ing("group"), map[string]string{"ingress.k8s.aws/stack": "group"}},
		{stack(model.NLBGateway, "a/b"), map[string]string{"gateway.k8s.aws.nlb/stack-namespace": "a", "gateway.k8s.aws.nlb/stack-name": "b"}},
		{ing("shop/" + strings.Repeat("a", 70)), nil},
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
		if back, ok := naming.StackFromLabels(got); !ok || back != naming.LabelStack(tt.id) {
			t.Errorf("%v came back as %v, %v", tt.id, back, ok)
		}
	}
}

func TestFinalizers(t *testing.T) {
	for id, want := range map[model.StackID]string{
		ing("a/b"):                         "ingress.k8s.aws/resources",
		ing("team"):                        "group.ingress.k8s.aws/team",
		stack(model.Service, "a/b"):        "service.k8s.aws/resources",
		stack(model.ALBGateway, "a/b"):     "gateway.k8s.aws/alb",
		stack(model.NLBGateway, "infra/b"): "gateway.k8s.aws/nlb",
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
		got := naming.LoadBalancer(cluster, model.StackID{Kind: model.Ingress, Namespace: ns, Name: name}, model.Internal)
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
