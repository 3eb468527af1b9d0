package check

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Difference is a difference between the Gateway and the Ingresses: in the answer to a request, or in a setting.
type Difference struct {
	// Port is the port of the listener; 0 for a difference of the whole load balancer.
	Port int32 `json:"port,omitempty"`
	// Request is a request to which the Ingresses and the Gateway give different answers; empty for a difference in a
	// setting.
	Request string `json:"request,omitempty"`
	// Requests is the number of requests to which the same two rules give different answers.
	Requests int `json:"requests,omitempty"`
	// Setting is the setting that differs; empty for a difference in an answer.
	Setting string `json:"setting,omitempty"`
	// Ingress is the answer or value of the Ingresses.
	Ingress string `json:"ingress"`
	// Gateway is the answer or value of the Gateway.
	Gateway string `json:"gateway"`
	// IngressRule is the object and field that the answer of the Ingresses comes from.
	IngressRule string `json:"ingressRule,omitempty"`
	// GatewayRule is the object and field that the answer of the Gateway comes from.
	GatewayRule string `json:"gatewayRule,omitempty"`
}

// Subject returns the request, with the number of further requests, or the setting with its port.
func (d Difference) Subject() string {
	switch {
	case d.Requests > 1:
		return fmt.Sprintf("%s and %d more", d.Request, d.Requests-1)
	case d.Request != "":
		return d.Request
	case d.Port != 0:
		return fmt.Sprintf("port %d: %s", d.Port, d.Setting)
	}
	return d.Setting
}

// Text returns the difference on one line, with the label "Ingress" for the value of the Ingresses.
func (d Difference) Text() string { return d.TextFor("Ingress") }

// TextFor returns the difference on one line, without control characters, because bodies of answers and values of headers may
// have several lines. from is the label for the value of the objects that the Gateway replaces.
func (d Difference) TextFor(from string) string {
	withRule := func(value, rule string) string {
		if rule == "" {
			return value
		}
		return value + " (" + rule + ")"
	}
	return finding.EscapeNonPrintable(fmt.Sprintf("%s: %s %s, Gateway %s", d.Subject(), from, withRule(d.Ingress, d.IngressRule), withRule(d.Gateway, d.GatewayRule)))
}

// Result is the result of a comparison.
type Result struct {
	Differences []Difference `json:"differences"`
	// Requests is the number of requests that were tried.
	Requests int `json:"requests"`
	// Partial are the ports with so many different requests that not all of them were tried.
	Partial []int32 `json:"partial,omitempty"`
}

// Compare compares the load balancer of Ingresses with that of the Gateway that replaces it. It ignores the tag with the key
// ignoredTag, because this tag has no effect.
func Compare(ingress, gateway Side, ignoredTag string) Result {
	c := &comparison{ingressSide: ingress, gatewaySide: gateway, ignoredTag: ignoredTag}
	return c.compare(c.compareAnswers)
}

// CompareSettings is like Compare, but does not compare the answers to requests.
func CompareSettings(ingress, gateway Side, ignoredTag string) Result {
	c := &comparison{ingressSide: ingress, gatewaySide: gateway, ignoredTag: ignoredTag}
	return c.compare(func(_, _ model.Listener) {})
}

// compare compares the two sides. It calls compareAnswers with the two listeners of each port.
func (c *comparison) compare(compareAnswers func(a, b model.Listener)) Result {
	ingress, gateway := c.ingressSide, c.gatewaySide
	if gateway.LoadBalancer == nil || gateway.Held.AllResources {
		c.addDifference(0, "load balancer", "exists", "cannot be built")
		return c.Result
	}
	c.compareLoadBalancers(loadBalancerOfStack(ingress.Stack), gateway.LoadBalancer)
	c.compareFrontends()
	for _, l := range ingress.LoadBalancer.Listeners {
		i := slices.IndexFunc(gateway.LoadBalancer.Listeners, func(o model.Listener) bool { return o.Port == l.Port })
		if i < 0 {
			c.addDifference(l.Port, "listener", l.Protocol(), "none, because no route of the Gateway serves this port")
			continue
		}
		c.compareListeners(l, gateway.LoadBalancer.Listeners[i])
		compareAnswers(l, gateway.LoadBalancer.Listeners[i])
	}
	for _, l := range gateway.LoadBalancer.Listeners {
		if !slices.ContainsFunc(ingress.LoadBalancer.Listeners, func(o model.Listener) bool { return o.Port == l.Port }) {
			c.addDifference(l.Port, "listener", "none", l.Protocol())
		}
	}
	c.compareTargetGroups()
	return c.Result
}

