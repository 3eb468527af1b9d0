package store

import (
	"regexp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
)

// Role is a registered IAM role. A role that is not registered can also be assumed, by any account, if its ARN is
// well-formed.
type Role struct {
	ARN string
	// ExternalID is the external ID that callers must send, or "" if none is required.
	ExternalID string
	// Trusted lists the accounts that may assume the role. If it is empty, all accounts may.
	Trusted []string
	// Policies has the policies of the role's sessions. If it is nil, everything is allowed.
	Policies []iam.Policy `json:",omitempty"`
}

// Principal is the identity behind an access key.
type Principal struct {
	// ARN is the ARN of the user or of the role's session.
	ARN string
	// Policies has the policies of the principal. If it is nil, everything is allowed.
	Policies []iam.Policy `json:",omitempty"`
}

var accountInKeyPattern = regexp.MustCompile(`(?:^|[^0-9])([0-9]{12})(?:[^0-9]|$)`)

// AddAccessKey registers an access key ID for an account.
func (w *Store) AddAccessKey(key, account string) { w.accountByAccessKey[key] = account }

// AddSecret sets the secret of an access key ID, which is necessary to verify signatures.
func (w *Store) AddSecret(key, secret string) { w.secrets[key] = secret }

// Secret returns the secret of an access key ID, and whether it has been added.
func (w *Store) Secret(key string) (string, bool) {
	secret, ok := w.secrets[key]
	return secret, ok
}

// AccountOfAccessKey returns the account of an access key ID: the registered account, or else the twelve digits in the key
// (as in AKIA111122223333), or else the default account. known is false only for the default account.
func (w *Store) AccountOfAccessKey(key string) (account string, known bool) {
	if account, ok := w.accountByAccessKey[key]; ok {
		return account, true
	}
	if m := accountInKeyPattern.FindStringSubmatch(key); m != nil {
		return m[1], true
	}
	return w.account, false
}

// PutPrincipal sets the principal of an access key ID. The default is a user with all permissions.
func (w *Store) PutPrincipal(key string, p Principal) { w.principals[key] = p }

// PrincipalOfAccessKey returns the principal of an access key ID of an account.
func (w *Store) PrincipalOfAccessKey(key, account string) Principal {
	p := w.principals[key]
	if p.ARN == "" {
		p.ARN = "arn:" + w.awsPartition.Name + ":iam::" + account + ":user/" + key
	}
	return p
}

// Services with a service-linked role. An account gets the role with its first load balancer or its first accelerator.
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

// DefaultAccount returns the account of access key IDs for which no other account is known.
func (w *Store) DefaultAccount() string { return w.account }

// PutRole registers a role.
func (w *Store) PutRole(r Role) { w.roles[r.ARN] = r }

// RoleByARN returns the registered role with an ARN, and whether it exists.
func (w *Store) RoleByARN(arn string) (Role, bool) {
	r, ok := w.roles[arn]
	return r, ok
}

// Trusts reports whether an account may assume the role.
func (r Role) Trusts(account string) bool {
	return len(r.Trusted) == 0 || slices.Contains(r.Trusted, account)
}
