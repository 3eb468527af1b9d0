package adversary

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// ingressWithOwnLoadBalancer returns an Ingress of the attacker with its own load balancer.
func ingressWithOwnLoadBalancer(service string, pairs ...string) string {
	return attackerIngress{class: "alb", host: "evil.example.com", service: service, pairs: appendPairs(pairs, "target-type", "ip", "scheme", "internal")}.docs()
}

// targetGroupsWithAddress lists the target groups in which an address is registered.
func (w *testCluster) targetGroupsWithAddress(address string) []string {
	p, unlock := w.partition()
	defer unlock()
	var out []string
	for _, g := range p.ELB.TargetGroups {
		for _, t := range g.Targets {
			if t.ID == address && !t.IsDraining() {
				out = append(out, g.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestAttacksOnTargets(t *testing.T) {
	t.Parallel()
	open := setup{access: openClass}

	// The address of a finished pod is not a target, although the status of the pod still shows it.
	for _, phase := range []string{"Succeeded", "Failed"} {
		runCase(t, "10-finished-pods-are-no-targets/"+phase, setup{access: openClass, scenario: 2}, func(w *testCluster) {
			finished := strings.NewReplacer("10.0.133.1", replacementAddress, "phase: Running", "phase: "+phase, "node-0", "node-1").Replace(attackerBackends)
			w.attackWith(finished, ingressWithOwnLoadBalancer("app"))
			w.advanceAndCompare(longRunTime)
			w.expectTrue(len(w.targetGroupsWithAddress(replacementAddress)) == 0, "the address of a finished pod is a target: %v", w.targetGroupsWithAddress(replacementAddress))
			w.perform(w.scenarioActs()[0]) // a pod of the victims gets the address
			w.advanceAndCompare(longRunTime)
		})
	}
	runCase(t, "10-finished-pods-are-no-targets/finishes while it serves", open, func(w *testCluster) {
		w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app"))
		w.advanceAndCompare(longRunTime)
		w.expectTrue(len(w.targetGroupsWithAddress("10.0.133.1")) == 1, "the pod is not served: %v", w.targetGroupsWithAddress("10.0.133.1"))
		w.attackWith(strings.ReplaceAll(attackerBackends, "phase: Running", "phase: Succeeded"))
		w.advanceAndCompare(maxRolloutTime)
		w.expectTrue(len(w.targetGroupsWithAddress("10.0.133.1")) == 0, "the address of a finished pod is a target still: %v", w.targetGroupsWithAddress("10.0.133.1"))
	})

	// Deleted pods are deregistered, whatever has happened to their Service.
	for name, then := range map[string]string{
		"ExternalName":  strings.NewReplacer("type: NodePort, selector", "type: ExternalName, externalName: www.example.com, selector", ", nodePort: 31000", "").Replace(attackerBackends),
		"no slices":     "",
		"headless":      strings.Replace(attackerBackends, "type: NodePort", "type: ClusterIP, clusterIP: None", 1),
		"slice remains": "keep",
	} {
		runCase(t, "11-deleted-pods-are-deregistered/"+name, open, func(w *testCluster) {
			w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app"))
			w.advanceAndCompare(longRunTime)
			w.expectTrue(len(w.targetGroupsWithAddress("10.0.133.1")) == 1, "the pod is not served: %v", w.targetGroupsWithAddress("10.0.133.1"))
			if service, _, _ := strings.Cut(then, "---"); service != "" && service != "keep" {
				w.attackWith(service)
			}
			w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindPod, Namespace: attackerNamespace, Name: "app-0"}})
			if then != "keep" {
				w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindEndpointSlice, Namespace: attackerNamespace, Name: "app-1"}})
			}
			w.advanceAndCompare(maxRolloutTime)
			w.expectTrue(len(w.targetGroupsWithAddress("10.0.133.1")) == 0, "the address of a deleted pod is a target still: %v", w.targetGroupsWithAddress("10.0.133.1"))
		})
	}

	// Frequent pod changes of one tenant do not delay the deregistration of another tenant's deleted pods.
	runCaseWith(t, "09-pod-churn-of-another-tenant", setup{access: openClass, scenario: 7}, harness.Options{Workers: 3}, func(w *testCluster) {
		const services, each, rate = 50, 2, 4
		w.setQuota("rules-per-application-load-balancer", 200)
		c := w.newPodChurn(services, each)
		w.advanceAndCompare(20 * time.Minute)
		w.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
		for i := range 60 * rate {
			if i == 20*rate {
				w.perform(w.scenarioActs()[0]) // a rollout
			}
			c.replacePod(i % services)
			w.advanceAndCompare(time.Second / rate)
		}
		w.advanceAndCompare(longRunTime)
		// AWS admits half of the calls that this needs, so the last ones wait for 41 to 46 s, depending on goroutine
		// scheduling.
		waits := slices.Sorted(slices.Values(c.deregistrationDelays()))
		if len(waits)*100 < len(c.deletedAt)*95 {
			w.rec.Fatalf("%d of %d deleted pods were deregistered", len(waits), len(c.deletedAt))
		}
		w.expectTrue(waits[len(waits)*95/100] <= 45*time.Second, "5 of 100 deleted pods were targets for more than 45s: %s", waits)
		w.expectTrue(waits[len(waits)-1] <= time.Minute, "a deleted pod was a target for %s", waits[len(waits)-1])
	})
}

