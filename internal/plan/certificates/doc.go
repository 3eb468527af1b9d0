// Package certificates chooses the certificates of listeners, and plans to request, import, validate and delete the
// certificates that a stack manages.
//
// A certificate on request is created over several runs, none of which blocks: they request it, read its DNS records, create
// these, and read the certificate again until ACM has issued it. The certificate in use is retained until then. All
// certificates of an account share the validation record of a domain, so that the deletion of a certificate deletes only the
// records that no other certificate needs.
//
// An imported certificate comes from a TLS Secret. It has the same tags as a certificate on request, and is compared with
// the certificate in ACM by a hash (model.CertificateIdentity). Nothing is stored for this, so that a restart changes
// nothing. A renewed certificate replaces the old one under its ARN if ACM permits it (CanReplace). Package engine/imports
// limits the number of imports, and assemble.HostClaims prevents a tenant from importing a certificate for the host of
// another tenant. docs/tls-secrets.md describes the complete process.
package certificates
