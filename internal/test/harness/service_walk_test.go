package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// walkNLBServices are the names of the Services with an NLB that checkServiceWalk changes.
var walkNLBServices = []string{"edge", "dns"}

// randomNLBService returns YAML of a random version of Service n of walkNLBServices. With sound, no setting is invalid. Some
// settings stay unchanged in AWS when they are removed from a Service. These are always set, so that the result does
// not depend on the history.
func (w walker) randomNLBService(n int, sound bool) string {
	notes := map[string]string{
		"nlb-target-type": w.pick("ip", "instance"), "scheme": w.pick("internal", "internet-facing"),
		"alpn-policy": w.pick("HTTP2Optional", "HTTP1Only"), "attributes": "load_balancing.cross_zone.enabled=" + w.pick("true", "false"),
		"target-group-attributes": "deregistration_delay.timeout_seconds=" + w.pick("30", "60"), "inbound-sg-rules-on-private-link-traffic": w.pick("on", "off"),
		"enable-prefix-for-ipv6-source-nat": "off",
	}
	set := func(percent int, key string, values ...string) {
		if w.chance(percent) {
			notes[key] = w.pick(values...)
		}
	}
	set(40, "ssl-cert", w.seeded.Certs["example.com"], w.seeded.Certs["app.test"], w.seeded.Certs["example.com"]+","+w.seeded.Certs["app.test"])
	set(30, "backend-protocol", "ssl")
	set(50, "ssl-ports", "443")
	set(40, "healthcheck-protocol", "http", "TCP")
	set(30, "healthcheck-interval", "15", "30")
	set(30, "additional-resource-tags", "team=a", "team=b,cost=1")
	set(30, "proxy-protocol", "*")
	set(20, "enable-icmp-for-path-mtu-discovery", "on")
	if w.chance(25) {
		notes["ip-address-type"], notes["enable-prefix-for-ipv6-source-nat"] = "dualstack", "on"
	}
	const head = "service.beta.kubernetes.io/aws-load-balancer-"
	ports := []string{fmt.Sprintf("{name: http, port: 80, targetPort: 8080, nodePort: 3%d080}", n)}
	if notes["ssl-ports"] != "" || w.chance(50) {
		ports = append(ports, fmt.Sprintf("{name: tls, port: 443, targetPort: 8080, nodePort: 3%d443}", n))
	}
	switch w.IntN(4) {
	case 0:
		ports = append(ports, fmt.Sprintf("{name: u, port: 53, targetPort: 8080, protocol: UDP, nodePort: 3%d053}", n))
	case 1:
		ports = append(ports, fmt.Sprintf("{name: t, port: 53, targetPort: 8080, nodePort: 3%d053}", n))
	case 2:
		notes["enable-tcp-udp-listener"] = "true"
		ports = append(ports, fmt.Sprintf("{name: t, port: 53, targetPort: 8080, nodePort: 3%d053}", n), fmt.Sprintf("{name: u, port: 53, targetPort: 8080, protocol: UDP, nodePort: 3%d053}", n))
	}
	if !sound {
		key := w.pick("scheme", "ip-address-type", "healthcheck-interval", "alpn-policy", "attributes", "ssl-cert", "ssl-ports", "proxy-protocol")
		notes[key] = w.pick("wrong", "arn:aws:acm:us-west-2:123456789012:certificate/none", "")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\napiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: shop\n  uid: 22222222-0000-4000-8000-00000000000%d\n  annotations:", walkNLBServices[n], n)
	for _, k := range sortedKeys(notes) {
		fmt.Fprintf(&b, "\n    %s%s: %q", head, k, notes[k])
	}
	if w.chance(30) {
		fmt.Fprintf(&b, "\n    service.beta.kubernetes.io/actions.TCP-80: '%s'", w.pick(
			`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"web","servicePort":80,"weight":9}]}}`,
			`{"type":"forward","forwardConfig":{"baseServiceWeight":0,"targetGroups":[{"serviceName":"web","servicePort":80,"weight":1}]}}`))
	}
	ranges := w.pick("", ", loadBalancerSourceRanges: [10.0.0.0/8]")
	fmt.Fprintf(&b, "\nspec: {type: LoadBalancer, loadBalancerClass: %s, selector: {app: %s}%s, ports: [%s]}\n", services.DefaultClass, walkNLBServices[n], ranges, strings.Join(ports, ", "))
	return b.String()
}

// nlbServiceEndpoints returns YAML of one or two pods and of the EndpointSlice for Service n of walkNLBServices. They serve
// all ports that the Service may have.
func (w walker) nlbServiceEndpoints(n int) string {
	own := nlbServiceAddresses(n)
	doc := strings.NewReplacer(podAddresses[n]+"]", own[0]+"]", podAddresses[n+3]+"]", own[1]+"]", podAddresses[n]+",", own[0]+",", podAddresses[n+3]+",", own[1]+",").
		Replace(w.endpoints("shop", walkNLBServices[n], n))
	return strings.Replace(doc, `ports: [{name: "", port: 8080, protocol: TCP}]`,
		"ports: [{name: http, port: 8080, protocol: TCP}, {name: tls, port: 8080, protocol: TCP}, {name: t, port: 8080, protocol: TCP}, {name: u, port: 8080, protocol: UDP}]", 1)
}

// nlbServiceAddresses returns the two pod addresses for Service n of walkNLBServices. They are in the subnet of node n.
func nlbServiceAddresses(n int) []string {
	return []string{fmt.Sprintf("10.0.%d.200", 132+16*n), fmt.Sprintf("10.0.%d.201", 132+16*n)}
}

// newServiceWalk returns a walker with the given seed, and a harness with the pods of all Services.
func newServiceWalk(t *testing.T, seed uint64, o Options) (walker, *Harness) {
	t.Helper()
	w, r := newWalkWith(t, seed, o)
	for n, s := range walkServices {
		r.Apply(w.endpoints(s[0], s[1], n))
	}
	for n := range walkNLBServices {
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[n], nlbServiceAddresses(n)...); err != nil {
			t.Fatal(err)
		}
		r.Apply(w.nlbServiceEndpoints(n))
	}
	return w, r
}

