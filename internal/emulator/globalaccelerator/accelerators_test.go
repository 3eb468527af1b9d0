package globalaccelerator_test

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const missingAcceleratorARN = "arn:aws:globalaccelerator::123456789012:accelerator/00000000-0000-4000-a000-000000000000"

func TestAcceleratorIsReadBackWithDefaults(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	for pattern, value := range map[string]string{
		`^arn:aws:globalaccelerator::123456789012:accelerator/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`: *a.AcceleratorArn,
		`^a[0-9a-f]{16}\.awsglobalaccelerator\.com$`:                                                      *a.DnsName,
		`^75\.2\.\d+\.\d+ 99\.83\.\d+\.\d+$`:                                                              strings.Join(a.IpSets[0].IpAddresses, " "),
	} {
		if !regexp.MustCompile(pattern).MatchString(value) {
			t.Errorf("%q does not match %s", value, pattern)
		}
	}
	//lint:ignore SA1019 AWS answers with the deprecated field too
	if len(a.IpSets) != 1 || a.IpSets[0].IpAddressFamily != "IPv4" || *a.IpSets[0].IpFamily != "IPv4" || a.DualStackDnsName != nil {
		t.Errorf("addresses: %+v", a)
	}
	if !*a.Enabled || a.IpAddressType != "IPV4" || a.Status != "IN_PROGRESS" || len(a.Events) > 0 {
		t.Errorf("defaults: %+v", a)
	}
	got := must(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: a.AcceleratorArn}))(t).Accelerator
	if *got.DnsName != *a.DnsName || !slices.Equal(got.IpSets[0].IpAddresses, a.IpSets[0].IpAddresses) || *got.Name != "web" {
		t.Errorf("DescribeAccelerator returns %+v", got)
	}
	if other := r.createAccelerator(); *other.AcceleratorArn == *a.AcceleratorArn || other.IpSets[0].IpAddresses[0] == a.IpSets[0].IpAddresses[0] {
		t.Error("another accelerator has the same ARN or address")
	}
}

// TestStatusIsInProgressAfterChanges checks that creating and deleting an endpoint group sets the status to IN_PROGRESS
// for the deployment delay. Adding tags does not. The test runs in a synctest bubble, where time.Sleep takes no real time.
func TestStatusIsInProgressAfterChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &harness{t: t, ctx: t.Context(), em: emulator.New(emulator.Options{Seed: 7})}
		r.connect()
		a := r.createAccelerator()
		status := func(when string, want types.AcceleratorStatus) {
			t.Helper()
			if got := r.acceleratorStatus(a.AcceleratorArn); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		l := r.createListener(a, 80, 80) // AWS accepts a new listener during the deployment
		time.Sleep(29 * time.Second)
		status("29 seconds after the creation", "IN_PROGRESS")
		g := r.createEndpointGroup(l)
		time.Sleep(29 * time.Second)
		status("29 seconds after a change", "IN_PROGRESS")
		time.Sleep(time.Second)
		status("30 seconds after a change", "DEPLOYED")
		must(r.ga.TagResource(r.ctx, &ga.TagResourceInput{ResourceArn: a.AcceleratorArn, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))(t)
		status("after tags", "DEPLOYED")
		must(r.ga.DeleteEndpointGroup(r.ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))(t)
		status("after a deletion", "IN_PROGRESS")
		time.Sleep(30 * time.Second)
		for name, change := range map[string]func(){
			"CreateListener": func() { l = r.createListener(a, 90, 90) },
			"UpdateListener": func() {
				must(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: l.ListenerArn, PortRanges: []types.PortRange{{FromPort: aws.Int32(95), ToPort: aws.Int32(95)}}}))(t)
			},
			"UpdateAccelerator": func() {
				must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, Name: aws.String("other")}))(t)
			},
		} {
			status("before "+name, "DEPLOYED")
			change()
			status("after "+name, "IN_PROGRESS")
			time.Sleep(30 * time.Second)
		}
	})
}

func TestDeletionNeedsDisabledEmptyAccelerator(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	l := r.createListener(a, 80, 80)
	g := r.createEndpointGroup(l)
	remove := func() error {
		return errorOnly(r.ga.DeleteAccelerator(r.ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: a.AcceleratorArn}))
	}
	r.checkError("AcceleratorNotDisabledException", remove())
	must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, Enabled: aws.Bool(false)}))(t)
	r.checkError("AcceleratorNotDisabledException", remove())
	r.configure(func(c *store.Config) { c.Accelerator.BusyAfterDisable = true })
	r.checkError("TransactionInProgressException", remove())
	r.clock.Advance(30 * time.Second)
	r.checkError("AssociatedListenerFoundException", remove())
	r.checkError("AssociatedEndpointGroupFoundException", errorOnly(r.ga.DeleteListener(r.ctx, &ga.DeleteListenerInput{ListenerArn: l.ListenerArn})))
	must(r.ga.DeleteEndpointGroup(r.ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))(t)
	must(r.ga.DeleteListener(r.ctx, &ga.DeleteListenerInput{ListenerArn: l.ListenerArn}))(t)
	r.checkError("", remove()) // the status IN_PROGRESS does not prevent the deletion
	r.checkError("AcceleratorNotFoundException", remove())
	r.checkError("AcceleratorNotFoundException", errorOnly(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: a.AcceleratorArn})))
}

