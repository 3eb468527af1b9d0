// Package certificate parses certificates and private keys of TLS Secrets, and checks whether ACM accepts them. None of its
// messages quotes its input, which has private keys.
package certificate
