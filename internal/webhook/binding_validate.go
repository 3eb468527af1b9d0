package webhook

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// vpcIDPattern matches the id of a VPC.
var vpcIDPattern = regexp.MustCompile(`^vpc-([0-9a-f]{8}|[0-9a-f]{17}|[0-9a-f]{32})$`)

// validateBinding checks the fields of a new binding, conflicts with other bindings, and changes of immutable fields in an
// update. It allows an update if the binding is being deleted, or if the update does not change the spec, because the
// controller must be able to remove the finalizer.
func (c Config) validateBinding(_ context.Context, r Request) (Response, error) {
	b := &v1beta1.TargetGroupBinding{}
	if err := r.decode(r.Object, b); err != nil {
		return Response{}, err
	}
	if b.DeletionTimestamp != nil {
		return Response{}, nil
	}
	var old *v1beta1.TargetGroupBinding
	if r.Operation == admissionv1.Update {
		old = &v1beta1.TargetGroupBinding{}
		if err := r.decode(r.Old, old); err != nil {
			return Response{}, err
		}
		if equality.Semantic.DeepEqual(b.Spec, old.Spec) {
			return Response{}, nil
		}
	}
	if b.Spec.TargetGroupARN == "" && b.Spec.TargetGroupName == "" {
		return deny(requiredFieldsCheck, "spec: either targetGroupARN or targetGroupName must be set"), nil
	}
	if old != nil {
		if changed := changedImmutableFields(b, old); len(changed) > 0 {
			return deny(immutableFieldsCheck, "may not be changed: %s", strings.Join(changed, ", ")), nil
		}
		if hasContradictingName(b) && b.Spec.TargetGroupName != old.Spec.TargetGroupName {
			return deny(immutableFieldsCheck, "spec.targetGroupName: %s is not the name of %s, and the target group may not be changed", b.Spec.TargetGroupName, b.Spec.TargetGroupARN), nil
		}
	}
	if b.Spec.NodeSelector != nil && hasTargetType(b, v1beta1.TargetTypeIP) {
		return deny(nodeSelectorCheck, "spec.nodeSelector: is only valid for target type instance"), nil
	}
	if old != nil {
		if a := checkAssumedRole(b); a.Refusal != nil {
			return a, nil
		}
	}
	if other, err := c.conflictingBinding(b); err != nil {
		return Response{}, err
	} else if other != nil {
		return deny(existingTargetGroupsCheck, "spec.targetGroupARN: target group %s is already bound by TargetGroupBinding %s/%s; to share it, both bindings need multiClusterTargetGroup",
			b.Spec.TargetGroupARN, other.Namespace, other.Name), nil
	}
	if old != nil {
		return Response{}, nil
	}
	out := validateFields(b)
	if hasContradictingName(b) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("spec.targetGroupName: %s is not the name of %s; the ARN takes precedence", b.Spec.TargetGroupName, b.Spec.TargetGroupARN))
	}
	return out, nil
}

// hasContradictingName reports whether a binding has both an ARN and a name of a target group, and the name in the ARN
// differs. The controller ignores the name of such a binding.
func hasContradictingName(b *v1beta1.TargetGroupBinding) bool {
	name := nameFromARN(b.Spec.TargetGroupARN)
	return name != "" && b.Spec.TargetGroupName != "" && b.Spec.TargetGroupName != name
}

// nameFromARN returns the name in the ARN of a target group, or "" if the text is not such an ARN.
func nameFromARN(arn string) string {
	_, path, _ := strings.Cut(arn, ":targetgroup/")
	if name, _, ok := strings.Cut(path, "/"); ok {
		return name
	}
	return ""
}

// changedImmutableFields returns the immutable fields that an update changes. An update may set a field that was empty,
// because the controller sets such fields and compares the values with AWS.
func changedImmutableFields(b, old *v1beta1.TargetGroupBinding) []string {
	var out []string
	changed := func(field string, was, is string) {
		if was != "" && was != is {
			out = append(out, field)
		}
	}
	was, is := old.Spec, b.Spec
	changed("spec.targetGroupARN", was.TargetGroupARN, is.TargetGroupARN)
	changed("spec.targetType", string(ptr.Deref(was.TargetType, "")), string(ptr.Deref(is.TargetType, "")))
	changed("spec.ipAddressType", string(ptr.Deref(was.IPAddressType, "")), string(ptr.Deref(is.IPAddressType, "")))
	changed("spec.vpcID", was.VpcID, is.VpcID)
	return out
}

// conflictingBinding returns another binding with the same target group, unless both are multi-cluster bindings; nil if no
// such binding exists. It compares only ARNs, because a binding with the name of a target group that does not exist must not
// block other bindings. Names are compared by the controller.
func (c Config) conflictingBinding(b *v1beta1.TargetGroupBinding) (*v1beta1.TargetGroupBinding, error) {
	if b.Spec.TargetGroupARN == "" {
		return nil, nil
	}
	v := cluster.NewView(c.Source)
	var out *v1beta1.TargetGroupBinding
	for _, o := range cluster.List[*v1beta1.TargetGroupBinding](v, cluster.Query{
		Kind: cluster.KindBinding, Index: cluster.BindingByTargetGroup, Value: cluster.TargetGroupName(b),
	}) {
		same := o.Namespace == b.Namespace && o.Name == b.Name
		shared := o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup
		if !same && !shared && o.Spec.TargetGroupARN == b.Spec.TargetGroupARN && out == nil {
			out = o
		}
	}
	return out, v.Err()
}

// checkAssumedRole returns an answer that denies a binding with a role to assume and target type instance.
func checkAssumedRole(b *v1beta1.TargetGroupBinding) Response {
	if b.Spec.IamRoleArnToAssume != "" && hasTargetType(b, v1beta1.TargetTypeInstance) {
		return deny(assumedRoleCheck, "spec.iamRoleArnToAssume: is only valid for target type ip")
	}
	return Response{}
}

// validateFields checks the fields of a new binding that do not depend on other objects.
func validateFields(b *v1beta1.TargetGroupBinding) Response {
	s := b.Spec
	if s.VpcID != "" && !vpcIDPattern.MatchString(s.VpcID) {
		return deny(vpcIDCheck, "spec.vpcID: %q is not the id of a VPC", s.VpcID)
	}
	if a := checkAssumedRole(b); a.Refusal != nil {
		return a
	}
	if targets.IsQUIC(b) && hasTargetType(b, v1beta1.TargetTypeInstance) {
		return deny(protocolCheck, "spec.targetGroupProtocol: %s needs target type ip", *s.TargetGroupProtocol)
	}
	return Response{}
}

// hasTargetType reports whether the target type of a binding is set to t.
func hasTargetType(b *v1beta1.TargetGroupBinding, t v1beta1.TargetType) bool {
	return b.Spec.TargetType != nil && *b.Spec.TargetType == t
}
