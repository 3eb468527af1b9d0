package bindings

import (
	"fmt"
	"io"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Account is the AWS role with which calls on a target group are made. The zero value means the controller's own account
// and role.
type Account struct {
	Role       string // ARN of the role to assume
	ExternalID Secret // external ID that the trust policy of the role requires; empty for none
}

// Secret is a text that fmt and JSON print as "[redacted]".
type Secret string

const redacted = "[redacted]"

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler, which encoding/json uses.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// accountOf returns the account of a binding's target group.
func accountOf(b *elbv2.TargetGroupBinding) Account {
	if b.Spec.IamRoleArnToAssume == "" {
		return Account{}
	}
	return Account{b.Spec.IamRoleArnToAssume, Secret(b.Spec.AssumeRoleExternalId)}
}
