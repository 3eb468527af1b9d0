package assemble_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// serviceWithPort returns a Service of type LoadBalancer with one port. local reports whether its externalTrafficPolicy
// is "Local".
func serviceWithPort(local bool, port, nodePort int32, target intstr.IntOrString) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: port, NodePort: nodePort, TargetPort: target}},
	}}
	if local {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32001
	}
	return svc
}

func textSetting(v string) settings.Opt[string] { return settings.NewOpt(v, finding.Origin{}) }
func numberSetting(v int32) settings.Opt[int32] { return settings.NewOpt(v, finding.Origin{}) }

func TestHealthChecksOfNetworkLoadBalancers(t *testing.T) {
	plain := model.HealthCheck{Port: "traffic-port", Protocol: "TCP", IntervalSeconds: 10, TimeoutSeconds: 10, HealthyThreshold: 3, UnhealthyThreshold: 3}
	local := model.HealthCheck{Port: "32001", Protocol: "HTTP", Path: "/healthz", HTTPCodes: "200-399", IntervalSeconds: 10, TimeoutSeconds: 6, HealthyThreshold: 2, UnhealthyThreshold: 2}
	with := func(c model.HealthCheck, change func(*model.HealthCheck)) model.HealthCheck { change(&c); return c }
	for name, c := range map[string]struct {
		local, plain, nodePort, gateway bool
		set                             settings.TargetGroup
		want                            model.HealthCheck
	}{
		"cluster":                 {want: plain},
		"local":                   {local: true, want: local},
		"local, TCP":              {local: true, set: settings.TargetGroup{HealthProtocol: textSetting("TCP")}, want: with(local, func(h *model.HealthCheck) { h.Protocol, h.Path, h.HTTPCodes = "TCP", "", "" })},
		"local, on the traffic":   {local: true, set: settings.TargetGroup{HealthPort: textSetting("traffic-port")}, want: with(local, func(h *model.HealthCheck) { h.Port = "traffic-port" })},
		"local, ip targets":       {local: true, set: settings.TargetGroup{Type: settings.NewOpt(model.IPTargets, finding.Origin{})}, want: plain},
		"HTTP":                    {set: settings.TargetGroup{HealthProtocol: textSetting("http"), HealthPort: textSetting("8080")}, want: with(plain, func(h *model.HealthCheck) { h.Protocol, h.Port, h.Path, h.HTTPCodes = "HTTP", "8080", "/", "200-399" })},
		"without advanced checks": {plain: true, set: settings.TargetGroup{HealthProtocol: textSetting("HTTP"), HealthTimeout: numberSetting(3), SuccessCodes: textSetting("200")}, want: with(plain, func(h *model.HealthCheck) { h.Protocol, h.Path = "HTTP", "/" })},
		"numbers of the annotation": {set: settings.TargetGroup{HealthInterval: numberSetting(30), HealthTimeout: numberSetting(3), HealthyThreshold: numberSetting(5), UnhealthyThreshold: numberSetting(4)}, want: with(plain, func(h *model.HealthCheck) {
			h.IntervalSeconds, h.TimeoutSeconds, h.HealthyThreshold, h.UnhealthyThreshold = 30, 3, 5, 4
		})},
		"local, NodePort, Service":          {local: true, nodePort: true, set: settings.TargetGroup{HealthPort: textSetting("9000")}, want: with(plain, func(h *model.HealthCheck) { h.Port = "9000" })},
		"local, NodePort, Gateway":          {local: true, nodePort: true, gateway: true, set: settings.TargetGroup{HealthPort: textSetting("9000")}, want: with(local, func(h *model.HealthCheck) { h.Port = "9000" })},
		"local, NodePort, Gateway, no port": {local: true, nodePort: true, gateway: true, want: with(plain, func(h *model.HealthCheck) { h.IntervalSeconds, h.TimeoutSeconds = 15, 5 })},
	} {
		svc := serviceWithPort(c.local, 80, 30080, intstr.FromInt32(8080))
		if c.nodePort {
			svc.Spec.Type, svc.Spec.HealthCheckNodePort = corev1.ServiceTypeNodePort, 0
		}
		kind := model.Service
		if c.gateway {
			kind = model.NLBGateway
		}
		g, found := assemble.NewTargetGroup(assemble.TargetGroupRequest{
			Kind: kind, Service: svc, Port: intstr.FromInt32(80), Settings: c.set,
			DefaultType: model.InstanceTargets, Protocol: "TCP", BasicHealthChecks: c.plain,
		})
		if len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if d := cmp.Diff(c.want, g.HealthCheck); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// networkingRulesText returns the networking rules of a TargetGroupBinding in one line, such as "TCP 80+UDP 80 from
// backend".
func networkingRulesText(b *model.Binding) string {
	var out []string
	for _, r := range b.Networking {
		var from, ports []string
		for _, p := range r.From {
			switch {
			case p.BackendSecurityGroup:
				from = append(from, "backend")
			case p.Subnets:
				from = append(from, "subnets")
			case p.VPC:
				from = append(from, "VPC")
			default:
				from = append(from, p.CIDR)
			}
		}
		for _, p := range r.Ports {
			to := "any"
			if p.Port != nil {
				to = p.Port.String()
			}
			ports = append(ports, p.Protocol+" "+to)
		}
		optional := map[bool]string{true: " (optional)"}
		out = append(out, strings.Join(ports, "+")+" from "+strings.Join(from, ",")+optional[r.Optional])
	}
	return strings.Join(out, "; ")
}

func TestBindingRulesOfNetworkLoadBalancers(t *testing.T) {
	backend := &model.Peer{BackendSecurityGroup: true}
	for _, c := range []struct {
		protocol, check string
		data            intstr.IntOrString
		peer            *model.Peer
		clients         *assemble.Clients
		all             bool
		want            string
	}{
		{"TCP", "traffic-port", intstr.FromInt32(30080), backend, nil, true, "TCP any from backend"},
		{"TCP_UDP", "traffic-port", intstr.FromInt32(30080), backend, nil, true, "TCP any+UDP any from backend"},
		{"TCP", "traffic-port", intstr.FromInt32(8080), backend, nil, false, "TCP 8080 from backend"},
		{"TLS", "9000", intstr.FromInt32(8080), backend, nil, false, "TCP 8080+TCP 9000 from backend"},
		{"TCP", "8080", intstr.FromInt32(8080), backend, nil, false, "TCP 8080 from backend"},
		{"TCP", "traffic-port", intstr.FromString("http"), backend, nil, false, "TCP http from backend"},
		{"TCP", "8080", intstr.FromString("http"), backend, nil, false, "TCP http+TCP 8080 from backend"},
		{"UDP", "traffic-port", intstr.FromInt32(30053), backend, nil, false, "UDP 30053+TCP 30053 from backend"},
		{"UDP", "32001", intstr.FromInt32(30053), backend, nil, false, "UDP 30053+TCP 32001 from backend"},
		{"TCP_QUIC", "32001", intstr.FromInt32(443), backend, nil, false, "UDP 443+TCP 443+TCP 32001 from backend"},
		{"TCP", "traffic-port", intstr.FromInt32(80), nil, &assemble.Clients{}, false, "TCP 80 from subnets"},
		{"TCP", "traffic-port", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true}, false, "TCP 30080 from 0.0.0.0/0"},
		{"TCP", "traffic-port", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true, Internal: true}, false, "TCP 30080 from VPC"},
		{"TCP", "traffic-port", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true, Ranges: []string{"10.1.0.0/16"}}, false, "TCP 30080 from 10.1.0.0/16; TCP 30080 from subnets"},
		{"TCP", "traffic-port", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true, Ranges: []string{"10.1.0.0/16", "0.0.0.0/0"}}, false, "TCP 30080 from 10.1.0.0/16,0.0.0.0/0"},
		// aws-load-balancer-controller makes no second rule here, because it does not compare address families.
		{"TCP", "traffic-port", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true, Ranges: []string{"10.1.0.0/16", "::/0"}}, false, "TCP 30080 from 10.1.0.0/16,::/0; TCP 30080 from subnets (optional)"},
		{"TCP", "32001", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true, Ranges: []string{"10.1.0.0/16", "::/0"}}, false, "TCP 30080 from 10.1.0.0/16,::/0; TCP 32001 from subnets"},
		{"TCP_UDP", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{Ranges: []string{"10.1.0.0/16", "::/0"}, SeparateHealthCheckRule: true}, false, "TCP 53+UDP 53 from 10.1.0.0/16,::/0; TCP 53 from subnets"},
		{"TCP", "32001", intstr.FromInt32(30080), nil, &assemble.Clients{PreservesClientIP: true}, false, "TCP 30080 from 0.0.0.0/0; TCP 32001 from subnets"},
		{"UDP", "traffic-port", intstr.FromInt32(30053), nil, &assemble.Clients{PreservesClientIP: true}, false, "UDP 30053 from 0.0.0.0/0; TCP 30053 from subnets"},
		// Without the second rule, the security group would block health checks.
		{"TCP_UDP", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{Ranges: []string{"10.1.0.0/16"}}, false, "TCP 53+UDP 53 from 10.1.0.0/16; TCP 53 from subnets"},
		{"TCP_UDP", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{}, false, "TCP 53+UDP 53 from 0.0.0.0/0"},
		{"TCP_UDP", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{SeparateHealthCheckRule: true}, false, "TCP 53+UDP 53 from 0.0.0.0/0; TCP 53 from subnets"},
		{"TCP_QUIC", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{Internal: true, SeparateHealthCheckRule: true}, false, "TCP 53+UDP 53 from VPC; TCP 53 from subnets"},
		{"TCP", "traffic-port", intstr.FromInt32(53), nil, &assemble.Clients{PreservesClientIP: true, SeparateHealthCheckRule: true}, false, "TCP 53 from 0.0.0.0/0"},
		{"QUIC", "traffic-port", intstr.FromInt32(443), nil, &assemble.Clients{}, false, "UDP 443 from 0.0.0.0/0; TCP 443 from subnets"},
		{"TCP", "traffic-port", intstr.FromInt32(80), nil, nil, false, ""},
	} {
		g := assemble.TargetGroup{TrafficPort: c.data, TargetGroup: model.TargetGroup{Protocol: c.protocol, AddressType: model.IPv4, HealthCheck: model.HealthCheck{Port: c.check}}}
		b := assemble.NewBinding(assemble.BindingRequest{TargetGroup: g, Peer: c.peer, Clients: c.clients, OpenAllPorts: c.all})
		if got := networkingRulesText(b); got != c.want || b.Managed != (c.want != "") {
			t.Errorf("%s to %s, health checks on %s, clients %+v:\n got %s\nwant %s", c.protocol, c.data.String(), c.check, c.clients, got, c.want)
		}
	}
}

