package gatewayclass

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// configurationUsers reports whether a GatewayClass uses a configuration, and whether a Gateway uses it.
type configurationUsers struct{ class, gateway bool }

func (u configurationUsers) hasAny() bool { return u.class || u.gateway }

// usersOfConfiguration returns which kinds of objects use a LoadBalancerConfiguration. Classes of this controller are
// included even if the operator disables their kind of load balancer.
func usersOfConfiguration(v *cluster.View, namespace, name string) configurationUsers {
	var out configurationUsers
	classes := cluster.List[*gwv1.GatewayClass](v, cluster.Query{
		Kind: cluster.KindGatewayClass, Index: cluster.GatewayClassByConfiguration, Value: namespace + "/" + name})
	out.class = slices.ContainsFunc(classes, func(c *gwv1.GatewayClass) bool {
		return gatewayconfig.IsOwnClass(c) && c.Spec.ParametersRef.Kind == gwv1.Kind(cluster.KindLoadBalancerConfiguration)
	})
	gateways := cluster.List[*gwv1.Gateway](v, cluster.Query{
		Kind: cluster.KindGateway, Namespace: namespace, Index: cluster.GatewayByConfiguration, Value: name})
	out.gateway = slices.ContainsFunc(gateways, func(gw *gwv1.Gateway) bool {
		return gw.Spec.Infrastructure.ParametersRef.Kind == gwv1.Kind(cluster.KindLoadBalancerConfiguration) && gatewayconfig.IsOwnClass(gatewayconfig.ClassOf(v, gw))
	})
	return out
}

func loadBalancerConfigPatches(v *cluster.View, o *gwconfig.LoadBalancerConfiguration) []cluster.Patch {
	by := usersOfConfiguration(v, o.Namespace, o.Name)
	return append(finalizerPatches(o, LoadBalancerFinalizer, by.hasAny()), observedGenerationPatches(o, o.Status, by)...)
}

// observedGenerationPatches returns the patch that writes the current generation of a configuration into its status. There
// is no patch if no object uses the configuration, or if the status is up to date.
func observedGenerationPatches(o cluster.Object, have gwconfig.ConfigurationStatus, by configurationUsers) []cluster.Patch {
	now := o.GetGeneration()
	fields := map[string]any{}
	if by.gateway && (have.ObservedGatewayConfigurationGeneration == nil || *have.ObservedGatewayConfigurationGeneration != now) {
		fields["observedGatewayConfigurationGeneration"] = now
	}
	if by.class && (have.ObservedGatewayClassConfigurationGeneration == nil || *have.ObservedGatewayClassConfigurationGeneration != now) {
		fields["observedGatewayClassConfigurationGeneration"] = now
	}
	if len(fields) == 0 || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []cluster.Patch{cluster.ObjectStatus{Ref: cluster.RefOf(o), Fields: fields}}
}

func targetGroupConfigPatches(v *cluster.View, o *gwconfig.TargetGroupConfiguration) []cluster.Patch {
	var by configurationUsers
	if ref := o.Spec.TargetReference; ref == nil {
		by = usersOfDefaultConfiguration(v, o)
	} else {
		by.gateway = isUsedAsBackend(v, kindOrService(ref.Kind), o.Namespace, ref.Name)
	}
	return append(finalizerPatches(o, TargetGroupFinalizer, by.hasAny()), observedGenerationPatches(o, o.Status, by)...)
}

// usersOfDefaultConfiguration returns which kinds of objects use the LoadBalancerConfigurations that name a
// TargetGroupConfiguration as default.
func usersOfDefaultConfiguration(v *cluster.View, o *gwconfig.TargetGroupConfiguration) configurationUsers {
	var out configurationUsers
	for _, lb := range cluster.List[*gwconfig.LoadBalancerConfiguration](v, cluster.Query{
		Kind: cluster.KindLoadBalancerConfiguration, Namespace: o.Namespace, Index: cluster.ConfigurationByDefaultTargetGroup, Value: o.Name}) {
		by := usersOfConfiguration(v, lb.Namespace, lb.Name)
		out = configurationUsers{class: out.class || by.class, gateway: out.gateway || by.gateway}
		if out.class && out.gateway {
			break
		}
	}
	return out
}

func kindOrService(kind *string) cluster.Kind {
	if kind == nil {
		return cluster.KindService
	}
	return cmp.Or(cluster.Kind(*kind), cluster.KindService)
}

