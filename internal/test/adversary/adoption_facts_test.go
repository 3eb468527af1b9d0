package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// readAnswers returns the answers to the requests of the victims' clients, by load balancer and request.
func (w *adoptionTestCluster) readAnswers() map[string]map[string]string {
	p, unlock := w.partition()
	defer unlock()
	a := &awsReading{w: w.asTestCluster(), p: p}
	rules, out := a.rules(func(arn string) bool { return w.namesByARN[arn] != "" }), map[string]map[string]string{}
	for _, r := range adoptionRequests {
		if out[r.lb] == nil {
			out[r.lb] = map[string]string{}
		}
		text := a.answerOf(rules[loadBalancerPort{w.arnsByName[r.lb], r.port}], request{host: r.host, path: r.path}.facts()).text
		out[r.lb][r.String()] = strings.ReplaceAll(text, "pay/api", "pay/web-2") // the Services have the same pods
	}
	return out
}

// readSettings returns the settings of a victim's load balancer and the status of its objects, by description.
func (w *adoptionTestCluster) readSettings(name string) map[string]string {
	out := map[string]string{}
	p, unlock := w.partition()
	defer unlock()
	lb := p.ELB.LoadBalancers[w.arnsByName[name]]
	if lb == nil {
		return map[string]string{"load balancer": "gone"}
	}
	tags := maps.Clone(lb.Tags)
	maps.DeleteFunc(tags, func(k, _ string) bool { return strings.HasPrefix(k, naming.AdoptedNamespacesTag) })
	out["load balancer"] = fmt.Sprint(lb.Name, lb.Type, lb.Scheme, lb.Addressing, lb.Zones, lb.Attributes, tags)
	var groups []string
	for _, id := range lb.SecurityGroups {
		g := p.SecurityGroups[id]
		groups = append(groups, g.Name)
		if strings.HasPrefix(g.Name, "k8s-traffic-") {
			continue // shared by the load balancers of the cluster
		}
		for _, port := range []int32{25, 80} {
			out[fmt.Sprintf("clients of port %d by %s", port, g.Name)] = strings.Join(sourcesOf(g, port), " ")
		}
		out["tags of "+g.Name] = fmt.Sprint(p.Tags[id])
		if w.tenancy == closedGroups {
			out["rules of "+g.Name] = fmt.Sprint(len(g.Ingress))
		}
	}
	slices.Sort(groups)
	out["security groups"] = strings.Join(groups, " ")
	for _, l := range p.ELB.Listeners {
		if l.LoadBalancer == lb.ARN && (l.Port == 25 || l.Port == 80 || w.tenancy == closedGroups) {
			out[fmt.Sprintf("listener %d", l.Port)] = fmt.Sprint(l.Protocol, l.SSLPolicy, l.Certificate, l.SNI, l.Attributes, l.Tags)
		}
	}
	for _, g := range p.ELB.TargetGroups {
		if g.LoadBalancer == lb.ARN && belongsToVictims(g) {
			out["target group "+g.Name] = fmt.Sprint(g.Type, g.Protocol, g.ProtocolVersion, g.Port, g.Check, g.Attributes, g.Tags, targetsOf(g))
		}
	}
	w.readObjects(name, lb, out)
	return out
}

// statusObjectsByName has the Ingresses or the Service whose status shows a load balancer, by the name of the load balancer.
var statusObjectsByName = map[string][]cluster.Ref{
	"shared": {{Kind: cluster.KindIngress, Namespace: "pay", Name: "shop"}, {Kind: cluster.KindIngress, Namespace: "blog", Name: "blog"}},
	"edge":   {{Kind: cluster.KindIngress, Namespace: "pay", Name: "front"}, {Kind: cluster.KindIngress, Namespace: "blog", Name: "post"}},
	"solo":   {{Kind: cluster.KindIngress, Namespace: "pay", Name: "solo"}},
	"mail":   {{Kind: cluster.KindService, Namespace: "pay", Name: "mail"}},
}

// readObjects adds to out the status and the finalizers of the objects in statusObjectsByName, and the status of the Gateway
// if it owns the load balancer.
func (w *adoptionTestCluster) readObjects(name string, lb *emulated.LoadBalancer, out map[string]string) {
	shown := func(host string) string { // a hostname is partly random
		if strings.EqualFold(host, lb.DNSName) {
			return "its load balancer"
		}
		return host
	}
	for _, ref := range statusObjectsByName[name] {
		switch o := mustValue(w.Store.Get(ref)).(type) {
		case *networkingv1.Ingress:
			for _, i := range o.Status.LoadBalancer.Ingress {
				out[ref.String()] += shown(i.Hostname) + fmt.Sprint(i.Ports)
			}
			out["finalizers of "+ref.String()] = fmt.Sprint(o.Finalizers)
		case *corev1.Service:
			for _, i := range o.Status.LoadBalancer.Ingress {
				out[ref.String()] += shown(i.Hostname)
			}
			out["finalizers of "+ref.String()] = fmt.Sprint(o.Finalizers)
		}
	}
	if !strings.Contains(fmt.Sprint(lb.Tags), "gateway.k8s.aws") {
		return
	}
	gw, ok := mustValue(w.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "pay", Name: name})).(*gwv1.Gateway)
	if !ok {
		return
	}
	for _, a := range gw.Status.Addresses {
		out["addresses of the Gateway"] += shown(a.Value)
	}
	for _, c := range gw.Status.Conditions {
		out["condition "+c.Type] = string(c.Status) + c.Reason
	}
	for _, l := range gw.Status.Listeners {
		for _, c := range l.Conditions {
			if l.Name != "open" {
				out[fmt.Sprintf("listener %s: %s", l.Name, c.Type)] = string(c.Status) + c.Reason
			}
		}
	}
}

