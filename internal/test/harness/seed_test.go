package harness

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// TestSeededCertificatesAreSortedByARN checks that the ARN of certificate "example.com" is less than that of
// "app.test", and that the web ACL is in Account.
func TestSeededCertificatesAreSortedByARN(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		got, err := Seed(t.Context(), emulator.New(emulator.Options{Seed: seed}))
		if err != nil {
			t.Fatal(err)
		}
		if first, second := got.Certs["example.com"], got.Certs["app.test"]; first >= second {
			t.Errorf("seed %d: %s does not sort before %s", seed, first, second)
		}
		if !strings.Contains(got.WebACL, ":"+Account+":") {
			t.Errorf("seed %d: the web ACL %s is not of account %s", seed, got.WebACL, Account)
		}
	}
}
