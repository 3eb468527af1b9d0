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
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// facts are the victims' resources in AWS and the answers to their clients.
type facts struct {
	settings map[string]string   // by description
	answers  map[request]answer  // by request
	targets  map[string][]string // addresses by the name of the target group
	ids      map[string]string   // ARNs and IDs, by description
	// forbiddenConditions are conditions that must never occur, whatever the victims do.
	forbiddenConditions []string
}

// comparedAttributes are the attributes that the victims or their class set.
var comparedAttributes = []string{"idle_timeout.timeout_seconds", "access_logs.s3.enabled", "deletion_protection.enabled", "routing.http.drop_invalid_header_fields.enabled"}

// victimPorts are the ports of the victims' pods and nodes that their load balancers use.
var victimPorts = []int32{8080, 30080, 30081}

// awsReading reads facts from the emulator's state, which it keeps locked.
type awsReading struct {
	facts
	w *testCluster
	p *emulated.Partition
}

// facts reads all facts.
func (w *testCluster) facts() facts {
	a, unlock := w.lockAWSReading()
	defer unlock()
	a.readLoadBalancers()
	a.readListeners()
	a.readTargetGroups()
	a.readNodeSources()
	a.readAnswers()
	a.findForbidden()
	a.readObjects()
	return a.facts
}

func (w *testCluster) lockAWSReading() (*awsReading, func()) {
	p, unlock := w.partition()
	f := facts{settings: map[string]string{}, answers: map[request]answer{}, targets: map[string][]string{}, ids: map[string]string{}}
	return &awsReading{f, w, p}, unlock
}

func (a *awsReading) readLoadBalancers() {
	for stack, arn := range a.w.lbs {
		lb := a.p.ELB.LoadBalancers[arn]
		if lb == nil {
			a.settings["load balancer of "+stack] = "gone"
			continue
		}
		a.readLoadBalancer(stack, lb)
	}
}

// readObjects reads the hostnames in the status of the victims' Ingresses and Service, and their finalizers.
func (a *awsReading) readObjects() {
	for stack, name := range statusObjectOfStack {
		shown := a.w.statusHostname(name)
		if lb := a.p.ELB.LoadBalancers[a.w.lbs[stack]]; lb != nil && strings.EqualFold(lb.DNSName, shown) {
			shown = "its load balancer" // its DNS name is partly random
		}
		a.settings["status of "+name] = shown
	}
	a.settings["finalizers of Service "+mailService] = a.w.finalizersOf(cluster.KindService, mailService)
	for name := range ingresses() {
		a.settings["finalizers of Ingress "+name] = a.w.ingressFinalizers(name)
	}
}

// ingressFinalizers returns the finalizers of a victim's Ingress. A deleted Ingress must not wait for other members.
func (w *testCluster) ingressFinalizers(name string) string {
	return w.finalizersOf(cluster.KindIngress, name)
}

func (w *testCluster) finalizersOf(kind cluster.Kind, name string) string {
	namespace, short, _ := strings.Cut(name, "/")
	obj, err := w.Store.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: short})
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

func (a *awsReading) readLoadBalancer(stack string, lb *emulated.LoadBalancer) {
	set := func(what, format string, args ...any) {
		a.settings[what+" of "+stack] = fmt.Sprintf(format, args...)
	}
	a.ids["load balancer of "+stack] = lb.ARN
	var subnets, groups []string
	for _, z := range lb.Zones {
		subnets = append(subnets, z.Subnet)
	}
	for _, id := range lb.SecurityGroups {
		g := a.p.SecurityGroups[id]
		if g == nil {
			continue
		}
		groups = append(groups, g.Name)
		if strings.HasPrefix(g.Name, "k8s-traffic-") {
			continue // shared by the load balancers of the cluster
		}
		a.ids["security group "+g.Name] = id
		for _, port := range []int32{80, 443} {
			set(fmt.Sprintf("clients admitted to port %d by %s", port, g.Name), "%s", strings.Join(sourcesOf(g, port), " "))
		}
	}
	slices.Sort(groups)
	set("load balancer", "%s %s %s %s %s", lb.Name, lb.Type, lb.Scheme, lb.Addressing, lb.VPC)
	set("subnets", "%s", strings.Join(subnets, " "))
	set("security groups", "%s", strings.Join(groups, " "))
	for key, value := range lb.Attributes {
		if a.w.isAttackerShutOut() || slices.Contains(comparedAttributes, key) {
			set("attribute "+key, "%s", value)
		}
	}
	for key, value := range lb.Tags {
		set("tag "+key, "%s", value)
	}
	set("web ACL", "%s", a.p.WAFv2.Associations[lb.ARN])
	protected := false
	for _, s := range a.p.Store().Partition(a.p.Account, emulated.GlobalRegion).Shield.Protections {
		protected = protected || s.Resource == lb.ARN
	}
	set("Shield protection", "%t", protected)
	for _, other := range a.p.ELB.LoadBalancers {
		if other.ARN != lb.ARN && stackTag(other) == stackTag(lb) && other.Tags["elbv2.k8s.aws/cluster"] == lb.Tags["elbv2.k8s.aws/cluster"] {
			set("other load balancer "+other.Name, "present")
		}
	}
}

// stackTag returns the kind and the name of the stack in the tags of a load balancer, or "" if there is none.
func stackTag(lb *emulated.LoadBalancer) string {
	for _, k := range []model.Kind{model.Ingress, model.Service} {
		if id := lb.Tags[naming.StackTag(k)]; id != "" {
			return string(k) + " " + id
		}
	}
	return ""
}