func TestRepeatedCreationIsIdempotent(t *testing.T) {
	r := newHarness(t)
	create := func(name string) (*types.Accelerator, error) {
		out, err := r.ga.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: &name, IdempotencyToken: aws.String("token")})
		if err != nil {
			return nil, err
		}
		return out.Accelerator, nil
	}
	a := must(create("web"))(t)
	r.clock.Advance(time.Minute)
	if again := must(create("web"))(t); *again.AcceleratorArn != *a.AcceleratorArn || again.Status != "DEPLOYED" {
		t.Errorf("a repeated CreateAccelerator returns %+v", again)
	}
	_, err := create("other")
	r.checkError("InvalidArgumentException", err)
	r.disableAccelerator(a.AcceleratorArn)
	must(r.ga.DeleteAccelerator(r.ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: a.AcceleratorArn}))(t)
	b := must(create("web"))(t)
	if *b.AcceleratorArn == *a.AcceleratorArn {
		t.Error("the token of a deleted accelerator returns the deleted accelerator")
	}

	in := &ga.CreateListenerInput{AcceleratorArn: b.AcceleratorArn, Protocol: "TCP", PortRanges: portRanges(80, 80), IdempotencyToken: aws.String("token")}
	l := must(r.ga.CreateListener(r.ctx, in))(t).Listener
	if again := must(r.ga.CreateListener(r.ctx, in))(t).Listener; *again.ListenerArn != *l.ListenerArn {
		t.Error("a repeated CreateListener created a second listener")
	}
	group := &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(region), IdempotencyToken: aws.String("token")}
	g := must(r.ga.CreateEndpointGroup(r.ctx, group))(t).EndpointGroup
	if again := must(r.ga.CreateEndpointGroup(r.ctx, group))(t).EndpointGroup; *again.EndpointGroupArn != *g.EndpointGroupArn {
		t.Error("a repeated CreateEndpointGroup created a second endpoint group")
	}
}

func TestUpdateChangesOnlyGivenMembers(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	r.clock.Advance(time.Minute)
	b := must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, Name: aws.String("k8s_shop_web")}))(t).Accelerator
	if *b.Name != "k8s_shop_web" || !*b.Enabled || b.IpSets[0].IpAddresses[0] != a.IpSets[0].IpAddresses[0] || b.Status != "IN_PROGRESS" || !b.LastModifiedTime.After(*a.LastModifiedTime) {
		t.Errorf("renamed: %+v", b)
	}
	b = must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, Enabled: aws.Bool(false)}))(t).Accelerator
	if *b.Enabled || b.IpSets[0].IpAddresses[1] != a.IpSets[0].IpAddresses[1] {
		t.Errorf("disabled accelerator, want the same addresses: %+v", b)
	}
	r.checkError("", errorOnly(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: "UDP", PortRanges: portRanges(53, 53)})))
}

func TestDualStackHasTwoIPv6Addresses(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator(func(in *ga.CreateAcceleratorInput) { in.IpAddressType = "DUAL_STACK" })
	dualStack := func(a *types.Accelerator) bool {
		return len(a.IpSets) == 2 && a.IpSets[1].IpAddressFamily == "IPv6" && len(a.IpSets[1].IpAddresses) == 2 &&
			netip.MustParsePrefix("2600:9000::/28").Contains(netip.MustParseAddr(a.IpSets[1].IpAddresses[1])) &&
			a.DualStackDnsName != nil && regexp.MustCompile(`^a[0-9a-f]{16}\.dualstack\.awsglobalaccelerator\.com$`).MatchString(*a.DualStackDnsName)
	}
	if !dualStack(a) {
		t.Errorf("created: %+v", a)
	}
	change := func(to types.IpAddressType) (*types.Accelerator, error) {
		out, err := r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, IpAddressType: to})
		if err != nil {
			return nil, err
		}
		return out.Accelerator, nil
	}
	b := must(change("IPV4"))(t)
	if len(b.IpSets) != 1 || b.DualStackDnsName != nil || *b.DnsName != *a.DnsName || len(b.Events) != 1 {
		t.Errorf("without IPv6: %+v", b)
	}
	four := r.createLoadBalancer("four")
	g := r.createEndpointGroup(r.createListener(a, 80, 80), four)
	_, err := change("DUAL_STACK")
	r.checkError("InvalidArgumentException", err)
	six := r.createLoadBalancer("six", asDualStack)
	must(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(six)}))(t)
	if b := must(change("DUAL_STACK"))(t); !dualStack(b) || len(b.Events) != 2 {
		t.Errorf("with IPv6 again: %+v", b)
	}
	r.checkError("InvalidArgumentException", errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(four)})))
	r.checkError("InvalidArgumentException", errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(r.instance)})))
}