// isUsedAsBackend reports whether an object exists and is a backend of a route that is attached to a Gateway of this
// controller.
func isUsedAsBackend(v *cluster.View, kind cluster.Kind, namespace, name string) bool {
	if kind != cluster.KindService && kind != cluster.KindGateway {
		return false
	}
	if _, exists := cluster.Get[cluster.Object](v, kind, namespace, name); !exists {
		return false
	}
	for _, routes := range cluster.RouteKinds {
		found := cluster.List[cluster.Object](v, cluster.Query{Kind: routes, Index: cluster.RouteByBackend, Value: cluster.BackendValue(kind, namespace, name)})
		if slices.ContainsFunc(found, func(r cluster.Object) bool { return isAttached(v, r) }) {
			return true
		}
	}
	return false
}

// isAttached reports whether a parentRef of a route names a Gateway of this controller, or a ListenerSet of such a Gateway.
func isAttached(v *cluster.View, route cluster.Object) bool {
	parents, _ := cluster.RouteParents(route)
	return slices.ContainsFunc(parents, func(p gwv1.ParentReference) bool {
		ref := cluster.ParentRef(route.GetNamespace(), p)
		if ref.Kind == cluster.KindListenerSet {
			set, ok := cluster.Get[*gwv1.ListenerSet](v, ref.Kind, ref.Namespace, ref.Name)
			if !ok {
				return false
			}
			ref = cluster.ListenerSetParentRef(set)
		}
		if ref.Kind != cluster.KindGateway {
			return false
		}
		gw, ok := cluster.Get[*gwv1.Gateway](v, ref.Kind, ref.Namespace, ref.Name)
		return ok && gatewayconfig.IsOwnClass(gatewayconfig.ClassOf(v, gw))
	})
}

func listenerRuleConfigPatches(v *cluster.View, o *gwconfig.ListenerRuleConfiguration, opt Options) []cluster.Patch {
	used := false
	for _, kind := range []cluster.Kind{cluster.KindHTTPRoute, cluster.KindGRPCRoute} {
		used = used || len(cluster.List[cluster.Object](v, cluster.Query{
			Kind: kind, Namespace: o.Namespace, Index: cluster.RouteByConfiguration, Value: o.Name})) > 0
	}
	out := finalizerPatches(o, ListenerRuleFinalizer, used)
	if o.DeletionTimestamp != nil {
		return out
	}
	message := "Accepted" // tools compare this message
	fault := oidcSecretProblem(v, o, opt)
	if fault != "" {
		message = fault
	}
	accepted, have := fault == "", o.Status
	if have.Accepted != nil && *have.Accepted == accepted && have.Message != nil && *have.Message == message &&
		have.ObservedGeneration != nil && *have.ObservedGeneration == o.Generation {
		return out
	}
	return append(out, cluster.ObjectStatus{Ref: cluster.RefOf(o), Fields: gwconfig.ListenerRuleConfigurationStatus{
		Accepted: &accepted, Message: &message, ObservedGeneration: &o.Generation,
	}})
}

// oidcSecretProblem returns the reason why the Secret for OpenID Connect in a ListenerRuleConfiguration cannot be used, and
// what to do; "" if the Secret can be used.
func oidcSecretProblem(v *cluster.View, o *gwconfig.ListenerRuleConfiguration, opt Options) string {
	for _, a := range o.Spec.Actions {
		if a.AuthenticateOIDCConfig == nil {
			continue
		}
		name := a.AuthenticateOIDCConfig.Secret.Name
		where := fmt.Sprintf("Secret %q", o.Namespace+"/"+finding.TruncateValue(name))
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return where + " is not a valid name of a Secret; rules with this configuration do not change; name a Secret of this namespace"
		}
		const now = "; rules with this configuration do not change; "
		secret, ok := cluster.Get[*corev1.Secret](v, cluster.KindSecret, o.Namespace, name)
		switch {
		case !ok:
			return finding.MissingSecretMessage(o.Namespace, name) + now + finding.MissingSecretFix(opt.ServiceAccount, o.Namespace, name)
		case opt.SecretKey != "" && secret.Labels[opt.SecretKey] != opt.SecretValue:
			return where + " does not have the label that --required-secrets-label requires" + now + "set the label " + opt.SecretKey + "=" + opt.SecretValue
		}
	}
	return ""
}
