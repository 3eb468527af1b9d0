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
)

// createV1Resources creates a load balancer of Ingress "shop/web", its security group, and an unneeded target group,
// with the tags of the last version of alb-ingress-controller v1.
func (r *Harness) createV1Resources() {
	r.T.Helper()
	tags := map[string]string{"ingress.k8s.aws/cluster": ClusterName, "ingress.k8s.aws/stack": "shop/web"}
	group, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).CreateSecurityGroup(r.T.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("v1"), Description: aws.String("v1"), VpcId: &r.Seeded.VPC,
		TagSpecifications: tagSpecifications(ec2types.ResourceTypeSecurityGroup, "ingress.k8s.aws/cluster", ClusterName, "ingress.k8s.aws/stack", "shop/web", "ingress.k8s.aws/resource", "ManagedLBSecurityGroup"),
	})
	if err != nil {
		r.T.Fatal(err)
	}
	of := func(resource string) []elbtypes.Tag {
		out := []elbtypes.Tag{{Key: aws.String("ingress.k8s.aws/resource"), Value: &resource}}
		for _, k := range slices.Sorted(maps.Keys(tags)) {
			out = append(out, elbtypes.Tag{Key: &k, Value: aws.String(tags[k])})
		}
		return out
	}
	api := elb.NewFromConfig(AWSConfig(r.Emulator))
	if _, err := api.CreateLoadBalancer(r.T.Context(), &elb.CreateLoadBalancerInput{
		Name: aws.String("v1"), Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: r.Seeded.Private, SecurityGroups: []string{*group.GroupId}, Tags: of("LoadBalancer"),
	}); err != nil {
		r.T.Fatal(err)
	}
	if _, err := api.CreateTargetGroup(r.T.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("v1"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumIp, VpcId: &r.Seeded.VPC, Tags: of("shop/web-gone:80"),
	}); err != nil {
		r.T.Fatal(err)
	}
}

// TestLoadBalancersOfV1AreAdopted checks that a load balancer of alb-ingress-controller v1 is adopted with its name
// and security group, that unneeded resources are deleted, and that the next process changes nothing.
func TestLoadBalancersOfV1AreAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.createV1Resources()
		r.Start()
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.advanceTime(time.Hour)
		count := map[string]int{}
		for _, line := range r.State() {
			kind, rest, _ := strings.Cut(line, " ")
			if kind == "load-balancer" || kind == "target-group" || kind == "security-group" && strings.HasPrefix(rest, `["v1"`) {
				count[kind]++
				if !strings.Contains(line, `"elbv2.k8s.aws/cluster":"`+ClusterName+`"`) || kind != "target-group" && !strings.HasPrefix(rest, `["v1"`) {
					t.Errorf("not adopted: %s", line)
				}
			}
		}
		for _, kind := range []string{"load-balancer", "target-group", "security-group"} {
			if count[kind] != 1 {
				t.Errorf("%d of kind %s", count[kind], kind)
			}
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Error(w)
		}
		r.Emulator.Calls().Reset()
		r.Start()
		r.advanceTime(time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d changes after a restart: %v", n, r.Emulator.Calls().Counts())
		}
	})
}
