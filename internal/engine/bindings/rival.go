package bindings

import (
	"cmp"
	"fmt"
	"path"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// rival finds another binding that fills the same target group and was there first. Two bindings
// would take each other's targets out for ever, unless both know that the group is shared. One that
// is about to go gives way at once, so that the group does not become empty in between.
func (r *Reconciler) rival(b *elbv2.TargetGroupBinding) (*elbv2.TargetGroupBinding, error) {
	v := r.Cluster.View()
	var first *elbv2.TargetGroupBinding
	for _, o := range cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding}) {
		if o.Namespace == b.Namespace && o.Name == b.Name || o.DeletionTimestamp != nil || !sameGroup(o, b) || !before(o, b) ||
			o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup {
			continue
		}
		if first == nil || before(o, first) {
			first = o
		}
	}
	return first, v.Err()
}

// sameGroup compares by ARN and, where one of the two has none, by name within an account.
func sameGroup(a, b *elbv2.TargetGroupBinding) bool {
	if a.Spec.TargetGroupARN != "" && b.Spec.TargetGroupARN != "" {
		return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN
	}
	return a.Spec.IamRoleArnToAssume == b.Spec.IamRoleArnToAssume && groupName(a) == groupName(b)
}

// groupName is the name of a binding's target group, which its ARN ends with: "…/name/id".
func groupName(b *elbv2.TargetGroupBinding) string {
	if b.Spec.TargetGroupARN == "" {
		return b.Spec.TargetGroupName
	}
	return path.Base(path.Dir(b.Spec.TargetGroupARN))
}

func before(a, b *elbv2.TargetGroupBinding) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

func shared(b, first *elbv2.TargetGroupBinding) finding.Finding {
	return finding.Finding{
		Object: targets.Ref(b), Field: "spec.targetGroupARN", Reason: finding.TargetGroupShared, Severity: finding.Error,
		Message: fmt.Sprintf("target group %s%s is filled by TargetGroupBinding %s/%s already", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, first.Namespace, first.Name),
		Fix:     "delete one of the two",
	}
}

// impossible says what AWS cannot do for a binding as it stands, nil if nothing.
func impossible(b *elbv2.TargetGroupBinding) *finding.Finding {
	var field, what string
	switch t := *b.Spec.TargetType; {
	case t == elbv2.TargetTypeIP:
		return nil
	case t != elbv2.TargetTypeInstance:
		field, what = "spec.targetGroupARN", fmt.Sprintf("a target group of type %s has neither nodes nor pods for targets", t)
	case b.Spec.IamRoleArnToAssume != "":
		field, what = "spec.iamRoleArnToAssume", "instances of one account cannot be targets in another"
	case targets.IsQUIC(b):
		field, what = "spec.targetGroupProtocol", "QUIC target groups have no instance targets"
	default:
		return nil
	}
	return &finding.Finding{
		Object: targets.Ref(b), Field: field, Reason: finding.Unsupported, Severity: finding.Error,
		Message: what + "; the targets stay as they are", Fix: "use a target group of type ip",
	}
}
