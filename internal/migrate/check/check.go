package check

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Difference is something that the Gateway does otherwise than the Ingresses: the answer to a request, or a setting.
type Difference struct {
	// Port is the port of the listener; 0 for the load balancer as a whole.
	Port int32 `json:"port,omitempty"`
	// Request is a request that gets another answer, and Requests how many of the tried requests do, by the same rules.
	Request  string `json:"request,omitempty"`
	Requests int    `json:"requests,omitempty"`
	// Setting is the setting that differs, where the difference is not in an answer.
	Setting string `json:"setting,omitempty"`
	// Ingress and Gateway are what each has, and IngressRule and GatewayRule the object and field that it comes from.
	Ingress     string `json:"ingress"`
	Gateway     string `json:"gateway"`
	IngressRule string `json:"ingressRule,omitempty"`
	GatewayRule string `json:"gatewayRule,omitempty"`
}

// Text returns the difference on one line.
func (d Difference) Text() string { return d.TextFor("Ingress") }

// TextFor returns the difference on one line, with the name of what the Gateway takes the place of.
func (d Difference) TextFor(from string) string {
	out := d.Setting
	if d.Request != "" {
		out = d.Request
		if d.Requests > 1 {
			out += fmt.Sprintf(" and %d more", d.Requests-1)
		}
	} else if d.Port != 0 {
		out = fmt.Sprintf("port %d: %s", d.Port, d.Setting)
	}
	by := func(what, rule string) string {
		if rule == "" {
			return what
		}
		return what + " (" + rule + ")"
	}
	return fmt.Sprintf("%s: %s %s, Gateway %s", out, from, by(d.Ingress, d.IngressRule), by(d.Gateway, d.GatewayRule))
}

// Result is what a comparison has found.
type Result struct {
	Differences []Difference `json:"differences"`
	// Requests is how many were tried.
	Requests int `json:"requests"`
	// Partial are ports with more requests to tell apart than were tried.
	Partial []int32 `json:"partial,omitempty"`
}

// Compare compares the load balancer of Ingresses with that of the Gateway that is to take its place. Tags of origin are no
// difference: they are for readers only. ignoredTag names the one.
func Compare(ingress, gateway Side, ignoredTag string) Result {
	c := &comparing{from: ingress, to: gateway, ignored: ignoredTag}
	if gateway.LoadBalancer == nil || gateway.Held.Everything {
		c.setting(0, "load balancer", "is there", "cannot be built")
		return c.Result
	}
	c.loadBalancer(withoutFrontend(ingress.Stack), gateway.LoadBalancer)
	c.frontends()
	for _, l := range ingress.LoadBalancer.Listeners {
		i := slices.IndexFunc(gateway.LoadBalancer.Listeners, func(o model.Listener) bool { return o.Port == l.Port })
		if i < 0 {
			c.setting(l.Port, "listener", l.Protocol(), "none, as no route is attached")
			continue
		}
		c.listener(l, gateway.LoadBalancer.Listeners[i])
	}
	for _, l := range gateway.LoadBalancer.Listeners {
		if !slices.ContainsFunc(ingress.LoadBalancer.Listeners, func(o model.Listener) bool { return o.Port == l.Port }) {
			c.setting(l.Port, "listener", "none", l.Protocol())
		}
	}
	c.targetGroups()
	return c.Result
}

type comparing struct {
	Result
	from, to Side
	ignored  string
}

func (c *comparing) setting(port int32, name, from, to string) {
	c.Differences = append(c.Differences, Difference{Port: port, Setting: name, Ingress: from, Gateway: to})
}

// compareText compares values of a setting by their text.
func (c *comparing) compareText(port int32, name string, from, to any) {
	if a, b := textOf(from), textOf(to); a != b {
		c.setting(port, name, a, b)
	}
}

// attributes compares those of a resource. One that a Gateway does not name stays as it is on a load balancer that it takes over.
func (c *comparing) attributes(port int32, from, to map[string]string) {
	if c.to.Keeps {
		from = maps.Clone(from)
		maps.DeleteFunc(from, func(k, _ string) bool { _, named := to[k]; return !named })
	}
	c.compareText(port, "attributes", from, to)
}

// textOf returns a value as text, for users and for comparison. Nothing and an empty value are the same.
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
	case []string:
		return strings.Join(x, ", ")
	case map[string]string:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, k+"="+x[k])
		}
		return strings.Join(out, ", ")
	default:
		return fmt.Sprintf("%+v", x)
	}
}

