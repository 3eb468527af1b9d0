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

const legacyGatePrefix = "target-health.alb.ingress.k8s.aws"

// injectGates lets a new pod wait for the target groups that its Services fill. The name of a binding
// can be longer than that of a gate may be, and the API server would reject the pod.
func (c Config) injectGates(_ context.Context, r Request) (Answer, error) {
	pod := &corev1.Pod{}
	if err := decode(r.Object, pod); err != nil {
		return Answer{}, err
	}
	if !c.ReadinessGates || !c.isWatched(r.Namespace) || r.Operation != admissionv1.Create {
		return Answer{}, nil
	}
	v := cluster.NewView(c.Source)
	var out Answer
	var want []corev1.PodConditionType
	for _, gate := range gatesOf(v, r.Namespace, pod.Labels) {
		if wrong := validation.IsQualifiedName(string(gate)); len(wrong) > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the pod does not wait for %s, which cannot be a readiness gate: %s", gate, wrong[0]))
			continue
		}
		want = append(want, gate)
	}
	if v.Err() != nil {
		return Answer{}, v.Err()
	}
	out.Changes = InjectGates(pod, want)
	return out, nil
}

// gatesOf lists the gates for pods of these labels, by name of the binding. A binding that is being
// deleted gives none, because such a gate would stay closed.
func gatesOf(v *cluster.View, namespace string, pod map[string]string) []corev1.PodConditionType {
	var out []corev1.PodConditionType
	for _, b := range cluster.List[*v1beta1.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding, Namespace: namespace}) {
		if b.DeletionTimestamp != nil || !isType(b, v1beta1.TargetTypeIP) {
			continue
		}
		svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, namespace, b.Spec.ServiceRef.Name)
		if ok && len(svc.Spec.Selector) > 0 && labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(pod)) {
			out = append(out, targets.GateType(b.Name))
		}
	}
	return out
}

// InjectGates returns the changes that give a pod the gates that it lacks. Gates of the old form
// are removed if there is a new one, because they would stay closed.
func InjectGates(pod *corev1.Pod, want []corev1.PodConditionType) []Change {
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
	return []Change{setChange("/spec/readinessGates", gates)}
}