func TestClientRulesNameProtocolAndPathMTU(t *testing.T) {
	var got []string
	for _, r := range append(assemble.ClientIngressRules("udp", 53, []string{"10.0.0.0/8", "2001:db8::/32"}, []string{"pl-1"}, false), assemble.PathMTURule("10.0.0.0/8"), assemble.PathMTURule("2001:db8::/32")) {
		got = append(got, fmt.Sprint(r))
	}
	want := []string{"udp 53 from 10.0.0.0/8", "udp 53 from pl-1", "icmp 3-4 from 10.0.0.0/8", "icmpv6 2-0 from 2001:db8::/32"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSecurityGroupsOfNetworkLoadBalancers checks which security groups an NLB gets. An existing NLB keeps its security
// groups or stays without any, because AWS accepts the first security group only when the NLB is created.
func TestSecurityGroupsOfNetworkLoadBalancers(t *testing.T) {
	with := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "network", Scheme: model.InternetFacing, SecurityGroups: []string{"sg-1"}}}}
	shared := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "network", Scheme: model.InternetFacing, SecurityGroups: []string{"sg-2", "sg-backend"}}}}
	without := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "network", Scheme: model.InternetFacing}}}
	yes := func(s *settings.Shared, of func(string) finding.Origin) {
		s.NoSecurityGroups = settings.NewOpt(true, of("disable"))
	}
	given := func(s *settings.Shared, of func(string) finding.Origin) {
		s.SecurityGroups = settings.NewOpt([]string{"sg-2"}, of("groups"))
	}
	manage := func(on bool) func(*settings.Shared, func(string) finding.Origin) {
		return func(s *settings.Shared, of func(string) finding.Origin) {
			given(s, of)
			s.ManageBackendRules = settings.NewOpt(on, of("manage"))
		}
	}
	none := func(*settings.Shared, func(string) finding.Origin) {}
	for name, c := range map[string]struct {
		live      *observed.Stack
		set       func(*settings.Shared, func(string) finding.Origin)
		options   assemble.Options
		want      string
		byAddress bool
		found     finding.Reason
	}{
		"live without":                 {live: without, set: none, want: "none", byAddress: true},
		"live without, given":          {live: without, set: given, want: "none", byAddress: true, found: finding.SettingFixed},
		"live without, rules left":     {live: without, set: manage(false), want: "none", found: finding.SettingFixed},
		"live with, disabled":          {live: with, set: yes, want: "managed, backend", found: finding.SettingFixed},
		"live with, gate off":          {live: with, set: none, options: assemble.Options{NoSecurityGroups: true}, want: "managed, backend", found: finding.SettingFixed},
		"disabled":                     {set: yes, want: "none", byAddress: true},
		"gate off":                     {set: none, options: assemble.Options{NoSecurityGroups: true}, want: "none", byAddress: true},
		"managed":                      {set: none, want: "managed, backend"},
		"managed, no shared group":     {set: none, options: assemble.Options{NoBackendSecurityGroup: true}, want: "managed"},
		"given":                        {set: given, want: "given"},
		"given, rules managed":         {set: manage(true), want: "given, backend"},
		"given, managed by default":    {set: given, options: assemble.Options{ManageBackendRules: true}, want: "given, backend"},
		"given, nothing to manage by":  {set: manage(true), options: assemble.Options{NoBackendSecurityGroup: true}, want: "given", found: finding.FeatureDisabled},
		"live with shared, disabled":   {live: shared, set: manage(true), options: assemble.Options{NoBackendSecurityGroup: true}, want: "given, backend", found: finding.FeatureDisabled},
		"live with, nothing asked for": {live: with, set: none, want: "managed, backend"},
	} {
		m := newMember("Service", "web", c.set)
		c.options.Cluster, c.options.DefaultScheme = "rig", model.Internal
		b := &assemble.Builder{
			Translation: members.Translation{ID: model.StackID{Kind: model.Service, Namespace: "shop", Name: "web"}, Live: c.live, Members: []*members.Member{m}, BackendSecurityGroup: "sg-backend"},
			Options:     c.options, Type: model.Network,
		}
		b.SetMemberTags(m)
		lb := b.BuildLoadBalancer()
		got := "none"
		switch g := lb.SecurityGroups.(type) {
		case model.SecurityGroupsManaged:
			got = map[bool]string{true: "managed, backend", false: "managed"}[g.Backend]
		case model.SecurityGroupsGiven:
			got = map[bool]string{true: "given, backend", false: "given"}[g.Backend]
		}
		var reason finding.Reason
		for _, x := range b.Found {
			reason = x.Reason
		}
		if got != c.want || b.RulesByAddress != c.byAddress || reason != c.found {
			t.Errorf("%s: %s, by address %v, finding %q; want %s, %v, %q", name, got, b.RulesByAddress, reason, c.want, c.byAddress, c.found)
		}
		if c.live != nil && b.EffectiveScheme(lb) != model.InternetFacing {
			t.Errorf("%s: the scheme is %s, and the live load balancer has another", name, b.EffectiveScheme(lb))
		}
	}
}

