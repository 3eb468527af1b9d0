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

// Behind is the state of the targets of target groups according to the objects, by ARN.
type Behind struct {
	bound   map[string][]targets.Endpoint // see boundTo
	without map[string]string             // see withoutEndpoints
}

// BehindOf reads it from the objects of a command.
func BehindOf(store *cluster.Memory, c config.Config) Behind {
	return Behind{BoundTo(store, c), withoutEndpoints(store)}
}

// withoutEndpoints returns, for target groups by ARN, why no pod answers behind them. A Service without EndpointSlices is
// left out, because then nothing is known of its pods, and so is a target group of several bindings, because any user can
// write another one.
func withoutEndpoints(store *cluster.Memory) map[string]string {
	out, bindings := map[string]string{}, map[string]int{}
	for _, o := range store.All(cluster.KindBinding) {
		bindings[o.(*elbv2.TargetGroupBinding).Spec.TargetGroupARN]++
	}
	for _, o := range store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		if arn := b.Spec.TargetGroupARN; arn != "" && bindings[arn] == 1 {
			if why := noEndpoints(store, b); why != "" {
				out[arn] = finding.Printable(why)
			}
		}
	}
	return out
}

// noEndpoints returns why no pod serves behind the Service of a binding, "" if one does or that is not known.
func noEndpoints(store *cluster.Memory, b *elbv2.TargetGroupBinding) string {
	v := cluster.NewView(store)
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, b.Namespace, b.Spec.ServiceRef.Name)
	if !ok {
		return ""
	}
	u := targets.WhyNoEndpointsOf(v, b, svc)
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
		if pods > 0 { // none has an address
			return targets.NoneReady(svc, pods).Text()
		}
	}
	return u.Finding.Text()
}
