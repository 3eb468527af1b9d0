package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestCommandsShowResourcesInAWS compares the output of tree and plan for a load balancer in AWS with golden files. The
// controller creates the load balancer; then AWS (drift.txt) or its objects (edit.yaml) are changed.
func TestCommandsShowResourcesInAWS(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		flags := append(emulatorFlags(t, em, vpc), "-f", objects)
		var out []goldentest.File
		for _, o := range []struct{ command, name string }{{"tree", "tree.txt"}, {"plan", "plan.txt"}} {
			args := append([]string{o.command}, flags...)
			code, stdout, stderr := run(t, args...)
			if stderr != "" {
				t.Fatalf("%s: %s", o.command, stderr)
			}
			out = append(out, goldentest.File{Name: o.name, Text: fmt.Sprintf("%sexit code %d\n", stdout, code)})
		}
		code, stdout, stderr := run(t, append([]string{"tree", "-o", "json"}, flags...)...)
		var doc tree.Document
		if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil || len(doc.Stacks) != 1 {
			t.Errorf("exit %d, %v: %s", code, err, stderr)
		}
		checkRecording(t, filepath.Dir(objects), flags, out)
		if n := em.Calls().CountMutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return out
	})
}

// checkRecording checks that the commands print from a recording of tree the same output as from AWS. want has the outputs
// from AWS; the name of each file begins with its command.
func checkRecording(t *testing.T, dir string, flags []string, want []goldentest.File) {
	t.Helper()
	rec := filepath.Join(dir, "aws.json")
	if code, _, stderr := run(t, append([]string{"tree", "--record", rec}, flags...)...); code != 0 {
		t.Fatal(stderr)
	}
	for _, w := range want {
		command, _, _ := strings.Cut(w.Name, ".")
		code, out, stderr := run(t, command, "--observed", rec, "-f", filepath.Join(dir, "objects.yaml"), "--cluster-name="+harness.ClusterName)
		want, got := w.Text, fmt.Sprintf("%sexit code %d\n", out, code)
		if before, _, found := strings.Cut(w.Text, "# TargetGroupBinding "); found {
			want, got = before, out // a recording does not have the targets of TargetGroupBindings
		}
		if got != want {
			t.Errorf("%s of the recording differs: %s%s", command, stderr, out)
		}
	}
}

// runCase runs the controller for the objects of a case, and applies the changes of the case. It returns an emulator whose
// clock is stopped, the ID of its VPC, and the path of a file with the objects of the cluster.
func runCase(t *testing.T, c goldentest.Case) (em *emulator.Emulator, vpc, objects string) {
	t.Helper()
	w := runScenario(t, func(t *testing.T, r *harness.Harness) {
		r.Apply(c.Text("cluster.yaml"))
		if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
			t.Fatal(failed)
		}
		time.Sleep(10 * time.Minute) // virtual time, in which AWS completes the changes
		for line := range strings.Lines(c.Text("drift.txt")) {
			applyDrift(t, r.Emulator, strings.Fields(line))
		}
		if edit := c.Text("edit.yaml"); edit != "" {
			r.Apply(edit)
		}
	})
	return w.em, w.vpc, filepath.Join(writeTempFiles(t, map[string]string{"objects.yaml": w.objects}), "objects.yaml")
}

// clusterState is the state of a cluster and its emulator at the virtual time now, at which the clock of the emulator is
// stopped. objects is YAML.
type clusterState struct {
	em           *emulator.Emulator
	vpc, objects string
	now          time.Time
}

// runScenario runs the controller while function through changes objects and AWS. It returns the state afterwards.
func runScenario(t *testing.T, through func(*testing.T, *harness.Harness)) clusterState {
	t.Helper()
	return runScenarioWith(t, harness.Options{}, through)
}

