package assemble

import "testing"

// TestTranslationsShareOneCertificateReader checks that WithDefaults keeps an existing certificate reader. All copies of
// Options share this reader, which parses each TLS Secret only once.
func TestTranslationsShareOneCertificateReader(t *testing.T) {
	o := Options{}.WithDefaults()
	if again := o.WithDefaults(); o.certificates == nil || again.certificates != o.certificates {
		t.Error("what was parsed once is parsed again")
	}
}
