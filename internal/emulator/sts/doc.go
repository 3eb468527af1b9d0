// Package sts has operations of the Security Token Service: the identity of the caller, and
// temporary credentials of roles. The account of calls with such credentials is that of
// the role.
package sts
