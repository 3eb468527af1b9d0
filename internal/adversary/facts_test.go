package adversary

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// facts are what the victims have in AWS and what their clients get.
type facts struct {
	settings map[string]string   // by what they are about
	answers  map[request]answer  //
	targets  map[string][]string // addresses by the name of the target group
	ids      map[string]string   // ARNs and ids, by the same names
	// forbidden is what must never be, whatever the victims do.
	forbidden []string
}

// attributes that the victims name, or their class.
var namedAttributes = []string{"idle_timeout.timeout_seconds", "access_logs.s3.enabled", "deletion_protection.enabled", "routing.http.drop_invalid_header_fields.enabled"}

// victimPorts are those of the victims' pods and nodes that their load balancers use.
var victimPorts = []int32{8080, 30080, 30081}

// facts reads everything.
func (w *testCluster) facts() facts {
	p, unlock := w.partition()
	defer unlock()
	f := facts{settings: map[string]string{}, answers: map[request]answer{}, targets: map[string][]string{}, ids: map[string]string{}}
	for stack, arn := range w.lbs {
		lb := p.ELB.LoadBalancers[arn]
		if lb == nil {
			f.settings["load balancer of "+stack] = "gone"
			continue
		}
		w.loadBalancer(f, p, stack, lb)
	}
	w.listeners(f, p)
	w.targetGroups(f, p)
	w.nodeGroup(f, p)
	w.answers(f, p)
	f.forbidden = w.forbidden(p)
	for stack, name := range stackOf {
		shown := w.status(name)
		if lb := p.ELB.LoadBalancers[w.lbs[stack]]; lb != nil && strings.EqualFold(lb.DNSName, shown) {
			shown = "its load balancer" // whose DNS name is partly random
		}
		f.settings["status of "+name] = shown
	}
	for name := range ingresses() {
		f.settings["finalizers of Ingress "+name] = w.finalizers(name)
	}
	return f
}

// finalizers are those of an Ingress of a victim: one that is deleted must not wait for other
// members.
func (w *testCluster) finalizers(name string) string {
	namespace, short, _ := strings.Cut(name, "/")
	obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: short})
	switch {
	case err != nil:
		w.rec.Fatal(err)
	case obj == nil:
		return "of no object"
	}
	return strings.Join(obj.GetFinalizers(), " ")
}

func (w *testCluster) stackOfARN(arn string) string {
	for stack, a := range w.lbs {
		if a == arn {
			return stack
		}
	}
	return ""
}

func (w *testCluster) loadBalancer(f facts, p *emulated.Partition, stack string, lb *emulated.LoadBalancer) {
	set := func(what, format string, args ...any) {
		f.settings[what+" of "+stack] = fmt.Sprintf(format, args...)
	}
	f.ids["load balancer of "+stack] = lb.ARN
	var subnets, groups []string
	for _, z := range lb.Zones {
		subnets = append(subnets, z.Subnet)
	}
	for _, id := range lb.SecurityGroups {
		g := p.SecurityGroups[id]
		if g == nil {
			continue
		}
		groups = append(groups, g.Name)
		if strings.HasPrefix(g.Name, "k8s-traffic-") {
			continue // shared by the load balancers of the cluster
		}
		f.ids["security group "+g.Name] = id
		for _, port := range []int32{80, 443} {
			set(fmt.Sprintf("clients admitted to port %d by %s", port, g.Name), "%s", strings.Join(sourcesOf(g, port), " "))
		}
	}
	slices.Sort(groups)
	set("load balancer", "%s %s %s %s %s", lb.Name, lb.Type, lb.Scheme, lb.Addressing, lb.VPC)
	set("subnets", "%s", strings.Join(subnets, " "))
	set("security groups", "%s", strings.Join(groups, " "))
	for key, value := range lb.Attributes {
		if w.strict() || slices.Contains(namedAttributes, key) {
			set("attribute "+key, "%s", value)
		}
	}
	for key, value := range lb.Tags {
		set("tag "+key, "%s", value)
	}
	set("web ACL", "%s", p.WAFv2.Associations[lb.ARN])
	protected := false
	for _, s := range p.Store().Partition(p.Account, emulated.GlobalRegion).Shield.Protections {
		protected = protected || s.Resource == lb.ARN
	}
	set("Shield protection", "%t", protected)
	for _, other := range p.ELB.LoadBalancers {
		if other.ARN != lb.ARN && other.Tags["ingress.k8s.aws/stack"] == lb.Tags["ingress.k8s.aws/stack"] && other.Tags["elbv2.k8s.aws/cluster"] == lb.Tags["elbv2.k8s.aws/cluster"] {
			set("other load balancer "+other.Name, "present")
		}
	}
}

// strict reports whether the attacker may add nothing at all to what the victims have: no class
// admits it.
func (w *testCluster) strict() bool { return w.access == shutOut }