// serviceStep creates, changes or deletes one random Service of walkNLBServices or its pods, in the cluster and in docs. It
// returns a description of the step.
func (w walker) serviceStep(r *Harness, docs walkDocs) string {
	n := w.IntN(len(walkNLBServices))
	name := walkNLBServices[n]
	ref := cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: name}
	obj, _ := r.Store.Get(ref)
	switch {
	case w.chance(25):
		doc := w.nlbServiceEndpoints(n)
		r.Apply(doc)
		docs["endpoints "+name] = doc
		return "endpoints of " + name
	case obj != nil && obj.GetDeletionTimestamp() != nil:
		return name + " is still being deleted"
	case obj != nil && w.chance(20):
		if err := r.Store.Delete(ref); err != nil {
			r.T.Fatal(err)
		}
		delete(docs, name)
		return "delete " + name
	}
	doc := w.randomNLBService(n, w.chance(80))
	r.Apply(doc)
	docs[name] = doc
	return "put " + name + doc
}

// TestResultForServicesDependsOnlyOnLastObjects checks that the final state depends only on the last versions of
// Services, not on their history with failing calls, lost responses and killed processes. Afterwards, a restart changes
// nothing, and nothing remains after a deletion.
func TestResultForServicesDependsOnlyOnLastObjects(t *testing.T) {
	t.Parallel()
	seeds.Each(t, seeds.Amount(8, 16), checkServiceWalk)
}

func checkServiceWalk(t *testing.T, seed uint64) {
	t.Helper()
	var log []string
	docs := walkDocs{}
	defer docs.logFailure(t, seed, &log)
	options := Options{Checkpoints: seed%2 == 1}
	var got, empty, before []string
	synctest.Test(t, func(t *testing.T) {
		w, r := newServiceWalk(t, seed, options)
		before = r.State()
		w.stepWithFaults(r, 6+w.IntN(8), &log, func() string { return w.serviceStep(r, docs) })
		for n, name := range walkNLBServices {
			docs["endpoints "+name] = w.nlbServiceEndpoints(n)
			r.Apply(docs["endpoints "+name])
			if _, there := docs[name]; there {
				docs[name] = w.randomNLBService(n, true)
				r.Apply(docs[name])
			}
		}
		if failed := r.Settle(3 * time.Hour); len(failed) > 0 {
			t.Errorf("still failing: %v", failed)
		}
		got = r.State()
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(2 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("a restart makes %d mutating calls: %v\n%s\n%v", n, r.Emulator.Calls().Counts(), cmp.Diff(got, r.State()), warningsByObject(r))
		}
		for _, name := range walkNLBServices {
			if _, there := docs[name]; there {
				r.deleteObject(cluster.KindService, "shop", name)
			}
		}
		failed := r.Settle(3 * time.Hour)
		empty = r.State()
		for _, o := range r.Store.All(cluster.KindBinding) {
			t.Errorf("binding %s/%s is left after deletion, failing: %v", o.GetNamespace(), o.GetName(), failed)
		}
	})
	if diff := cmp.Diff(before, empty); diff != "" {
		t.Errorf("deletion does not restore the state of AWS (-before +after):\n%s", diff)
	}
	var want []string
	synctest.Test(t, func(t *testing.T) {
		_, r := newServiceWalk(t, seed, options)
		for _, k := range sortedKeys(docs) {
			r.Apply(docs[k])
		}
		r.Settle(3 * time.Hour)
		want = r.State()
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the final state depends on the history (-without +with):\n%s", diff)
	}
}
