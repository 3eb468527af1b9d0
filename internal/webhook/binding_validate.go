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
)

var vpcID = regexp.MustCompile(`^vpc-([0-9a-f]{8}|[0-9a-f]{17}|[0-9a-f]{32})$`)

// validateBinding checks a new binding alone, against the others and against AWS, and an update
// against what may change. A binding that is being deleted, or whose spec does not change, is
// allowed, because its finalizer has to be removable.
func (c Config) validateBinding(ctx context.Context, r Request) (Answer, error) {
	b, err := bindingOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	if b.DeletionTimestamp != nil {
		return Answer{}, nil
	}
	ask := c.asking(b)
	var old *v1beta1.TargetGroupBinding
	if r.Operation == admissionv1.Update {
		if old, err = bindingOf(r, r.Old); err != nil {
			return Answer{}, err
		}
		if equality.Semantic.DeepEqual(b.Spec, old.Spec) {
			return Answer{}, nil
		}
	}
	arn, refusal := required(ctx, ask, b)
	if refusal.Refusal != nil {
		return refusal, nil
	}
	if old != nil {
		if changed := c.immutable(b, old, arn); len(changed) > 0 {
			return deny(checkImmutable, "may not be changed: %s", strings.Join(changed, ", ")), nil
		}
		if misnamed(b) && b.Spec.TargetGroupName != old.Spec.TargetGroupName {
			return deny(checkImmutable, "spec.targetGroupName: %s is not the name of %s, and the target group may not be changed", b.Spec.TargetGroupName, arn), nil
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
	if other, err := c.rival(b, arn); err != nil {
		return Answer{}, err
	} else if other != nil {
		return deny(checkExisting, "spec.targetGroupARN: target group %s is bound by TargetGroupBinding %s/%s already; both need multiClusterTargetGroup to share it", arn, other.Namespace, other.Name), nil
	}
	if old != nil {
		return Answer{}, nil
	}
	out := againstAWS(ctx, ask, b, arn)
	if misnamed(b) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("spec.targetGroupName: %s is not the name of %s, which counts", b.Spec.TargetGroupName, arn))
	}
	return out, nil
}

// misnamed reports whether a binding has both an ARN and a name, and the name, which is then
// ignored, is that of another target group.
func misnamed(b *v1beta1.TargetGroupBinding) bool {
	_, of, ok := strings.Cut(b.Spec.TargetGroupARN, ":targetgroup/")
	name, _, whole := strings.Cut(of, "/")
	return ok && whole && b.Spec.TargetGroupName != "" && b.Spec.TargetGroupName != name
}

// required checks what every binding must set and returns its ARN.
func required(ctx context.Context, ask *asking, b *v1beta1.TargetGroupBinding) (string, Answer) {
	s := b.Spec
	arn := s.TargetGroupARN
	switch {
	case arn == "" && s.TargetGroupName == "":
		return "", deny(checkRequired, "spec: either targetGroupARN or targetGroupName must be given")
	case s.TargetType == nil:
		return "", deny(checkRequired, "spec.targetType: must be given")
	case arn == "":
		g, err := ask.byName(ctx, s.TargetGroupName)
		if err != nil {
			return "", deny(checkRequired, "spec.targetGroupName: %v", err)
		}
		arn = g.ARN
	}
	return arn, Answer{}
}

// immutable lists the fields that an update must not change. An ARN may be given to a binding that
// has none, since nothing can have been registered by it.
func (c Config) immutable(b, old *v1beta1.TargetGroupBinding, arn string) []string {
	var out []string
	was, is := old.Spec, b.Spec
	if was.TargetGroupARN != "" && was.TargetGroupARN != arn {
		out = append(out, "spec.targetGroupARN")
	}
	if (was.TargetType == nil) != (is.TargetType == nil) || was.TargetType != nil && *was.TargetType != *is.TargetType {
		out = append(out, "spec.targetType")
	}
	switch {
	case was.IPAddressType == nil && is.IPAddressType == nil:
	case was.IPAddressType == nil && *is.IPAddressType == v1beta1.TargetGroupIPAddressTypeIPv4:
	case was.IPAddressType == nil, is.IPAddressType == nil, *was.IPAddressType != *is.IPAddressType:
		out = append(out, "spec.ipAddressType")
	}
	if was.VpcID != is.VpcID && (was.VpcID != "" || is.VpcID != c.VPC) {
		out = append(out, "spec.vpcID")
	}
	return out
}

// rival finds another binding that must not share the target group with this one.
func (c Config) rival(b *v1beta1.TargetGroupBinding, arn string) (*v1beta1.TargetGroupBinding, error) {
	v := cluster.NewView(c.Source)
	var out *v1beta1.TargetGroupBinding
	for _, o := range cluster.List[*v1beta1.TargetGroupBinding](v, cluster.Query{Kind: cluster.KindBinding}) {
		same := o.UID == b.UID && b.UID != "" || o.Namespace == b.Namespace && o.Name == b.Name
		shared := o.Spec.MultiClusterTargetGroup && b.Spec.MultiClusterTargetGroup
		if !same && !shared && o.Spec.TargetGroupARN == arn && out == nil {
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

// againstAWS checks a new binding against the target group as it is.
func againstAWS(ctx context.Context, ask *asking, b *v1beta1.TargetGroupBinding, arn string) Answer {
	s := b.Spec
	g, err := ask.byARN(ctx, arn)
	if err != nil {
		return deny(checkAddressType, "spec.targetGroupARN: %v", err)
	}
	want := v1beta1.TargetGroupIPAddressTypeIPv4
	if s.IPAddressType != nil {
		want = *s.IPAddressType
	}
	differs := func(check, field string, want, have any) Answer {
		return deny(check, "%s: %v is given but the target group has %v", field, want, have)
	}
	if have := addressType(string(g.AddressType)); want != have {
		return differs(checkAddressType, "spec.ipAddressType", want, have)
	}
	if s.VpcID != "" && !vpcID.MatchString(s.VpcID) {
		return deny(checkVPC, "spec.vpcID: %q is not the id of a VPC", s.VpcID)
	}
	if s.VpcID != "" && s.VpcID != g.VPC {
		return differs(checkVPC, "spec.vpcID", s.VpcID, g.VPC)
	}
	if a := assumedRole(b); a.Refusal != nil {
		return a
	}
	p := s.TargetGroupProtocol
	if p != nil && string(*p) != g.Protocol {
		return differs(checkProtocol, "spec.targetGroupProtocol", *p, g.Protocol)
	}
	if p != nil && (*p == v1beta1.ProtocolQUIC || *p == v1beta1.ProtocolTCPQUIC) && isType(b, v1beta1.TargetTypeInstance) {
		return deny(checkProtocol, "spec.targetGroupProtocol: %s needs target type ip", *p)
	}
	return Answer{}
}

func isType(b *v1beta1.TargetGroupBinding, t v1beta1.TargetType) bool {
	return b.Spec.TargetType != nil && *b.Spec.TargetType == t
}
