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

// enableFrontendKey and frontendKeyPrefix are the key and the key prefix of the annotations of the frontend NLB, without
// settings.Prefix.
const (
	enableFrontendKey = "enable-frontend-nlb"
	frontendKeyPrefix = "frontend-nlb-"
)

// isFrontendAnnotation reports whether the annotation with a key, without settings.Prefix, configures the frontend NLB.
func isFrontendAnnotation(key string) bool {
	return key == enableFrontendKey || strings.HasPrefix(key, frontendKeyPrefix)
}

// buildFrontend adds the objects that replace the frontend NLB, or a note with the reason why it cannot be replaced. It does
// nothing if there is no frontend NLB.
func (g *generator) buildFrontend() {
	lb := check.FrontendNLB(g.IngressStack)
	if lb == nil {
		return
	}
	reason, fix := "", ""
	switch held := g.IngressStack.Held; {
	case g.opt.InPlace:
		reason, fix = "a Gateway does not take over a frontend NLB", "remove the frontend NLB first, or translate without --in-place to a second load balancer with a frontend NLB"
	case g.opt.NLBGateway == nil:
		reason, fix = "feature gate NLBGatewayAPI is disabled, so the controller does not serve Gateways with a network load balancer", "enable the feature gate NLBGatewayAPI"
	case held.Frontend || held.FrontendPorts:
		reason, fix = "the frontend NLB is held, so it is not translated", "fix the problems in the other notes"
	default:
		nlbGatewayBuilder{g, lb}.build()
		return
	}
	g.addNote(Lost, lb.Of.Object, lb.Of.Field, reason, fix)
}

// nlbGatewayBuilder makes the Gateway that replaces the frontend NLB lb. The class of this Gateway is aws-nlb. The backend of
// its TCPRoutes is the Gateway with the ALB.
type nlbGatewayBuilder struct {
	*generator
	lb *model.LoadBalancer
}

// build adds the Gateway with its LoadBalancerConfiguration, TCPRoutes, TargetGroupConfiguration and notes.
func (g nlbGatewayBuilder) build() {
	configName := g.objectName(networkConfigSuffix, groupNetworkConfigSuffix)
	g.FrontendGateway = finding.Ref{Kind: "Gateway", Namespace: g.Gateway.Namespace, Name: g.objectName(networkSuffix, groupNetworkSuffix)}
	source := "the frontend NLB of " + g.originText()
	gw := newGateway(g.FrontendGateway, networkClassName, configName)
	for _, l := range g.lb.Listeners {
		gw.Spec.Listeners = append(gw.Spec.Listeners, gwv1.Listener{Name: sectionName(l), Port: gwv1.PortNumber(l.Port), Protocol: gwv1.TCPProtocolType})
	}
	g.Objects = append(g.Objects, g.loadBalancerConfiguration(configName, source), g.annotateGateway(gw, source))
	var targets []frontendTarget
	for _, l := range g.lb.Listeners {
		if t := g.IngressStack.TargetGroup(l.DefaultTargetGroupID()); t != nil {
			targets = append(targets, frontendTarget{g.addTCPRoute(l, t, source), g.albTargetGroupProps(t)})
		}
	}
	g.addTargetConfiguration(targets, source)
	g.addFrontendNotes()
}

// loadBalancerConfiguration returns the LoadBalancerConfiguration of the Gateway, with the given name. It always sets the
// scheme: even if no member sets one, the scheme of the frontend NLB may differ from the default of the controller.
func (g nlbGatewayBuilder) loadBalancerConfiguration(name, source string) Object {
	parts := map[string]string{}
	addPart := func(field string, origins ...finding.Origin) {
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
	addPart("scheme", origins["scheme"])
	addPart("ipAddressType", origins["addressType"])
	addPart("loadBalancerName", origins["name"])
	addPart("loadBalancerSubnets", origins["subnets"], origins["addresses"])
	addPart("securityGroups", origins["securityGroups"])
	addPart("loadBalancerAttributes", g.lb.AttributesOf...)
	if g.lb.IsSchemeUnset() {
		origins["scheme"] = g.lb.Of
	}
	return Object{Origin: source, PartOrigins: parts, Object: &gwconfig.LoadBalancerConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "LoadBalancerConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.FrontendGateway.Namespace, Name: name},
		Spec:       configBuilder(g).spec(),
	}}
}