// isAttackerShutOut reports whether the attacker may add nothing to the victims' load balancers, because no class admits it.
func (w *testCluster) isAttackerShutOut() bool { return w.access == shutOut }

// sourcesOf lists the protocols and sources that a security group admits to a port.
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

func (a *awsReading) readListeners() {
	for _, l := range a.p.ELB.Listeners {
		stack := a.w.stackOfARN(l.LoadBalancer)
		if stack == "" || !a.w.isAttackerShutOut() && l.Port != 80 && l.Port != 443 {
			continue
		}
		of := fmt.Sprintf(" of %s port %d", stack, l.Port)
		a.ids["listener"+of] = l.ARN
		a.settings["listener"+of] = fmt.Sprintf("%s %s", l.Protocol, l.SSLPolicy)
		a.settings["default certificate"+of] = l.Certificate
		for _, c := range l.SNI {
			a.settings["certificate "+c+of] = "present"
		}
		if l.Mutual != nil {
			mode, _ := json.Marshal(l.Mutual)
			a.settings["client certificates"+of] = string(mode)
		}
		for key, value := range l.Attributes {
			if a.w.isAttackerShutOut() || l.Port == 443 && key == "routing.http.response.server.enabled" { // the victims set it
				a.settings["attribute "+key+of] = value
			}
		}
	}
}

func (a *awsReading) readTargetGroups() {
	for _, g := range a.p.ELB.TargetGroups {
		if !belongsToVictims(g) {
			continue
		}
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(g.Attributes)) {
			keys = append(keys, k+"="+g.Attributes[k])
		}
		a.ids["target group "+g.Name] = g.ARN
		a.settings["target group "+g.Name] = fmt.Sprintf("%s %s %s %d %v %v", g.Type, g.Protocol, g.ProtocolVersion, g.Port, g.Check, keys)
		a.targets[g.Name] = targetsOf(g)
	}
}

// findForbidden finds pods of the victims in target groups of others, target groups of the victims on load balancers
// of others, and a secret of the victims in rules of others.
func (a *awsReading) findForbidden() {
	pods := map[string]string{}
	for _, o := range a.w.Store.All(cluster.KindPod) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Namespace != attackerNamespace {
			pods[pod.Status.PodIP] = pod.Namespace + "/" + pod.Name
		}
	}
	for _, g := range a.p.ELB.TargetGroups {
		if belongsToVictims(g) {
			if g.LoadBalancer != "" && a.w.stackOfARN(g.LoadBalancer) == "" && slices.Contains(a.w.targetGroupNames(), g.Name) {
				a.forbiddenConditions = append(a.forbiddenConditions, fmt.Sprintf("target group %s serves %s", g.Name, g.LoadBalancer))
			}
			continue
		}
		for _, t := range g.Targets {
			if owner := pods[t.ID]; owner != "" && !t.IsDraining() {
				a.forbiddenConditions = append(a.forbiddenConditions, fmt.Sprintf("target group %s has pod %s as target", g.Name, owner))
			}
		}
	}
	for _, r := range a.p.ELB.Rules {
		for _, action := range r.Actions {
			l := a.p.ELB.Listeners[r.Listener]
			if c := action.AuthenticateOidcConfig; c != nil && c.ClientSecret != nil && *c.ClientSecret == victimSecret && (l == nil || a.w.stackOfARN(l.LoadBalancer) != "solo") {
				a.forbiddenConditions = append(a.forbiddenConditions, "a rule of another owner has the client secret of pay/solo")
			}
		}
	}
}

// belongsToVictims reports whether the target group belongs to the victims.
func belongsToVictims(g *emulated.TargetGroup) bool {
	return strings.HasPrefix(g.Name, "k8s-pay-") || strings.HasPrefix(g.Name, "k8s-blog-")
}

// targetsOf lists the registered targets.
func targetsOf(g *emulated.TargetGroup) []string {
	out := []string{}
	for _, t := range g.Targets {
		if !t.IsDraining() {
			out = append(out, fmt.Sprintf("%s:%d", t.ID, t.Port))
		}
	}
	slices.Sort(out)
	return out
}

// reachablePortPrefix is the prefix of settings that show which ports the load balancers may reach. Additional ports are
// harmless, because all load balancers of the cluster share one backend security group.
const reachablePortPrefix = "load balancers reach port "

// readNodeSources reads which sources may reach the victims' pods and nodes.
func (a *awsReading) readNodeSources() {
	g := a.p.SecurityGroups[a.w.Seeded.NodeSG]
	if g == nil {
		return
	}
	for _, port := range victimPorts {
		var sources []string
		for _, s := range sourcesOf(g, port) {
			proto, id, _ := strings.Cut(s, " from ")
			name := ""
			if named := a.p.SecurityGroups[id]; named != nil {
				name = named.Name
			}
			switch {
			case strings.HasPrefix(name, "k8s-traffic-") && proto == "tcp":
				a.settings[fmt.Sprintf("%s%d of the nodes", reachablePortPrefix, port)] = "yes"
			case !a.w.rights.hasOpened(id, port) && !a.w.rights.hasExposed(proto, id, port):
				sources = append(sources, s)
			}
		}
		a.settings[fmt.Sprintf("others reach port %d of the nodes", port)] = strings.Join(sources, ", ")
	}
}
