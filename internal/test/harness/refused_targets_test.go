package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// TestNodesWithoutIPv6AreRefusedTogether checks that nodes without an IPv6 address, which AWS refuses as targets of an IPv6
// Service, cost one call for each attempt, whatever their number, and that the others are registered.
func TestNodesWithoutIPv6AreRefusedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		service := strings.Replace(shop, "spec: {type: NodePort, selector: {app: web}", "spec: {type: NodePort, ipFamilies: [IPv6], selector: {app: web}", 1)
		instances := strings.Replace(webIngress(ingressAnnotations("ip-address-type", "dualstack"), "/=web"), "target-type: ip", "target-type: instance", 1)
		r.Apply(service, readyPods("web", podAddresses[:3]...), instances)
		attempt := func(registered string, calls int) {
			t.Helper()
			r.Emulator.Calls().Reset()
			r.advanceTime(10 * time.Minute)
			if got := r.allActiveTargets(); got != registered {
				t.Errorf("targets %q, want %q", got, registered)
			}
			if n := r.Emulator.Calls().Count("RegisterTargets"); n == 0 || n > calls {
				t.Errorf("%d calls register targets, want at most %d", n, calls)
			}
		}
		r.Settle(time.Hour)
		attempt("", 2)
		api := ec2.NewFromConfig(AWSConfig(r.Emulator))
		out, err := api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{r.Seeded.Instances[0].ID}})
		if err != nil {
			t.Fatal(err)
		}
		eni := out.Reservations[0].Instances[0].NetworkInterfaces[0].NetworkInterfaceId
		if _, err := api.AssignIpv6Addresses(t.Context(), &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: eni, Ipv6AddressCount: aws.Int32(1)}); err != nil {
			t.Fatal(err)
		}
		attempt(r.Seeded.Instances[0].ID, 3)
	})
}
