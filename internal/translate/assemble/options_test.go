package assemble

import "testing"

// TestWithDefaultsKeepsCertificateReader checks that WithDefaults keeps an existing certificate reader. All copies of
// Options share this reader, which parses each TLS Secret only once.
func TestWithDefaultsKeepsCertificateReader(t *testing.T) {
	o := Options{}.WithDefaults()
	if again := o.WithDefaults(); o.certificates == nil || again.certificates != o.certificates {
		t.Error("the certificate reader is replaced, so Secrets are parsed again")
	}
}
