// Package certificates chooses the certificates of listeners, and plans to request, import, validate and delete the
// certificates that a stack manages.
//
// A requested certificate is created over several runs, none of which waits for ACM. The runs request the certificate, read
// its DNS records, create these records, and read the certificate again until ACM has issued it. Until then, the certificate
// in use is retained. All certificates of an account share the validation record of a domain. Therefore the deletion of a
// certificate deletes only the records that no other certificate needs.
//
// An imported certificate comes from a TLS Secret. It has the same tags as a requested certificate. The Secret is compared
// with the certificate in ACM by a hash (model.CertificateIdentity). The controller stores no other state for this
// comparison, so that a restart has no effect on it. A renewed certificate replaces the content of the old certificate under
// its ARN if ACM permits it (CanReplace). Package engine/imports limits the number of imports. assemble.HostClaims prevents
// a tenant from importing a certificate for the host of another tenant. docs/tls-secrets.md describes the complete process.
package certificates
