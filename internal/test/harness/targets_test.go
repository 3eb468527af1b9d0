package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// activeTargetsWithZones returns the targets of a target group in Account that are not draining, as a sorted list. Each
// has its ID, its Availability Zone and its QUIC server ID, if there are any.
func activeTargetsWithZones(t *testing.T, r *Harness, arn string) string {
	t.Helper()
	out, err := elb.NewFromConfig(AWSConfig(r.Emulator)).DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range out.TargetHealthDescriptions {
		if d.TargetHealth.State != elbtypes.TargetHealthStateEnumDraining {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", aws.ToString(d.Target.Id), aws.ToString(d.Target.AvailabilityZone), aws.ToString(d.Target.QuicServerId))))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// TestTargetsOutsideOfTheVPCHaveZones checks that targets with addresses outside of the VPC are registered with
// Availability Zone "all", or with the zone of their node if cross-zone load balancing is disabled.
func TestTargetsOutsideOfTheVPCHaveZones(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ crossZone, want string }{
		"all of them":                      {"true", "100.64.0.1 all, 100.64.0.2 all"},
		"their own where AWS asks for one": {"false", "100.64.0.1 us-west-2a, 100.64.0.2 us-west-2b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				arn := r.Seeded.TargetGroups["external"]
				_, err := elb.NewFromConfig(AWSConfig(r.Emulator)).ModifyTargetGroupAttributes(t.Context(), &elb.ModifyTargetGroupAttributesInput{
					TargetGroupArn: &arn, Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("load_balancing.cross_zone.enabled"), Value: &c.crossZone}},
				})
				if err != nil {
					t.Fatal(err)
				}
				r.Apply(shop, readyPods("web", "100.64.0.1", "100.64.0.2"), bindingTo(arn))
				r.settleOrFail(time.Minute)
				expectEqual(t, "targets", c.want, activeTargetsWithZones(t, r, arn))
				r.Apply(readyPods("web", "100.64.0.1"))
				r.settleOrFail(time.Minute)
				expectEqual(t, "targets after one pod is removed", strings.Split(c.want, ",")[0], activeTargetsWithZones(t, r, arn))
				r.Start()
				r.Emulator.Calls().Reset()
				r.settleOrFail(24 * time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls without change: %v", n, r.Emulator.Calls().Counts())
				}
			})
		})
	}
}

// TestQUICTargetsHaveServerIDsOfTheirPods checks that a pod is registered in a QUIC target group with its server ID, is
// registered again if the server ID changes, and is not registered without a server ID.
func TestQUICTargetsHaveServerIDsOfTheirPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		made, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
			Name: aws.String("quic"), Protocol: elbtypes.ProtocolEnumQuic, Port: aws.Int32(443), TargetType: elbtypes.TargetTypeEnumIp, VpcId: &r.Seeded.VPC,
			HealthCheckProtocol: elbtypes.ProtocolEnumTcp,
		})
		if err != nil {
			t.Fatal(err)
		}
		arn := aws.ToString(made.TargetGroups[0].TargetGroupArn)
		withID := func(id string) string {
			return strings.NewReplacer("labels: {app: web}", "labels: {app: web}, annotations: {"+targets.QUICAnnotation+": c}",
				"containers: [{name: c,", "containers: [{name: c, env: [{name: AWS_LBC_QUIC_SERVER_ID, value: "+id+"}],").Replace(readyPods("web", podAddresses[0]))
		}
		binding := bindingTo(arn, "targetGroupProtocol: QUIC")
		r.Apply(shop, readyPods("web", podAddresses[0]), binding)
		r.settleOrFail(time.Minute)
		expectEqual(t, "without a server ID", "", activeTargetsWithZones(t, r, arn))
		r.Apply(withID("HHF+gAAAFQU="))
		r.settleOrFail(time.Minute)
		expectEqual(t, "with a server ID", "10.0.132.10 us-west-2a 0x1c717e8000001505", activeTargetsWithZones(t, r, arn))
		r.Apply(withID("HHF+gAAAFQY="))
		r.settleOrFail(10 * time.Minute)
		expectEqual(t, "with another server ID", "10.0.132.10 us-west-2a 0x1c717e8000001506", activeTargetsWithZones(t, r, arn))
		r.Emulator.Calls().Reset()
		r.Start()
		r.settleOrFail(24 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls without change: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

// TestPodWithGateOfDeletedBindingBecomesReady checks that a pod with the readiness gate of a binding that does not
// exist becomes ready. The controller first waits for the binding to be created.
func TestPodWithGateOfDeletedBindingBecomesReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		gate := targets.ReadinessGatePrefix + "shared"
		late := strings.NewReplacer("spec: {nodeName", "spec: {readinessGates: [{conditionType: "+gate+"}], nodeName").Replace(readyPods("web", podAddresses[0]))
		shown := func() string {
			obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: "web-0"})
			if err != nil || obj == nil {
				t.Fatal(obj, err)
			}
			for _, c := range obj.(*corev1.Pod).Status.Conditions {
				if string(c.Type) == gate {
					return fmt.Sprintf("%s %s", c.Status, c.Message)
				}
			}
			return ""
		}
		r.Apply(shop, late)
		r.settleOrFail(2 * time.Second)
		expectEqual(t, "at once, as the binding may be created soon", "", shown())
		r.settleOrFail(time.Minute)
		expectEqual(t, "later", "True Target Group Binding is deleted", shown())
	})
}
