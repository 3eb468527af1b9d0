package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// enablesFrontend and setsFrontend are the annotations of the frontend NLB, without the prefix.
const (
	enablesFrontend = "enable-frontend-nlb"
	setsFrontend    = "frontend-nlb-"
)

func aboutFrontend(key string) bool {
	return key == enablesFrontend || strings.HasPrefix(key, setsFrontend)
}

// frontend makes what takes the place of the frontend NLB, where there is one.
func (g *grouping) frontend() {
	lb := check.FrontendNLB(g.From)
	if lb == nil {
		return
	}
	why, fix := "", ""
	switch held := g.From.Held; {
	case g.opt.InPlace:
		why, fix = "a Gateway does not take over a frontend NLB", "remove the frontend NLB first, or translate without --in-place to a second load balancer with a frontend NLB"
	case g.opt.Network == nil:
		why, fix = "feature gate NLBGatewayAPI is off, so that the controller would serve no Gateway with a network load balancer", "switch it on"
	case held.Frontend || held.FrontendPorts:
		why, fix = "the frontend NLB is held, so nothing of it is translated", "correct what the other notes name"
	default:
		networkBuilder{g, lb}.build()
		return
	}
	g.note(Lost, lb.Of.Object, lb.Of.Field, why, fix)
}

// networkBuilder makes the Gateway that takes the place of the frontend NLB: one of class aws-nlb whose TCPRoutes have the
// Gateway with the ALB as their backend.
type networkBuilder struct {
	*grouping
	lb *model.LoadBalancer
}

func (g networkBuilder) build() {
	space, base := g.base()
	gatewayName, configName := name(space, base, networkSuffix), name(space, base, networkConfigSuffix)
	if g.ID.Namespace == "" {
		gatewayName, configName = name("", base, groupNetworkSuffix), name("", base, groupNetworkConfigSuffix)
	}
	g.Frontend = finding.Ref{Kind: "Gateway", Namespace: g.Gateway.Namespace, Name: gatewayName}
	of := "the frontend NLB of " + g.describe()
	gw := &gwv1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Frontend.Namespace, Name: gatewayName},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: networkClassName,
			Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: gwv1.Group(gwconfig.GroupVersion.Group), Kind: "LoadBalancerConfiguration", Name: configName,
			}},
		},
	}
	for _, l := range g.lb.Listeners {
		gw.Spec.Listeners = append(gw.Spec.Listeners, gwv1.Listener{Name: section(l), Port: gwv1.PortNumber(l.Port), Protocol: gwv1.TCPProtocolType})
	}
	g.Objects = append(g.Objects, g.config(configName, of), g.annotate(gw, of))
	var targets []frontendTarget
	for _, l := range g.lb.Listeners {
		if t := g.From.TargetGroup(l.Target()); t != nil {
			targets = append(targets, frontendTarget{g.route(l, t, of), g.props(t)})
		}
	}
	g.checks(targets, of)
	g.notes()
}

// config returns the LoadBalancerConfiguration. The scheme is written in any case: where no member sets it, that of the
// frontend NLB may still be another one than the default of the controller.
func (g networkBuilder) config(name, of string) Object {
	parts := map[string]string{}
	from := func(field string, origins ...finding.Origin) {
		var texts []string
		for _, o := range origins {
			if o != (finding.Origin{}) && !slices.Contains(texts, o.String()) {
				texts = append(texts, o.String())
			}
		}
		if len(texts) > 0 {
			parts["spec."+field] = strings.Join(texts, ", ")
		}
	}
	origins := g.lb.Origins
	from("scheme", origins["scheme"])
	from("ipAddressType", origins["addressType"])
	from("loadBalancerName", origins["name"])
	from("loadBalancerSubnets", origins["subnets"], origins["addresses"])
	from("securityGroups", origins["securityGroups"])
	from("loadBalancerAttributes", g.lb.AttributesOf...)
	if g.lb.SchemeOpen() {
		origins["scheme"] = g.lb.Of
	}
	return Object{From: of, Parts: parts, Object: &gwconfig.LoadBalancerConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "LoadBalancerConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Frontend.Namespace, Name: name},
		Spec:       configBuilder(g).loadBalancer(),
	}}
}

