package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// serviceAnnotations returns annotations for a Service with ip targets. pairs are alternating names and values of
// further annotations. The names are without the prefix "service.beta.kubernetes.io/".
func serviceAnnotations(pairs ...string) string {
	out := ipTargets
	for i := 0; i < len(pairs); i += 2 {
		out += ", service.beta.kubernetes.io/" + pairs[i] + ": '" + pairs[i+1] + "'"
	}
	return out
}

const onePort = "{name: a, port: 80, targetPort: 8080, nodePort: 30080}"

// hasEvent reports whether a Warning event on an object with the given name contains a text.
func hasEvent(r *Harness, name, text string) bool {
	return slices.ContainsFunc(r.Store.All("Event"), func(o cluster.Object) bool {
		e := o.(*corev1.Event)
		return e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == name && strings.Contains(e.Message, text)
	})
}

// TestInvalidEditsLoseNothing checks that an edit with an invalid value changes nothing in AWS, also for a shared load
// balancer. An event on the Service reports the value, and the status still shows the load balancer.
func TestInvalidEditsLoseNothing(t *testing.T) {
	t.Parallel()
	const lb = "service.beta.kubernetes.io/aws-load-balancer-"
	for name, c := range map[string]struct {
		annotations, ports, says string
	}{
		"an interval alone":       {serviceAnnotations("aws-load-balancer-healthcheck-interval", "5"), onePort, lb + `healthcheck-interval: the interval "5" is shorter than the default timeout of 10 seconds`},
		"a path":                  {serviceAnnotations("aws-load-balancer-healthcheck-protocol", "HTTP", "aws-load-balancer-healthcheck-path", "bad path"), onePort, lb + `healthcheck-path: AWS refuses "bad path"`},
		"a malformed certificate": {serviceAnnotations("aws-load-balancer-ssl-cert", "junk"), onePort, lb + `ssl-cert: AWS refuses "junk"`},
		"a malformed prefix list": {serviceAnnotations("aws-load-balancer-security-group-prefix-lists", "pl-nope"), onePort, lb + `security-group-prefix-lists: AWS refuses "pl-nope"`},
		"elastic addresses":       {serviceAnnotations("aws-load-balancer-eip-allocations", "eipalloc-1"), onePort, "needs scheme internet-facing"},
		"private addresses":       {serviceAnnotations("aws-load-balancer-private-ipv4-addresses", "10.0.1.9"), onePort, `1 private address for 3 subnets; the load balancer keeps its current addresses; set one address for each subnet`},
		"a target group":          {serviceAnnotations("actions.TCP-80", `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"targetGroupARN":"junk","weight":1}]}}`), onePort, `service.beta.kubernetes.io/actions.TCP-80: target group "junk" does not exist; the rule or default action that references it is held`},
		"an attribute":            {serviceAnnotations("aws-load-balancer-attributes", "no.such=1"), onePort, lb + `attributes: AWS refuses "no.such=1"`},
		"SCTP":                    {ipTargets, "{name: a, port: 80, targetPort: 8080, protocol: SCTP}", `protocol "SCTP"; the listener of port 80 stays unchanged`},
		"client ranges":           {serviceAnnotations("load-balancer-source-ranges", "junk"), onePort, "junk is not an address range"},
		"client ranges of IPv6":   {serviceAnnotations("load-balancer-source-ranges", "2001:db8::/32"), onePort, `range "2001:db8::/32" is IPv6`},
		"security groups":         {serviceAnnotations("aws-load-balancer-security-groups", "nope"), onePort, "no security group in the VPC"},
		"no security groups":      {serviceAnnotations("aws-load-balancer-disable-nlb-sg", "true"), onePort, "AWS cannot remove all of them; the security groups stay"},
		"subnets":                 {serviceAnnotations("aws-load-balancer-subnets", "nope"), onePort, "there is no subnet nope"},
		"source NAT":              {serviceAnnotations("aws-load-balancer-enable-prefix-for-ipv6-source-nat", "on"), onePort, "needs address type dualstack"},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", shared"}[shared], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					group := ""
					if shared {
						group = ", fulcrum.dev/load-balancer-group: public"
					}
					r := shopWith(t, Options{})
					r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets+group, onePort))
					if shared {
						r.Apply(readyPods("other", podAddresses[3:5]...), strings.Replace(nlbService("other", ipTargets+group, strings.NewReplacer("port: 80,", "port: 81,", "30080", "30081").Replace(onePort)), "-000000000001", "-000000000002", 1))
					}
					r.advanceTime(8 * time.Minute)
					before := taggedLines(r, model.Service)
					r.Apply(nlbService("mail", c.annotations+group, c.ports))
					r.advanceTime(20 * time.Minute)
					if d := cmp.Diff(before, taggedLines(r, model.Service)); d != "" {
						t.Errorf("the edit changes AWS:\n%s", d)
					}
					if !hasEvent(r, "mail", c.says) {
						t.Errorf("no event has %q: %v", c.says, r.Store.All("Event"))
					}
					if hasEvent(r, "other", "AWS refuses") {
						t.Error("the other member has a warning")
					}
					obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
					if err != nil {
						t.Fatal(err)
					}
					if got := statusPorts(obj); got != "80/TCP" {
						t.Errorf("the status shows %q", got)
					}
				})
			})
		}
	}
}

