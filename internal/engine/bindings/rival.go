package bindings

import (
	"cmp"
	"context"
	"fmt"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// rivalry is why a binding may not fill its target group. The zero value: it may.
type rivalry struct {
	first *elbv2.TargetGroupBinding // fills the group already
	owner string                    // namespace that the group was made for
}

func (r rivalry) lost() bool { return r.first != nil || r.owner != "" }

// rival finds another binding that fills the same target group and was there first. Two bindings
// would take each other's targets out for ever, unless both know that the group is shared. One that
// is about to go gives way at once, so that the group does not become empty in between. A group that
// the controller has made for an object of a namespace is for bindings of that namespace: its name
// can be foretold, so that anybody could be there first.
func (p *pass) rival(ctx context.Context) (rivalry, error) {
	r, b := p.r, p.b
	v := r.Cluster.View()
	var others []*elbv2.TargetGroupBinding
	for _, o := range withTargetGroup(v, b, p.w) {
		if (o.Namespace != b.Namespace || o.Name != b.Name) && o.DeletionTimestamp == nil && (sameGroup(o, b) || sameGroup(o, p.w)) {
			others = append(others, o)
		}
	}
	if err := v.Err(); err != nil {
		return rivalry{}, err
	}
	// Without knowledge the first comes first, as where nobody has made the group.
	owner, _ := r.Cloud.As(Account{}).MadeFor(ctx, p.w.Spec.TargetGroupARN, len(others) > 0)
	var out rivalry
	agreed := false // a binding of the owner shares the group
	for _, o := range others {
		if o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup {
			agreed = agreed || o.Namespace == owner
			continue
		}
		if before(o, b, owner) && (out.first == nil || before(o, out.first, owner)) {
			out.first = o
		}
	}
	if owner != "" && owner != b.Namespace && !agreed {
		out.owner = owner
	}
	return out, nil
}

// sameGroup compares by ARN and, where one of the two has none, by name within an account.
func sameGroup(a, b *elbv2.TargetGroupBinding) bool {
	if a.Spec.TargetGroupARN != "" && b.Spec.TargetGroupARN != "" {
		return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN
	}
	return a.Spec.IamRoleArnToAssume == b.Spec.IamRoleArnToAssume && cluster.TargetGroupName(a) == cluster.TargetGroupName(b)
}

// withTargetGroup are the bindings of all namespaces that may have the same target group as one of these.
func withTargetGroup(v *cluster.View, bindings ...*elbv2.TargetGroupBinding) []*elbv2.TargetGroupBinding {
	var out []*elbv2.TargetGroupBinding
	names := map[string]bool{}
	for _, b := range bindings {
		if name := cluster.TargetGroupName(b); !names[name] {
			names[name] = true
			out = append(out, cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{
				Kind: cluster.KindBinding, Index: cluster.BindingByTargetGroup, Value: name,
			})...)
		}
	}
	return out
}

// before orders the bindings of a group: those of its owner, then the older ones.
func before(a, b *elbv2.TargetGroupBinding, owner string) bool {
	if x, y := owner != "" && a.Namespace == owner, owner != "" && b.Namespace == owner; x != y {
		return x
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// shared is what a binding is told that may not fill its target group. Of another namespace it says
// no more than that.
func (r rivalry) shared(b *elbv2.TargetGroupBinding) finding.Finding {
	f := finding.Finding{
		Object: targets.Ref(b), Field: "spec.targetGroupARN", Reason: finding.TargetGroupShared, Severity: finding.Error,
		Message: fmt.Sprintf("target group %q was made for an Ingress of another namespace; this binding registers nothing", b.Spec.TargetGroupARN),
		Fix:     "delete the binding, or name a target group of its own",
	}
	if r.owner == "" {
		f.Message = fmt.Sprintf("target group %s%s is filled by TargetGroupBinding %s/%s already", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, r.first.Namespace, r.first.Name)
		f.Fix = "delete one of the two"
	}
	return f
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
