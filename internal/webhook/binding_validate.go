package webhook

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

var vpcID = regexp.MustCompile(`^vpc-([0-9a-f]{8}|[0-9a-f]{17}|[0-9a-f]{32})$`)

// validateBinding checks a new binding alone and against the others, and an update against what may change. A binding that
// is being deleted, or whose spec does not change, is allowed, because its finalizer has to be removable.
func (c Config) validateBinding(_ context.Context, r Request) (Answer, error) {
	b, err := bindingOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	if b.DeletionTimestamp != nil {
		return Answer{}, nil
	}
	var old *v1beta1.TargetGroupBinding
	if r.Operation == admissionv1.Update {
		if old, err = bindingOf(r, r.Old); err != nil {
			return Answer{}, err
		}
		if equality.Semantic.DeepEqual(b.Spec, old.Spec) {
			return Answer{}, nil
		}
	}
	if b.Spec.TargetGroupARN == "" && b.Spec.TargetGroupName == "" {
		return deny(checkRequired, "spec: either targetGroupARN or targetGroupName must be given"), nil
	}
	if old != nil {
		if changed := changedImmutableFields(b, old); len(changed) > 0 {
			return deny(checkImmutable, "may not be changed: %s", strings.Join(changed, ", ")), nil
		}
		if hasContradictingName(b) && b.Spec.TargetGroupName != old.Spec.TargetGroupName {
			return deny(checkImmutable, "spec.targetGroupName: %s is not the name of %s, and the target group may not be changed", b.Spec.TargetGroupName, b.Spec.TargetGroupARN), nil
		}
	}
	if b.Spec.NodeSelector != nil && isType(b, v1beta1.TargetTypeIP) {
		return deny(checkSelector, "spec.nodeSelector: is for target type instance only"), nil
	}
	if old != nil {
		if a := assumedRole(b); a.Refusal != nil {
			return a, nil
		}
	}
	if other, err := c.conflictingBinding(b); err != nil {
		return Answer{}, err
	} else if other != nil {
		return deny(checkExisting, "spec.targetGroupARN: target group %s is bound by TargetGroupBinding %s/%s already; both need multiClusterTargetGroup to share it",
			b.Spec.TargetGroupARN, other.Namespace, other.Name), nil
	}
	if old != nil {
		return Answer{}, nil
	}
	out := validateAlone(b)
	if hasContradictingName(b) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("spec.targetGroupName: %s is not the name of %s, which counts", b.Spec.TargetGroupName, b.Spec.TargetGroupARN))
	}
	return out, nil
}

// hasContradictingName reports whether a binding has both an ARN and a name, and the name, which is then
// ignored, is that of another target group.
func hasContradictingName(b *v1beta1.TargetGroupBinding) bool {
	of := nameFromARN(b.Spec.TargetGroupARN)
	return of != "" && b.Spec.TargetGroupName != "" && b.Spec.TargetGroupName != of
}

// nameFromARN returns the name of the target group of an ARN, "" if it is no such ARN.
func nameFromARN(arn string) string {
	_, of, _ := strings.Cut(arn, ":targetgroup/")
	if name, _, whole := strings.Cut(of, "/"); whole {
		return name
	}
	return ""
}

// changedImmutableFields lists the fields that an update must not change. What was left open may be filled in: the
// controller does so, and compares the values with AWS.
func changedImmutableFields(b, old *v1beta1.TargetGroupBinding) []string {
	var out []string
	changed := func(field string, was, is string) {
		if was != "" && was != is {
			out = append(out, field)
		}
	}
	was, is := old.Spec, b.Spec
	changed("spec.targetGroupARN", was.TargetGroupARN, is.TargetGroupARN)
	changed("spec.targetType", fieldText(was.TargetType), fieldText(is.TargetType))
	changed("spec.ipAddressType", fieldText(was.IPAddressType), fieldText(is.IPAddressType))
	changed("spec.vpcID", was.VpcID, is.VpcID)
	return out
}

func fieldText[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}

// conflictingBinding finds another binding that must not share the target group with this one. A name alone is not
// compared: there may be no target group of that name, and whoever writes it first must not keep others from one. The
// controller does that.
func (c Config) conflictingBinding(b *v1beta1.TargetGroupBinding) (*v1beta1.TargetGroupBinding, error) {
	if b.Spec.TargetGroupARN == "" {
		return nil, nil
	}
	v := cluster.NewView(c.Source)
	var out *v1beta1.TargetGroupBinding
	for _, o := range cluster.List[*v1beta1.TargetGroupBinding](v, cluster.Query{
		Kind: cluster.KindBinding, Index: cluster.BindingByTargetGroup, Value: cluster.TargetGroupName(b),
	}) {
		same := o.UID == b.UID && b.UID != "" || o.Namespace == b.Namespace && o.Name == b.Name
		shared := o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup
		if !same && !shared && o.Spec.TargetGroupARN == b.Spec.TargetGroupARN && out == nil {
			out = o
		}
	}
	return out, v.Err()
}

func assumedRole(b *v1beta1.TargetGroupBinding) Answer {
	if b.Spec.IamRoleArnToAssume != "" && isType(b, v1beta1.TargetTypeInstance) {
		return deny(checkRole, "spec.iamRoleArnToAssume: is for target type ip only")
	}
	return Answer{}
}

// validateAlone checks a new binding by itself.
func validateAlone(b *v1beta1.TargetGroupBinding) Answer {
	s := b.Spec
	if s.VpcID != "" && !vpcID.MatchString(s.VpcID) {
		return deny(checkVPC, "spec.vpcID: %q is not the id of a VPC", s.VpcID)
	}
	if a := assumedRole(b); a.Refusal != nil {
		return a
	}
	if targets.IsQUIC(b) && isType(b, v1beta1.TargetTypeInstance) {
		return deny(checkProtocol, "spec.targetGroupProtocol: %s needs target type ip", *s.TargetGroupProtocol)
	}
	return Answer{}
}

func isType(b *v1beta1.TargetGroupBinding, t v1beta1.TargetType) bool {
	return b.Spec.TargetType != nil && *b.Spec.TargetType == t
}
