// Package certificates reads the certificates of ACM and the hosted zones of Route 53, and carries out the steps that
// request, import, validate and delete certificates.
package certificates
