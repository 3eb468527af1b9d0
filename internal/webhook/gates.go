package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// legacyGatePrefix is the prefix of the readiness gates of aws-alb-ingress-controller (version 1).
const legacyGatePrefix = "target-health.alb.ingress.k8s.aws"

// injectReadinessGates adds the readiness gates of the TargetGroupBindings of its Services to a new pod. If the name of a
// binding is too long for a readiness gate, it adds a warning and no readiness gate, because the API server would reject the
// pod.
func (c Config) injectReadinessGates(_ context.Context, r Request) (Response, error) {
	pod := &corev1.Pod{}
	if err := r.decode(r.Object, pod); err != nil {
		return Response{}, err
	}
	if !c.ReadinessGates || r.Operation != admissionv1.Create {
		return Response{}, nil
	}
	v := cluster.NewView(c.Source)
	var out Response
	var want []corev1.PodConditionType
	for _, gate := range readinessGatesFor(v, r.Namespace, pod.Labels) {
		if faults := validation.IsQualifiedName(string(gate)); len(faults) > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the pod does not wait for %s, which cannot be a readiness gate: %s", gate, faults[0]))
			continue
		}
		want = append(want, gate)
	}
	if v.Err() != nil {
		return Response{}, v.Err()
	}
	out.Changes = readinessGateChanges(pod, want)
	return out, nil
}

// readinessGatesFor returns the readiness gates for pods with the given labels, sorted by name of the TargetGroupBinding. It
// omits a TargetGroupBinding that is being deleted, because the condition of its readiness gate would never become true.
func readinessGatesFor(v *cluster.View, namespace string, podLabels map[string]string) []corev1.PodConditionType {
	var out []corev1.PodConditionType
	for _, b := range cluster.List[*v1beta1.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding, Namespace: namespace}) {
		if b.DeletionTimestamp != nil || !hasTargetType(b, v1beta1.TargetTypeIP) {
			continue
		}
		svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, namespace, b.Spec.ServiceRef.Name)
		if ok && len(svc.Spec.Selector) > 0 && labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(podLabels)) {
			out = append(out, targets.ReadinessGateType(b.Name))
		}
	}
	return out
}

// readinessGateChanges returns the changes that add missing readiness gates to a pod. If it adds readiness gates, it also
// removes readiness gates with legacyGatePrefix, because their conditions would never become true.
func readinessGateChanges(pod *corev1.Pod, want []corev1.PodConditionType) []PatchOperation {
	if len(want) == 0 {
		return nil
	}
	gates := slices.DeleteFunc(slices.Clone(pod.Spec.ReadinessGates), func(g corev1.PodReadinessGate) bool {
		return strings.HasPrefix(string(g.ConditionType), legacyGatePrefix)
	})
	for _, w := range want {
		if !slices.Contains(gates, corev1.PodReadinessGate{ConditionType: w}) {
			gates = append(gates, corev1.PodReadinessGate{ConditionType: w})
		}
	}
	if slices.Equal(gates, pod.Spec.ReadinessGates) {
		return nil
	}
	return []PatchOperation{newSetChange("/spec/readinessGates", gates)}
}
