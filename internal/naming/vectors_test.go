package naming_test

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

const (
	testCluster = "orchid-7"
	uid1        = "3f0d6c1e-58a2-4d0b-9a77-c1e2d3f40516"
	uid2        = "a81b2c3d-9e4f-4061-8273-8495a6b7c8d9"
	uid3        = "5c7e9012-3456-4789-8abc-def012345678"

	longNamespace = "long-namespace-name-that-goes-on-up-to-the-limit-of-63-chars-ok"
	longIngress   = longNamespace + "/ingress.with.dots-and-many-more-characters-than-anyone-would-type"
	longName      = "service-name-up-to-63-characters-aaaaaaaaaaaaaaaaaaaaaaaaaaaa-9"
	longTeam      = "namespace-of-a-very-large-team-in-the-far-far-north-department1"
	longGateway   = longTeam + "/gateway-name-up-to-63-characters-bbbbbbbbbbbbbbbbbbbbbbbbbbbb-8"
	longGroup     = "g0123456789-0123456789-0123456789-0123456789-0123456789-012345z"
)

// recordedName is a name that a real cluster had, and the name that this package generates. row is the number of the row in
// the recording.
type recordedName struct {
	row       int
	want, got string
}

func checkNames(t *testing.T, vectors []recordedName) {
	t.Helper()
	for _, v := range vectors {
		if v.got != v.want {
			t.Errorf("%d: got %s, want %s", v.row, v.got, v.want)
		}
	}
}

// nameAfterChange returns the name of a target group after change has changed its values.
func nameAfterChange[T interface{ Name() string }](g T, change func(*T)) string {
	change(&g)
	return g.Name()
}

func TestNamesOfIngresses(t *testing.T) {
	ingress := func(cluster, of string, scheme model.Scheme) string {
		return naming.IngressLoadBalancerName(cluster, ingressStack(of), scheme)
	}
	const in, ext = model.Internal, model.InternetFacing
	checkNames(t, []recordedName{
		{1, "k8s-garden-rosebed-635d5ae520", ingress(testCluster, "garden/rose-bed", in)},
		{2, "k8s-garden-rosebed-79b6ed9085", ingress(testCluster, "garden/rose-bed", ext)},
		{3, "k8s-garden-rosebed-a0b2d1d9b7", ingress("eu.prod_2", "garden/rose-bed", in)},
		{4, "k8s-a-b-aee45f32c8", ingress(testCluster, "a/b", in)},
		{5, "k8s-9to5-01-0232b8ee4e", ingress(testCluster, "9-to-5/0.1", ext)},
		{6, "k8s-pqrst-uvwxyz-d4b4fc8f1c", ingress(testCluster, "p-q-r-s-t/u.v.w-x-y-z", in)},
		{7, "k8s-longname-ingressw-63960e462e", ingress(testCluster, longIngress, in)},
		{8, "k8s-tulips-340ecdb9f0", ingress(testCluster, "tulips", in)},
		{9, "k8s-tulips-f74bc9fcc6", ingress(testCluster, "tulips", ext)},
		{10, "k8s-northfield2tulips-c4c715b509", ingress(testCluster, "north.field-2.tulips-and-more", in)},
		{11, "k8s-northfield2tulips-5ab62ac07c", ingress(testCluster, "north.field-2.tulips-and-more", ext)},
		{12, "k8s-g0123456789012345-6808592ad4", ingress(testCluster, longGroup, ext)},
		{13, "k8s-7-0840312b4b", ingress(testCluster, "7", in)},

		{14, "k8s-garden-rosebed-79b6ed908-nlb", naming.FrontendNLBName("k8s-garden-rosebed-79b6ed9085")},
		{15, "k8s-a-b-aee45f32c8-nlb", naming.FrontendNLBName("k8s-a-b-aee45f32c8")},
		{16, "k8s-northfield2tulips-5ab62a-nlb", naming.FrontendNLBName("k8s-northfield2tulips-5ab62ac07c")},
		{17, "garden-front-door-nlb", naming.FrontendNLBName("garden-front-door")},
		{18, "garden-front-door-of-product-nlb", naming.FrontendNLBName("garden-front-door-of-production")},
		{18, "garden-front-door-of-product-nlb", naming.FrontendNLBName("garden-front-door-of-production1")},

		{19, "k8s-garden-rosebed-2e191b3f86", naming.IngressSecurityGroupName(testCluster, ingressStack("garden/rose-bed"))},
		{20, "k8s-longname-ingressw-528921e5f8", naming.IngressSecurityGroupName(testCluster, ingressStack(longIngress))},
		{21, "k8s-tulips-8a54a747e3", naming.IngressSecurityGroupName(testCluster, ingressStack("tulips"))},
		{22, "k8s-northfield2tulips-43fcb93c67", naming.IngressSecurityGroupName(testCluster, ingressStack("north.field-2.tulips-and-more"))},
	})
}

