package checks

import (
	"maps"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// TestDoctorChecksAllReadPermissions checks that the command doctor checks every read permission that the controller needs,
// and no permission that the controller does not need.
func TestDoctorChecksAllReadPermissions(t *testing.T) {
	c := &Checker{Client: &sdk.Client{}}
	tried := c.readChecks()
	maps.Copy(tried, c.acceleratorReadChecks())
	needed := map[string]bool{}
	for _, s := range slices.Concat(rights.AWSStatements, rights.AcceleratorStatements) {
		for _, a := range s.Actions {
			needed[a.Name] = true
			if (s.Sid == "Read" || s.Sid == "ReadAccelerators") && tried[a.Name] == nil {
				t.Errorf("%s is not checked", a.Name)
			}
		}
	}
	for name := range tried {
		if !needed[name] {
			t.Errorf("%s is checked, but the controller does not need it", name)
		}
	}
}