// TestUnknownSharedSecurityGroupStays checks that an existing load balancer can keep the shared backend security group while
// the list of security groups cannot be read, so that its ID is not known. A new load balancer does not get it.
func TestUnknownSharedSecurityGroupStays(t *testing.T) {
	faults := map[string]observed.Fault{model.AskSecurityGroups{}.Key(): {Reason: finding.AccessDenied, Message: "denied"}}
	live := &observed.Stack{
		LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "application", SecurityGroups: []string{"sg-2", "sg-backend"}}},
		Facts:         observed.Facts{Faults: faults},
	}
	yes, no := settings.NewOpt(true, finding.Origin{}), settings.NewOpt(false, finding.Origin{})
	for name, c := range map[string]struct {
		live          *observed.Stack
		disabled      bool // the shared backend security group is disabled
		given         string
		first, second settings.Opt[bool]
		want          bool
	}{
		"disabled":             {live: live, disabled: true, first: yes, second: yes, want: true},
		"disabled, ID given":   {live: live, disabled: true, given: "sg-3", first: yes, second: yes},
		"disabled, new":        {live: &observed.Stack{Facts: live.Facts}, disabled: true, first: yes, second: yes},
		"contested":            {live: live, first: no, second: yes, want: true},
		"contested, disabled":  {live: live, disabled: true, first: no, second: yes, want: true},
		"contested, not valid": {live: live, first: settings.Opt[bool]{Fault: errors.New("not a boolean")}, second: no, want: true},
		"withdrawn":            {live: live, first: no, second: no},
	} {
		var all []*members.Member
		for i, manage := range []settings.Opt[bool]{c.first, c.second} {
			all = append(all, newMember("Ingress", string(rune('a'+i)), func(s *settings.Shared, of func(string) finding.Origin) {
				s.SecurityGroups, s.ManageBackendRules = settings.NewOpt([]string{"sg-2"}, of("groups")), manage
			}))
		}
		b := &assemble.Builder{
			Translation: members.Translation{ID: model.StackID{Kind: model.Ingress, Name: "team"}, Live: c.live, Members: all, BackendSecurityGroup: c.given},
			Options:     assemble.Options{Cluster: "rig", DefaultScheme: model.Internal, NoBackendSecurityGroup: c.disabled},
		}
		for _, m := range all {
			b.SetMemberTags(m)
		}
		if got := b.BuildLoadBalancer().SecurityGroups.(model.SecurityGroupsGiven).Backend; got != c.want {
			t.Errorf("%s: the shared backend security group is desired: %v, want %v", name, got, c.want)
		}
	}
}

