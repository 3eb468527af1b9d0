// Package acm holds the operations of the certificate manager: importing,
// requesting, listing, describing, tagging and deleting certificates.
//
// A requested certificate is issued by the emulator's own authority once its
// validation is over, which is a matter of time here ([world.ACMConfig]): no
// DNS is looked at and no mail is sent.
package acm
