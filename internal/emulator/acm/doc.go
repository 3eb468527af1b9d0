// Package acm holds the operations of the certificate manager: importing,
// requesting, listing, describing, tagging and deleting certificates.
//
// A requested certificate is issued by the emulator's own authority once its domains
// are validated: a while after their records exist in public hosted zones of the
// account, or after the request for those that a mail validates ([store.ACMConfig]).
package acm