func TestNamesOfTargetGroupsOfIngresses(t *testing.T) {
	type group = naming.IngressTargetGroup
	kiosk := group{
		Cluster: testCluster, Stack: ingressStack("garden/rose-bed"), Ingress: ref("Ingress", "garden/rose-bed"),
		Service: ref("Service", "garden/kiosk"), ServiceUID: uid1, ServicePort: "80", Port: 8080,
		Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	front := naming.FrontendTargetGroup{Cluster: testCluster, Stack: ingressStack("garden/rose-bed"), Port: 80, Protocol: "TCP", HealthPort: "traffic-port", HealthProtocol: "HTTP"}
	checkNames(t, []recordedName{
		{23, "k8s-garden-kiosk-77907179cd", kiosk.Name()},
		{24, "k8s-garden-kiosk-5af380819c", nameAfterChange(kiosk, func(g *group) { g.ServicePort = "web" })},
		{25, "k8s-garden-kiosk-62ad67c14e", nameAfterChange(kiosk, func(g *group) { g.Type, g.Port = model.InstanceTargets, 30111 })},
		{26, "k8s-garden-kiosk-9459c663c6", nameAfterChange(kiosk, func(g *group) { g.Port = 1 })},
		{27, "k8s-garden-kiosk-4b4bc9dee1", nameAfterChange(kiosk, func(g *group) { g.Protocol, g.Version = "HTTPS", "HTTP2" })},
		{28, "k8s-garden-kiosk-737e29c967", nameAfterChange(kiosk, func(g *group) { g.Version = "GRPC" })},
		{29, "k8s-garden-kiosk-fed198e68d", nameAfterChange(kiosk, func(g *group) { g.ControlPort = new(int32(9099)) })},
		{30, "k8s-garden-kiosk-b9ddd19958", nameAfterChange(kiosk, func(g *group) { g.Stack = ingressStack("tulips") })},
		{31, "k8s-longname-servicen-0ed1ac5a95", nameAfterChange(kiosk, func(g *group) {
			g.Stack, g.Ingress, g.Service = ingressStack(longIngress), ref("Ingress", longIngress), ref("Service", longNamespace+"/"+longName)
			g.ServicePort, g.Port, g.Protocol = "https-alt", 65535, "HTTPS"
		})},
		{32, "k8s-garden-rosebed-85f8de6d2e", front.Name()},
		{33, "k8s-garden-rosebed-3063d09ea3", nameAfterChange(front, func(g *naming.FrontendTargetGroup) {
			g.Port, g.HealthPort, g.HealthProtocol = 443, "9200", "HTTPS"
		})},
		{34, "k8s-northfield2tulips-b2e3c5eb02", nameAfterChange(front, func(g *naming.FrontendTargetGroup) {
			g.Stack, g.Port = ingressStack("north.field-2.tulips-and-more"), 443
		})},
	})
}

func TestNamesOfServices(t *testing.T) {
	type group = naming.ServiceTargetGroup
	lb := func(of, uid string, scheme model.Scheme) string {
		return naming.LoadBalancerNameWithUID(testCluster, stackOfKind(model.Service, of), uid, scheme)
	}
	managed := func(of string) string {
		return naming.SecurityGroupNameWithUID(testCluster, stackOfKind(model.Service, of), uid2)
	}
	pier := group{
		Cluster: testCluster, Backend: ref("Service", "harbour/pier-9"), BackendUID: uid2, Port: 8443, ServicePort: 443,
		Type: model.IPTargets, Protocol: "TCP", HealthProtocol: "TCP", HealthInterval: 10,
	}
	dns := func(protocol string) string {
		return nameAfterChange(pier, func(g *group) { g.ServicePort, g.Port, g.Protocol = 53, 5353, protocol })
	}
	canary := pier
	canary.Backend, canary.BackendUID = ref("Service", "harbour/pier-9-canary"), uid3
	checkNames(t, []recordedName{
		{35, "k8s-harbour-pier9-2e08e4bc29", lb("harbour/pier-9", uid2, model.Internal)},
		{35, "k8s-harbour-pier9-f618426ec2", lb("harbour/pier-9", uid2, model.InternetFacing)},
		{36, "k8s-z-q-2e08e4bc29", lb("z/q", uid2, model.Internal)},
		{37, "k8s-namespac-servicen-f618426ec2", lb(longTeam+"/"+longName, uid2, model.InternetFacing)},
		{38, "k8s-harbour-pier9-42f4097432", managed("harbour/pier-9")},
		{38, "k8s-z-q-d49b0042a1", managed("z/q")},
		{38, "k8s-namespac-servicen-8d58025732", managed(longTeam + "/" + longName)},
		{39, "k8s-harbour-pier9-47a44d7d75", pier.Name()},
		{40, "k8s-harbour-pier9-e986c17fd0", nameAfterChange(pier, func(g *group) { g.Port = 1 })},
		{41, "k8s-harbour-pier9-e71d9cd1b0", nameAfterChange(pier, func(g *group) {
			g.Type, g.Port, g.HealthProtocol = model.InstanceTargets, 30443, "HTTP"
		})},
		{42, "k8s-harbour-pier9-1233cb2740", nameAfterChange(pier, func(g *group) { g.Protocol, g.HealthProtocol, g.HealthInterval = "TLS", "HTTPS", 30 })},
		{43, "k8s-harbour-pier9-335faf2d21", nameAfterChange(pier, func(g *group) {
			g.ServicePort, g.Port, g.Type, g.Protocol = 53, 30053, model.InstanceTargets, "UDP"
		})},
		{44, "k8s-harbour-pier9-58a7bcdc51", dns("TCP_UDP")},
		{45, "k8s-harbour-pier9-3f75fbf062", nameAfterChange(pier, func(g *group) { g.Protocol = "QUIC" })},
		{45, "k8s-harbour-pier9-bbe23bb5c3", nameAfterChange(pier, func(g *group) { g.Protocol = "TCP_QUIC" })},
		{46, "k8s-harbour-pier9can-960b618bdb", nameAfterChange(canary, func(g *group) { g.BaseUID = uid2 })},
		{47, "k8s-harbour-pier9can-527755f228", canary.Name()},
	})
}

func TestNamesOfGateways(t *testing.T) {
	type group = naming.GatewayTargetGroup
	lb := func(of string, scheme model.Scheme) string {
		return naming.LoadBalancerNameWithUID(testCluster, stackOfKind(model.ALBGateway, of), uid3, scheme)
	}
	managed := func(of string) string {
		return naming.SecurityGroupNameWithUID(testCluster, stackOfKind(model.ALBGateway, of), uid3)
	}
	paths := group{
		Cluster: testCluster, Gateway: ref("Gateway", "bridge/alb-gate"), Route: ref("HTTPRoute", "meadow/paths.v1"),
		Backend: ref("Service", "meadow/barn"), Port: "8080", Type: model.IPTargets, Protocol: "HTTP", Version: "HTTP1",
	}
	nlb := func(kind, route, backend, port string, targets model.TargetType, protocol string) string {
		return group{
			Cluster: testCluster, Gateway: ref("Gateway", "bridge/nlb-gate.v2"), Route: ref(kind, route),
			Backend: ref("Service", backend), Port: port, Type: targets, Protocol: protocol,
		}.Name()
	}
	checkNames(t, []recordedName{
		{48, "k8s-bridge-albgate-10c51358e9", lb("bridge/alb-gate", model.Internal)},
		{48, "k8s-bridge-albgate-6b00de7411", lb("bridge/alb-gate", model.InternetFacing)},
		{49, "k8s-bridge-nlbgatev-10c51358e9", lb("bridge/nlb-gate.v2", model.Internal)},
		{50, "k8s-namespac-gatewayn-6b00de7411", lb(longGateway, model.InternetFacing)},
		{51, "k8s-bridge-albgate-d7f1915ebd", managed("bridge/alb-gate")},
		{51, "k8s-bridge-nlbgatev-0b522e3435", managed("bridge/nlb-gate.v2")},
		{51, "k8s-namespac-gatewayn-363c0f4f09", managed(longGateway)},
		{52, "k8s-meadow-pathsv1-0ce9cccd52", paths.Name()},
		{53, "k8s-meadow-pathsv1-391aba46d6", nameAfterChange(paths, func(g *group) { g.Port = "web" })},
		{54, "k8s-meadow-pathsv1-7acb999214", nameAfterChange(paths, func(g *group) { g.Port, g.Type = "30222", model.InstanceTargets })},
		{55, "k8s-meadow-pathsv1-fdac646353", nameAfterChange(paths, func(g *group) { g.Protocol, g.Version = "HTTPS", "HTTP2" })},
		{56, "k8s-meadow-pathsv1-a236229360", nameAfterChange(paths, func(g *group) { g.ControlPort = new(int32(9099)) })},
		{57, "k8s-meadow-calls-b00fbf23e5", nameAfterChange(paths, func(g *group) {
			g.Route, g.Backend, g.Port, g.Version = ref("GRPCRoute", "meadow/calls"), ref("Service", "cellar/vats"), "9000", "GRPC"
		})},
		{58, "k8s-meadow-wire-2c941c2525", nlb("TCPRoute", "meadow/wire", "meadow/db", "5432", model.IPTargets, "TCP")},
		{59, "k8s-meadow-dns-9369524af7", nlb("UDPRoute", "meadow/dns", "meadow/names", "30053", model.InstanceTargets, "TCP_UDP")},
		{60, "k8s-meadow-sealed-ff49a60e64", nlb("TLSRoute", "meadow/sealed", "meadow/safe", "8443", model.IPTargets, "TLS")},
		{61, "k8s-bridge-toalb-5bedc6dff1", group{
			Cluster: testCluster, Gateway: ref("Gateway", "bridge/nlb-gate.v2"), Route: ref("TCPRoute", "bridge/to-alb"),
			Backend: ref("Gateway", "bridge/alb-gate"), Port: "443", Type: model.ALBTargets, Protocol: "TCP",
		}.Name()},
	})
}

func TestNamesOfBackendSecurityGroups(t *testing.T) {
	checkNames(t, []recordedName{
		{62, "k8s-traffic-orchid7-db0dfcb54c", naming.BackendSecurityGroupName(testCluster)},
		{62, "k8s-traffic-euprod2-05a99305b4", naming.BackendSecurityGroupName("eu.prod_2")},
		{62, "k8s-traffic-x-2d711642b7", naming.BackendSecurityGroupName("x")},
		{63, "k8s-traffic-" + strings.Repeat("long", 58) + "-918f05d473", naming.BackendSecurityGroupName(strings.Repeat("long-", 60))},
	})
}