// runScenarioWith is like runScenario, with options of the test harness.
func runScenarioWith(t *testing.T, opt harness.Options, through func(*testing.T, *harness.Harness)) clusterState {
	t.Helper()
	var out clusterState
	var state []byte
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, opt)
		for i, node := range r.Seeded.Instances {
			if err := harness.AssignPodAddresses(t.Context(), harness.AWSConfig(r.Emulator), node, fmt.Sprintf("10.0.%d.10", 132+16*i)); err != nil {
				t.Fatal(err)
			}
		}
		through(t, r)
		r.Emulator.Store().Lock()
		defer r.Emulator.Store().Unlock()
		var err error
		if state, err = r.Emulator.Store().Export(); err != nil {
			t.Fatal(err)
		}
		out.now, out.vpc, out.objects = time.Now(), r.Seeded.VPC, objectsText(t, r.Store)
	})
	out.em = emulator.New(emulator.Options{Clock: store.NewManualClock(out.now)})
	out.em.Store().Lock()
	defer out.em.Store().Unlock()
	if err := out.em.Store().Restore(state); err != nil {
		t.Fatal(err)
	}
	return out
}

// applyDrift makes a change in AWS as another user would. words are the kind of change and its parameters, as in a line of
// drift.txt. It does nothing if words is empty.
func applyDrift(t *testing.T, em *emulator.Emulator, words []string) {
	t.Helper()
	if len(words) == 0 {
		return
	}
	ctx, client := t.Context(), elb.NewFromConfig(harness.AWSConfig(em))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %v", words, err)
		}
	}
	lbs, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
	must(err)
	lb := lbs.LoadBalancers[0].LoadBalancerArn
	ls, err := client.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb})
	must(err)
	listener := func(port string) *string {
		for _, l := range ls.Listeners {
			if fmt.Sprint(*l.Port) == port {
				return l.ListenerArn
			}
		}
		t.Fatalf("%v: no such listener", words)
		return nil
	}
	switch words[0] {
	case "delete-listener":
		_, err = client.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: listener(words[1])})
	case "add-listener":
		_, err = client.CreateListener(ctx, &elb.CreateListenerInput{
			LoadBalancerArn: lb, Port: awssdk.Int32(8080), Protocol: types.ProtocolEnumHttp,
			DefaultActions: []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: awssdk.String("200")}}},
		})
	case "delete-rule", "change-rule":
		rules, e := client.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: listener(words[1])})
		must(e)
		for _, r := range rules.Rules {
			switch {
			case awssdk.ToString(r.Priority) != words[2]:
			case words[0] == "delete-rule":
				_, err = client.DeleteRule(ctx, &elb.DeleteRuleInput{RuleArn: r.RuleArn})
			default:
				_, err = client.ModifyRule(ctx, &elb.ModifyRuleInput{RuleArn: r.RuleArn, Actions: []types.Action{{
					Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: awssdk.String("418")}}}})
			}
		}
	case "deregister":
		groups, e := client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{LoadBalancerArn: lb})
		must(e)
		for _, g := range groups.TargetGroups {
			_, err = client.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{{Id: awssdk.String(words[1]), Port: awssdk.Int32(8080)}}})
		}
	case "open":
		port, e := strconv.ParseInt(words[1], 10, 32)
		must(e)
		_, err = ec2.NewFromConfig(harness.AWSConfig(em)).AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: awssdk.String(managedSecurityGroup(t, em)), IpProtocol: awssdk.String("tcp"), CidrIp: awssdk.String("0.0.0.0/0"),
			FromPort: awssdk.Int32(int32(port)), ToPort: awssdk.Int32(int32(port)),
		})
	default:
		t.Fatalf("no such drift: %v", words)
	}
	must(err)
}

// managedSecurityGroup returns the ID of the only managed security group of a load balancer.
func managedSecurityGroup(t *testing.T, em *emulator.Emulator) string {
	t.Helper()
	out, err := ec2.NewFromConfig(harness.AWSConfig(em)).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("tag:ingress.k8s.aws/resource"), Values: []string{"ManagedLBSecurityGroup"}}},
	})
	if err != nil || len(out.SecurityGroups) != 1 {
		t.Fatalf("%v, %v", out, err)
	}
	return *out.SecurityGroups[0].GroupId
}

// objectsText returns the objects of a cluster as YAML.
func objectsText(t *testing.T, store *cluster.Memory) string {
	t.Helper()
	var out []string
	for _, typ := range cluster.Types() {
		for _, o := range store.All(typ.Kind) {
			o := o.DeepCopyObject().(cluster.Object)
			o.GetObjectKind().SetGroupVersionKind(typ.GVK)
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
	}
	return strings.Join(out, "---\n")
}
