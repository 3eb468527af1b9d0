// Package certificate reads certificates and their keys from TLS Secrets, and says why one cannot be
// imported into ACM. It sees private keys, so none of its texts quotes what it reads.
package certificate
