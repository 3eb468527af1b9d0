package bindingplan

import (
	"cmp"
	"fmt"
	"slices"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Conflict is the reason why a binding must not register targets in its target group. The zero value means no conflict.
type Conflict struct {
	PrecedingBinding      *elbv2.TargetGroupBinding // the binding with precedence, which may register targets
	OwnedByOtherNamespace bool                      // the target group was created for an object of another namespace
}

// exists reports whether there is a conflict.
func (c Conflict) exists() bool { return c.PrecedingBinding != nil || c.OwnedByOtherNamespace }

// ConflictOf returns the conflict of binding b with the other bindings of its target group. PrecedingBinding is the binding
// that has precedence. Two bindings would deregister each other's targets endlessly, unless both have
// multiClusterTargetGroup set. A target group that the controller created may only be used by bindings in the namespaces of
// its owners. The name of a target group is predictable, so that a tenant may have created a binding with this name in
// another namespace before.
func ConflictOf(b *elbv2.TargetGroupBinding, others []*elbv2.TargetGroupBinding, owners []string) Conflict {
	out := Conflict{OwnedByOtherNamespace: !MayRegister(b, owners)}
	for _, o := range others {
		if o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup {
			continue
		}
		if hasPrecedence(o, b, owners) && (out.PrecedingBinding == nil || hasPrecedence(o, out.PrecedingBinding, owners)) {
			out.PrecedingBinding = o
		}
	}
	return out
}

// MayRegister reports whether a binding may register targets in a target group that was created for objects in the
// namespaces owners. If owners is empty, every binding may register targets. The result does not depend on whether several
// clusters share the target group.
func MayRegister(b *elbv2.TargetGroupBinding, owners []string) bool {
	return len(owners) == 0 || slices.Contains(owners, b.Namespace)
}

// SameTargetGroup reports whether two bindings have the same target group. It compares their ARNs. If a binding has no ARN,
// it compares the account and the name of the target group.
func SameTargetGroup(a, b *elbv2.TargetGroupBinding) bool {
	if a.Spec.TargetGroupARN != "" && b.Spec.TargetGroupARN != "" {
		return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN
	}
	return a.Spec.IamRoleArnToAssume == b.Spec.IamRoleArnToAssume && cluster.TargetGroupName(a) == cluster.TargetGroupName(b)
}

// hasPrecedence reports whether a comes before b in the order of the bindings of a target group. Bindings in the namespaces
// of its owners come first, then bindings that have found the target group, then older bindings. Bindings that were created
// before a target group with the name in their spec existed come last.
func hasPrecedence(a, b *elbv2.TargetGroupBinding, owners []string) bool {
	if x, y := slices.Contains(owners, a.Namespace), slices.Contains(owners, b.Namespace); x != y {
		return x
	}
	if x, y := hasTargetGroup(a), hasTargetGroup(b); x != y {
		return x
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// hasTargetGroup reports whether a binding has the ARN of its target group, or had it when it registered targets.
func hasTargetGroup(b *elbv2.TargetGroupBinding) bool {
	return b.Spec.TargetGroupARN != "" || b.Status.ObservedGeneration != nil
}

// finding returns the finding about a binding that must not register targets. If the conflict is with another namespace, the
// finding contains no names of objects there.
func (c Conflict) finding(b *elbv2.TargetGroupBinding) finding.Finding {
	f := finding.Finding{
		Object: targets.BindingRef(b), Field: "spec.targetGroupARN", Reason: finding.TargetGroupShared, Severity: finding.Error,
		Message: fmt.Sprintf("target group %q was created for an object of another namespace; this binding registers no targets", b.Spec.TargetGroupARN),
		Fix:     "delete the binding, or set spec.targetGroupARN to another target group",
	}
	if !c.OwnedByOtherNamespace {
		f.Message = fmt.Sprintf("target group %s%s already has the targets of TargetGroupBinding %s/%s", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, c.PrecedingBinding.Namespace, c.PrecedingBinding.Name)
		f.Fix = "delete one of the two bindings"
	}
	return f
}

// UnsupportedFinding returns the finding about a setting of a binding that AWS does not support; nil if there is none.
func UnsupportedFinding(b *elbv2.TargetGroupBinding) *finding.Finding {
	var field, what string
	switch t := *b.Spec.TargetType; {
	case t == elbv2.TargetTypeIP:
		return nil
	case t != elbv2.TargetTypeInstance:
		field, what = "spec.targetGroupARN", fmt.Sprintf("a target group of type %s cannot have nodes or pods as targets", t)
	case b.Spec.IamRoleArnToAssume != "":
		field, what = "spec.iamRoleArnToAssume", "instances of one account cannot be targets in another"
	case targets.IsQUIC(b):
		field, what = "spec.targetGroupProtocol", "QUIC target groups have no instance targets"
	default:
		return nil
	}
	return &finding.Finding{
		Object: targets.BindingRef(b), Field: field, Reason: finding.Unsupported, Severity: finding.Error,
		Message: what + "; the targets stay unchanged", Fix: "use a target group of type ip",
	}
}
