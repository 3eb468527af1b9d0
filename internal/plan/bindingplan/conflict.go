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

// Conflict is why a binding must not register targets in its target group. With the zero value it may.
type Conflict struct {
	First *elbv2.TargetGroupBinding // fills the group already
	Owned bool                      // the group was made for an object of another namespace
}

func (c Conflict) exists() bool { return c.First != nil || c.Owned }

// ConflictOf finds, among the other bindings of a target group, one that was there first. Two bindings
// would take each other's targets out for ever, unless both know that the group is shared. A group that
// the controller has made for an object of one of the owners, which are namespaces, is for bindings of these: its
// name can be foretold, so that anybody could be there first.
func ConflictOf(b *elbv2.TargetGroupBinding, others []*elbv2.TargetGroupBinding, owners []string) Conflict {
	out := Conflict{Owned: !MayRegister(b, owners)}
	for _, o := range others {
		if o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup {
			continue
		}
		if compareClaims(o, b, owners) && (out.First == nil || compareClaims(o, out.First, owners)) {
			out.First = o
		}
	}
	return out
}

// MayRegister reports whether a binding may register targets in a target group that was created for objects of these
// namespaces. A target group that several clusters share is no exception: that permits bindings of other clusters,
// not those of other namespaces.
func MayRegister(b *elbv2.TargetGroupBinding, owners []string) bool {
	return len(owners) == 0 || slices.Contains(owners, b.Namespace)
}

// SameTargetGroup compares by ARN and, where one of the two has none, by name within an account.
func SameTargetGroup(a, b *elbv2.TargetGroupBinding) bool {
	if a.Spec.TargetGroupARN != "" && b.Spec.TargetGroupARN != "" {
		return a.Spec.TargetGroupARN == b.Spec.TargetGroupARN
	}
	return a.Spec.IamRoleArnToAssume == b.Spec.IamRoleArnToAssume && cluster.TargetGroupName(a) == cluster.TargetGroupName(b)
}

// compareClaims orders the bindings of a target group: those of its owners, then those that have found it, then the
// older ones. Without the second, a name could be taken before there is a target group of that name.
func compareClaims(a, b *elbv2.TargetGroupBinding, owners []string) bool {
	if x, y := slices.Contains(owners, a.Namespace), slices.Contains(owners, b.Namespace); x != y {
		return x
	}
	if x, y := hasTargetGroup(a), hasTargetGroup(b); x != y {
		return x
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// hasTargetGroup reports whether a binding names its target group by ARN, or has filled it before its ARN was taken
// away.
func hasTargetGroup(b *elbv2.TargetGroupBinding) bool {
	return b.Spec.TargetGroupARN != "" || b.Status.ObservedGeneration != nil
}

// finding returns the finding about a binding that may not fill its target group. Of another namespace it says no more
// than that.
func (c Conflict) finding(b *elbv2.TargetGroupBinding) finding.Finding {
	f := finding.Finding{
		Object: targets.Ref(b), Field: "spec.targetGroupARN", Reason: finding.TargetGroupShared, Severity: finding.Error,
		Message: fmt.Sprintf("target group %q was made for an object of another namespace; this binding registers nothing", b.Spec.TargetGroupARN),
		Fix:     "delete the binding, or name a target group of its own",
	}
	if !c.Owned {
		f.Message = fmt.Sprintf("target group %s%s is filled by TargetGroupBinding %s/%s already", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, c.First.Namespace, c.First.Name)
		f.Fix = "delete one of the two"
	}
	return f
}

// UnsupportedFinding returns the finding about what AWS cannot do for a binding; nil if there is nothing.
func UnsupportedFinding(b *elbv2.TargetGroupBinding) *finding.Finding {
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
