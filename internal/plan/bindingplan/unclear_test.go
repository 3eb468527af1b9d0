package bindingplan

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestUnknownENIFindingHasAFix checks the finding about an address for which AWS has no ENI yet: its fix says that the
// lookup is retried, and does not mention tags of security groups.
func TestUnknownENIFindingHasAFix(t *testing.T) {
	_, _, err := RuleOptions{}.securityGroupOf(targets.EndpointDemand{Endpoint: "web-0", Lookups: []targets.ENILookup{{Address: "10.0.0.1"}}}, ENIs{})
	f := unknownSecurityGroupFinding(finding.Ref{Kind: "TargetGroupBinding", Name: "b"}, err)
	if got := f.Text(); strings.Contains(got, "tag") || !strings.HasPrefix(got, "AWS has no network interface with the address of web-0, so no security group is opened for it; the lookup is retried") {
		t.Error(got)
	}
}