// podChurn is a set of Services of the attacker whose pods are replaced.
type podChurn struct {
	w         *testCluster
	pods      [][]int
	nextPod   int
	deletedAt map[string]time.Time // when the pod with an address was deleted
}

func (w *testCluster) newPodChurn(services, each int) *podChurn {
	c := &podChurn{w: w, pods: make([][]int, services), deletedAt: map[string]time.Time{}}
	var addresses, paths []string
	for i := range 600 {
		addresses = append(addresses, c.address(i))
	}
	if err := harness.AssignPodAddresses(w.rec.Context(), harness.AWSConfig(w.Emulator), w.Seeded.Instances[0], addresses...); err != nil {
		w.rec.Fatal(err)
	}
	for s := range services {
		w.attackWith(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: s%[1]d, namespace: evil}
spec: {type: ClusterIP, selector: {app: s%[1]d}, ports: [{port: 80, targetPort: 8080}]}
`, s))
		for range each {
			c.addPod(s)
		}
		c.writeEndpointSlice(s)
		paths = append(paths, fmt.Sprintf("{path: /s%[1]d, pathType: Exact, backend: {service: {name: s%[1]d, port: {number: 80}}}}", s))
	}
	w.attackWith(fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: many, namespace: evil, annotations: {alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{host: evil.example.com, http: {paths: [%s]}}]}
`, strings.Join(paths, ", ")))
	return c
}

func (c *podChurn) address(i int) string { return fmt.Sprintf("10.0.%d.%d", 136+i/250, 1+i%250) }

func (c *podChurn) addPod(s int) {
	n := c.nextPod
	c.nextPod++
	c.pods[s] = append(c.pods[s], n)
	c.w.attackWith(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: c%[1]d, namespace: evil, labels: {app: s%[2]d}}
spec: {nodeName: node-0, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[3]s, podIPs: [{ip: %[3]s}], phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
`, n, s, c.address(n)))
}

func (c *podChurn) writeEndpointSlice(s int) {
	var endpoints []string
	for _, n := range c.pods[s] {
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [%s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: evil, name: c%d}}", c.address(n), n))
	}
	c.w.attackWith(fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s%[1]d-1, namespace: evil, labels: {kubernetes.io/service-name: s%[1]d}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints: [%[2]s]
`, s, strings.Join(endpoints, ", ")))
}

// replacePod replaces the oldest pod of a Service by a new one.
func (c *podChurn) replacePod(s int) {
	old := c.pods[s][0]
	c.pods[s] = c.pods[s][1:]
	c.addPod(s)
	c.writeEndpointSlice(s)
	c.w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindPod, Namespace: attackerNamespace, Name: fmt.Sprintf("c%d", old)}})
	c.deletedAt[c.address(old)] = time.Now()
}

// deregistrationDelays lists how long each address was a target after the deletion of its pod.
func (c *podChurn) deregistrationDelays() []time.Duration {
	var out []time.Duration
	for _, gone := range c.w.deregistrations() {
		if since, ok := c.deletedAt[gone.address]; ok {
			out = append(out, gone.at.Sub(since))
		}
	}
	for address, since := range c.deletedAt {
		if len(c.w.targetGroupsWithAddress(address)) > 0 {
			out = append(out, time.Since(since))
		}
	}
	return out
}