// addTCPRoute adds a TCPRoute from listener l to the ALB, and returns its name. The port of target group to is the port of
// the ALB.
func (g nlbGatewayBuilder) addTCPRoute(l model.Listener, to *model.TargetGroup, source string) string {
	var members []string
	for _, m := range l.Members {
		members = append(members, m.Namespace+"/"+m.Name)
	}
	route := &gwv1.TCPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "TCPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.FrontendGateway.Namespace, Name: objectName(g.ID.Namespace, g.ID.Name, fmt.Sprint(networkRoutePrefix, l.Port))},
		Spec: gwv1.TCPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gwv1.ObjectName(g.FrontendGateway.Name), SectionName: new(sectionName(l))}}},
			Rules: []gwv1.TCPRouteRule{{BackendRefs: []gwv1.BackendRef{{BackendObjectReference: gwv1.BackendObjectReference{
				Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind("Gateway")), Name: gwv1.ObjectName(g.Gateway.Name), Port: new(gwv1.PortNumber(to.Port)),
			}}}}},
		},
	}
	part := fmt.Sprintf("port %d of the frontend NLB leads to port %d of the ALB, for %s", l.Port, to.Port, strings.Join(members, ", "))
	g.Objects = append(g.Objects, Object{Object: route, Origin: source, PartOrigins: map[string]string{"spec.rules[0]": part}})
	return route.Name
}

// frontendTarget has the settings of the target group, with the ALB as its target, to which a TCPRoute forwards.
type frontendTarget struct {
	route string
	props gwconfig.TargetGroupProps
}

// albTargetGroupProps returns the health check and the tags of a target group whose target is the ALB.
func (g nlbGatewayBuilder) albTargetGroupProps(t *model.TargetGroup) gwconfig.TargetGroupProps {
	return gwconfig.TargetGroupProps{HealthCheckConfig: healthCheckConfiguration(t.HealthCheck, &t.HealthCheck.Port), Tags: g.tagsOf(t.Tags, g.migratedFrom())}
}

// addTargetConfiguration adds a TargetGroupConfiguration for the Gateway with the ALB. It has the health checks and tags of
// the target groups to which the TCPRoutes forward: one default configuration if all target groups have the same settings,
// otherwise one configuration for each TCPRoute.
func (g nlbGatewayBuilder) addTargetConfiguration(targets []frontendTarget, source string) {
	if len(targets) == 0 {
		return
	}
	config := &gwconfig.TargetGroupConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "TargetGroupConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Gateway.Namespace, Name: objectName(g.ID.Namespace, g.ID.Name, networkTargetsSuffix)},
	}
	config.Spec.TargetReference = &gwconfig.TargetReference{Group: new(gwv1.GroupName), Kind: new("Gateway"), Name: g.Gateway.Name}
	if !slices.ContainsFunc(targets, func(t frontendTarget) bool { return !sameProps(targets[0].props, t.props) }) {
		config.Spec.DefaultConfiguration = targets[0].props
	} else {
		for _, t := range targets {
			config.Spec.RouteConfigurations = append(config.Spec.RouteConfigurations, gwconfig.RouteConfiguration{
				RouteIdentifier:  gwconfig.RouteIdentifier{RouteKind: "TCPRoute", RouteNamespace: g.FrontendGateway.Namespace, RouteName: t.route},
				TargetGroupProps: t.props,
			})
		}
	}
	g.Objects = append(g.Objects, Object{Object: config, Origin: source + ", for its target groups with the ALB"})
}

// addFrontendNotes adds notes about the replacement of the frontend NLB, and about decisions that users must make.
func (g nlbGatewayBuilder) addFrontendNotes() {
	g.addNote(Info, g.FrontendGateway, "", fmt.Sprintf("this Gateway replaces the frontend NLB and forwards to the ALB of %s; clients of the frontend NLB must use the DNS name of the new load balancer", g.Gateway),
		fmt.Sprintf("change DNS records for the frontend NLB to the address of this Gateway, and DNS records for the ALB to the address of Gateway %s/%s", g.Gateway.Namespace, g.Gateway.Name))
	if origin := g.lb.Origins["addresses"]; len(g.lb.Addresses) > 0 && addressesFit(g.lb) {
		g.addNote(Differs, origin.Object, origin.Field, "an Elastic IP address can belong to only one load balancer at a time, so AWS cannot create the load balancer of the Gateway while the frontend NLB has these addresses",
			"set other addresses in eipAllocation of the LoadBalancerConfiguration, or remove eipAllocation until the frontend NLB is deleted")
	}
	var missing []string
	for _, k := range slices.Sorted(maps.Keys(g.opt.DefaultTags)) {
		if g.lb.Tags[k] != g.opt.DefaultTags[k] {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		g.addNote(Differs, g.lb.Of.Object, settings.Prefix+"frontend-nlb-tags",
			"the frontend NLB lacks these default tags of the controller or has other values for them, but the load balancer of the Gateway can have the default tags: "+strings.Join(missing, ", "), "no action is needed if the additional tags are acceptable")
	}
}

// frontendCounterpart returns the kind and field to which an annotation of the frontend NLB is translated; "" if the
// frontend NLB is not translated.
func (g *generator) frontendCounterpart(row settings.Row) string {
	switch {
	case g.IngressStack.FrontendNLB == nil:
		return "nothing, because there is no frontend NLB"
	case g.FrontendGateway.IsZero():
		return ""
	}
	return row.Counterpart
}
