package tree

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ClusterTargets has what the objects of the cluster determine about the targets of target groups. The keys of its maps are
// ARNs of target groups.
type ClusterTargets struct {
	endpoints          map[string][]targets.Endpoint // see EndpointsByTargetGroup
	noEndpointsReasons map[string]string             // see the function noEndpointsReasons
}

// ClusterTargetsOf returns the ClusterTargets of the objects in store.
func ClusterTargetsOf(store *cluster.Memory, c config.Config) ClusterTargets {
	return ClusterTargets{EndpointsByTargetGroup(store, c), noEndpointsReasons(store)}
}

// noEndpointsReasons returns, by ARN, why a target group has no pod that is ready to serve. It omits Services without
// EndpointSlices, because it is not known whether their pods are ready. It also omits target groups with several
// TargetGroupBindings, because any user can create a TargetGroupBinding of a target group.
func noEndpointsReasons(store *cluster.Memory) map[string]string {
	out, bindings := map[string]string{}, map[string]int{}
	for _, o := range store.All(cluster.KindBinding) {
		bindings[o.(*elbv2.TargetGroupBinding).Spec.TargetGroupARN]++
	}
	for _, o := range store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		if arn := b.Spec.TargetGroupARN; arn != "" && bindings[arn] == 1 {
			if reason := noEndpointsReason(store, b); reason != "" {
				out[arn] = finding.EscapeNonPrintable(reason)
			}
		}
	}
	return out
}

// noEndpointsReason returns why the Service of a TargetGroupBinding has no pod that is ready to serve. It returns "" if a
// pod is ready, or if it is not known whether a pod is ready.
func noEndpointsReason(store *cluster.Memory, b *elbv2.TargetGroupBinding) string {
	v := cluster.NewView(store)
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, b.Namespace, b.Spec.ServiceRef.Name)
	if !ok {
		return ""
	}
	u := targets.NoEndpointsReasonOf(v, b, svc)
	if u == nil {
		return ""
	}
	if u.Finding.Reason == finding.SelectorMatchesNoPod {
		selector := labels.SelectorFromSet(svc.Spec.Selector)
		pods := 0
		for _, p := range cluster.List[*corev1.Pod](v, cluster.Query{Kind: cluster.KindPod, Namespace: b.Namespace}) {
			if selector.Matches(labels.Set(p.Labels)) {
				pods++
			}
		}
		if pods > 0 { // the selector matches pods, but none of them has an address
			return targets.NoReadyPodsFinding(svc, pods).Text()
		}
	}
	return u.Finding.Text()
}
