package adversary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// sharedHistories is the default number of histories of attacks on a shared NLB.
const sharedHistories = 6

// sharedNLBTestCluster is a cluster with an NLB of namespace "pay". A Service of namespace "blog" shares the NLB, and
// Services of other namespaces can join it.
type sharedNLBTestCluster struct {
	*gatewayTestCluster
	// isGuestAway is set while the Service of namespace "blog" has its own load balancer.
	isGuestAway bool
}

// sharedService returns a Service with an NLB and a pod. day is the creation time. annotations is empty or begins with a
// comma.
func sharedService(namespace, name, address, day, annotations, port string) string {
	doc := fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s, uid: uid-shared-%[1]s-%[2]s, creationTimestamp: "%[4]s", annotations: {service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip%[5]s}}
spec: {type: LoadBalancer, loadBalancerClass: `+services.DefaultClass+`, selector: {app: %[2]s}, ports: [%[6]s]}
---
`, namespace, name, address, day, annotations, port)
	return doc + strings.TrimPrefix(workload{namespace: namespace, name: name, pods: []string{address}}.podDocs(), "---\n")
}

const (
	sharedGroupAnnotation  = ", fulcrum.dev/load-balancer-group: pay/edge"
	schemeAnnotation       = ", service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing"
	serviceAnnotationStart = ", service.beta.kubernetes.io/aws-load-balancer-"
)

func sharedOwnerDoc() string {
	return sharedService("pay", "front", "10.0.132.10", "2000-01-01T00:00:00Z", sharedGroupAnnotation+schemeAnnotation, "{port: 80, targetPort: 8080}")
}

func sharedGuestDoc(annotations string) string {
	return sharedService("blog", "mail", "10.0.148.12", "2000-01-01T00:00:00Z", annotations, "{port: 25, targetPort: 8080}")
}

// TestSharedHistories runs random histories of a tenant that joins and leaves a shared NLB with random objects, while a
// Service of the victims leaves it and returns. The settings of the NLB and the ports of the victims must not change.
func TestSharedHistories(t *testing.T) {
	t.Parallel()
	first, n := seedRange(sharedHistories)
	for seed := first; seed < first+n; seed++ {
		if w := runSharedHistory(t, seed); w.rec.Failed() {
			t.Fatalf("FULCRUM_ADVERSARY_SEED=%d:\n%s\n\n%s", seed, strings.Join(w.rec.failures, "\n"), strings.Join(w.moveLog, "\n"))
		}
	}
}

func runSharedHistory(t *testing.T, seed uint64) *sharedNLBTestCluster {
	t.Helper()
	w := &sharedNLBTestCluster{gatewayTestCluster: &gatewayTestCluster{Rand: rand.New(rand.NewPCG(seed, 13))}}
	synctest.Test(t, func(t *testing.T) {
		defer recoverStop()
		w.startWithVictims(t)
		for range 16 {
			if w.chance(20) {
				w.toggleGuestMembership()
			} else {
				w.makeServiceMove()
			}
			w.Settle(time.Duration(1+w.IntN(300)) * time.Second)
			if w.compareFacts(""); w.rec.Failed() {
				return
			}
		}
		if w.isGuestAway {
			w.toggleGuestMembership()
		}
		w.moveLog = append(w.moveLog, "the attacker leaves")
		w.disableDeletionProtectionOfAttacker()
		w.Settle(time.Minute)
		w.deleteAttackerNamespaceObjects()
		w.Settle(2 * time.Hour)
		w.compareFacts("after the attacker has left: ")
		p, unlock := w.partition()
		defer unlock()
		for _, lb := range p.ELB.LoadBalancers {
			if tags := fmt.Sprint(lb.Tags); !strings.Contains(tags, "pay/group.edge") {
				w.rec.Errorf("load balancer %s is not deleted: %s %v", lb.Name, tags, lb.Attributes)
			}
		}
	})
	return w
}

// startWithVictims starts the controller and waits until the victims are served.
func (w *sharedNLBTestCluster) startWithVictims(t *testing.T) {
	w.rec = &recorder{TB: t}
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(),
		Service:   func(o *services.Options) { o.CrossNamespaceGroups = true },
		AfterRun: func(what string, err error) {
			if w.runs++; w.runs > 20000 {
				w.rec.Fatalf("too many runs, the last one of %s", what)
			}
			if err != nil && strings.Contains(err.Error(), "panic") {
				w.rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
			}
		},
	})
	w.Apply(sharedOwnerDoc(), sharedGuestDoc(sharedGroupAnnotation))
	w.Settle(20 * time.Minute)
	w.facts = w.readFacts()
	if w.facts["scheme"] != "internet-facing" || w.facts["port 80"] == "" || w.facts["port 25"] == "" {
		w.rec.Fatalf("the victims are not served: %v", w.facts)
	}
}

// readFacts returns the settings of the shared load balancer, and where the victims' ports forward to.
func (w *sharedNLBTestCluster) readFacts() map[string]string {
	out := map[string]string{}
	p, unlock := w.partition()
	defer unlock()
	for arn, lb := range p.ELB.LoadBalancers {
		if !strings.Contains(fmt.Sprint(lb.Tags), "pay/group.edge") {
			continue
		}
		out["scheme"], out["settings"] = string(lb.Scheme), fmt.Sprint(lb.ARN, lb.Addressing, lb.SecurityGroups, lb.Zones, lb.Attributes)
		for _, l := range p.ELB.Listeners {
			if l.LoadBalancer != arn || l.Port != 80 && l.Port != 25 {
				continue
			}
			for _, r := range p.ELB.Rules {
				if r.Listener == l.ARN && r.IsDefault() && r.Actions[0].ForwardConfig != nil {
					g := p.ELB.TargetGroups[*r.Actions[0].ForwardConfig.TargetGroups[0].TargetGroupArn]
					out[fmt.Sprintf("port %d", l.Port)] = fmt.Sprint(l.Protocol, " ", g.Tags["service.k8s.aws/resource"], g.Attributes["preserve_client_ip.enabled"])
				}
			}
		}
	}
	return out
}

// compareFacts compares the current facts with the recorded ones. It also checks that the Service of namespace "blog" is
// internet-facing while it has its own load balancer.
func (w *sharedNLBTestCluster) compareFacts(when string) {
	got := w.readFacts()
	for key, want := range w.facts {
		if have := got[key]; have != want && (key != "port 25" || !w.isGuestAway) {
			w.rec.Errorf("%s%s: %q, want %q", when, key, have, want)
		}
	}
	p, unlock := w.partition()
	defer unlock()
	for _, lb := range p.ELB.LoadBalancers {
		if strings.Contains(fmt.Sprint(lb.Tags), "service.k8s.aws/stack:blog/mail") && lb.Scheme != "internet-facing" {
			w.rec.Errorf("%sthe Service of blog was public, and its own load balancer is %q", when, lb.Scheme)
		}
	}
}

// disableDeletionProtectionOfAttacker disables deletion protection of the attacker's load balancers in the objects. It does
// so in AWS too, because the controller does not change the attribute if no object sets it.
func (w *sharedNLBTestCluster) disableDeletionProtectionOfAttacker() {
	w.asTestCluster().disableDeletionProtectionOfServices()
	p, unlock := w.partition()
	defer unlock()
	for _, lb := range p.ELB.LoadBalancers {
		if !strings.Contains(fmt.Sprint(lb.Tags), "pay/group.edge") {
			lb.Attributes[deletionProtectionAttribute] = "false"
		}
	}
}

// toggleGuestMembership moves the Service of namespace "blog", which sets no scheme, to its own load balancer or back.
func (w *sharedNLBTestCluster) toggleGuestMembership() {
	w.isGuestAway = !w.isGuestAway
	w.moveLog = append(w.moveLog, fmt.Sprintf("the Service of blog leaves: %t", w.isGuestAway))
	if w.isGuestAway {
		w.Apply(sharedGuestDoc(""))
		w.Settle(8 * time.Minute)
		return
	}
	w.Apply(sharedGuestDoc(sharedGroupAnnotation))
	w.Settle(30 * time.Minute)
}

// TestDeletedServiceCanLoseDeletionProtection creates a Service with its own load balancer. The Service then enables
// deletion protection, requests an occupied port of the shared load balancer, and is deleted. It must keep its load balancer
// and must not be deleted until deletion protection is disabled.
func TestDeletedServiceCanLoseDeletionProtection(t *testing.T) {
	t.Parallel()
	w := &sharedNLBTestCluster{gatewayTestCluster: &gatewayTestCluster{}}
	synctest.Test(t, func(t *testing.T) {
		defer recoverStop()
		w.startWithVictims(t)
		const day, port, protected = "1999-01-01T00:00:00Z", "{port: 80, targetPort: 8080}", serviceAnnotationStart + `attributes: "deletion_protection.enabled=true"`
		own := func() bool {
			p, unlock := w.partition()
			defer unlock()
			for _, lb := range p.ELB.LoadBalancers {
				if strings.Contains(fmt.Sprint(lb.Tags), "service.k8s.aws/stack:evil/e0") {
					return true
				}
			}
			return false
		}
		ref := cluster.Ref{Kind: cluster.KindService, Namespace: attackerNamespace, Name: "e0"}
		there := func() bool {
			obj, err := w.Store.Get(ref)
			return err == nil && obj != nil
		}
		for _, annotations := range []string{"", sharedGroupAnnotation + protected} {
			w.applyDoc(sharedService(attackerNamespace, "e0", attackerAddresses[0], day, annotations, port))
			w.Settle(20 * time.Minute)
		}
		if err := w.Store.Delete(ref); err != nil {
			t.Fatal(err)
		}
		w.Settle(2 * time.Hour)
		if !own() || !there() {
			t.Errorf("the load balancer stays: %t, the Service stays: %t; both are protected", own(), there())
		}
		if log := (eventLog{store: w.Store}); !log.hasWarning("Service evil/e0", "is being deleted, but it enables deletion protection") {
			t.Errorf("no event of the Service names the protection: %v", log.warningsAbout("Service evil/e0"))
		}
		w.disableDeletionProtectionOfAttacker()
		w.Settle(time.Hour)
		if own() || there() {
			t.Errorf("the protection is lifted; the load balancer stays: %t, the Service stays: %t", own(), there())
		}
		w.compareFacts("after the Service is deleted: ")
	})
	for _, f := range w.rec.failures {
		t.Error(f)
	}
}

// makeServiceMove makes one random move of the attacker: a Service joins or is deleted.
func (w *sharedNLBTestCluster) makeServiceMove() {
	name := w.pickText("e0", "e1", "e2")
	if w.chance(25) {
		w.moveLog = append(w.moveLog, "delete Service "+name)
		_ = w.Store.Delete(cluster.Ref{Kind: cluster.KindService, Namespace: attackerNamespace, Name: name}) // it may not exist
		return
	}
	group := w.pickText(sharedGroupAnnotation, sharedGroupAnnotation, sharedGroupAnnotation, sharedGroupAnnotation, "", ", fulcrum.dev/load-balancer-group: edge")
	var options []string
	for range w.IntN(4) {
		options = append(options, w.pickText(
			"subnets: "+w.Seeded.Private[0], "subnets: "+w.Seeded.Public[0], "ip-address-type: dualstack", "scheme: internal", "scheme: internet-facing",
			`attributes: "deletion_protection.enabled=true"`, `attributes: "load_balancing.cross_zone.enabled=true"`, `attributes: "load_balancing.cross_zone.enabled=nonsense"`,
			"security-groups: "+w.Seeded.ExtraSG, `minimum-load-balancer-capacity: "CapacityUnits=3000"`, "name: evil", "scheme: nonsense",
			"manage-backend-security-group-rules: \"false\"", `target-group-attributes: "preserve_client_ip.enabled=true"`,
		))
	}
	slices.Sort(options)
	annotations, last := group, ""
	for _, o := range options {
		if key, _, _ := strings.Cut(o, ":"); key != last {
			annotations, last = annotations+serviceAnnotationStart+o, key
		}
	}
	port := w.pickText("{port: 80, targetPort: 8080}", "{port: 80, targetPort: 8080, protocol: UDP}", "{port: 25, targetPort: 8080}", "{port: 9000, targetPort: 8080}", "{port: 9001, targetPort: 8080}",
		"{name: a, port: 9002, targetPort: 8080}, {name: b, port: 80, targetPort: 8080, protocol: UDP}")
	if strings.Contains(port, "port: 25,") && w.chance(80) { // the Service of blog cannot return if its port is occupied
		port = "{port: 9003, targetPort: 8080}"
	}
	if w.isGuestAway && strings.Contains(port, "port: 25,") {
		port = "{port: 9004, targetPort: 8080}"
	}
	w.applyDoc(sharedService("evil", name, attackerAddresses[w.IntN(3)], w.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), annotations, port))
}
