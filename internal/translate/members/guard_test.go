package members_test

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

func TestDeletionGuardIfProtectionIsEnabledOrUnreadable(t *testing.T) {
	for raw, waits := range map[string]bool{
		"": false, "idle_timeout.timeout_seconds=60": false, "deletion_protection.enabled=false": false, "deletion_protection.enabled=0": false,
		"deletion_protection.enabled=true": true, "a=b, deletion_protection.enabled = T": true, `deletion\_protection.enabled=true`: true,
		"deletion_protection.enabled=perhaps": true, "deletion_protection.enabled=": true, "deletion_protection.enabled=true,oops": true,
		"oops": false, "a=b,oops": false, "Deletion_Protection.Enabled=true": false,
	} {
		if got := members.DeletionProtectionFinding(finding.Ref{Kind: "Ingress", Namespace: "n", Name: "i"}, map[string]string{"attributes": raw}, "attributes"); (got != nil) != waits {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

func TestDisablesProtectionOnlyWithAnExplicitFalse(t *testing.T) {
	for raw, up := range map[string]bool{
		"": false, "a=b": false, "deletion_protection.enabled=false": true, "a=b,deletion_protection.enabled=0": true,
		"deletion_protection.enabled=true": false, "deletion_protection.enabled=": false, "deletion_protection.enabled=false,oops": false,
	} {
		if got := members.DisablesDeletionProtection(map[string]string{"attributes": raw}, "attributes"); got != up {
			t.Errorf("%q: %v", raw, got)
		}
	}
}
