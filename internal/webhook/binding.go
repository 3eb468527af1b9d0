package webhook

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
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

// fresh is how old a description of a target group may be. It covers both webhooks of a binding,
// because what they admit cannot be changed afterwards.
const fresh = 5 * time.Second

// asking describes the target group of one binding, with at most one AWS call by name and one
// by ARN, and with the rights of the role that the binding names.
type asking struct {
	from  bindings.TargetGroups
	class func(error) engine.Class
	known *bindings.TargetGroup
}

func (c Config) asking(b *v1beta1.TargetGroupBinding) *asking {
	var a bindings.Account
	if b.Spec.IamRoleArnToAssume != "" {
		a = bindings.Account{Role: b.Spec.IamRoleArnToAssume, ExternalID: bindings.Secret(b.Spec.AssumeRoleExternalId)}
	}
	return &asking{from: c.Accounts.As(a), class: c.Accounts.Class}
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
	g, err := a.from.TargetGroup(ctx, arn, name, fresh)
	if err != nil {
		return g, a.explain(cmp.Or(arn, name), err)
	}
	a.known = &g
	return g, nil
}

// explain describes the result of a look-up.
func (a *asking) explain(what string, err error) error {
	switch a.class(err) {
	case engine.Gone:
		return fmt.Errorf("target group %s does not exist", what)
	case engine.Invalid:
		return fmt.Errorf("AWS does not accept %s as a target group", what)
	case engine.Denied:
		return fmt.Errorf("AWS denies the right to look up target group %s", what)
	case engine.Throttled:
		return fmt.Errorf("AWS throttles the look-up of target group %s; try again", what)
	}
	return err
}
