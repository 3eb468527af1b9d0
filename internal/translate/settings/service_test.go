package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

var webService = finding.Ref{Kind: "Service", Namespace: "shop", Name: "web"}

func parseService(kv ...string) LoadBalancerService {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[ServicePrefix+kv[i]] = kv[i+1]
	}
	return ParseLoadBalancerService(m, webService)
}

// TestServiceValues checks the result of parsing one annotation at a time. A nil want means a fault.
func TestServiceValues(t *testing.T) {
	for _, c := range []struct {
		key, raw string
		get      func(LoadBalancerService) (any, error)
		want     any
	}{
		{"scheme", "internal", settingReader(func(s LoadBalancerService) Opt[model.Scheme] { return s.Scheme }), model.Internal},
		{"scheme", "Internal", settingReader(func(s LoadBalancerService) Opt[model.Scheme] { return s.Scheme }), nil},
		{"internal", "true", settingReader(func(s LoadBalancerService) Opt[model.Scheme] { return s.Scheme }), model.Internal},
		{"internal", "0", settingReader(func(s LoadBalancerService) Opt[model.Scheme] { return s.Scheme }), model.InternetFacing},
		{"internal", "0.0.0.0/0", settingReader(func(s LoadBalancerService) Opt[model.Scheme] { return s.Scheme }), nil},
		{"ip-address-type", "dualstack", settingReader(func(s LoadBalancerService) Opt[model.AddressType] { return s.AddressType }), model.DualStack},
		{"ip-address-type", "ipv6", settingReader(func(s LoadBalancerService) Opt[model.AddressType] { return s.AddressType }), nil},
		{"name", "a-name-of-more-than-32-characters", settingReader(func(s LoadBalancerService) Opt[string] { return s.Name }), nil},
		{"name", "mine", settingReader(func(s LoadBalancerService) Opt[string] { return s.Name }), "mine"},
		{"subnets", "subnet-1, a", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.Subnets }), []string{"subnet-1", "a"}},
		{"subnets", "", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.Subnets }), []string{}},
		{"attributes", "a=1, b=2", readAttributes, map[string]string{"a": "1", "b": "2"}},
		{"attributes", `a=x\,y,b=2`, readAttributes, map[string]string{"a": "x,y", "b": "2"}},
		{"attributes", "dns_record.client_routing_policy=any", readAttributes, nil},
		{"attributes", "a=1,junk", readAttributes, nil},
		{"minimum-load-balancer-capacity", "CapacityUnits=0", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Capacity }), map[string]string{"CapacityUnits": "0"}},
		{"minimum-load-balancer-capacity", "Units=0", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Capacity }), nil},
		{"eip-allocations", "eipalloc-1,eipalloc-2", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.ElasticAddresses }), []string{"eipalloc-1", "eipalloc-2"}},
		{"private-ipv4-addresses", "10.0.2.9,10.0.1.9", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.PrivateIPv4 }), []string{"10.0.2.9", "10.0.1.9"}},
		{"private-ipv4-addresses", "10.0.2", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.PrivateIPv4 }), nil},
		{"private-ipv4-addresses", "::1", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.PrivateIPv4 }), nil},
		{"ipv6-addresses", "2001:DB8::0A", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.IPv6 }), []string{"2001:db8::a"}},
		{"ipv6-addresses", "fe80::1%eth0", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.IPv6 }), nil},
		{"enable-prefix-for-ipv6-source-nat", "on", settingReader(func(s LoadBalancerService) Opt[string] { return s.SourceNAT }), "on"},
		{"enable-prefix-for-ipv6-source-nat", "true", settingReader(func(s LoadBalancerService) Opt[string] { return s.SourceNAT }), nil},
		{"source-nat-ipv6-prefixes", "auto_assigned,2001:db8::/80", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.SourceNATPrefixes }), []string{"auto_assigned", "2001:db8::/80"}},
		{"source-nat-ipv6-prefixes", "2001:db8::/64", settingReader(func(s LoadBalancerService) Opt[[]string] { return s.SourceNATPrefixes }), nil},
		{"inbound-sg-rules-on-private-link-traffic", "off", settingReader(func(s LoadBalancerService) Opt[string] { return s.PrivateLinkRules }), "off"},
		{"inbound-sg-rules-on-private-link-traffic", "", settingReader(func(s LoadBalancerService) Opt[string] { return s.PrivateLinkRules }), nil},
		{"enable-icmp-for-path-mtu-discovery", "on", settingReader(func(s LoadBalancerService) Opt[string] { return s.PathMTUDiscovery }), "on"},
		{"disable-nlb-sg", "true", settingReader(func(s LoadBalancerService) Opt[bool] { return s.NoSecurityGroups }), true},
		{"disable-nlb-sg", "yes", settingReader(func(s LoadBalancerService) Opt[bool] { return s.NoSecurityGroups }), nil},
		{"alpn-policy", "HTTP2Optional", settingReader(func(s LoadBalancerService) Opt[string] { return s.ALPN }), "HTTP2Optional"},
		{"alpn-policy", "none", settingReader(func(s LoadBalancerService) Opt[string] { return s.ALPN }), nil},
		{"enable-tcp-udp-listener", "T", settingReader(func(s LoadBalancerService) Opt[bool] { return s.MergeTCPUDP }), true},
		{"enable-tcp-udp-listener", "on", settingReader(func(s LoadBalancerService) Opt[bool] { return s.MergeTCPUDP }), nil},
		{"nlb-target-type", "ip", settingReader(func(s LoadBalancerService) Opt[model.TargetType] { return s.Target.Type }), model.IPTargets},
		{"nlb-target-type", "foo", settingReader(func(s LoadBalancerService) Opt[model.TargetType] { return s.Target.Type }), nil},
		{"type", "nlb-ip", settingReader(func(s LoadBalancerService) Opt[model.TargetType] { return s.Target.Type }), model.IPTargets},
		{"target-group-attributes", "a=1,preserve_client_ip.enabled=TRUE", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Target.Attributes }), map[string]string{"a": "1", "preserve_client_ip.enabled": "TRUE"}},
		{"target-group-attributes", "preserve_client_ip.enabled=", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Target.Attributes }), nil},
		{"target-group-attributes.443", "a=,b=1", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Target.PortAttributes["443"] }), map[string]string{"b": "1"}},
		{"target-group-attributes.443", "preserve_client_ip.enabled=no", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Target.PortAttributes["443"] }), nil},
		{"listener-attributes.TCP-80", "tcp.idle_timeout.seconds=60", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.ListenerAttributes["TCP-80"] }), map[string]string{"tcp.idle_timeout.seconds": "60"}},
		{"proxy-protocol", "*", settingReader(func(s LoadBalancerService) Opt[bool] { return s.Target.ProxyProtocol }), true},
		{"proxy-protocol", "true", settingReader(func(s LoadBalancerService) Opt[bool] { return s.Target.ProxyProtocol }), nil},
		{"proxy-protocol-per-target-group", "80, 443", settingReader(func(s LoadBalancerService) Opt[[]int32] { return s.Target.ProxyProtocolPorts }), []int32{80, 443}},
		{"proxy-protocol-per-target-group", "http", settingReader(func(s LoadBalancerService) Opt[[]int32] { return s.Target.ProxyProtocolPorts }), nil},
		{"healthcheck-protocol", "http", settingReader(func(s LoadBalancerService) Opt[string] { return s.Target.HealthProtocol }), "HTTP"},
		{"healthcheck-protocol", "grpc", settingReader(func(s LoadBalancerService) Opt[string] { return s.Target.HealthProtocol }), nil},
		{"healthcheck-interval", "10", settingReader(func(s LoadBalancerService) Opt[int32] { return s.Target.HealthInterval }), int32(10)},
		{"healthcheck-timeout", "soon", settingReader(func(s LoadBalancerService) Opt[int32] { return s.Target.HealthTimeout }), nil},
		{"target-node-labels", "a=b", settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.Target.NodeLabels }), map[string]string{"a": "b"}},
		{"multi-cluster-target-group", "", settingReader(func(s LoadBalancerService) Opt[bool] { return s.Target.MultiCluster }), nil},
	} {
		t.Run(c.key+"="+c.raw, func(t *testing.T) {
			got, err := c.get(parseService("aws-load-balancer-"+c.key, c.raw))
			if (err != nil) != (c.want == nil) {
				t.Fatalf("%v, %v", got, err)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// settingReader returns a function that returns the value or the fault of one setting.
func settingReader[T any](get func(LoadBalancerService) Opt[T]) func(LoadBalancerService) (any, error) {
	return func(s LoadBalancerService) (any, error) {
		o := get(s)
		if !o.IsPresent() {
			return "unset", nil
		}
		return o.Value, o.Fault
	}
}

func readAttributes(s LoadBalancerService) (any, error) {
	return settingReader(func(s LoadBalancerService) Opt[map[string]string] { return s.LoadBalancer.Attributes })(s)
}

func TestServiceAttributesOfDeprecatedAnnotations(t *testing.T) {
	const crossZone, logs = "aws-load-balancer-cross-zone-load-balancing-enabled", "aws-load-balancer-access-log-enabled"
	const bucket, prefix = "aws-load-balancer-access-log-s3-bucket-name", "aws-load-balancer-access-log-s3-bucket-prefix"
	for _, c := range []struct {
		in   []string
		want any
	}{
		{[]string{"aws-load-balancer-attributes", "load_balancing.cross_zone.enabled=false", crossZone, "true"}, map[string]string{"load_balancing.cross_zone.enabled": "true"}},
		{[]string{logs, "false", bucket, "b"}, "unset"},
		{[]string{logs, "true", bucket, "b", prefix, "p"}, map[string]string{"access_logs.s3.enabled": "true", "access_logs.s3.bucket": "b", "access_logs.s3.prefix": "p"}},
		{[]string{logs, "true", "aws-load-balancer-attributes", "a=1"}, map[string]string{"access_logs.s3.enabled": "true", "a": "1"}},
	} {
		got, err := readAttributes(parseService(c.in...))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v -want +got:\n%s", c.in, err, diff)
		}
	}
}

func TestServiceFaultsThatHoldEverything(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want int
	}{
		{[]string{"aws-load-balancer-internal", "0.0.0.0/0"}, 1},
		{[]string{"aws-load-balancer-internal", "0.0.0.0/0", "aws-load-balancer-scheme", "internal"}, 0},
		{[]string{"aws-load-balancer-enable-tcp-udp-listener", "yes", "aws-load-balancer-disable-nlb-sg", "no"}, 2},
		{[]string{"load-balancer-source-ranges", "10.0.0.0/8,everybody"}, 1},
		{[]string{"aws-load-balancer-manage-backend-security-group-rules", "x", "aws-load-balancer-alpn-policy", "x"}, 0},
	} {
		if got := parseService(c.in...).MemberFaults(); len(got) != c.want {
			t.Errorf("%v: %v", c.in, got)
		}
	}
	if got := parseService("aws-load-balancer-healthcheck-interval", "x", "aws-load-balancer-proxy-protocol", "x").Target.Faults(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestParseNetworkAction(t *testing.T) {
	for raw, want := range map[string]*NetworkForward{
		`{"type":"forward","forwardConfig":{"baseServiceWeight":10,"targetGroups":[{"serviceName":"web-v2","servicePort":81,"weight":90}]}}`: {
			BaseServiceWeight: new(int32(10)), Targets: []NetworkTarget{{Service: "web-v2", Port: intstr.FromInt32(81), Weight: 90}}},
		`{"TYPE":"forward","ForwardConfig":{"baseserviceweight":0,"targetGroups":[{"serviceName":"a","servicePort":"81","weight":999,"decrypt":true},{"targetGroupARN":"arn","weight":0}],"targetGroupStickinessConfig":{"enabled":true}},"more":1}`: {
			BaseServiceWeight: new(int32(0)), Sticky: new(true),
			Targets: []NetworkTarget{{Service: "a", Port: intstr.FromString("81"), Weight: 999, Decrypt: new(true)}, {ARN: "arn"}}},
		`{"type":"forward","forwardConfig":{}}`:                                 {},
		`{"type":"forward","forwardConfig":{"targetGroups":null}}`:              {},
		`{"type":"forward","forwardConfig":{"targetGroupStickinessConfig":{}}}`: {Sticky: new(false)},
		`{"type":"forward"}`:  nil,
		`{"type":"redirect"}`: nil,
		`{"type":"forward","forwardConfig":{"targetGroups":{}}}`:                                                nil,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":"1"}}`:                                          nil,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":1000}}`:                                         nil,
		forwardTo(`{"serviceName":"a","servicePort":81}`):                                                       nil,
		forwardTo(`{"serviceName":"a","weight":1}`):                                                             nil,
		forwardTo(`{"weight":1}`):                                                                               nil,
		forwardTo(`{"serviceName":"a","servicePort":81,"targetGroupARN":"b","weight":1}`):                       nil,
		forwardTo(`{"serviceName":"a","servicePort":81,"weight":1000}`):                                         nil,
		forwardTo(`{"serviceName":"a","servicePort":81,"weight":-1}`):                                           nil,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"a","servicePort":81,"weight":1}]}}`: nil,
		forwardTo(`{},{},{},{},{}`):                                                                             nil,
		"":                                                                                                      nil,
	} {
		got, err := parseNetworkAction(raw)
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if want != nil {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", raw, diff)
			}
		}
	}
}

func forwardTo(targets string) string {
	return `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[` + targets + `]}}`
}

func TestServiceAdvice(t *testing.T) {
	const p = ServicePrefix
	for key, want := range map[string]string{
		p + "aws-load-balancer-schema":                       `there is no such annotation (did you mean "aws-load-balancer-scheme"?); it has no effect`,
		p + "aws-load-balancer-listener-atributes.TCP-80":    `there is no such annotation (did you mean "aws-load-balancer-listener-attributes.TCP-80"?); it has no effect`,
		p + "aws-load-balancer-connection-idle-timeout":      "only the in-tree controller of Kubernetes reads this annotation, so it has no effect",
		"service.beta.kubernets.io/aws-load-balancer-scheme": `the prefix is not "service.beta.kubernetes.io/", so the annotation has no effect`,
		"service.kubernetes.io/aws-load-balancer-scheme":     "",
		p + "azure-load-balancer-internal":                   "",
		p + "aws-load-balancer-scheme":                       "",
		"fulcrum.dev/load-balancer-group":                    "",
	} {
		found := ServiceAnnotations.FindProbableMistakes(map[string]string{key: "x"}, webService)
		if want == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || found[0].Message != want || found[0].Field != key {
			t.Errorf("%s: %v, want %q", key, found, want)
		}
	}
	found := ServiceAnnotations.FindProbableMistakes(map[string]string{
		p + "actions.TCP-80":               `{"type":"forward","forwardConfig":{"targetGroup":[]}}`,
		p + "aws-load-balancer-attributes": "a=1,",
	}, webService)
	if len(found) != 2 {
		t.Errorf("%v", found)
	}
}
