package assemble

import "testing"

// Options are copied into each translation, and the memory of TLS Secrets is that of the frontend.
func TestTranslationsShareOneCertificateReader(t *testing.T) {
	o := Options{}.WithDefaults()
	if again := o.WithDefaults(); o.certificates == nil || again.certificates != o.certificates {
		t.Error("what was parsed once is parsed again")
	}
}