// TestUnusualServicesCauseNoRepeatedChanges checks valid but unusual settings. After they are applied, they cause no
// mutating call, neither within hours nor after a restart. Nothing remains after the deletion.
func TestUnusualServicesCauseNoRepeatedChanges(t *testing.T) {
	t.Parallel()
	const datagrams = "{name: u, port: 53, targetPort: 8080, protocol: UDP}"
	const auto = "auto_assigned,auto_assigned,auto_assigned"
	dual := func(pairs ...string) string {
		return serviceAnnotations(append([]string{"aws-load-balancer-ip-address-type", "dualstack"}, pairs...)...)
	}
	for name, c := range map[string]struct {
		annotations, ports string
		local              bool
	}{
		"source NAT prefixes unset":    {annotations: dual("aws-load-balancer-enable-prefix-for-ipv6-source-nat", "on"), ports: datagrams},
		"source NAT prefixes assigned": {annotations: dual("aws-load-balancer-enable-prefix-for-ipv6-source-nat", "on", "aws-load-balancer-source-nat-ipv6-prefixes", auto), ports: datagrams},
		"source NAT off":               {annotations: dual("aws-load-balancer-enable-prefix-for-ipv6-source-nat", "off")},
		"capacity":                     {annotations: serviceAnnotations("aws-load-balancer-minimum-load-balancer-capacity", "CapacityUnits=3000")},
		"capacity reset":               {annotations: serviceAnnotations("aws-load-balancer-minimum-load-balancer-capacity", "CapacityUnits=0")},
		"PrivateLink off":              {annotations: serviceAnnotations("aws-load-balancer-inbound-sg-rules-on-private-link-traffic", "off")},
		"PrivateLink without groups":   {annotations: serviceAnnotations("aws-load-balancer-inbound-sg-rules-on-private-link-traffic", "off", "aws-load-balancer-disable-nlb-sg", "true")},
		"attributes of each kind": {annotations: serviceAnnotations("aws-load-balancer-attributes", "load_balancing.cross_zone.enabled=true,dns_record.client_routing_policy=availability_zone_affinity",
			"aws-load-balancer-target-group-attributes", "preserve_client_ip.enabled=true,stickiness.enabled=true,stickiness.type=source_ip,deregistration_delay.timeout_seconds=017",
			"aws-load-balancer-listener-attributes.TCP-80", "tcp.idle_timeout.seconds=400")},
		"instances, local, no groups": {annotations: `service.beta.kubernetes.io/aws-load-balancer-disable-nlb-sg: "true"`, local: true},
		"client ranges":               {annotations: dual("load-balancer-source-ranges", "10.0.0.0/8,2001:DB8::/32,10.1.2.3/8", "aws-load-balancer-enable-icmp-for-path-mtu-discovery", "on")},
		"weights":                     {annotations: serviceAnnotations("actions.TCP-80", `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"other","servicePort":81,"weight":0}],"targetGroupStickinessConfig":{"enabled":true}}}`)},
		"weight 0":                    {annotations: serviceAnnotations("actions.TCP-80", `{"type":"forward","forwardConfig":{"baseServiceWeight":0}}`)},
		"QUIC and TCP": {annotations: serviceAnnotations("aws-load-balancer-quic-enabled-ports", "443", "aws-load-balancer-disable-nlb-sg", "true", "aws-load-balancer-enable-tcp-udp-listener", "true"),
			ports: "{name: u, port: 443, targetPort: 8080, protocol: UDP}, {name: t, port: 443, targetPort: 8080}"},
		"empty annotations": {annotations: serviceAnnotations("aws-load-balancer-attributes", "", "aws-load-balancer-subnets", "", "aws-load-balancer-security-groups", "", "aws-load-balancer-name", "", "aws-load-balancer-ssl-cert", "", "load-balancer-source-ranges", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				before := r.State()
				r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("other", podAddresses[3:5]...),
					strings.Replace(nlbService("other", "", "{name: a, port: 81, targetPort: 8080}"), "type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb", "type: ClusterIP", 1))
				ports := c.ports
				if ports == "" {
					ports = onePort
				}
				svc := nlbService("mail", c.annotations, ports)
				if c.local {
					svc = strings.Replace(svc, "spec: {", "spec: {externalTrafficPolicy: Local, healthCheckNodePort: 32001, ", 1)
				}
				r.Apply(svc)
				r.advanceTime(20 * time.Minute)
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
				if err != nil || statusPorts(obj) == "" {
					t.Fatalf("%v: %v", err, r.Store.All("Event"))
				}
				r.Emulator.Calls().Reset()
				r.advanceTime(11 * time.Hour)
				r.Start()
				r.advanceTime(time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
				}
				r.deleteObject(cluster.KindService, "shop", "mail")
				r.advanceTime(30 * time.Minute)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestUnusableClientRangesAdmitNobody checks that the security group of a new load balancer admits no clients if all
// client ranges of the Service are unusable.
func TestUnusableClientRangesAdmitNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", serviceAnnotations("load-balancer-source-ranges", "2001:db8::/32"), onePort))
		r.advanceTime(8 * time.Minute)
		for _, line := range taggedLines(r, model.Service) {
			if strings.HasPrefix(line, "security-group") && strings.Contains(line, "tcp 80") {
				t.Errorf("clients are admitted: %s", line)
			}
		}
		if !hasEvent(r, "mail", "a new port admits none") {
			t.Errorf("%v", r.Store.All("Event"))
		}
	})
}

