package globalaccelerator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/google/go-cmp/cmp"
)

const (
	invalidArgumentError      = "InvalidArgumentException"
	codeInvalidPortRange      = "InvalidPortRangeException"
	codeListenerNotFound      = "ListenerNotFoundException"
	codeEndpointGroupNotFound = "EndpointGroupNotFoundException"
)

func TestListenerPorts(t *testing.T) {
	many := func(n int32) []int32 {
		var out []int32
		for i := range n {
			out = append(out, 1000+2*i, 1000+2*i)
		}
		return out
	}
	for name, c := range map[string]struct {
		protocol types.Protocol
		ports    []int32
		want     string
	}{
		"free":                    {"TCP", []int32{8080, 8090}, ""},
		"adjacent port":           {"TCP", []int32{101, 101}, ""},
		"other protocol":          {"UDP", []int32{80, 100}, ""},
		"same port":               {"TCP", []int32{80, 80}, codeInvalidPortRange},
		"overlap":                 {"TCP", []int32{100, 200}, codeInvalidPortRange},
		"overlap in the request":  {"TCP", []int32{200, 300, 300, 400}, codeInvalidPortRange},
		"from is greater than to": {"TCP", []int32{300, 200}, codeInvalidPortRange},
		"port of an override":     {"TCP", []int32{9000, 9100}, codeInvalidPortRange},
		"override, by UDP":        {"UDP", []int32{9090, 9090}, codeInvalidPortRange},
		"port 0":                  {"TCP", []int32{0, 10}, invalidArgumentError},
		"port 65536":              {"TCP", []int32{10, 65536}, invalidArgumentError},
		"no ports":                {"TCP", nil, invalidArgumentError},
		"ten ranges":              {"TCP", many(10), ""},
		"eleven ranges":           {"TCP", many(11), invalidArgumentError},
		"unknown protocol":        {"SCTP", []int32{8080, 8080}, invalidArgumentError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			a := r.createAccelerator()
			first := r.createListener(a, 80, 100)
			must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{
				ListenerArn: first.ListenerArn, EndpointGroupRegion: aws.String(region), PortOverrides: portOverrides(80, 9090),
			}))(t)
			list := portRanges(c.ports...)
			if list == nil {
				list = []types.PortRange{}
			}
			r.checkError(c.want, errorOnly(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: c.protocol, PortRanges: list})))
			second := r.createListener(a, 7000, 7000)
			r.checkError(c.want, errorOnly(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: second.ListenerArn, Protocol: c.protocol, PortRanges: portsForUpdate(list, c.want)})))
			if len(must(r.ga.DescribeListener(r.ctx, &ga.DescribeListenerInput{ListenerArn: first.ListenerArn}))(t).Listener.PortRanges) != 1 {
				t.Error("another listener has changed")
			}
		})
	}
}

// portsForUpdate returns the ports for an update after a creation with the ports in list. If the creation succeeds (want is
// ""), these ports are in use, and portsForUpdate returns other ports.
func portsForUpdate(list []types.PortRange, want string) []types.PortRange {
	if want == "" {
		return portRanges(20000, 20010)
	}
	return list
}

func portOverrides(list ...int32) []types.PortOverride {
	out := []types.PortOverride{}
	for i := 0; i < len(list); i += 2 {
		out = append(out, types.PortOverride{ListenerPort: &list[i], EndpointPort: &list[i+1]})
	}
	return out
}

