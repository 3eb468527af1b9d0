// Package certificate parses certificates and private keys of TLS Secrets, and checks whether ACM accepts them. No message
// quotes the input, because the input contains private keys.
package certificate