// TestDeletionProtectionOfPreviousMemberCanBeRemoved checks a shared load balancer whose first member enabled deletion
// protection and was deleted. The last member can disable the protection, and the load balancer is then deleted.
func TestDeletionProtectionOfPreviousMemberCanBeRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const group = ", fulcrum.dev/load-balancer-group: public"
		other := func(annotations string) string {
			return strings.NewReplacer("port: 80,", "port: 81,", "30080", "30081", "-000000000001", "-000000000002").Replace(nlbService("other", annotations+group, onePort))
		}
		r := shopWith(t, Options{})
		before := r.State()
		r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("other", podAddresses[3:5]...),
			nlbService("mail", serviceAnnotations("aws-load-balancer-attributes", "deletion_protection.enabled=true")+group, onePort), other(ipTargets))
		r.advanceTime(8 * time.Minute)
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.advanceTime(20 * time.Minute)
		r.deleteObject(cluster.KindService, "shop", "other")
		r.advanceTime(20 * time.Minute)
		if !hasEvent(r, "other", "deletion protection is enabled") {
			t.Errorf("%v", r.Store.All("Event"))
		}
		r.Apply(other(serviceAnnotations("aws-load-balancer-attributes", "deletion_protection.enabled=false")))
		r.advanceTime(20 * time.Minute)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("left behind (-before +after):\n%s", d)
		}
	})
}
