package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestGetListsLoadBalancers checks that get prints one line for each load balancer, including load balancers that do not
// exist in AWS yet.
func TestGetListsLoadBalancers(t *testing.T) {
	w := runScenario(t, func(t *testing.T, r *harness.Harness) {
		r.Apply(sharedServiceYAML("web", "public", 443, 0), sharedServiceYAML("mail", "public", 25, 1), sharedServiceYAML("dns", "", 53, 2))
		r.Settle(10 * time.Minute)
		time.Sleep(26 * time.Hour) // virtual time
		r.Apply(classYAML, serviceYAML, ingressYAML)
	})
	_, config := serveCluster(t, w.objects+"\n---\n"+namespaceYAML)
	flags := emulatorFlags(t, w.em, w.vpc)
	look := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Run(t.Context(), output.Environment{
			Args: slices.Concat([]string{"get", "--kubeconfig=" + config, "--flags-from=none"}, args, flags), Stdout: &out, Stderr: &errs,
			Getenv: func(string) string { return "" }, Clock: clocktesting.NewFakePassiveClock(w.now.Add(time.Minute)),
		})
		return code, errs.String() + out.String()
	}
	code, out := look()
	want := `OF                          DNS NAME   STATE     TARGETS       FINDINGS   AGE
Ingress shop/web            -          missing   0/0 healthy   1 error    60s
Service shop/dns            NAME       active    1/1 healthy   -          26h
Service shop/group.public   NAME       active    2/2 healthy   -          26h
`
	var got []string
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		for i, word := range words {
			if strings.HasSuffix(word, ".amazonaws.com") {
				words[i] = "NAME"
			}
		}
		got = append(got, strings.Join(words, " "))
	}
	var wanted []string
	for line := range strings.Lines(want) {
		wanted = append(wanted, strings.Join(strings.Fields(line), " "))
	}
	if d := cmp.Diff(wanted, got); d != "" || code != 0 {
		t.Errorf("exit %d: %s", code, d)
	}
	var doc tree.GetDocument
	if _, out := look("-o=json", "service/mail", "-n=shop"); json.Unmarshal([]byte(out), &doc) != nil || len(doc.LoadBalancers) != 1 || *doc.LoadBalancers[0].Healthy != 2 || doc.LoadBalancers[0].Created == "" {
		t.Error(out)
	}
	if code, out := look("-n=none"); code != 0 || out != fmt.Sprintln(tree.NoStacksText) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestGetCountsTargetsPerLoadBalancerDuringReplacement checks get while one load balancer replaces another. For
// each of the two, it counts only the targets to which this load balancer forwards.
func TestGetCountsTargetsPerLoadBalancerDuringReplacement(t *testing.T) {
	w := runScenario(t, func(t *testing.T, r *harness.Harness) {
		r.Apply(sharedServiceYAML("mail", "", 25, 1))
		r.Settle(10 * time.Minute)
		r.Apply(strings.Replace(strings.SplitN(sharedServiceYAML("mail", "", 25, 1), "---", 2)[0], "annotations: {", "annotations: {service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing, ", 1))
		r.Settle(3 * time.Minute)
	})
	_, config := serveCluster(t, w.objects)
	code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"get", "-o=json", "--flags-from=none"}, emulatorFlags(t, w.em, w.vpc))...)
	var doc tree.GetDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.LoadBalancers) != 2 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stderr, out)
	}
	for _, lb := range doc.LoadBalancers {
		if lb.Targets == nil || *lb.Targets != 1 || *lb.Healthy != 1 {
			t.Errorf("%s: %s", lb.Name, out)
		}
	}
}