func (c *comparing) loadBalancer(a, b *model.LoadBalancer) {
	c.compareText(0, "scheme", a.Scheme, b.Scheme)
	c.compareText(0, "address type", a.AddressType, b.AddressType)
	c.compareText(0, "subnets", subnets(a.Subnets), subnets(b.Subnets))
	c.compareText(0, "customer-owned pool", a.CoIPPool, b.CoIPPool)
	c.compareText(0, "IPAM pool", a.IPAMPool, b.IPAMPool)
	c.attributes(0, a.Attributes, b.Attributes)
	c.compareText(0, "capacity", a.Capacity, b.Capacity)
	c.compareText(0, "tags", c.tags(a.Tags), c.tags(b.Tags))
	c.securityGroups(a.SecurityGroups, b.SecurityGroups)
	acl := func(w *model.WebACL) any {
		if w == nil {
			return nil
		}
		return strings.TrimSpace(w.ARN + " " + w.Name)
	}
	c.compareText(0, "web ACL", acl(a.AddOns.WebACL), acl(b.AddOns.WebACL))
	shield := func(s *model.Shield) bool { return s != nil && s.On }
	c.compareText(0, "Shield Advanced", shield(a.AddOns.Shield), shield(b.AddOns.Shield))
	classic := func(w *model.ClassicACL) string {
		if w == nil {
			return ""
		}
		return w.ID
	}
	c.compareText(0, "web ACL of WAF Classic", classic(a.AddOns.ClassicACL), classic(b.AddOns.ClassicACL))
	if a.Name != b.Name && (a.Origins["name"] != finding.Origin{}) {
		c.setting(0, "name", a.Name, b.Name)
	}
}

func (c *comparing) tags(of map[string]string) map[string]string {
	out := maps.Clone(of)
	delete(out, c.ignored)
	return out
}

func subnets(s model.SubnetChoice) string {
	switch s := s.(type) {
	case model.SubnetsNamed:
		return strings.Join(slices.Sorted(slices.Values(s.Refs)), ", ")
	case model.SubnetsTagged:
		return fmt.Sprint("with tags ", s.Tags)
	}
	return "discovered"
}

func (c *comparing) securityGroups(a, b model.GroupChoice) {
	describe := func(g model.GroupChoice) (groups string, rules []string) {
		switch g := g.(type) {
		case model.GroupsGiven:
			return fmt.Sprintf("%s, with rules of nodes and pods: %t", strings.Join(g.Refs, ", "), g.Backend), nil
		case model.GroupsManaged:
			for _, r := range g.Group.Ingress {
				rules = append(rules, r.String())
			}
			return fmt.Sprintf("a managed one, with the shared backend security group: %t", g.Backend), slices.Sorted(slices.Values(rules))
		}
		return "none", nil
	}
	fromGroups, fromRules := describe(a)
	toGroups, toRules := describe(b)
	c.compareText(0, "security groups", fromGroups, toGroups)
	c.compareText(0, "clients that are admitted", fromRules, toRules)
}

func (c *comparing) listener(a, b model.Listener) {
	c.compareText(a.Port, "protocol", a.Protocol(), b.Protocol())
	c.attributes(a.Port, a.Attributes, b.Attributes)
	if a.TLS != nil && b.TLS != nil {
		c.compareText(a.Port, "TLS policy", a.TLS.Policy, b.TLS.Policy)
		c.certificates(a, b)
		if !equal.SameMutualAuth(a.TLS.MutualAuth, nil) || !equal.SameMutualAuth(b.TLS.MutualAuth, nil) {
			c.compareText(a.Port, "client certificates", mutualAuth(a.TLS.MutualAuth), mutualAuth(b.TLS.MutualAuth))
		}
	}
	c.rules(a, b)
}

func mutualAuth(m *model.MutualAuth) string {
	if m == nil || m.Mode == "off" {
		return ""
	}
	ignore := m.IgnoreExpiry != nil && *m.IgnoreExpiry
	return fmt.Sprintf("%s %s, expired ones are accepted: %t, names of authorities are sent: %t", m.Mode, m.TrustStore, ignore, m.AdvertiseCA == "on")
}

func (c *comparing) certificates(a, b model.Listener) {
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
		if len(arns) > 1 { // the first one is the default one
			slices.Sort(arns[1:])
			arns = slices.Compact(arns)
		}
		slices.Sort(hosts)
		return arns, slices.Compact(hosts)
	}
	fromARNs, fromHosts := describe(a.TLS)
	toARNs, toHosts := describe(b.TLS)
	c.compareText(a.Port, "certificates", fromARNs, toARNs)
	c.compareText(a.Port, "certificates that are imported, and hosts for which others are looked for", fromHosts, toHosts)
}

// rules compares the answers to requests.
func (c *comparing) rules(a, b model.Listener) {
	seen := map[string]int{}
	all := Requests(a.Rules, b.Rules, func(req model.Request, from, to []model.Rule) {
		c.Requests++
		x, xRule := c.from.answerOn(a, from, req)
		y, yRule := c.to.answerOn(b, to, req)
		if x.id == y.id {
			return
		}
		key := xRule + "\n" + yRule
		if i, ok := seen[key]; ok {
			c.Differences[i].Requests++
			return
		}
		seen[key] = len(c.Differences)
		c.Differences = append(c.Differences, Difference{
			Port: a.Port, Request: requestText(req, a), Requests: 1, Ingress: x.text, Gateway: y.text, IngressRule: xRule, GatewayRule: yRule,
		})
	})
	if !all {
		c.Partial = append(c.Partial, a.Port)
	}
}