func TestListenerIsReadBack(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	l := r.createListener(a, 443, 443, 80, 90)
	if !strings.HasPrefix(*l.ListenerArn, *a.AcceleratorArn+"/listener/") || len(*l.ListenerArn) != len(*a.AcceleratorArn)+len("/listener/")+8 {
		t.Errorf("ARN %s", *l.ListenerArn)
	}
	if l.ClientAffinity != "NONE" || l.Protocol != "TCP" {
		t.Errorf("defaults %+v", l)
	}
	l = must(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: l.ListenerArn, ClientAffinity: "SOURCE_IP"}))(t).Listener
	slices.SortFunc(l.PortRanges, comparePorts)
	if l.ClientAffinity != "SOURCE_IP" || len(l.PortRanges) != 2 || *l.PortRanges[0].ToPort != 90 {
		t.Errorf("only the affinity changes: %+v", l)
	}
	l = must(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: l.ListenerArn, Protocol: "UDP", PortRanges: portRanges(80, 80)}))(t).Listener
	if l.Protocol != "UDP" || len(l.PortRanges) != 1 {
		t.Errorf("protocol and ports: %+v", l)
	}
	none := *l.ListenerArn + "0"
	r.checkError(codeListenerNotFound, errorOnly(r.ga.DescribeListener(r.ctx, &ga.DescribeListenerInput{ListenerArn: &none})))
	r.checkError(codeListenerNotFound, errorOnly(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: &none})))
	r.checkError(codeListenerNotFound, errorOnly(r.ga.DeleteListener(r.ctx, &ga.DeleteListenerInput{ListenerArn: a.AcceleratorArn})))
	r.checkError(codeListenerNotFound, errorOnly(r.ga.ListEndpointGroups(r.ctx, &ga.ListEndpointGroupsInput{ListenerArn: &none})))
	r.checkError(codeListenerNotFound, errorOnly(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: &none, EndpointGroupRegion: aws.String(region)})))
	r.checkError("AcceleratorNotFoundException", errorOnly(r.ga.ListListeners(r.ctx, &ga.ListListenersInput{AcceleratorArn: aws.String(missingAcceleratorARN)})))
	r.checkError("AcceleratorNotFoundException", errorOnly(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: aws.String(missingAcceleratorARN), Protocol: "TCP", PortRanges: portRanges(1, 1)})))
	r.checkError(invalidArgumentError, errorOnly(r.ga.UpdateListener(r.ctx, &ga.UpdateListenerInput{ListenerArn: l.ListenerArn, ClientAffinity: "COOKIE"})))
}