// comparison collects the differences between two sides.
type comparison struct {
	Result
	ingressSide, gatewaySide Side
	ignoredTag               string
}

func (c *comparison) addDifference(port int32, name, from, to string) {
	c.Differences = append(c.Differences, Difference{Port: port, Setting: name, Ingress: from, Gateway: to})
}

// compareText adds a difference if the values of a setting have different texts.
func (c *comparison) compareText(port int32, name string, from, to any) {
	if a, b := textOf(from), textOf(to); a != b {
		c.addDifference(port, name, a, b)
	}
}

// compareAttributes compares the attributes of a resource. If the Gateway takes over the load balancer, attributes that the
// Gateway does not set keep their values, so they are ignored.
func (c *comparison) compareAttributes(port int32, from, to map[string]string) {
	if c.gatewaySide.TakesOver {
		from = maps.Clone(from)
		maps.DeleteFunc(from, func(k, _ string) bool { _, named := to[k]; return !named })
	}
	c.compareText(port, "attributes", from, to)
}

// compareUnlessNil compares a setting of the load balancer. If the setting is nil, AWS keeps its current value. value returns
// what is compared. If the Gateway takes over the load balancer and sets a value, a nil value of the Ingresses is a
// difference, because the value in AWS is not known.
func compareUnlessNil[T any](c *comparison, name string, from, to *T, value func(T) any) {
	valueOf := func(v *T) any {
		if v == nil {
			return nil
		}
		return value(*v)
	}
	if c.gatewaySide.TakesOver && from == nil && to != nil {
		c.addDifference(0, name, "not set, and its value in AWS is not known", textOf(valueOf(to)))
		return
	}
	c.compareText(0, name, valueOf(from), valueOf(to))
}

// textOf returns a value as text, for messages and for comparison. The text of nil, of empty values and of zero values is
// "none".
func textOf(v any) string {
	r := reflect.ValueOf(v)
	for r.IsValid() && (r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface) {
		if r.IsNil() {
			return "none"
		}
		r = r.Elem()
	}
	if !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0 {
		return "none"
	}
	switch x := r.Interface().(type) {
	case model.HealthCheck:
		return x.Text()
	case []string:
		return strings.Join(x, ", ")
	case map[string]string:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, k+"="+x[k])
		}
		return strings.Join(out, ", ")
	case metav1.LabelSelector:
		if len(x.MatchLabels)+len(x.MatchExpressions) == 0 {
			return "none"
		}
		return metav1.FormatLabelSelector(&x)
	default:
		return fmt.Sprintf("%+v", x)
	}
}

