// Package sts implements operations of the Security Token Service. It returns the identity of the caller, and temporary
// credentials of roles. Calls with these credentials belong to the account of the role.
package sts