func TestEndpointGroupIsReadBack(t *testing.T) {
	r := newHarness(t)
	l := r.createListener(r.createAccelerator(), 443, 443)
	g := r.createEndpointGroup(l)
	want := &types.EndpointGroup{
		EndpointGroupArn: g.EndpointGroupArn, EndpointGroupRegion: aws.String(region), TrafficDialPercentage: aws.Float32(100), HealthCheckPort: aws.Int32(443),
		HealthCheckProtocol: "TCP", HealthCheckIntervalSeconds: aws.Int32(30), ThresholdCount: aws.Int32(3),
		EndpointDescriptions: []types.EndpointDescription{}, PortOverrides: []types.PortOverride{},
	}
	compare := func(what string) {
		t.Helper()
		got := must(r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))(t).EndpointGroup
		if d := cmp.Diff(want, got, cmp.AllowUnexported(types.EndpointGroup{}, types.EndpointDescription{}, types.PortOverride{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	compare("defaults")
	if !strings.HasPrefix(*g.EndpointGroupArn, *l.ListenerArn+"/endpoint-group/") {
		t.Errorf("ARN %s", *g.EndpointGroupArn)
	}
	update := func(in ga.UpdateEndpointGroupInput) {
		t.Helper()
		in.EndpointGroupArn = g.EndpointGroupArn
		must(r.ga.UpdateEndpointGroup(r.ctx, &in))(t)
	}
	update(ga.UpdateEndpointGroupInput{
		TrafficDialPercentage: aws.Float32(12.5), PortOverrides: portOverrides(443, 8443), EndpointConfigurations: endpointConfigurations(r.instance),
		HealthCheckPort: aws.Int32(80), HealthCheckProtocol: "HTTP", HealthCheckIntervalSeconds: aws.Int32(10), ThresholdCount: aws.Int32(1),
	})
	want.TrafficDialPercentage, want.PortOverrides = aws.Float32(12.5), portOverrides(443, 8443)
	want.HealthCheckPort, want.HealthCheckProtocol, want.HealthCheckPath = aws.Int32(80), "HTTP", aws.String("/")
	want.HealthCheckIntervalSeconds, want.ThresholdCount = aws.Int32(10), aws.Int32(1)
	want.EndpointDescriptions = []types.EndpointDescription{{EndpointId: &r.instance, Weight: aws.Int32(128), HealthState: "INITIAL", ClientIPPreservationEnabled: aws.Bool(true)}}
	compare("all members")
	update(ga.UpdateEndpointGroupInput{HealthCheckPath: aws.String("/ok?a=1")})
	want.HealthCheckPath = aws.String("/ok?a=1")
	compare("absent members stay")
	update(ga.UpdateEndpointGroupInput{PortOverrides: []types.PortOverride{}, EndpointConfigurations: []types.EndpointConfiguration{}})
	want.PortOverrides, want.EndpointDescriptions = []types.PortOverride{}, []types.EndpointDescription{}
	compare("empty lists replace lists")
}

func TestEndpointGroupArguments(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	l := r.createListener(a, 443, 443)
	g := r.createEndpointGroup(l)
	none := *g.EndpointGroupArn + "0"
	create := func(region string) error {
		return errorOnly(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: &region}))
	}
	update := func(in ga.UpdateEndpointGroupInput) error {
		in.EndpointGroupArn = g.EndpointGroupArn
		return errorOnly(r.ga.UpdateEndpointGroup(r.ctx, &in))
	}
	eleven := func(in *ga.UpdateEndpointGroupInput) *ga.UpdateEndpointGroupInput {
		for range 11 {
			in.EndpointConfigurations = append(in.EndpointConfigurations, types.EndpointConfiguration{EndpointId: aws.String("x")})
		}
		return in
	}
	weight := func(n int32) error {
		return update(ga.UpdateEndpointGroupInput{EndpointConfigurations: []types.EndpointConfiguration{{EndpointId: &r.instance, Weight: &n}}})
	}
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"second one of the region": {create(region), "EndpointGroupAlreadyExistsException"},
		"other region":             {create("ap-southeast-2"), ""},
		"unknown region":           {create("middle-earth"), invalidArgumentError},
		"region of China":          {create("cn-north-1"), invalidArgumentError},
		"dial above 100":           {update(ga.UpdateEndpointGroupInput{TrafficDialPercentage: aws.Float32(100.5)}), invalidArgumentError},
		"dial below 0":             {update(ga.UpdateEndpointGroupInput{TrafficDialPercentage: aws.Float32(-1)}), invalidArgumentError},
		"dial 0":                   {update(ga.UpdateEndpointGroupInput{TrafficDialPercentage: aws.Float32(0)}), ""},
		"check port":               {update(ga.UpdateEndpointGroupInput{HealthCheckPort: aws.Int32(0)}), invalidArgumentError},
		"check protocol":           {update(ga.UpdateEndpointGroupInput{HealthCheckProtocol: "UDP"}), invalidArgumentError},
		"check path":               {update(ga.UpdateEndpointGroupInput{HealthCheckPath: aws.String("ok")}), invalidArgumentError},
		"check path too long":      {update(ga.UpdateEndpointGroupInput{HealthCheckPath: aws.String("/" + strings.Repeat("x", 255))}), invalidArgumentError},
		"check interval":           {update(ga.UpdateEndpointGroupInput{HealthCheckIntervalSeconds: aws.Int32(9)}), invalidArgumentError},
		"undocumented interval":    {update(ga.UpdateEndpointGroupInput{HealthCheckIntervalSeconds: aws.Int32(20)}), invalidArgumentError},
		"threshold":                {update(ga.UpdateEndpointGroupInput{ThresholdCount: aws.Int32(11)}), invalidArgumentError},
		"weight 256":               {weight(256), invalidArgumentError},
		"weight -1":                {weight(-1), invalidArgumentError},
		"weight 0":                 {weight(0), ""},
		"eleven endpoints":         {errorOnly(r.ga.UpdateEndpointGroup(r.ctx, eleven(&ga.UpdateEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))), invalidArgumentError},
		"no endpoint ID":           {update(ga.UpdateEndpointGroupInput{EndpointConfigurations: []types.EndpointConfiguration{{}}}), invalidArgumentError},
		"unknown group":            {errorOnly(r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: &none})), codeEndpointGroupNotFound},
		"update of unknown":        {errorOnly(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: &none})), codeEndpointGroupNotFound},
		"deletion of unknown":      {errorOnly(r.ga.DeleteEndpointGroup(r.ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: &none})), codeEndpointGroupNotFound},
		"endpoints for unknown":    {errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: &none, EndpointConfigurations: endpointConfigurations(r.instance)})), codeEndpointGroupNotFound},
		"endpoints of unknown":     {errorOnly(r.ga.RemoveEndpoints(r.ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: &none, EndpointIdentifiers: []types.EndpointIdentifier{{EndpointId: &r.instance}}})), codeEndpointGroupNotFound},
		"attachment":               {update(ga.UpdateEndpointGroupInput{EndpointConfigurations: []types.EndpointConfiguration{{EndpointId: &r.instance, AttachmentArn: aws.String("x")}}}), "UnsupportedParameter"},
	} {
		if errorCode(c.err) != c.want {
			t.Errorf("%s: want %q, got %v", what, c.want, c.err)
		}
	}
	r.checkError("UnknownOperationException", errorOnly(r.ga.CreateCustomRoutingAccelerator(r.ctx, &ga.CreateCustomRoutingAcceleratorInput{Name: aws.String("x")})))
}

