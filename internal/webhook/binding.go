package webhook

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// The checks of TargetGroupBindings, as metrics name them.
const (
	checkARNOrName      = "checkTargetGroupArnOrName"
	checkARNFromName    = "getArnFromNameIfNeeded"
	checkDefaultType    = "defaultingTargetType"
	checkDefaultAddress = "defaultingIPAddressType"
	checkDefaultVPC     = "defaultingVpcID"
	checkDefaultProto   = "defaultingTargetGroupProtocol"

	checkRequired    = "checkRequiredFields"
	checkImmutable   = "checkImmutableFields"
	checkSelector    = "checkNodeSelector"
	checkExisting    = "checkExistingTargetGroups"
	checkAddressType = "checkTargetGroupIPAddressType"
	checkVPC         = "checkTargetGroupVpcID"
	checkRole        = "checkAssumeRoleConfig"
	checkProtocol    = "checkTargetGroupProtocol"
)

func bindingOf(r Request, raw []byte) (*v1beta1.TargetGroupBinding, error) {
	b := &v1beta1.TargetGroupBinding{}
	if err := decode(raw, b); err != nil {
		return nil, err
	}
	b.Namespace = r.Namespace
	return b, nil
}

// asking describes the target group of one binding, asking AWS at most once by each of name and
// ARN.
type asking struct {
	from  TargetGroups
	known *bindings.TargetGroup
}

func (a *asking) byName(ctx context.Context, name string) (bindings.TargetGroup, error) {
	return a.ask(ctx, "", name)
}

func (a *asking) byARN(ctx context.Context, arn string) (bindings.TargetGroup, error) {
	if a.known != nil && a.known.ARN == arn {
		return *a.known, nil
	}
	return a.ask(ctx, arn, "")
}

func (a *asking) ask(ctx context.Context, arn, name string) (bindings.TargetGroup, error) {
	g, err := a.from.TargetGroup(ctx, arn, name)
	if err == nil {
		a.known = &g
	}
	return g, err
}

// foreign says that the target group is to be reached by a role. What our own credentials see is
// then another group, or none, so AWS is not asked.
func foreign(b *v1beta1.TargetGroupBinding) bool { return b.Spec.IamRoleArnToAssume != "" }

const foreignWarning = "spec.iamRoleArnToAssume: target groups of other accounts are not served by this version, so nothing was compared with AWS"
