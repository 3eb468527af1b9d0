package gatewayclass

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Finalizers of GatewayClasses and configurations. They are the same as in AWS Load Balancer Controller.
const (
	ClassFinalizer        = "gateway.k8s.aws/gatewayclass"
	LoadBalancerFinalizer = "gateway.k8s.aws/loadbalancerconfigurations"
	TargetGroupFinalizer  = "gateway.k8s.aws/targetgroupconfigurations"
	ListenerRuleFinalizer = "gateway.k8s.aws/listenerruleconfigurations"
)

// Options are the operator's settings that affect the patches.
type Options struct {
	// ALB, NLB and ListenerSets report which of these the operator enables. An enabled kind is served only if its CRDs are
	// installed.
	ALB, NLB, ListenerSets bool
	// Versions has the version of the Gateway API of each of its installed CRDs, by the name of the CRD; nil if the versions
	// are not known.
	Versions map[string]string
	// SecretKey and SecretValue are the key and the value of the label that a Secret must have so that the controller may
	// read it. If the key is empty, no label is required.
	SecretKey, SecretValue string
	// ServiceAccount is the service account of the controller as namespace:name, for messages; "" if it is not known.
	ServiceAccount string
}

// Kinds are the kinds of objects for which Patches can return patches.
var Kinds = []cluster.Kind{
	cluster.KindGatewayClass, cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration, cluster.KindListenerRuleConfiguration,
	cluster.KindListenerSet,
}

// Patches returns the patches for an object of one of the Kinds; none if the object is up to date. If the view has an
// error, the result must not be used. now is the time to write into annotation cluster.ProcessedConfigAtAnnotation.
func Patches(v *cluster.View, ref cluster.Ref, opt Options, now time.Time) []cluster.Patch {
	switch ref.Kind {
	case cluster.KindGatewayClass:
		if o, ok := cluster.Get[*gwv1.GatewayClass](v, ref.Kind, "", ref.Name); ok {
			return classPatches(v, o, opt, now)
		}
	case cluster.KindLoadBalancerConfiguration:
		if o, ok := cluster.Get[*gwconfig.LoadBalancerConfiguration](v, ref.Kind, ref.Namespace, ref.Name); ok {
			return loadBalancerConfigPatches(v, o)
		}
	case cluster.KindTargetGroupConfiguration:
		if o, ok := cluster.Get[*gwconfig.TargetGroupConfiguration](v, ref.Kind, ref.Namespace, ref.Name); ok {
			return targetGroupConfigPatches(v, o)
		}
	case cluster.KindListenerRuleConfiguration:
		if o, ok := cluster.Get[*gwconfig.ListenerRuleConfiguration](v, ref.Kind, ref.Namespace, ref.Name); ok {
			return listenerRuleConfigPatches(v, o, opt)
		}
	case cluster.KindListenerSet:
		return listenerSetPatches(v, ref, opt)
	}
	return nil
}

// servedLoadBalancerTypes reports whether application and network load balancers are served for Gateways.
func (o Options) servedLoadBalancerTypes(v *cluster.View) (alb, nlb bool) {
	return o.ALB && v.Installed(cluster.KindHTTPRoute), o.NLB && v.Installed(cluster.KindTCPRoute)
}

