package bindings

import (
	"fmt"
	"io"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Account is the AWS account and role with which calls on a target group are made. The zero value means the
// controller's own.
type Account struct {
	Role       string // ARN of the role to assume
	ExternalID Secret // that the role asks for; empty for none
}

// Secret is a text that is not shown, however it is printed.
type Secret string

const hidden = "[redacted]"

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// MarshalText keeps the text out of JSON.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// accountOf returns the account of a binding's target group.
func accountOf(b *elbv2.TargetGroupBinding) Account {
	if b.Spec.IamRoleArnToAssume == "" {
		return Account{}
	}
	return Account{b.Spec.IamRoleArnToAssume, Secret(b.Spec.AssumeRoleExternalId)}
}
