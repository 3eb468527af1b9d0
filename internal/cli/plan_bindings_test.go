package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestDeregistrationsArePlannedOnlyForCluster checks that the deregistration of a target without a pod is planned only if
// the cluster was read. If only files were read, the pod may exist in the cluster, so a note is shown instead.
func TestDeregistrationsArePlannedOnlyForCluster(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		client := elb.NewFromConfig(harness.AWSConfig(em))
		groups, err := client.DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(groups.TargetGroups, func(g types.TargetGroup) bool {
			return strings.HasPrefix(awssdk.ToString(g.TargetGroupName), "k8s-shop-web")
		})
		_, err = client.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{
			TargetGroupArn: groups.TargetGroups[at].TargetGroupArn,
			Targets:        []types.TargetDescription{{Id: awssdk.String("10.0.132.99"), Port: awssdk.Int32(8080)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(objects)
		if err != nil {
			t.Fatal(err)
		}
		store, err := cluster.MemoryFromYAML(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, live := range []bool{true, false} {
			d := &input.Source{Env: output.Environment{Getenv: os.Getenv}, ClusterRead: live}
			cmd := &cobra.Command{}
			d.Bind(cmd)
			if err := cmd.ParseFlags(emulatorFlags(t, em, vpc)); err != nil {
				t.Fatal(err)
			}
			if d.Cloud, d.VPC, err = d.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			plans, err := d.PlanBindings(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			showBindings(&text, plans)
			leaves := strings.Contains(text.String(), "- deregister target/10.0.132.99:8080") && countTargets(plans).Deregister == 1
			noted := strings.Contains(text.String(), "# 1 targets and rules that none of the objects that were read needs are not planned")
			if leaves != live || noted == live {
				t.Errorf("cluster %v:\n%s", live, text.String())
			}
			if n := em.Calls().CountMutating(); n > 0 {
				t.Errorf("%d calls that change something", n)
			}
		}
		return nil
	})
}

// TestPlanFailsIfABindingCannotBePlanned checks that plan does not end with exit code 0 or 2 if the plan of a
// TargetGroupBinding is not known: if AWS refuses a call, or if the user may not list Pods or Services. It then plans no
// deregistration, because the pods may exist.
func TestPlanFailsIfABindingCannotBePlanned(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		data, err := os.ReadFile(objects)
		if err != nil {
			t.Fatal(err)
		}
		server, config := serveCluster(t, string(data))
		flags := emulatorFlags(t, em, vpc)
		run := func(args ...string) (int, string) {
			code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(args, []string{"--flags-from=none"}, flags)...)
			return code, out + stderr
		}
		for kind, want := range map[string]string{"pods": "Pod", "services": "Service"} {
			server.forbiddenResources = map[string]bool{kind: true}
			code, out := run("plan", "targetgroupbinding/k8s-shop-web-9ee2ceac59", "-n=shop")
			if want := "# 2 targets and rules that none of the objects that were read needs are not planned for removal, because you have no permission to list these kinds: " + want + "\n"; code != 1 || !strings.Contains(out, want) || strings.Contains(out, "deregister target") {
				t.Errorf("without the right to list %s: exit %d: %s", kind, code, out)
			}
		}
		server.forbiddenResources = nil
		for _, operation := range []string{"DescribeTargetHealth", "DescribeInstances"} {
			em.Faults().ClearRules()
			em.Faults().Add(fault.Rule{Operation: operation, Action: fault.Action{Deny: true}})
			for _, form := range []string{"text", "json"} {
				code, out := run("plan", "targetgroupbinding/k8s-shop-web-9ee2ceac59", "-n=shop", "-o="+form)
				if code != 1 || !strings.Contains(out, "# no plan of TargetGroupBinding shop/k8s-shop-web-9ee2ceac59: AWS refuses the call") {
					t.Errorf("plan as %s without %s: exit %d: %s", form, operation, code, out)
				}
			}
		}
		withoutIngress := slices.DeleteFunc(strings.Split(string(data), "---\n"), func(o string) bool { return strings.Contains(o, "kind: Ingress\n") })
		_, config = serveCluster(t, strings.Join(withoutIngress, "---\n"))
		code, out := run("explain", "targetgroupbinding/k8s-shop-web-9ee2ceac59", "-n=shop")
		if code != 0 || !strings.Contains(out, "# no plan of TargetGroupBinding shop/k8s-shop-web-9ee2ceac59: AWS refuses the call") || strings.Contains(out, "no load balancer of this controller serves it") {
			t.Errorf("explain: exit %d: %s", code, out)
		}
		return nil
	})
}