// route makes the TCPRoute of a port, and returns its name.
func (g networkBuilder) route(l model.Listener, to *model.TargetGroup, of string) string {
	space, base := g.base()
	var members []string
	for _, m := range l.Members {
		members = append(members, m.Namespace+"/"+m.Name)
	}
	route := &gwv1.TCPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "TCPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Frontend.Namespace, Name: name(space, base, fmt.Sprint(networkRoutePrefix, l.Port))},
		Spec: gwv1.TCPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gwv1.ObjectName(g.Frontend.Name), SectionName: new(section(l))}}},
			Rules: []gwv1.TCPRouteRule{{BackendRefs: []gwv1.BackendRef{{BackendObjectReference: gwv1.BackendObjectReference{
				Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind("Gateway")), Name: gwv1.ObjectName(g.Gateway.Name), Port: new(gwv1.PortNumber(to.Port)),
			}}}}},
		},
	}
	part := fmt.Sprintf("port %d of the frontend NLB leads to port %d of the ALB, for %s", l.Port, to.Port, strings.Join(members, ", "))
	g.Objects = append(g.Objects, Object{Object: route, From: of, Parts: map[string]string{"spec.rules[0]": part}})
	return route.Name
}

// frontendTarget is the target group with the ALB that a TCPRoute forwards to.
type frontendTarget struct {
	route string
	props gwconfig.TargetGroupProps
}

// props returns the settings of a target group with the ALB.
func (g networkBuilder) props(t *model.TargetGroup) gwconfig.TargetGroupProps {
	return gwconfig.TargetGroupProps{HealthCheckConfig: checkOf(t.HealthCheck, &t.HealthCheck.Port), Tags: g.tagsOf(t.Tags, g.origin())}
}

// checks makes the TargetGroupConfiguration with the health checks of the ALB: for all routes, or by route where they differ.
func (g networkBuilder) checks(targets []frontendTarget, of string) {
	if len(targets) == 0 {
		return
	}
	space, base := g.base()
	config := &gwconfig.TargetGroupConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "TargetGroupConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Gateway.Namespace, Name: name(space, base, networkTargetsSuffix)},
	}
	config.Spec.TargetReference = &gwconfig.TargetReference{Group: new(gwv1.GroupName), Kind: new("Gateway"), Name: g.Gateway.Name}
	if !slices.ContainsFunc(targets, func(t frontendTarget) bool { return !sameProps(targets[0].props, t.props) }) {
		config.Spec.DefaultConfiguration = targets[0].props
	} else {
		for _, t := range targets {
			config.Spec.RouteConfigurations = append(config.Spec.RouteConfigurations, gwconfig.RouteConfiguration{
				RouteIdentifier:  gwconfig.RouteIdentifier{RouteKind: "TCPRoute", RouteNamespace: g.Frontend.Namespace, RouteName: t.route},
				TargetGroupProps: t.props,
			})
		}
	}
	g.Objects = append(g.Objects, Object{Object: config, From: of + ", for its target groups with the ALB"})
}

// notes reports what a person has to know and decide about.
func (g networkBuilder) notes() {
	g.note(Info, g.Frontend, "", fmt.Sprintf("it takes the place of the frontend NLB in front of the ALB of %s, and clients of the frontend NLB move to its DNS name", g.Gateway),
		fmt.Sprintf("move DNS records that name the frontend NLB to the address of this Gateway, and those that name the ALB to that of Gateway %s/%s", g.Gateway.Namespace, g.Gateway.Name))
	if at := g.lb.Origins["addresses"]; len(g.lb.Addresses) > 0 && addressesFit(g.lb) {
		g.note(Differs, at.Object, at.Field, "an elastic address belongs to one load balancer at a time, so that AWS does not make that of the Gateway while the frontend NLB has the addresses",
			"name other addresses in eipAllocation of the LoadBalancerConfiguration, or leave them out until the frontend NLB is gone")
	}
	var lacking []string
	for _, k := range slices.Sorted(maps.Keys(g.opt.DefaultTags)) {
		if g.lb.Tags[k] != g.opt.DefaultTags[k] {
			lacking = append(lacking, k)
		}
	}
	if len(lacking) > 0 {
		g.note(Differs, g.lb.Of.Object, settings.Prefix+"frontend-nlb-tags",
			"the tags of the frontend NLB take the place of the default tags of the controller, which a Gateway has besides its own: "+strings.Join(lacking, ", "), "nothing, if the tags may be there")
	}
}

// frontendCounterpart returns where an annotation about the frontend NLB goes; nowhere where that is not translated.
func (g *grouping) frontendCounterpart(key string) string {
	switch {
	case g.From.FrontendNLB == nil:
		return "nothing, as there is no frontend NLB"
	case g.Frontend.IsZero():
		return ""
	}
	return kept[key]
}