// firstDifference describes the first setting that differs, or returns "" if there is none. It ignores additional target
// groups in got.
func firstDifference(want, got map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			return fmt.Sprintf("%s: %q, want %q", k, got[k], want[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok && !strings.HasPrefix(k, "target group ") { // an unused target group is deleted later
			return fmt.Sprintf("%s is new: %q", k, got[k])
		}
	}
	return ""
}

// victimStackTags are the values of the victims' stack tags.
var victimStackTags = []string{"shared", "edge", "pay/solo", "pay/mail", "pay/edge"}

// victimTag returns the tag that assigns a resource to the victims, or "" if there is none.
func (w *adoptionTestCluster) victimTag(tags map[string]string) string {
	for k, v := range tags {
		if w.released && k == "ingress.k8s.aws/stack" && v == "edge" {
			continue // an Ingress that joins the IngressGroup later gets its own load balancer
		}
		_, stack, adopted := strings.Cut(v, ":")
		if strings.HasSuffix(k, "/stack") && slices.Contains(victimStackTags, v) || k == naming.AdoptedTag && adopted && slices.Contains(victimStackTags, stack) {
			return k + "=" + v
		}
	}
	return ""
}

// attackerTag returns the tag that assigns a resource to the attacker, or "" if there is none.
func attackerTag(tags map[string]string) string {
	for k, v := range tags {
		if strings.HasSuffix(k, "/stack") && strings.HasPrefix(v, attackerNamespace+"/") || k == naming.AdoptedTag && strings.Contains(v, ":"+attackerNamespace+"/") || v == "own" {
			return k + "=" + v
		}
	}
	return ""
}

// checkTags checks that no resource of the attacker has tags of the victims and vice versa. It also checks that the victims'
// target groups have no targets of the attacker and are not used by its load balancers, and that the sources that may reach
// the victims' pods are unchanged.
func (w *adoptionTestCluster) checkTags() {
	p, unlock := w.partition()
	defer unlock()
	for arn, lb := range p.ELB.LoadBalancers {
		switch tag := w.victimTag(lb.Tags); {
		case w.namesByARN[arn] == "" && tag != "":
			w.rec.recordFirst("load balancer %s of another owner has tag %s", lb.Name, tag)
		case w.namesByARN[arn] != "" && attackerTag(lb.Tags) != "":
			w.rec.recordFirst("load balancer %s of the victims has tag %s", lb.Name, attackerTag(lb.Tags))
		}
	}
	for _, g := range p.ELB.TargetGroups {
		tag := w.victimTag(g.Tags)
		// The attacker's Services may be backends of an IngressGroup that the attacker may join, and of the listener
		// that everybody may use.
		guest := strings.HasSuffix(tag, "/stack=pay/edge") || w.tenancy != closedGroups && strings.HasPrefix(tag, "ingress.k8s.aws/stack=") && !strings.HasSuffix(tag, "pay/solo")
		switch {
		case !belongsToVictims(g):
			if tag != "" && !guest {
				w.rec.recordFirst("target group %s of another owner has tag %s", g.Name, tag)
			}
		case attackerTag(g.Tags) != "":
			w.rec.recordFirst("target group %s of the victims has tag %s", g.Name, attackerTag(g.Tags))
		case g.LoadBalancer != "" && w.namesByARN[g.LoadBalancer] == "":
			w.rec.recordFirst("target group %s of the victims serves %s", g.Name, g.LoadBalancer)
		default:
			for _, t := range g.Targets {
				if slices.Contains(attackerAddresses, t.ID) {
					w.rec.recordFirst("target group %s of the victims has target %s", g.Name, t.ID)
				}
			}
		}
	}
	for id, g := range p.SecurityGroups {
		switch tag := w.victimTag(p.Tags[id]); {
		case !w.securityGroups[id] && tag != "":
			w.rec.recordFirst("security group %s of another owner has tag %s", g.Name, tag)
		case w.securityGroups[id] && attackerTag(p.Tags[id]) != "":
			w.rec.recordFirst("security group %s of the victims has tag %s", g.Name, attackerTag(p.Tags[id]))
		}
	}
	if node := p.SecurityGroups[w.Seeded.NodeSG]; w.podSources != "" && strings.Join(sourcesOf(node, 8080), " ") != w.podSources {
		w.rec.recordFirst("the victims' pods are reached from %v, want %s", sourcesOf(node, 8080), w.podSources)
	}
}
