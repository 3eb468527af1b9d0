package bindings

import (
	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Account is the AWS role that is used for calls on a target group. The zero value is the role of the controller itself.
type Account struct {
	Role       string       // ARN of the role to assume
	ExternalID model.Secret // external ID that the trust policy of the role requires; empty for none
}

// accountOf returns the account to use for the target group of a binding.
func accountOf(b *elbv2.TargetGroupBinding) Account {
	if b.Spec.IamRoleArnToAssume == "" {
		return Account{}
	}
	return Account{b.Spec.IamRoleArnToAssume, model.Secret(b.Spec.AssumeRoleExternalId)}
}