// TestSourceNATIsSwitchedOff checks that source NAT is switched off if no member sets it, but not because of a value that
// cannot be read, and not if guests share the load balancer.
func TestSourceNATIsSwitchedOff(t *testing.T) {
	live := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "network", AddressType: model.DualStack, SourceNAT: "on"}}}
	set := func(o settings.Opt[string]) func(*settings.Shared, func(string) finding.Origin) {
		return func(s *settings.Shared, of func(string) finding.Origin) {
			s.AddressType, s.SourceNAT = settings.NewOpt(model.DualStack, of("type")), o
		}
	}
	unset, invalid := set(settings.Opt[string]{}), set(settings.Opt[string]{Fault: errors.New("not on or off")})
	for name, c := range map[string]struct {
		live   *observed.Stack
		owner  *string // the second member is in namespace bank if there is an owner
		first  func(*settings.Shared, func(string) finding.Origin)
		second func(*settings.Shared, func(string) finding.Origin)
		want   string
	}{
		"new":                       {first: unset, second: unset, want: "off"},
		"withdrawn":                 {live: live, first: unset, second: unset, want: "off"},
		"set by one":                {live: live, first: unset, second: set(textSetting("on")), want: "on"},
		"invalid":                   {live: live, first: unset, second: invalid, want: "on"},
		"the live value stays":      {live: live, first: set(textSetting("off")), second: set(textSetting("on")), want: "on"},
		"both ask for another":      {live: live, first: set(textSetting("off")), second: set(textSetting("off")), want: "off"},
		"contested, without a live": {first: set(textSetting("off")), second: set(textSetting("on")), want: "off"},
		"withdrawn by the owner":    {live: live, owner: new("shop"), first: unset, second: unset},
		"withdrawn, without owner":  {live: live, owner: new(""), first: unset, second: unset},
		"a guest sets another":      {live: live, owner: new("shop"), first: unset, second: set(textSetting("off"))},
		"a guest sets the live one": {live: live, owner: new("shop"), first: unset, second: set(textSetting("on")), want: "on"},
		"the owner sets another":    {live: live, owner: new("shop"), first: set(textSetting("off")), second: unset, want: "off"},
		"new, with a guest":         {owner: new("shop"), first: unset, second: set(textSetting("on")), want: "off"},
	} {
		all := []*members.Member{newMember("Service", "a", c.first), newMember("Service", "b", c.second)}
		if c.owner != nil {
			all[1].Ref.Namespace = "bank"
		}
		b := &assemble.Builder{
			Translation: members.Translation{ID: model.StackID{Kind: model.Service, Namespace: "shop", Name: "group.g"}, Live: c.live, Members: all, Owner: c.owner},
			Options:     assemble.Options{Cluster: "rig", DefaultScheme: model.Internal}, Type: model.Network,
		}
		for _, m := range all {
			b.SetMemberTags(m)
		}
		if got := b.BuildLoadBalancer().SourceNAT; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestHealthCheckLimitsOfNetworkLoadBalancers checks the findings about health check numbers that AWS rejects. A
// timeout longer than the interval is rejected. If only one of them is set, the finding names the default of the other.
func TestHealthCheckLimitsOfNetworkLoadBalancers(t *testing.T) {
	at := func(field string, v int32) settings.Opt[int32] {
		return settings.NewOpt(v, finding.Origin{Field: field})
	}
	for name, c := range map[string]struct {
		local, plain bool
		set          settings.TargetGroup
		field, says  string
	}{
		"an interval alone":              {set: settings.TargetGroup{HealthInterval: at("interval", 5)}, field: "interval", says: `the interval "5" is shorter than the default timeout of 10 seconds; the target group and the listeners that forward to it stay unchanged if they exist, and are not created otherwise; set healthcheck-timeout to 5 or less, or the interval to 10 or more`},
		"an interval with local traffic": {local: true, set: settings.TargetGroup{HealthInterval: at("interval", 5)}, field: "interval", says: "default timeout of 6 seconds"},
		"6 is enough for local traffic":  {local: true, set: settings.TargetGroup{HealthInterval: at("interval", 6)}},
		"without advanced checks":        {plain: true, set: settings.TargetGroup{HealthInterval: at("interval", 5), HealthTimeout: at("timeout", 2)}, field: "interval", says: "set the interval to 10 or more"},
		"both":                           {set: settings.TargetGroup{HealthInterval: at("interval", 5), HealthTimeout: at("timeout", 5)}},
		"a timeout":                      {set: settings.TargetGroup{HealthTimeout: at("timeout", 11)}, field: "timeout", says: `the timeout "11" is longer than the interval of 10 seconds`},
		"too long":                       {set: settings.TargetGroup{HealthInterval: at("interval", 1000)}, field: "interval", says: `"1000" is not from 5 to 300`},
		"too few":                        {set: settings.TargetGroup{HealthyThreshold: at("healthy", 1)}, field: "healthy", says: `"1" is not from 2 to 10`},
		"the slowest":                    {set: settings.TargetGroup{HealthInterval: at("interval", 300), HealthTimeout: at("timeout", 120), UnhealthyThreshold: at("unhealthy", 10)}},
	} {
		_, found := assemble.NewTargetGroup(assemble.TargetGroupRequest{
			Kind: model.Service, Service: serviceWithPort(c.local, 80, 30080, intstr.FromInt32(8080)), Port: intstr.FromInt32(80), Settings: c.set,
			DefaultType: model.InstanceTargets, Protocol: "TCP", BasicHealthChecks: c.plain,
		})
		switch {
		case c.says == "" && len(found) > 0:
			t.Errorf("%s: %v", name, found)
		case c.says != "" && (len(found) != 1 || found[0].Field != c.field || !strings.Contains(found[0].Message+"; "+found[0].Fix, c.says)):
			t.Errorf("%s: %v, want %q", name, found, c.says)
		}
	}
}
