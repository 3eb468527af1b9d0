package store

import (
	"regexp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
)

// Role is a registered IAM role. Any account may assume a role that is not registered, if
// its ARN is well-formed.
type Role struct {
	ARN string
	// ExternalID is the external id that callers must send, "" if none is required.
	ExternalID string
	// Trusted lists the accounts that may assume the role. If it is empty, all accounts may.
	Trusted []string
	// Policies are the policies of the role's sessions. Nil allows everything.
	Policies []iam.Policy `json:",omitempty"`
}

// Principal is the identity behind an access key.
type Principal struct {
	// ARN is the ARN of the user or of the role's session.
	ARN string
	// Policies are the policies of the principal. Nil allows everything.
	Policies []iam.Policy `json:",omitempty"`
}

var accountInKeyPattern = regexp.MustCompile(`(?:^|[^0-9])([0-9]{12})(?:[^0-9]|$)`)

// AddAccessKey sets the account of an access key.
func (w *Store) AddAccessKey(key, account string) { w.accessKeys[key] = account }

// AddSecret sets the secret of an access key, so that its signatures can be verified.
func (w *Store) AddSecret(key, secret string) { w.secrets[key] = secret }

// Secret returns the secret of an access key, if it has been added.
func (w *Store) Secret(key string) (string, bool) {
	secret, ok := w.secrets[key]
	return secret, ok
}

// AccountOf returns the account of an access key: the registered account, else the twelve digits within the key
// (AKIA111122223333), else the default account. known is false only in the last case.
func (w *Store) AccountOf(key string) (account string, known bool) {
	if account, ok := w.accessKeys[key]; ok {
		return account, true
	}
	if m := accountInKeyPattern.FindStringSubmatch(key); m != nil {
		return m[1], true
	}
	return w.account, false
}

// PutPrincipal sets the principal of an access key. The default is a user with all permissions.
func (w *Store) PutPrincipal(key string, p Principal) { w.principals[key] = p }

// PrincipalOf returns the principal of an access key of an account.
func (w *Store) PrincipalOf(key, account string) Principal {
	p := w.principals[key]
	if p.ARN == "" {
		p.ARN = "arn:" + w.awsPartition.Name + ":iam::" + account + ":user/" + key
	}
	return p
}

// Services with a service-linked role, which an account gets with its first load balancer or its first accelerator.
const (
	LinkedServiceELB         = "elasticloadbalancing"
	LinkedServiceAccelerator = "globalaccelerator"
)

// AddServiceLinkedRole records that an account has the service-linked role of a service.
func (w *Store) AddServiceLinkedRole(account, service string) {
	w.serviceLinkedRoles[account+" "+service] = true
}

// HasServiceLinkedRole reports whether an account has the service-linked role of a service.
func (w *Store) HasServiceLinkedRole(account, service string) bool {
	return w.serviceLinkedRoles[account+" "+service]
}

// DefaultAccount returns the account of access keys without a registered account.
func (w *Store) DefaultAccount() string { return w.account }

// PutRole registers a role.
func (w *Store) PutRole(r Role) { w.roles[r.ARN] = r }

// RoleByARN returns a registered role, and whether it exists.
func (w *Store) RoleByARN(arn string) (Role, bool) {
	r, ok := w.roles[arn]
	return r, ok
}

// Trusts reports whether an account may assume the role.
func (r Role) Trusts(account string) bool {
	return len(r.Trusted) == 0 || slices.Contains(r.Trusted, account)
}
