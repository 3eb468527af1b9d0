package cli

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// behind is what the objects say of the targets of target groups, by ARN.
type behind struct {
	bound   map[string][]targets.Endpoint // see boundTo
	without map[string]string             // see endpointless
}

func behindOf(store *cluster.Memory, c config.Config) behind {
	return behind{boundTo(store, c), endpointless(store)}
}

// endpointless says of target groups, by ARN, why no pod answers behind them. A Service without EndpointSlices is left
// out, because then nothing is known of its pods, and so is a target group of several bindings, because any user can write
// another one.
func endpointless(store *cluster.Memory) map[string]string {
	out, bindings := map[string]string{}, map[string]int{}
	for _, o := range store.All(cluster.KindBinding) {
		bindings[o.(*elbv2.TargetGroupBinding).Spec.TargetGroupARN]++
	}
	for _, o := range store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		if arn := b.Spec.TargetGroupARN; arn != "" && bindings[arn] == 1 {
			if why := noEndpoints(store, b.Namespace, b.Spec.ServiceRef.Name); why != "" {
				out[arn] = finding.Printable(why)
			}
		}
	}
	return out
}

// noEndpoints says why a Service has no ready endpoint, "" if it has one or that is not known.
func noEndpoints(store *cluster.Memory, namespace, name string) string {
	obj, err := store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: namespace, Name: name})
	svc, ok := obj.(*corev1.Service)
	if err != nil || !ok {
		return ""
	}
	v := cluster.NewView(store)
	slicesOf := cluster.List[*discoveryv1.EndpointSlice](v, cluster.Query{
		Kind: cluster.KindEndpointSlice, Namespace: namespace, Index: cluster.SliceByService, Value: namespace + "/" + name,
	})
	portless := false
	for _, s := range slicesOf {
		ready := slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready })
		if ready && len(s.Ports) > 0 {
			return ""
		}
		portless = portless || ready
	}
	said := fmt.Sprintf("Service %s/%s has no ready endpoints", namespace, name)
	switch {
	case len(slicesOf) == 0:
		return ""
	case portless:
		return said + ": no container port of its pods has the name of its targetPort; correct one of the two"
	case len(svc.Spec.Selector) == 0:
		return said + " and no selector; write its EndpointSlices, or set spec.selector"
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	pods := 0
	for _, p := range cluster.List[*corev1.Pod](v, cluster.Query{Kind: cluster.KindPod, Namespace: namespace}) {
		if selector.Matches(labels.Set(p.Labels)) {
			pods++
		}
	}
	if pods == 0 {
		return fmt.Sprintf("%s: spec.selector %q matches no pod; correct it, or start pods with these labels", said, finding.Cut(selector.String()))
	}
	return fmt.Sprintf("%s: its selector matches %s, and none is ready; look at the pods and their readiness probes", said, amount(pods, "pod"))
}