// Requests calls visit with requests of which each condition of two lists of rules holds for some and not for others, and
// with the rules of either that the host of the request may meet. It reports whether these were all that the conditions
// tell apart, as far as values and patterns do; of regular expressions examples are tried.
func Requests(a, b []model.Rule, visit func(req model.Request, a, b []model.Rule)) (all bool) {
	left := min(mostRequests, mostLooks/(len(a)+len(b)+1))
	all = true
	for _, host := range hostsOf(slices.Concat(a, b)) {
		from, to := rulesForHost(a, host), rulesForHost(b, host)
		all = spaceOf(slices.Concat(from, to)).eachRequest(host, &left, func(req model.Request) { visit(req, from, to) }) && all
	}
	return all
}

// rulesForHost returns the rules that requests for a host may meet.
func rulesForHost(rules []model.Rule, host string) (out []model.Rule) {
	for _, r := range rules {
		conditions := slices.DeleteFunc(slices.Clone(r.Conditions), func(c model.Condition) bool { _, is := c.(model.HostHeader); return !is })
		if _, ok := model.Evaluate([]model.Rule{{Conditions: conditions}}, model.Request{Host: host}); ok {
			out = append(out, r)
		}
	}
	return out
}

// answerOn returns the answer to a request on a listener, and where the rule comes from.
func (s Side) answerOn(l model.Listener, rules []model.Rule, req model.Request) (answer, string) {
	i, ok := model.Evaluate(rules, req)
	if !ok {
		return s.answerTo(l.Default, nil, req, l), origin(l.DefaultOf)
	}
	r := rules[i]
	if r.Held != 0 {
		return answer{"held", "held, as its configuration is not valid"}, origin(r.Origin)
	}
	return s.answerTo(r.Actions, r.Transforms, req, l), origin(r.Origin)
}

func origin(o finding.Origin) string {
	if o == (finding.Origin{}) {
		return "default action"
	}
	return o.String()
}

func requestText(r model.Request, l model.Listener) string {
	out := fmt.Sprintf("%s %s://%s:%d%s", r.Method, strings.ToLower(l.Protocol()), r.Host, l.Port, target(r))
	for _, h := range r.Header {
		out += fmt.Sprintf(", %s: %s", h.Name, h.Value)
	}
	if r.Client != "192.0.2.1" {
		out += " from " + r.Client
	}
	return out
}

// targetGroups compares the settings of target groups for the same port of a Service, as different routes have them.
func (c *comparing) targetGroups() {
	of := map[string][]*model.TargetGroup{}
	for i := range c.from.TargetGroups {
		g := &c.from.TargetGroups[i]
		key := c.from.targetGroup(model.GroupRef{ID: g.ID})
		of[key] = append(of[key], g)
	}
	seen := map[string]bool{}
	for i := range c.to.TargetGroups {
		g := &c.to.TargetGroups[i]
		key := c.to.targetGroup(model.GroupRef{ID: g.ID})
		if len(of[key]) == 0 {
			continue // the answers say so
		}
		best := c.groupDifferences(of[key][0], g)
		for _, o := range of[key][1:] {
			if d := c.groupDifferences(o, g); len(d) < len(best) {
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

func (c *comparing) groupDifferences(a, b *model.TargetGroup) []Difference {
	x := &comparing{from: c.from, to: c.to, ignored: c.ignored}
	x.compareText(0, "target type", a.Type, b.Type)
	x.compareText(0, "protocol", a.Protocol, b.Protocol)
	x.compareText(0, "protocol version", a.ProtocolVersion, b.ProtocolVersion)
	x.compareText(0, "address type", a.AddressType, b.AddressType)
	x.compareText(0, "control port", a.ControlPort, b.ControlPort)
	x.compareText(0, "health check", a.HealthCheck, b.HealthCheck)
	x.attributes(0, a.Attributes, b.Attributes)
	x.compareText(0, "tags", x.tags(a.Tags), x.tags(b.Tags))
	if a.Binding != nil && b.Binding != nil {
		x.compareText(0, "nodes", a.Binding.NodeSelector, b.Binding.NodeSelector)
		x.compareText(0, "multi-cluster", a.Binding.MultiCluster, b.Binding.MultiCluster)
		x.compareText(0, "rules of nodes and pods", networking(a.Binding), networking(b.Binding))
	}
	return x.Differences
}

// networking returns what a binding opens on nodes and pods.
func networking(b *model.Binding) string {
	var out []string
	for _, r := range b.Networking {
		for _, p := range r.Ports {
			port := "all"
			if p.Port != nil {
				port = p.Port.String()
			}
			for _, from := range r.From {
				if s := fmt.Sprintf("%s %s from %+v", p.Protocol, port, from); !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