// sourcesOf lists the sources that may reach a port through a security group.
func sourcesOf(g *emulated.SecurityGroup, port int32) []string {
	var out []string
	for _, r := range g.Ingress {
		if r.From != nil && r.To != nil && r.Protocol != "-1" && (port < *r.From || port > *r.To) {
			continue
		}
		out = append(out, r.Protocol+" from "+peerOf(r.Peer))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func peerOf(p emulated.Peer) string {
	if p.CIDR != (netip.Prefix{}) {
		return p.CIDR.String()
	}
	return p.PrefixList + p.Group
}

func (w *testCluster) listeners(f facts, p *emulated.Partition) {
	for _, l := range p.ELB.Listeners {
		stack := w.stackOfARN(l.LoadBalancer)
		if stack == "" || !w.strict() && l.Port != 80 && l.Port != 443 {
			continue
		}
		of := fmt.Sprintf(" of %s port %d", stack, l.Port)
		f.ids["listener"+of] = l.ARN
		f.settings["listener"+of] = fmt.Sprintf("%s %s", l.Protocol, l.SSLPolicy)
		f.settings["default certificate"+of] = l.Certificate
		for _, c := range l.SNI {
			f.settings["certificate "+c+of] = "present"
		}
		if l.Mutual != nil {
			mode, _ := json.Marshal(l.Mutual)
			f.settings["client certificates"+of] = string(mode)
		}
		for key, value := range l.Attributes {
			if w.strict() || l.Port == 443 && key == "routing.http.response.server.enabled" { // which the victims set
				f.settings["attribute "+key+of] = value
			}
		}
	}
}

func (w *testCluster) targetGroups(f facts, p *emulated.Partition) {
	for _, g := range p.ELB.TargetGroups {
		if !victims(g) {
			continue
		}
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(g.Attributes)) {
			keys = append(keys, k+"="+g.Attributes[k])
		}
		f.ids["target group "+g.Name] = g.ARN
		f.settings["target group "+g.Name] = fmt.Sprintf("%s %s %s %d %v %v", g.Type, g.Protocol, g.ProtocolVersion, g.Port, g.Check, keys)
		f.targets[g.Name] = targetsOf(g)
	}
}

// forbidden finds pods of the victims behind target groups of others, target groups of the victims
// behind load balancers of others, and a secret of the victims in rules of others.
func (w *testCluster) forbidden(p *emulated.Partition) []string {
	var out []string
	pods := map[string]string{}
	for _, o := range w.Store.All(cluster.KindPod) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Namespace != attackerNamespace {
			pods[pod.Status.PodIP] = pod.Namespace + "/" + pod.Name
		}
	}
	for _, g := range p.ELB.TargetGroups {
		if victims(g) {
			if g.LoadBalancer != "" && w.stackOfARN(g.LoadBalancer) == "" && slices.Contains(w.targetGroupNames(), g.Name) {
				out = append(out, fmt.Sprintf("target group %s serves %s", g.Name, g.LoadBalancer))
			}
			continue
		}
		for _, t := range g.Targets {
			if owner := pods[t.ID]; owner != "" && !t.Draining() {
				out = append(out, fmt.Sprintf("target group %s has pod %s as target", g.Name, owner))
			}
		}
	}
	for _, r := range p.ELB.Rules {
		for _, a := range r.Actions {
			l := p.ELB.Listeners[r.Listener]
			if c := a.AuthenticateOidcConfig; c != nil && c.ClientSecret != nil && *c.ClientSecret == victimSecret && (l == nil || w.stackOfARN(l.LoadBalancer) != "solo") {
				out = append(out, "a rule of another owner has the client secret of pay/solo")
			}
		}
	}
	return out
}

// victims reports whether the target group is one of theirs.
func victims(g *emulated.TargetGroup) bool {
	return strings.HasPrefix(g.Name, "k8s-pay-") || strings.HasPrefix(g.Name, "k8s-blog-")
}

// targetsOf lists the registered targets.
func targetsOf(g *emulated.TargetGroup) []string {
	out := []string{}
	for _, t := range g.Targets {
		if !t.Draining() {
			out = append(out, fmt.Sprintf("%s:%d", t.ID, t.Port))
		}
	}
	slices.Sort(out)
	return out
}

// fromLoadBalancers begins the settings of the ports that the load balancers reach. More ports do
// no harm, because all load balancers of the cluster share one source.
const fromLoadBalancers = "load balancers reach port "

// nodeGroup notes who may reach the victims' pods and nodes.
func (w *testCluster) nodeGroup(f facts, p *emulated.Partition) {
	g := p.SecurityGroups[w.World.NodeSG]
	if g == nil {
		return
	}
	for _, port := range victimPorts {
		var sources []string
		for _, s := range sourcesOf(g, port) {
			proto, id, _ := strings.Cut(s, " from ")
			name := ""
			if named := p.SecurityGroups[id]; named != nil {
				name = named.Name
			}
			switch {
			case strings.HasPrefix(name, "k8s-traffic-") && proto == "tcp":
				f.settings[fmt.Sprintf("%s%d of the nodes", fromLoadBalancers, port)] = "yes"
			case !w.askedFor(id, port):
				sources = append(sources, s)
			}
		}
		f.settings[fmt.Sprintf("others reach port %d of the nodes", port)] = strings.Join(sources, ", ")
	}
}
