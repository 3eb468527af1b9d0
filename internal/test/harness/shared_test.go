package harness

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// neighbourCluster is another cluster whose controller uses the same AWS account. It reconciles only binding
// "shop/shared".
type neighbourCluster struct {
	r     *Harness
	store *cluster.Memory
	rec   *bindings.Reconciler
}

func newNeighbour(t *testing.T, r *Harness) *neighbourCluster {
	t.Helper()
	store, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if err := SeedNodes(store, r.Seeded); err != nil {
		t.Fatal(err)
	}
	c, err := cloud.New(t.Context(), cloud.Config{
		Cluster: "neighbour", Region: Region, VPC: r.Seeded.VPC,
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, "secret", ""),
		HTTP:        &http.Client{Transport: r.Emulator.RoundTripper()}, Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &neighbourCluster{r: r, store: store}
	n.rec = bindings.New(bindings.Config{
		Cloud: c, Cluster: kube.New(store, kube.MemoryAPI{Store: store}, clock.RealClock{}), ClusterName: "neighbour", VPC: r.Seeded.VPC, Clock: clock.RealClock{},
	})
	return n
}

func (n *neighbourCluster) apply(docs ...string) {
	n.r.T.Helper()
	for _, doc := range docs {
		loaded, err := cluster.LoadYAML([]byte(doc))
		if err != nil {
			n.r.T.Fatal(err)
		}
		if err := n.store.Put(loaded.Objects...); err != nil {
			n.r.T.Fatal(err)
		}
	}
	n.reconcile()
}

func (n *neighbourCluster) reconcile() {
	n.r.T.Helper()
	if _, err := n.rec.Reconcile(n.r.T.Context(), bindings.Key{Namespace: "shop", Name: "shared"}); err != nil {
		n.r.T.Fatal(err)
	}
}

// bindingTo returns YAML of TargetGroupBinding "shop/shared" for Service "web" and the target group with the given ARN.
// lines are further lines of its spec.
func bindingTo(arn string, lines ...string) string {
	return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: shared, namespace: shop}
spec:
  targetGroupARN: %s
  targetType: ip
  serviceRef: {name: web, port: 80}
  %s
`, arn, strings.Join(lines, "\n  "))
}

// activeTargets returns the IDs of the targets of a target group that are not draining, sorted and separated by spaces.
// account is the account of the target group.
func activeTargets(t *testing.T, r *Harness, account, arn string) string {
	t.Helper()
	out, err := elb.NewFromConfig(configOf(r, account)).DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range out.TargetHealthDescriptions {
		if d.TargetHealth.State != elbtypes.TargetHealthStateEnumDraining {
			list = append(list, aws.ToString(d.Target.Id))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// configOf returns the configuration for SDK clients with all permissions in an account.
func configOf(r *Harness, account string) aws.Config {
	cfg := AWSConfig(r.Emulator)
	cfg.Credentials = credentials.NewStaticCredentialsProvider("AKIA"+account, "secret", "")
	return cfg
}

func expectEqual(t *testing.T, what, want, got string) {
	t.Helper()
	if want != got {
		t.Errorf("%s: want %q, got %q", what, want, got)
	}
}

func (r *Harness) settleOrFail(horizon time.Duration) {
	r.T.Helper()
	if failed := r.Settle(horizon); len(failed) > 0 {
		r.T.Fatal(failed)
	}
}

// TestTwoClustersShareATargetGroup checks that two clusters whose bindings use the same target group each change only
// their targets, also after restarts.
func TestTwoClustersShareATargetGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		other := newNeighbour(t, r)
		arn := r.Seeded.TargetGroups["external"]
		doc := bindingTo(arn, "multiClusterTargetGroup: true")
		all := func() string { return activeTargets(t, r, Account, arn) }

		r.Apply(shop, readyPods("web", podAddresses[0], podAddresses[1]), doc)
		r.settleOrFail(time.Minute)
		other.apply(shop, readyPods("web", podAddresses[3], podAddresses[4]), doc)
		expectEqual(t, "targets of both clusters", "10.0.132.10 10.0.132.11 10.0.148.10 10.0.148.11", all())

		// Each cluster replaces pods, with a restart in between, and must not change targets of the other cluster.
		r.Apply(readyPods("web", podAddresses[0], podAddresses[2]))
		r.settleOrFail(time.Minute)
		expectEqual(t, "after one cluster replaced a pod", "10.0.132.10 10.0.132.11 10.0.148.11 10.0.164.10", all())
		r.Start()
		other.apply(readyPods("web", podAddresses[3]))
		r.Apply(readyPods("web", podAddresses[2]))
		r.settleOrFail(2 * time.Hour)
		other.reconcile()
		expectEqual(t, "after both clusters removed pods", "10.0.132.11 10.0.164.10", all())

		// The next comparison with AWS finds no difference.
		r.Emulator.Calls().Reset()
		r.settleOrFail(24 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls without any change: %v", n, r.Emulator.Calls().Counts())
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
			t.Fatal(err)
		}
		r.settleOrFail(time.Minute)
		expectEqual(t, "after one binding is deleted", "10.0.132.11", all())
		if left := r.Store.All("ConfigMap"); len(left) > 0 {
			t.Errorf("records are left: %v", left)
		}
		if err := other.store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
			t.Fatal(err)
		}
		other.reconcile()
		expectEqual(t, "after both bindings are deleted", "", all())
	})
}

// sharedLifecycle creates, edits and deletes a binding to a target group in which another cluster also has a target. It
// returns the targets, the records and clusterState after each step. It restarts the controller after each kill.
func sharedLifecycle(t *testing.T, r *Harness) (states [][]string) {
	t.Helper()
	arn := r.Seeded.TargetGroups["external"]
	_, err := elb.NewFromConfig(AWSConfig(r.Emulator)).RegisterTargets(t.Context(), &elb.RegisterTargetsInput{
		TargetGroupArn: &arn, Targets: []elbtypes.TargetDescription{{Id: aws.String("10.0.132.99"), Port: aws.Int32(8080)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	act := func() {
		t.Helper()
		for range 5 {
			failed := r.Settle(30 * time.Minute)
			if !r.WasKilled() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		state := append(clusterState(r), "targets "+activeTargets(t, r, Account, arn))
		for _, o := range r.Store.All("ConfigMap") {
			state = append(state, fmt.Sprintf("record %v", o.(*corev1.ConfigMap).Data))
		}
		states = append(states, state)
	}
	r.Apply(shop, readyPods("web", podAddresses[:2]...), bindingTo(arn, "multiClusterTargetGroup: true"))
	act()
	r.Apply(readyPods("web", podAddresses[2]))
	act()
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
		t.Fatal(err)
	}
	act()
	return states
}

// TestTargetRecordsSurviveWriteFaults checks that sharedLifecycle has the same result with a fault at each write to the
// API server.
func TestTargetRecordsSurviveWriteFaults(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*writeFaults, func() error) error{
		"killed before": killBeforeWrite, "killed after": killAfterWrite, "conflict": conflict, "answer lost": loseResponse,
	} {
		t.Run(name, func(t *testing.T) { runWithFaultAtEachWrite(t, sharedLifecycle, f) })
	}
}

// TestTargetRecordsSurviveCallFaults checks that sharedLifecycle has the same result if the process is killed at any
// call to AWS, or any response is lost.
func TestTargetRecordsSurviveCallFaults(t *testing.T) {
	t.Parallel()
	var want [][]string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { calls = c.Sequence; return fault.Action{} })
		want = sharedLifecycle(t, r)
	})
	faults := map[string]func(r *Harness) fault.Action{
		"killed after":  func(r *Harness) fault.Action { r.Kill(); return fault.Action{} },
		"killed before": func(r *Harness) fault.Action { r.Kill(); return fault.Action{Reset: true} },
		"answer lost":   func(*Harness) fault.Action { return fault.Action{Lose: true} },
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			for n := 2; n <= calls; n++ { // the first call registers the target of the other cluster
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
						if c.Sequence != n {
							return fault.Action{}
						}
						return f(r)
					})
					if diff := cmp.Diff(want, sharedLifecycle(t, r)); diff != "" {
						t.Errorf("fault at call %d (-clean +fault):\n%s", n, diff)
					}
				})
			}
			t.Logf("%d points", calls-1)
		})
	}
}

const (
	otherAccount = "999988887777"
	roleARN      = "arn:aws:iam::" + otherAccount + ":role/balancer"
	externalID   = "open-sesame"
)

// createCrossAccountTargetGroup creates a target group in a VPC of otherAccount, and role roleARN, which the controller
// must assume to register targets. It returns the ARN of the target group and the ID of the VPC.
func createCrossAccountTargetGroup(t *testing.T, r *Harness) (arn, vpc string) {
	t.Helper()
	cfg := configOf(r, otherAccount)
	made, err := ec2.NewFromConfig(cfg).CreateVpc(context.Background(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.50.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := elb.NewFromConfig(cfg).CreateTargetGroup(context.Background(), &elb.CreateTargetGroupInput{
		Name: aws.String("theirs"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumIp, VpcId: made.Vpc.VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	w.PutRole(store.Role{ARN: roleARN, ExternalID: externalID, Trusted: []string{Account}})
	return aws.ToString(out.TargetGroups[0].TargetGroupArn), aws.ToString(made.Vpc.VpcId)
}

// reportedTexts returns the messages of all events and the conditions of all bindings.
func reportedTexts(r *Harness) string {
	var b strings.Builder
	for _, o := range r.Store.All("Event") {
		fmt.Fprintln(&b, o.(*corev1.Event).Message)
	}
	for _, o := range r.Store.All(cluster.KindBinding) {
		fmt.Fprintln(&b, o.(*elbv2.TargetGroupBinding).Status.Conditions)
	}
	return b.String()
}

// TestTargetGroupOfAnotherAccountUsesItsRole checks that the targets of a target group in another account are
// registered with the role of the binding. The role is assumed once an hour, and its external ID is not reported.
func TestTargetGroupOfAnotherAccountUsesItsRole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		arn, vpc := createCrossAccountTargetGroup(t, r)
		r.Emulator.Calls().Reset()
		r.Apply(shop, readyPods("web", podAddresses[:2]...), bindingTo(arn, "vpcID: "+vpc, "iamRoleArnToAssume: "+roleARN, "assumeRoleExternalId: "+externalID))
		r.settleOrFail(time.Minute)
		expectEqual(t, "targets", "10.0.132.10 10.0.148.10", activeTargets(t, r, otherAccount, arn))
		assumed := func() int { return r.Emulator.Calls().Counts()["sts:AssumeRole"] }
		if n := assumed(); n != 1 {
			t.Errorf("the role was assumed %d times: %v", n, r.Emulator.Calls().Counts())
		}
		time.Sleep(time.Hour - 2*time.Minute)
		r.Apply(readyPods("web", podAddresses[0]))
		r.settleOrFail(10 * time.Second)
		if n := assumed(); n != 1 {
			t.Errorf("the role was assumed %d times within an hour", n)
		}
		time.Sleep(2 * time.Minute)
		r.Apply(readyPods("web", podAddresses[1]))
		r.settleOrFail(10 * time.Second)
		if n := assumed(); n != 2 {
			t.Errorf("the role was assumed %d times in more than an hour", n)
		}
		expectEqual(t, "targets after changes", "10.0.148.10", activeTargets(t, r, otherAccount, arn))
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
			t.Fatal(err)
		}
		r.settleOrFail(time.Minute)
		expectEqual(t, "targets after deletion", "", activeTargets(t, r, otherAccount, arn))
		if left := r.Store.All(cluster.KindBinding); len(left) > 0 {
			t.Error("the binding is left")
		}
		if strings.Contains(reportedTexts(r), externalID) {
			t.Errorf("the external ID was reported:\n%s", reportedTexts(r))
		}
	})
}

// TestUnusableRoleIsReportedWithoutExternalID checks that a role that cannot be assumed is reported without its
// external ID, and that the binding keeps its finalizer when it is deleted.
func TestUnusableRoleIsReportedWithoutExternalID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ role, word string }{
		"wrong external id": {roleARN, "guess-work"},
		"bad external id":   {roleARN, "#" + strings.Repeat("guess-work", 130)},
		"not a role":        {"arn:aws:iam::1:role/x", "guess-work"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				arn, vpc := createCrossAccountTargetGroup(t, r)
				r.Apply(shop, readyPods("web", podAddresses[0]), bindingTo(arn, "vpcID: "+vpc, "iamRoleArnToAssume: "+c.role, `assumeRoleExternalId: "`+c.word+`"`))
				r.settleOrFail(time.Minute)
				if s := reportedTexts(r); !strings.Contains(s, "assume role "+c.role) || strings.Contains(s, "guess-work") {
					t.Errorf("reported:\n%s", s)
				}
				// The binding keeps its finalizer as long as the target group may have targets of it.
				if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
					t.Fatal(err)
				}
				r.Settle(time.Minute)
				if len(r.Store.All(cluster.KindBinding)) != 1 {
					t.Error("the binding lost its finalizer")
				}
				if s := reportedTexts(r); strings.Contains(s, "guess-work") {
					t.Errorf("reported:\n%s", s)
				}
			})
		})
	}
}