func TestAcceleratorArguments(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	long := strings.Repeat("x", 256)
	create := func(in ga.CreateAcceleratorInput) error { return errorOnly(r.ga.CreateAccelerator(r.ctx, &in)) }
	update := func(in ga.UpdateAcceleratorInput) error {
		in.AcceleratorArn = a.AcceleratorArn
		return errorOnly(r.ga.UpdateAccelerator(r.ctx, &in))
	}
	name := aws.String("web")
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"name of one character":   {create(ga.CreateAcceleratorInput{Name: aws.String("x")}), ""},
		"generated name":          {create(ga.CreateAcceleratorInput{Name: aws.String("k8s_shop_web-accelerator_e59e9f834c84d34a6249fa0b9")}), ""},
		"64 characters":           {create(ga.CreateAcceleratorInput{Name: aws.String(long[:64])}), ""},
		"65 characters":           {create(ga.CreateAcceleratorInput{Name: aws.String(long[:65])}), "InvalidArgumentException"},
		"empty name":              {create(ga.CreateAcceleratorInput{Name: aws.String("")}), "InvalidArgumentException"},
		"hyphen at the beginning": {create(ga.CreateAcceleratorInput{Name: aws.String("-web")}), "InvalidArgumentException"},
		"hyphen at the end":       {create(ga.CreateAcceleratorInput{Name: aws.String("web-")}), "InvalidArgumentException"},
		"period at the end":       {create(ga.CreateAcceleratorInput{Name: aws.String("web.")}), "InvalidArgumentException"},
		"space":                   {create(ga.CreateAcceleratorInput{Name: aws.String("a b")}), "InvalidArgumentException"},
		"unknown address type":    {create(ga.CreateAcceleratorInput{Name: name, IpAddressType: "IPV6"}), "InvalidArgumentException"},
		"three addresses":         {create(ga.CreateAcceleratorInput{Name: name, IpAddresses: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}}), "InvalidArgumentException"},
		"address outside the ranges of the account": {create(ga.CreateAcceleratorInput{Name: name, IpAddresses: []string{"192.0.2.1"}}), "InvalidArgumentException"},
		"not an IP address":                         {create(ga.CreateAcceleratorInput{Name: name, IpAddresses: []string{"web"}}), "InvalidArgumentException"},
		"long token":                                {create(ga.CreateAcceleratorInput{Name: name, IdempotencyToken: &long}), "InvalidArgumentException"},
		"reserved tag":                              {create(ga.CreateAcceleratorInput{Name: name, Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("")}}}), "InvalidArgumentException"},
		"new name":                                  {update(ga.UpdateAcceleratorInput{Name: aws.String("-")}), "InvalidArgumentException"},
		"new address type":                          {update(ga.UpdateAcceleratorInput{IpAddressType: "BOTH"}), "InvalidArgumentException"},
		"addresses and type":                        {update(ga.UpdateAcceleratorInput{IpAddresses: []string{"192.0.2.1"}, IpAddressType: "IPV4"}), "ConflictException"},
		"addresses and disabled":                    {update(ga.UpdateAcceleratorInput{IpAddresses: []string{"192.0.2.1"}, Enabled: aws.Bool(false)}), "ConflictException"},
		"new address outside the ranges of the account": {update(ga.UpdateAcceleratorInput{IpAddresses: []string{"192.0.2.1"}}), "InvalidArgumentException"},
		"long ARN":            {errorOnly(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: &long})), "InvalidArgumentException"},
		"unknown ARN":         {errorOnly(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: aws.String(missingAcceleratorARN)})), "AcceleratorNotFoundException"},
		"update of unknown":   {errorOnly(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: aws.String(missingAcceleratorARN)})), "AcceleratorNotFoundException"},
		"deletion of unknown": {errorOnly(r.ga.DeleteAccelerator(r.ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: aws.String(missingAcceleratorARN)})), "AcceleratorNotFoundException"},
	} {
		if errorCode(c.err) != c.want {
			t.Errorf("%s: want %q, got %v", what, c.want, c.err)
		}
	}
}

