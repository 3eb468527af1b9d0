package assemble

import "testing"

// Options are copied into each translation, but all copies share the certificate reader of the frontend, so a TLS
// Secret is parsed only once.
func TestTranslationsShareOneCertificateReader(t *testing.T) {
	o := Options{}.WithDefaults()
	if again := o.WithDefaults(); o.certificates == nil || again.certificates != o.certificates {
		t.Error("what was parsed once is parsed again")
	}
}