// classPatches returns the patches for a GatewayClass; none if the class belongs to another controller, or if its kind of
// load balancer is not served.
func classPatches(v *cluster.View, o *gwv1.GatewayClass, opt Options, now time.Time) []cluster.Patch {
	alb, nlb := opt.servedLoadBalancerTypes(v)
	switch o.Spec.ControllerName {
	case gatewayconfig.ALBController:
		nlb = false
	case gatewayconfig.NLBController:
		alb = false
	case gatewayconfig.FulcrumController:
	default:
		return nil
	}
	if !alb && !nlb {
		return nil
	}
	ref := cluster.RefOf(o)
	if o.DeletionTimestamp != nil {
		gateways := cluster.List[*gwv1.Gateway](v, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByClass, Value: o.Name})
		return finalizerPatches(o, ClassFinalizer, len(gateways) > 0)
	}
	out := finalizerPatches(o, ClassFinalizer, true)
	level, problem := gatewayconfig.ClassConfiguration(v, o)
	want := []metav1.Condition{acceptedCondition(problem), supportedVersionCondition(opt.Versions)}
	features := supportedFeatures(alb, nlb, opt.ListenerSets && v.Installed(cluster.KindListenerSet))
	edit := func(obj cluster.Object, at metav1.Time) any {
		return changedClassStatus(obj, want, features, at)
	}
	if edit(o, metav1.Time{Time: now}) != nil {
		out = append(out, cluster.StatusEdit{Ref: ref, Edit: edit})
	}
	if problem != nil {
		return out
	}
	if version := processedVersions(level); version != o.Annotations[cluster.ProcessedConfigAnnotation] {
		out = append(out, cluster.Annotation{Ref: ref, Key: cluster.ProcessedConfigAnnotation, Value: version},
			cluster.Annotation{Ref: ref, Key: cluster.ProcessedConfigAtAnnotation, Value: strconv.FormatInt(now.Unix(), 10)})
	}
	return out
}

// processedVersions returns the resource versions of the configurations of a class, in the format of AWS Load Balancer
// Controller.
func processedVersions(l gatewayconfig.ConfigurationLevel) string {
	switch {
	case l.LoadBalancer == nil:
		return ""
	case l.TargetGroup == nil:
		return l.LoadBalancer.ResourceVersion
	}
	return l.LoadBalancer.ResourceVersion + "-" + l.TargetGroup.ResourceVersion
}

func acceptedCondition(problem *gatewayconfig.Problem) metav1.Condition {
	out := metav1.Condition{
		Type: string(gwv1.GatewayClassConditionStatusAccepted), Status: metav1.ConditionTrue,
		Reason: string(gwv1.GatewayClassReasonAccepted), Message: "Accepted", // tools compare this message
	}
	if problem != nil {
		out.Status, out.Reason = metav1.ConditionFalse, string(gwv1.GatewayClassReasonInvalidParameters)
		out.Message = problem.Message + "; load balancers of the class stay unchanged; " + problem.Fix
	}
	return out
}

// changedClassStatus returns the fields of the status of a GatewayClass that must change; nil if there are none. Conditions
// of types that are not in want are not changed.
func changedClassStatus(obj cluster.Object, want []metav1.Condition, features []gwv1.SupportedFeature, now metav1.Time) any {
	o, ok := obj.(*gwv1.GatewayClass)
	if !ok {
		return nil
	}
	have := slices.Clone(o.Status.Conditions)
	changed := false
	for _, c := range want {
		c.ObservedGeneration, c.LastTransitionTime = o.Generation, now
		changed = meta.SetStatusCondition(&have, c) || changed
	}
	fields := map[string]any{}
	if changed {
		fields["conditions"] = have
	}
	if !equality.Semantic.DeepEqual(o.Status.SupportedFeatures, features) {
		fields["supportedFeatures"] = features
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// finalizerPatches returns the patch that adds a finalizer to an object that is used, or removes the finalizer from an
// object that is being deleted and not used. An object that is not used any more keeps the finalizer until the object is
// deleted.
func finalizerPatches(obj cluster.Object, name string, used bool) []cluster.Patch {
	deleting := obj.GetDeletionTimestamp() != nil
	switch has := slices.Contains(obj.GetFinalizers(), name); {
	case has && deleting && !used:
		return []cluster.Patch{cluster.Finalizer{Ref: cluster.RefOf(obj), Name: name, Remove: true}}
	case !has && !deleting && used:
		return []cluster.Patch{cluster.Finalizer{Ref: cluster.RefOf(obj), Name: name}}
	}
	return nil
}
