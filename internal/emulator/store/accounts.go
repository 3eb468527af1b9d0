package store

import (
	"regexp"
	"slices"
)

// Role is an IAM role that can be assumed. Roles that were never registered can be
// assumed by any account, if their own account is well formed.
type Role struct {
	ARN string
	// ExternalID must be given by the caller; empty means none is needed.
	ExternalID string
	// Trusted are the accounts that may assume the role; empty means all.
	Trusted []string
}

var accountInKey = regexp.MustCompile(`(?:^|[^0-9])([0-9]{12})(?:[^0-9]|$)`)

// AddAccessKey sets the account of an access key.
func (w *Store) AddAccessKey(key, account string) { w.accessKeys[key] = account }

// AddSecret sets the secret of an access key, so that its signatures can be verified.
func (w *Store) AddSecret(key, secret string) { w.secrets[key] = secret }

// Secret returns the secret of an access key, if it has been added.
func (w *Store) Secret(key string) (string, bool) {
	secret, ok := w.secrets[key]
	return secret, ok
}

// AccountOf returns the account of an access key: the registered one, else
// the twelve digits within the key (AKIA111122223333), else the default
// account. known is false only for a key that was neither registered nor has
// such digits.
func (w *Store) AccountOf(key string) (account string, known bool) {
	if account, ok := w.accessKeys[key]; ok {
		return account, true
	}
	if m := accountInKey.FindStringSubmatch(key); m != nil {
		return m[1], true
	}
	return w.account, false
}

// DefaultAccount is the account of access keys without an account of their own.
func (w *Store) DefaultAccount() string { return w.account }

// PutRole registers a role.
func (w *Store) PutRole(r Role) { w.roles[r.ARN] = r }

// RoleByARN finds a registered role.
func (w *Store) RoleByARN(arn string) (Role, bool) {
	r, ok := w.roles[arn]
	return r, ok
}

// Trusts reports whether an account may assume the role.
func (r Role) Trusts(account string) bool {
	return len(r.Trusted) == 0 || slices.Contains(r.Trusted, account)
}
