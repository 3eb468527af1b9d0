package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// sharedServiceYAML returns a Service of type LoadBalancer with a pod and an EndpointSlice. If group is not empty, all
// Services with this group share a load balancer. pod is the index of the node of the pod.
func sharedServiceYAML(name, group string, port, pod int) string {
	annotations := "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip"
	if group != "" {
		annotations += ", fulcrum.dev/load-balancer-group: " + group
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: shop, annotations: {%[2]s}}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, selector: {app: %[1]s}, ports: [{port: %[3]d, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: shop, uid: pod-%[1]s, labels: {app: %[1]s}}
spec: {containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: 10.0.%[4]d.10, phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.0.%[4]d.10], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: %[1]s}}]
`, name, annotations, port, 132+16*pod)
}

// TestCommandsShowThatALeavingServiceIsStillServed checks plan and tree while a Service moves away from a shared load
// balancer. They show the deletion of its listener only after the deletion delay, and show the listener once.
func TestCommandsShowThatALeavingServiceIsStillServed(t *testing.T) {
	for name, tc := range map[string]struct {
		// after is the time from the edit until the controller stops. later is the time from then until the command runs.
		after, later time.Duration
		reported     string
		deletes      bool
	}{
		"at once":          {reported: "Service shop/mail is moving to another load balancer; this load balancer serves it until the other one serves it"},
		"after a minute":   {after: time.Minute, reported: "addresses until 2000-01-01T00:25:03Z; then its rules and target groups for the object are deleted"},
		"just before":      {after: time.Minute, later: 14 * time.Minute, reported: "addresses until 2000-01-01T00:25:03Z"},
		"when it is over":  {after: time.Minute, later: 15 * time.Minute, deletes: true},
		"when it is gone":  {after: 20 * time.Minute},
		"gone, and a week": {after: 20 * time.Minute, later: 7 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := runScenario(t, func(t *testing.T, r *harness.Harness) {
				r.Apply(sharedServiceYAML("web", "public", 443, 0), sharedServiceYAML("mail", "public", 25, 1))
				r.Settle(10 * time.Minute)
				r.Apply(strings.SplitN(sharedServiceYAML("mail", "", 25, 1), "---", 2)[0])
				end := time.Now().Add(tc.after)
				r.Settle(tc.after)
				time.Sleep(time.Until(end)) // virtual time
			})
			_, config := serveCluster(t, w.objects)
			flags := emulatorFlags(t, w.em, w.vpc)
			look := func(args ...string) (int, string) {
				var out, errs bytes.Buffer
				code := Run(t.Context(), output.Environment{
					Args: slices.Concat(args, []string{"--kubeconfig=" + config, "-A", "--flags-from=none"}, flags), Stdout: &out, Stderr: &errs,
					Getenv: func(string) string { return "" }, Clock: clocktesting.NewFakePassiveClock(w.now.Add(tc.later)),
				})
				if errs.Len() > 0 {
					t.Error(errs.String())
				}
				return code, out.String()
			}
			code, plan := look("plan")
			if deletes := strings.Contains(plan, "- delete listener"); deletes != tc.deletes || (code == output.ExitChanges) != tc.deletes {
				t.Errorf("exit %d: %s", code, plan)
			}
			_, tree := look("tree")
			shared, _, _ := strings.Cut(tree, "\nService shop/mail\n")
			want := 1
			if tc.after > 15*time.Minute {
				want = 0
			}
			if n := strings.Count(shared, "listener TCP:25"); n != want || strings.Contains(shared, "-   listener TCP:25") != tc.deletes {
				t.Errorf("port 25 is shown %d times: %s", n, tree)
			}
			for _, text := range []string{plan, tree} {
				if strings.Contains(text, "another load balancer") != (tc.reported != "") || !strings.Contains(text, tc.reported) {
					t.Errorf("%q is not printed: %s", tc.reported, text)
				}
			}
			var doc PlanDocument
			_, text := look("plan", "-o=json")
			if err := json.Unmarshal([]byte(text), &doc); err != nil || (len(doc.Stacks[0].Leaving) == 1) != (tc.reported != "") {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}
