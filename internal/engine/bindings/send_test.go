package bindings

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestSplitNamed checks that an error names the targets whose whole IDs it contains, in the texts in which AWS returns them.
func TestSplitNamed(t *testing.T) {
	for text, want := range map[string]string{
		"because of missing primary IPv6 addresses: i-0a', 'i-0c":      "i-0a i-0c",
		"The following targets are not in a running state: 'i-0a'":     "i-0a",
		"The IP address '10.0.0.12' is not a valid IPv4 address":       "10.0.0.12",
		"these addresses are in use: 10.0.0.1, fd00::1.":               "10.0.0.1 fd00::1",
		"One or more targets are invalid, RequestID: 10-0.0.1-i-0ab":   "",
		"The instance i-0ab and the address 10.0.0.123 are unsuitable": "",
	} {
		var list []targets.Endpoint
		for _, id := range []string{"i-0a", "i-0b", "i-0c", "10.0.0.1", "10.0.0.12", "fd00::1"} {
			list = append(list, targets.Endpoint{ID: id, Port: 80})
		}
		named, others := splitByErrorMessage(list, errors.New(text))
		got := ""
		for _, e := range named {
			got += " " + e.ID
		}
		if want != "" {
			want = " " + want
		}
		if diff := cmp.Diff(want, got); diff != "" || len(named)+len(others) != len(list) {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