// TestBringYourOwnIPAddresses checks that an accelerator can have IP addresses from address ranges of the account (BYOIP).
// If a request contains only one such address, the other address is one of Amazon.
func TestBringYourOwnIPAddresses(t *testing.T) {
	r := newHarness(t)
	provision := func(block string) error {
		return errorOnly(r.ga.ProvisionByoipCidr(r.ctx, &ga.ProvisionByoipCidrInput{Cidr: &block, CidrAuthorizationContext: &types.CidrAuthorizationContext{Message: aws.String("m"), Signature: aws.String("s")}}))
	}
	advertise := func(block string) error {
		return errorOnly(r.ga.AdvertiseByoipCidr(r.ctx, &ga.AdvertiseByoipCidrInput{Cidr: &block}))
	}
	create := func(addresses ...string) (*types.Accelerator, error) {
		out, err := r.ga.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: aws.String("own"), IpAddresses: addresses})
		if err != nil {
			return nil, err
		}
		return out.Accelerator, nil
	}
	const first, second = "198.51.100.0/24", "203.0.113.0/24"
	state := func(want types.ByoipCidrState) {
		t.Helper()
		list := must(r.ga.ListByoipCidrs(r.ctx, &ga.ListByoipCidrsInput{}))(t).ByoipCidrs
		if len(list) != 1 || list[0].State != want || *list[0].Cidr != first || len(list[0].Events) == 0 {
			t.Errorf("ranges %+v, want one in state %s", list, want)
		}
	}
	r.checkError("InvalidArgumentException", provision("198.51.100.0/25"))
	r.checkError("InvalidArgumentException", provision("198.51.100.1/24"))
	r.checkError("ByoipCidrNotFoundException", advertise(first))
	r.checkError("", provision(first))
	state("PENDING_PROVISIONING")
	r.checkError("IncorrectCidrStateException", provision(first))
	r.checkError("IncorrectCidrStateException", advertise(first))
	_, err := create("198.51.100.10")
	r.checkError("InvalidArgumentException", err)
	r.clock.Advance(time.Second)
	state("READY")
	r.checkError("", advertise(first))
	state("PENDING_ADVERTISING")
	r.clock.Advance(time.Second)
	state("ADVERTISING")
	r.checkError("", provision(second))
	r.checkError("LimitExceededException", provision("192.0.2.0/24"))
	r.clock.Advance(time.Second)

	a := must(create("198.51.100.10"))(t)
	if got := a.IpSets[0].IpAddresses; len(got) != 2 || got[0] != "198.51.100.10" || !strings.HasPrefix(got[1], "75.2.") {
		t.Errorf("addresses %v", got)
	}
	for _, addresses := range [][]string{{"198.51.100.10"}, {"198.51.100.11", "198.51.100.12"}, {"192.0.2.1"}} {
		_, err := create(addresses...)
		r.checkError("InvalidArgumentException", err)
	}
	_, err = r.ga.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: aws.String("own"), IpAddresses: []string{"198.51.100.11"}, IpAddressType: "DUAL_STACK"})
	r.checkError("InvalidArgumentException", err)
	b := must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn, IpAddresses: []string{"198.51.100.11", "203.0.113.5"}}))(t).Accelerator
	if got := strings.Join(b.IpSets[0].IpAddresses, " "); got != "198.51.100.11 203.0.113.5" || *b.DnsName != *a.DnsName {
		t.Errorf("other addresses: %s", got)
	}
	must(create("198.51.100.10"))(t) // the first accelerator has released this address
}

// TestOneTransactionAtATime checks that with Config.Accelerator.TransactionTime, changes of an accelerator are rejected for
// this time after each change. This only applies to operations for which the AWS model lists the error
// TransactionInProgressException.
func TestOneTransactionAtATime(t *testing.T) {
	r := newHarness(t)
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80))
	arn := aws.String((*g.EndpointGroupArn)[:strings.Index(*g.EndpointGroupArn, "/listener/")])
	r.configure(func(c *store.Config) { c.Accelerator.TransactionTime = 5 * time.Second })
	add := func() error {
		return errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(r.instance)}))
	}
	const busy = "TransactionInProgressException"
	r.checkError(busy, add())
	r.checkError(busy, errorOnly(r.ga.RemoveEndpoints(r.ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointIdentifiers: []types.EndpointIdentifier{{EndpointId: &r.instance}}})))
	r.checkError(busy, errorOnly(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: arn})))
	r.checkError(busy, errorOnly(r.ga.DeleteAccelerator(r.ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: arn})))
	r.checkError("", errorOnly(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn})))
	r.createAccelerator() // another accelerator is not affected
	r.clock.Advance(5 * time.Second)
	r.checkError("", add())
}
