package bindings

import (
	"slices"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Owners returns the objects on which the events of binding b are also reported: the objects of its stack that use its
// target group. They are found by the tags of the target group, because users can change the labels of a binding. Users can
// also write the ARN of any target group in a binding. Therefore the result contains only objects in the namespace of the
// binding, and a Gateway only if the target group was created for the Service of the binding.
func (r *Reconciler) Owners(b *elbv2.TargetGroupBinding) []finding.Ref {
	if b == nil || b.Spec.TargetGroupARN == "" {
		return nil
	}
	id, group, ok := r.Cloud.TargetGroupsOf(Account{}).OwnerStack(b.Spec.TargetGroupARN)
	if !ok {
		return nil
	}
	root := ownership.RootKind(id.Kind)
	if root == cluster.KindGateway {
		parts, _ := naming.GatewayTargetGroupPartsOf(group)
		if !slices.Contains(parts.Backends, finding.Ref{Namespace: b.Namespace, Name: b.Spec.ServiceRef.Name}) {
			return nil
		}
		return []finding.Ref{{Kind: string(root), Namespace: id.Namespace, Name: id.Name}}
	}
	v := r.Cluster.View().Unsubscribed()
	var out []finding.Ref
	for _, obj := range cluster.List[cluster.Object](v, cluster.Query{Kind: root, Namespace: b.Namespace, Index: cluster.ByFinalizer, Value: naming.Finalizer(id)}) {
		if ref := cluster.RefOf(obj); naming.IsTargetGroupOf(group, ref) && mayBelongTo(obj, id) {
			out = append(out, ref)
		}
	}
	if v.Err() != nil {
		return nil
	}
	return out[:min(len(out), maxNamedItems)]
}

// mayBelongTo reports whether an object with the finalizer of stack id may belong to this stack. If a stack has only one
// object, its finalizer does not contain the name of the object. Therefore the namespace and the name of the object are also
// compared.
func mayBelongTo(obj cluster.Object, id model.StackID) bool {
	if _, shared := naming.SharedName(id); shared || id.Namespace == "" {
		return true
	}
	return obj.GetNamespace() == id.Namespace && obj.GetName() == id.Name
}