// compareLoadBalancers compares the settings of two load balancers, without their listeners. It compares their names only if
// a user has set the name of the first one.
func (c *comparison) compareLoadBalancers(a, b *model.LoadBalancer) {
	c.compareText(0, "scheme", a.Scheme, b.Scheme)
	c.compareText(0, "address type", a.AddressType, b.AddressType)
	c.compareText(0, "subnets", subnetsText(a.Subnets), subnetsText(b.Subnets))
	c.compareText(0, "customer-owned pool", a.CoIPPool, b.CoIPPool)
	c.compareText(0, "IPAM pool", a.IPAMPool, b.IPAMPool)
	c.compareText(0, "source NAT", cmp.Or(a.SourceNAT, equal.SettingOff), cmp.Or(b.SourceNAT, equal.SettingOff))
	if !c.gatewaySide.TakesOver || a.PrivateLinkRules != "" && b.PrivateLinkRules != "" { // AWS keeps an unset value
		c.compareText(0, "rules for AWS PrivateLink", cmp.Or(a.PrivateLinkRules, "on"), cmp.Or(b.PrivateLinkRules, "on")) // "on" is the default of AWS
	}
	c.compareAttributes(0, a.Attributes, b.Attributes)
	compareUnlessNil(c, "capacity", a.Capacity, b.Capacity, func(units int32) any { return units })
	c.compareText(0, "tags", c.withoutIgnoredTag(a.Tags), c.withoutIgnoredTag(b.Tags))
	c.compareSecurityGroups(a.SecurityGroups, b.SecurityGroups)
	compareUnlessNil(c, "web ACL", a.AddOns.WebACL, b.AddOns.WebACL, func(w model.WebACL) any { return strings.TrimSpace(w.ARN + " " + w.Name) })
	compareUnlessNil(c, "Shield Advanced", a.AddOns.Shield, b.AddOns.Shield, func(s model.Shield) any { return s.On })
	compareUnlessNil(c, "web ACL of WAF Classic", a.AddOns.ClassicACL, b.AddOns.ClassicACL, func(w model.ClassicACL) any { return w.ID })
	if a.Name != b.Name && (a.Origins["name"] != finding.Origin{}) {
		c.addDifference(0, "name", a.Name, b.Name)
	}
}

// withoutIgnoredTag returns a copy of tags without the tag ignoredTag.
func (c *comparison) withoutIgnoredTag(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	delete(out, c.ignoredTag)
	return out
}

// subnetsText returns text that describes how subnets are selected.
func subnetsText(s model.SubnetChoice) string {
	switch s := s.(type) {
	case model.SubnetsNamed:
		return strings.Join(slices.Sorted(slices.Values(s.Refs)), ", ")
	case model.SubnetsTagged:
		return "with tags " + s.Text()
	}
	return "discovered"
}

// compareSecurityGroups compares how the security groups are selected, and the rules of managed security groups.
func (c *comparison) compareSecurityGroups(a, b model.SecurityGroupChoice) {
	describe := func(g model.SecurityGroupChoice) (groups string, rules []string) {
		switch g := g.(type) {
		case model.SecurityGroupsGiven:
			return fmt.Sprintf("%s, with rules of nodes and pods: %t", strings.Join(g.Refs, ", "), g.Backend), nil
		case model.SecurityGroupsManaged:
			for _, r := range g.Group.Ingress {
				rules = append(rules, r.String())
			}
			return fmt.Sprintf("managed by the controller, with the shared backend security group: %t", g.Backend), slices.Sorted(slices.Values(rules))
		}
		return "none", nil
	}
	fromGroups, fromRules := describe(a)
	toGroups, toRules := describe(b)
	c.compareText(0, "security groups", fromGroups, toGroups)
	c.compareText(0, "admitted clients", fromRules, toRules)
}

// compareListeners compares the settings of the two listeners of a port.
func (c *comparison) compareListeners(a, b model.Listener) {
	c.compareText(a.Port, "protocol", a.Protocol(), b.Protocol())
	c.compareAttributes(a.Port, a.Attributes, b.Attributes)
	if a.TLS != nil && b.TLS != nil {
		c.compareText(a.Port, "TLS policy", a.TLS.Policy, b.TLS.Policy)
		c.compareText(a.Port, "ALPN policy", cmp.Or(a.TLS.ALPN, equal.NoALPN), cmp.Or(b.TLS.ALPN, equal.NoALPN))
		c.compareCertificates(a, b)
		if !equal.SameMutualAuth(a.TLS.MutualAuth, nil) || !equal.SameMutualAuth(b.TLS.MutualAuth, nil) {
			c.compareText(a.Port, "client certificates", mutualAuthText(a.TLS.MutualAuth), mutualAuthText(b.TLS.MutualAuth))
		}
	}
}

// mutualAuthText returns text that describes the settings for client certificates; "" if mutual authentication is off.
func mutualAuthText(m *model.MutualAuth) string {
	if m == nil || m.Mode == "off" {
		return ""
	}
	ignore := m.IgnoreExpiry != nil && *m.IgnoreExpiry
	return fmt.Sprintf("%s %s, expired certificates are accepted: %t, names of certificate authorities are sent: %t", m.Mode, m.TrustStore, ignore, m.AdvertiseCA == "on")
}

