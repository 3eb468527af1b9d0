package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// completeBinding fills in, from AWS, what a new binding does not set. If everything is set it
// makes no call. An update only gets back an ARN that it removes: the name alone does not find
// targets.
func (c Config) completeBinding(ctx context.Context, r Request) (Answer, error) {
	b, err := bindingOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	if b.DeletionTimestamp != nil {
		return Answer{}, nil
	}
	ask := c.asking(b)
	if r.Operation == admissionv1.Update {
		old, err := bindingOf(r, r.Old)
		if err != nil {
			return Answer{}, err
		}
		return restoreARN(ctx, ask, b, old), nil
	}
	return complete(ctx, ask, b), nil
}

func restoreARN(ctx context.Context, ask *asking, b, old *v1beta1.TargetGroupBinding) Answer {
	switch {
	case b.Spec.TargetGroupARN != "" || b.Spec.TargetGroupName == "":
		return Answer{} // the validation reports what is missing
	case old.Spec.TargetGroupARN != "" && old.Spec.TargetGroupName == b.Spec.TargetGroupName:
		return Answer{Changes: []Change{set("/spec/targetGroupARN", old.Spec.TargetGroupARN)}}
	}
	g, err := ask.byName(ctx, b.Spec.TargetGroupName)
	if err != nil {
		return deny(checkARNFromName, "spec.targetGroupName: %v", err)
	}
	return Answer{Changes: []Change{set("/spec/targetGroupARN", g.ARN)}}
}

func complete(ctx context.Context, ask *asking, b *v1beta1.TargetGroupBinding) Answer {
	s := b.Spec
	if s.TargetGroupARN == "" && s.TargetGroupName == "" {
		return deny(checkARNOrName, "spec: either targetGroupARN or targetGroupName must be given")
	}
	var out Answer
	arn := s.TargetGroupARN
	if arn == "" {
		g, err := ask.byName(ctx, s.TargetGroupName)
		if err != nil {
			return deny(checkARNFromName, "spec.targetGroupName: %v", err)
		}
		arn = g.ARN
		out.Changes = append(out.Changes, set("/spec/targetGroupARN", arn))
	}
	if s.TargetType == nil {
		g, err := ask.byARN(ctx, arn)
		if err != nil {
			return deny(checkDefaultType, "spec.targetGroupARN: %v", err)
		}
		if g.Type != model.InstanceTargets && g.Type != model.IPTargets {
			return deny(checkDefaultType, "spec.targetGroupARN: target type %s is not supported, only instance and ip are", g.Type)
		}
		out.Changes = append(out.Changes, set("/spec/targetType", g.Type))
	}
	if s.IPAddressType == nil {
		g, err := ask.byARN(ctx, arn)
		if err != nil {
			return deny(checkDefaultAddress, "spec.targetGroupARN: %v", err)
		}
		t := addressType(string(g.AddressType))
		if t != v1beta1.TargetGroupIPAddressTypeIPv4 && t != v1beta1.TargetGroupIPAddressTypeIPv6 {
			return deny(checkDefaultAddress, "spec.targetGroupARN: address type %s is not supported, only ipv4 and ipv6 are", t)
		}
		out.Changes = append(out.Changes, set("/spec/ipAddressType", t))
	}
	if s.VpcID == "" {
		g, err := ask.byARN(ctx, arn)
		if err != nil {
			return deny(checkDefaultVPC, "spec.targetGroupARN: %v", err)
		}
		out.Changes = append(out.Changes, set("/spec/vpcID", g.VPC))
	}
	if s.TargetGroupProtocol == nil {
		g, err := ask.byARN(ctx, arn)
		if err != nil {
			return deny(checkDefaultProto, "spec.targetGroupARN: %v", err)
		}
		out.Changes = append(out.Changes, set("/spec/targetGroupProtocol", g.Protocol))
	}
	return out
}

// addressType reads AWS's answer; old target groups have no address type and are IPv4.
func addressType(aws string) v1beta1.TargetGroupIPAddressType {
	if aws == "" {
		return v1beta1.TargetGroupIPAddressTypeIPv4
	}
	return v1beta1.TargetGroupIPAddressType(aws)
}