func TestPortOverrides(t *testing.T) {
	for name, c := range map[string]struct {
		list []int32
		want string
	}{
		"of its listener":                   {[]int32{80, 8080}, ""},
		"two":                               {[]int32{80, 8080, 81, 8081}, ""},
		"port of another listener":          {[]int32{443, 8080}, invalidArgumentError},
		"endpoint port is a listener's":     {[]int32{80, 443}, invalidArgumentError},
		"endpoint port is its listener's":   {[]int32{80, 81}, invalidArgumentError},
		"endpoint port of UDP":              {[]int32{80, 53}, invalidArgumentError},
		"endpoint port twice":               {[]int32{80, 8080, 81, 8080}, invalidArgumentError},
		"listener port twice":               {[]int32{80, 8080, 80, 8081}, invalidArgumentError},
		"endpoint port of another override": {[]int32{80, 9443}, invalidArgumentError},
		"port 0":                            {[]int32{80, 0}, invalidArgumentError},
		"eleven":                            {slices.Repeat([]int32{80, 8080}, 11), invalidArgumentError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			a := r.createAccelerator()
			l, other := r.createListener(a, 80, 81), r.createListener(a, 443, 443)
			must(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: "UDP", PortRanges: portRanges(53, 53)}))(t)
			must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: other.ListenerArn, EndpointGroupRegion: aws.String(region), PortOverrides: portOverrides(443, 9443)}))(t)
			r.checkError(c.want, errorOnly(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{
				ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String("us-east-1"), PortOverrides: portOverrides(c.list...),
			})))
			g := r.createEndpointGroup(l)
			// Two endpoint groups of a listener may have the same port overrides.
			r.checkError(c.want, errorOnly(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn, PortOverrides: portOverrides(c.list...)})))
		})
	}
}

func TestEndpointsAreAddedAndRemoved(t *testing.T) {
	r := newHarness(t)
	one, two := r.createLoadBalancer("one"), r.createLoadBalancer("two")
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80), one)
	weights := func() map[string]int32 {
		t.Helper()
		out := map[string]int32{}
		for _, e := range must(r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))(t).EndpointGroup.EndpointDescriptions {
			out[*e.EndpointId] = *e.Weight
		}
		return out
	}
	add := func(list ...types.EndpointConfiguration) error {
		out, err := r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: list})
		if err == nil && (len(out.EndpointDescriptions) != len(list) || *out.EndpointGroupArn != *g.EndpointGroupArn) {
			t.Errorf("the answer has %d endpoints, want only the added endpoints", len(out.EndpointDescriptions))
		}
		return err
	}
	remove := func(ids ...string) error {
		in := &ga.RemoveEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointIdentifiers: []types.EndpointIdentifier{}}
		for _, id := range ids {
			in.EndpointIdentifiers = append(in.EndpointIdentifiers, types.EndpointIdentifier{EndpointId: aws.String(id)})
		}
		return errorOnly(r.ga.RemoveEndpoints(r.ctx, in))
	}
	r.checkError("", add(types.EndpointConfiguration{EndpointId: &two, Weight: aws.Int32(10)}))
	if d := cmp.Diff(map[string]int32{one: 128, two: 10}, weights()); d != "" {
		t.Error(d)
	}
	r.checkError("", add(types.EndpointConfiguration{EndpointId: &one, Weight: aws.Int32(1)}))
	r.checkError(invalidArgumentError, add(endpointConfigurations(r.instance, r.instance)...))
	r.checkError(invalidArgumentError, remove(one, r.instance))
	r.checkError(invalidArgumentError, remove())
	if d := cmp.Diff(map[string]int32{one: 1, two: 10}, weights()); d != "" {
		t.Error(d)
	}
	r.checkError("", remove(one))
	r.checkError(invalidArgumentError, remove(one))
	if d := cmp.Diff(map[string]int32{two: 10}, weights()); d != "" {
		t.Error(d)
	}
}

func TestInvalidEndpointsAreRejected(t *testing.T) {
	r := newHarness(t)
	lb := r.createLoadBalancer("web")
	fresh := *must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("fresh"), Subnets: r.subnets}))(t).LoadBalancers[0].LoadBalancerArn
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80))
	for name, id := range map[string]string{
		"provisioning":    fresh,
		"unknown":         lb + "0",
		"other region":    strings.Replace(lb, region, "us-east-1", 1),
		"other account":   strings.Replace(lb, "123456789012", "210987654321", 1),
		"target group":    r.createForwardingListener(lb, "HTTP", 80),
		"no identifier":   "web",
		"no instance":     "i-0123456789abcdef0",
		"no allocation":   "eipalloc-0123456789abcdef0",
		"too long":        "i-" + strings.Repeat("0", 254),
		"empty":           "",
		"another service": "arn:aws:s3:::bucket",
	} {
		if err := errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(id)})); errorCode(err) != invalidArgumentError {
			t.Errorf("%s: %v", name, err)
		}
	}
}