// compareCertificates compares the certificates of two listeners: those named by ARN, the imported ones, and the hosts for
// which certificates are discovered.
func (c *comparison) compareCertificates(a, b model.Listener) {
	describe := func(t *model.TLS) (arns, hosts []string) {
		for _, x := range t.Certificates {
			switch x := x.(type) {
			case model.CertARNs:
				arns = append(arns, x.ARNs...)
			case model.CertHosts:
				hosts = append(hosts, x.Hosts...)
			case model.CertManaged:
				hosts = append(hosts, x.IDs...)
			}
		}
		if len(arns) > 1 { // the first is the default certificate
			slices.Sort(arns[1:])
			arns = slices.Compact(arns)
		}
		slices.Sort(hosts)
		return arns, slices.Compact(hosts)
	}
	fromARNs, fromHosts := describe(a.TLS)
	toARNs, toHosts := describe(b.TLS)
	c.compareText(a.Port, "certificates", fromARNs, toARNs)
	c.compareText(a.Port, "imported certificates, and hosts whose certificates are discovered", fromHosts, toHosts)
}

// compareAnswers compares the answers of two listeners to requests. It adds one difference for each pair of rules that give
// different answers.
func (c *comparison) compareAnswers(a, b model.Listener) {
	seen := map[string]int{}
	complete := ForEachRequest(a.Rules, b.Rules, func(req model.Request, from, to []model.Rule) {
		c.Requests++
		ingress, ingressRule := c.ingressSide.answerOn(a, from, req)
		gateway, gatewayRule := c.gatewaySide.answerOn(b, to, req)
		if ingress.id == gateway.id {
			return
		}
		key := ingressRule + "\n" + gatewayRule
		if i, ok := seen[key]; ok {
			c.Differences[i].Requests++
			return
		}
		seen[key] = len(c.Differences)
		c.Differences = append(c.Differences, Difference{
			Port: a.Port, Request: requestText(req, a), Requests: 1, Ingress: ingress.text, Gateway: gateway.text, IngressRule: ingressRule, GatewayRule: gatewayRule,
		})
	})
	if !complete {
		c.Partial = append(c.Partial, a.Port)
	}
}

// ForEachRequest calls visit with requests that distinguish the rules of a and b: each condition of these rules matches some
// of the requests and does not match others. visit also gets the rules of a and of b that may match the host of the request.
// complete is false if there are too many combinations of values and patterns to try all of them. Each regular expression is
// tried with an example.
func ForEachRequest(a, b []model.Rule, visit func(req model.Request, a, b []model.Rule)) (complete bool) {
	remaining := min(maxRequests, maxEvaluations/(len(a)+len(b)+1))
	complete = true
	for _, host := range hostsOf(slices.Concat(a, b)) {
		from, to := rulesForHost(a, host), rulesForHost(b, host)
		complete = requestSpaceOf(slices.Concat(from, to)).forEachRequest(host, &remaining, func(req model.Request) { visit(req, from, to) }) && complete
	}
	return complete
}

// rulesForHost returns the rules whose host conditions match a host.
func rulesForHost(rules []model.Rule, host string) (out []model.Rule) {
	for _, r := range rules {
		conditions := slices.DeleteFunc(slices.Clone(r.Conditions), func(c model.Condition) bool { _, isHost := c.(model.HostHeader); return !isHost })
		if _, ok := model.FirstMatchingRule([]model.Rule{{Conditions: conditions}}, model.Request{Host: host}); ok {
			out = append(out, r)
		}
	}
	return out
}

// answerOn returns the answer of a listener to a request, and the origin of the rule that gives it. rules are the rules of
// the listener that may match the request.
func (s Side) answerOn(l model.Listener, rules []model.Rule, req model.Request) (answer, string) {
	i, ok := model.FirstMatchingRule(rules, req)
	if !ok {
		return s.answerTo(l.Default, nil, req, l), originText(l.DefaultOf)
	}
	r := rules[i]
	if r.Held != 0 {
		return answer{"held", "held, because its configuration is not valid"}, originText(r.Origin)
	}
	return s.answerTo(r.Actions, r.Transforms, req, l), originText(r.Origin)
}

