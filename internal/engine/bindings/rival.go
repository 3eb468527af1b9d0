package bindings

import (
	"cmp"
	"fmt"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// rival finds another binding that fills the same target group and was there first. Two bindings
// would take each other's targets out for ever.
func (r *Reconciler) rival(b *elbv2.TargetGroupBinding) (*elbv2.TargetGroupBinding, error) {
	v := r.Cluster.View()
	var first *elbv2.TargetGroupBinding
	for _, o := range cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding}) {
		if o.Namespace == b.Namespace && o.Name == b.Name || !sameGroup(o, b) || !before(o, b) || o.Spec.MultiClusterTargetGroup {
			continue
		}
		if first == nil || before(o, first) {
			first = o
		}
	}
	return first, v.Err()
}

func sameGroup(a, b *elbv2.TargetGroupBinding) bool {
	if a.Spec.TargetGroupARN != "" && b.Spec.TargetGroupARN != "" {
		return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN
	}
	return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN && a.Spec.TargetGroupName == b.Spec.TargetGroupName
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

// unsupported says what this version cannot do for a binding, nil if nothing.
func unsupported(b *elbv2.TargetGroupBinding) *finding.Finding {
	var field, what string
	switch p := b.Spec.TargetGroupProtocol; {
	case b.Spec.MultiClusterTargetGroup:
		field, what = "spec.multiClusterTargetGroup", "target groups shared by several clusters"
	case b.Spec.IamRoleArnToAssume != "":
		field, what = "spec.iamRoleArnToAssume", "target groups of other accounts"
	case p != nil && (*p == elbv2.ProtocolQUIC || *p == elbv2.ProtocolTCPQUIC):
		field, what = "spec.targetGroupProtocol", "QUIC targets"
	default:
		return nil
	}
	return &finding.Finding{
		Object: targets.Ref(b), Field: field, Reason: finding.Unsupported, Severity: finding.Error,
		Message: what + " cannot be handled yet; the targets stay as they are", Fix: "remove the setting",
	}
}
