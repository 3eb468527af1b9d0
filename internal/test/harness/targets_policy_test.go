package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// bindingsWithoutLoadBalancer returns YAML of two bindings of Service "shop/web", and the ARNs of their target groups:
// one with pods as targets, and one with nodes. Their networking rules admit a security group and the address range of
// the VPC.
func bindingsWithoutLoadBalancer(t *testing.T, r *Harness) (docs []string, pods, nodes string) {
	t.Helper()
	made, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("nodes"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumInstance, VpcId: &r.Seeded.VPC,
	})
	if err != nil {
		t.Fatal(err)
	}
	pods, nodes = r.Seeded.TargetGroups["external"], *made.TargetGroups[0].TargetGroupArn
	admitting := func(peer string) string {
		return "networking: {ingress: [{from: [" + peer + "], ports: [{protocol: TCP}]}]}"
	}
	toNodes := strings.NewReplacer("name: shared", "name: nodes", "targetType: ip", "targetType: instance").Replace(bindingTo(nodes, admitting("{ipBlock: {cidr: 10.0.0.0/16}}")))
	return []string{bindingTo(pods, admitting("{securityGroup: {groupID: "+r.Seeded.ExtraSG+"}}")), toNodes}, pods, nodes
}

// podWithENI returns YAML of a pod of Service "web" with a separate ENI, which it creates, and of its EndpointSlice.
func podWithENI(t *testing.T, r *Harness) string {
	t.Helper()
	out, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{
		SubnetId: &r.Seeded.Private[0], Groups: []string{r.Seeded.NodeSG}, TagSpecifications: []ec2types.TagSpecification{},
	})
	if err != nil {
		t.Fatal(err)
	}
	own := *out.NetworkInterface.PrivateIpAddress
	eni := `annotations: {vpc.amazonaws.com/pod-eni: '[{"eniId":"` + *out.NetworkInterface.NetworkInterfaceId + `","privateIp":"` + own + `"}]'}, labels: {app: web}`
	return strings.Replace(readyPods("web", own), "labels: {app: web}", eni, 1)
}

// runBindingsOnly runs a controller with the given IAM policy and bindings without load balancers, through a change of
// pods, a restart and the deletion of the bindings. It returns early if the targets are not registered.
func runBindingsOnly(t *testing.T, policy []byte) *Harness {
	t.Helper()
	r := shopWith(t, Options{Policies: [][]byte{policy}, Drift: true})
	docs, toPods, toNodes := bindingsWithoutLoadBalancer(t, r)
	r.Apply(append(docs, shop, readyPods("web", podAddresses[:3]...))...)
	r.advanceTime(time.Hour)
	if got := activeTargets(t, r, Account, toPods); strings.Count(got, "10.") != 3 {
		return r
	}
	if got := activeTargets(t, r, Account, toNodes); strings.Count(got, "i-") != 3 {
		return r
	}
	r.Apply(podWithENI(t, r))
	r.advanceTime(12 * time.Hour)
	r.Start()
	r.advanceTime(time.Hour)
	r.deleteObject(cluster.KindBinding, "shop", "shared")
	r.deleteObject(cluster.KindBinding, "shop", "nodes")
	r.advanceTime(time.Hour)
	for _, arn := range []string{toPods, toNodes} {
		if got := activeTargets(t, r, Account, arn); got != "" {
			t.Errorf("targets are left: %s", got)
		}
	}
	return r
}

// TestTargetsPolicyIsMinimalForBindings checks that the IAM policy for installations with only bindings is sufficient,
// and that each of its permissions is used.
func TestTargetsPolicyIsMinimalForBindings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runBindingsOnly(t, iam.TargetsPolicy)
		if !r.isDeleted(cluster.KindBinding, "shop", "shared") {
			t.Errorf("not served: %v", warningsByObject(r))
		}
		for denied := range r.Emulator.Denials() {
			t.Error(denied)
		}
		for _, o := range r.Store.All("Event") {
			if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
				t.Errorf("%s: %s", e.Reason, e.Message)
			}
		}
		used := map[string]bool{}
		for u := range r.Emulator.Permissions() {
			used[u.Action] = true
		}
		if d := cmp.Diff(rights.TargetActions(), slices.Sorted(maps.Keys(used))); d != "" {
			t.Errorf("permissions (-in the policy +used):\n%s", d)
		}
	})
}
