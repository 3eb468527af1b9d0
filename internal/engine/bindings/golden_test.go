package bindings_test

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// testdata contains the golden files.
//
//go:embed testdata
var testdata embed.FS

// awsDoc describes the state of AWS in a test case (file aws.yaml).
type awsDoc struct {
	// Targets are the registered targets, by target group.
	Targets map[string][]*observed.Target
	// Type is the target type of all target groups; ip if empty.
	Type model.TargetType
	// Addresses are the addresses of the ENI of each instance, by instance ID. Each ENI is in the security group "sg-node".
	Addresses map[string][]string
	// Rules are the rules of each security group, for example "tcp 8080-8080 sg-b".
	Rules map[string][]string
	// Refuse has the class of the error for each target address or rule source that AWS refuses: invalid, denied, quota,
	// unknown.
	Refuse map[string]string
	// Full is the maximum number of targets per target group in AWS.
	Full int
	// MadeFor is the namespace for which the controller created a target group, by ARN.
	MadeFor map[string]string
	// Used are the ARNs of the target groups to which a rule or listener forwards.
	Used []string
	// Zonal reports whether AWS requires an Availability Zone for addresses outside the VPC.
	Zonal bool
	// Recorded is the record of the targets of binding "a" that this cluster is responsible for, as stored in the cluster.
	Recorded string
	// MaxTargetsPerCall is the configured maximum number of targets per target group.
	MaxTargets int
}

// goldenHarness returns a test harness with the Kubernetes objects and the AWS state of case c.
func goldenHarness(t *testing.T, c goldentest.Case) *harness {
	t.Helper()
	var doc awsDoc
	if err := yaml.UnmarshalStrict([]byte(c.Text("aws.yaml")), &doc); err != nil {
		t.Fatalf("aws.yaml: %v", err)
	}
	w := newHarness(t)
	w.aws.targetsByGroup, w.aws.targetType, w.aws.maxTargets, w.aws.ownerNamespaces, w.aws.zonesRequired = doc.Targets, doc.Type, doc.Full, doc.MadeFor, doc.Zonal
	w.aws.targetGroupsInUse = map[string]bool{}
	for _, arn := range doc.Used {
		w.aws.targetGroupsInUse[arn] = true
	}
	for id, addresses := range doc.Addresses {
		w.aws.enis[id] = []network.ENI{{ID: "eni-" + id, Addresses: addresses, SecurityGroups: []network.ENISecurityGroup{{ID: "sg-node"}}}}
	}
	for group, rules := range doc.Rules {
		for _, text := range rules {
			r := model.IngressRule{Description: network.SharedRuleDescription}
			if _, err := fmt.Sscanf(text, "%s %d-%d %s", &r.Protocol, &r.From, &r.To, &r.Group); err != nil {
				t.Fatalf("rule %q: %v", text, err)
			}
			w.aws.rules[group] = append(w.aws.rules[group], r)
		}
	}
	for what, how := range doc.Refuse {
		w.aws.refusedItems[what] = map[string]failure.Class{"invalid": failure.Invalid, "denied": failure.Denied, "quota": failure.Quota, "unknown": failure.Unknown}[how]
	}
	w.conf.MaxTargetsPerTargetGroup = doc.MaxTargets
	w.restart()
	w.putObjects(c.Text("cluster.yaml"))
	if doc.Recorded != "" {
		w.setRecordedTargets(doc.Recorded)
	}
	return w
}

// TestPlansAndCallsMatchTheGoldenFiles compares, for each case, the plan of each binding, and the calls and the status of
// the run that carries it out, with the golden files. The bindings are processed in the order of their names. It also checks
// that planning makes no mutating call.
func TestPlansAndCallsMatchTheGoldenFiles(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		w := goldenHarness(t, c)
		var names []string
		for _, o := range w.store.All(cluster.KindBinding) {
			if o.GetNamespace() == "ns" {
				names = append(names, o.GetName())
			}
		}
		slices.Sort(names)
		var plans, findings, calls, status strings.Builder
		for _, name := range names {
			d, ok, err := w.reconciler.DraftPlan(t.Context(), keyOf(name))
			if err != nil || !ok {
				t.Fatalf("draft %s: %v, %v", name, ok, err)
			}
			fmt.Fprintf(&plans, "# TargetGroupBinding ns/%s\n%s", name, d.Text())
			for _, f := range d.Findings() {
				fmt.Fprintln(&findings, f)
			}
		}
		for _, call := range w.aws.log {
			if !strings.HasPrefix(call, "list ") && !strings.HasPrefix(call, "in use ") && !strings.HasPrefix(call, "as ") {
				t.Errorf("making plans calls %q", call)
			}
		}
		w.aws.log = nil
		w.restart()
		for _, name := range names {
			out, err := w.reconciler.Reconcile(t.Context(), keyOf(name))
			for _, call := range w.aws.log {
				fmt.Fprintf(&calls, "%s: %s\n", name, call)
			}
			w.aws.log = nil
			fmt.Fprintf(&status, "%s: %s", name, w.statusText(name))
			if out.RetryAfter > 0 && !out.Idle {
				fmt.Fprintf(&status, ", again in %s", out.RetryAfter)
			}
			if err != nil {
				fmt.Fprintf(&status, ", error %v", err)
			}
			status.WriteByte('\n')
		}
		return []goldentest.File{
			{Name: "plan.txt", Text: plans.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "calls.txt", Text: calls.String()}, {Name: "status.txt", Text: status.String()},
		}
	})
}

// statusText returns the Ready condition of a binding as "Status Reason, message"; "gone" if the binding does not exist.
func (w *harness) statusText(name string) string {
	b := w.binding(name)
	if b == nil {
		return "gone"
	}
	for _, c := range b.Status.Conditions {
		if c.Type == "Ready" {
			return fmt.Sprintf("%s %s, %s", c.Status, c.Reason, c.Message)
		}
	}
	return "no condition"
}
