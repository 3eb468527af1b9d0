// Package sts is the Security Token Service: who am I, and how do I become
// somebody else. Credentials that it gives out determine the account of the
// calls made with them.
package sts
