// Package sts is the Security Token Service: the identity of the caller, and temporary
// credentials of roles. Credentials that it returns determine the account of the calls
// made with them.
package sts