// originText returns the object and field of a rule as text; "default action" if o is zero.
func originText(o finding.Origin) string {
	if o == (finding.Origin{}) {
		return "default action"
	}
	return o.String()
}

// requestText returns text that describes a request to a listener.
func requestText(r model.Request, l model.Listener) string {
	out := fmt.Sprintf("%s %s://%s:%d%s", r.Method, strings.ToLower(l.Protocol()), r.Host, l.Port, requestTarget(r))
	for _, h := range r.Header {
		out += fmt.Sprintf(", %s: %s", h.Name, h.Value)
	}
	if r.Client != "192.0.2.1" {
		out += " from " + r.Client
	}
	return out
}

// maxCandidates is the maximum number of target groups with which a target group is compared. It limits the time for very
// many Ingresses. AWS does not allow more target groups for one ALB.
const maxCandidates = 100

// compareTargetGroups compares the settings of target groups for the same port of a Service. If the Ingresses have several
// such target groups, it compares with the most similar one.
func (c *comparison) compareTargetGroups() {
	byKey := map[string][]*model.TargetGroup{}
	for i := range c.ingressSide.TargetGroups {
		g := &c.ingressSide.TargetGroups[i]
		key := c.ingressSide.targetGroupKey(model.TargetGroupRef{ID: g.ID})
		byKey[key] = append(byKey[key], g)
	}
	seen := map[string]bool{}
	for i := range c.gatewaySide.TargetGroups {
		g := &c.gatewaySide.TargetGroups[i]
		key := c.gatewaySide.targetGroupKey(model.TargetGroupRef{ID: g.ID})
		if len(byKey[key]) == 0 {
			continue // compareAnswers reports this difference
		}
		best := c.targetGroupDifferences(byKey[key][0], g)
		for _, o := range byKey[key][1:min(maxCandidates, len(byKey[key]))] {
			if len(best) == 0 {
				break
			}
			if d := c.targetGroupDifferences(o, g); len(d) < len(best) {
				best = d
			}
		}
		for _, d := range best {
			d.Setting = "target group of " + key + ": " + d.Setting
			if !seen[d.Text()] {
				seen[d.Text()] = true
				c.Differences = append(c.Differences, d)
			}
		}
	}
}

// targetGroupDifferences returns the differences between the settings of two target groups.
func (c *comparison) targetGroupDifferences(a, b *model.TargetGroup) []Difference {
	nested := &comparison{ingressSide: c.ingressSide, gatewaySide: c.gatewaySide, ignoredTag: c.ignoredTag}
	nested.compareText(0, "target type", a.Type, b.Type)
	nested.compareText(0, "protocol", a.Protocol, b.Protocol)
	nested.compareText(0, "protocol version", a.ProtocolVersion, b.ProtocolVersion)
	nested.compareText(0, "address type", a.AddressType, b.AddressType)
	nested.compareText(0, "control port", a.ControlPort, b.ControlPort)
	nested.compareText(0, "health check", a.HealthCheck, b.HealthCheck)
	nested.compareAttributes(0, a.Attributes, b.Attributes)
	nested.compareText(0, "tags", nested.withoutIgnoredTag(a.Tags), nested.withoutIgnoredTag(b.Tags))
	if a.Binding != nil && b.Binding != nil {
		nested.compareText(0, "nodes", a.Binding.NodeSelector, b.Binding.NodeSelector)
		nested.compareText(0, "multi-cluster", a.Binding.MultiCluster, b.Binding.MultiCluster)
		nested.compareText(0, "rules of nodes and pods", networkingText(a.Binding), networkingText(b.Binding))
	}
	return nested.Differences
}

// networkingText returns text that describes the traffic to nodes and pods that a binding permits.
func networkingText(b *model.Binding) string {
	var out []string
	for _, r := range b.Networking {
		for _, p := range r.Ports {
			port := "all"
			if p.Port != nil {
				port = p.Port.String()
			}
			for _, from := range r.From {
				if s := fmt.Sprintf("%s %s from %s", p.Protocol, port, from.Text()); !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
