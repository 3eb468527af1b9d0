package assemble

import "testing"

// TestTranslationsShareOneCertificateReader checks that all copies of Options, of which each translation has one, share the
// certificate reader of the frontend, so that a TLS Secret is parsed only once.
func TestTranslationsShareOneCertificateReader(t *testing.T) {
	o := Options{}.WithDefaults()
	if again := o.WithDefaults(); o.certificates == nil || again.certificates != o.certificates {
		t.Error("what was parsed once is parsed again")
	}
}
