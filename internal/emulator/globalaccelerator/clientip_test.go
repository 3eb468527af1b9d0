package globalaccelerator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestClientIPPreservation(t *testing.T) {
	yes, no := aws.Bool(true), aws.Bool(false)
	type answer struct {
		asked *bool
		want  string // "true", "false" or an error code
	}
	for name, c := range map[string]struct {
		make    func(*harness) string
		dual    bool // the accelerator is dual-stack
		answers []answer
	}{
		"ALB":          {func(r *harness) string { return r.createLoadBalancer("a") }, false, []answer{{nil, "true"}, {yes, "true"}, {no, "false"}}},
		"internal ALB": {func(r *harness) string { return r.createLoadBalancer("a", asInternal) }, false, []answer{{nil, "true"}, {yes, "true"}, {no, invalidArgumentError}}},
		"NLB":          {func(r *harness) string { return r.createLoadBalancer("a", asNetwork) }, false, []answer{{nil, "false"}, {yes, invalidArgumentError}, {no, "false"}}},
		"NLB with security groups": {
			func(r *harness) string { return r.createLoadBalancer("a", asNetwork, r.withSecurityGroup) }, false, []answer{{nil, "true"}, {yes, "true"}, {no, "false"}},
		},
		"internal NLB with security groups": {
			func(r *harness) string { return r.createLoadBalancer("a", asNetwork, asInternal, r.withSecurityGroup) }, false, []answer{{nil, "true"}, {yes, "true"}, {no, invalidArgumentError}},
		},
		"internal NLB": {func(r *harness) string { return r.createLoadBalancer("a", asNetwork, asInternal) }, false, []answer{{nil, invalidArgumentError}, {yes, invalidArgumentError}, {no, invalidArgumentError}}},
		"NLB with TLS": {func(r *harness) string {
			lb := r.createLoadBalancer("a", asNetwork, r.withSecurityGroup)
			r.addTLSListener(lb)
			return lb
		}, false, []answer{{nil, "false"}, {yes, invalidArgumentError}, {no, "false"}}},
		"NLB with targets outside the VPC": {func(r *harness) string {
			lb := r.createLoadBalancer("a", asNetwork, r.withSecurityGroup)
			g := r.createForwardingListener(lb, "TCP", 80, func(in *elb.CreateTargetGroupInput) { in.TargetType = "ip" })
			r.registerTargetOutsideVPC(g)
			return lb
		}, false, []answer{{nil, "false"}, {yes, invalidArgumentError}, {no, "false"}}},
		"dual-stack NLB": {
			func(r *harness) string { return r.createLoadBalancer("a", asNetwork, r.withSecurityGroup, asDualStack) }, false, []answer{{nil, "false"}, {yes, invalidArgumentError}, {no, "false"}},
		},
		"dual-stack NLB of a dual-stack accelerator": {
			func(r *harness) string { return r.createLoadBalancer("a", asNetwork, r.withSecurityGroup, asDualStack) }, true, []answer{{nil, "true"}, {yes, "true"}, {no, "false"}},
		},
		"dual-stack NLB with IP targets": {func(r *harness) string {
			lb := r.createLoadBalancer("a", asNetwork, r.withSecurityGroup, asDualStack)
			r.createForwardingListener(lb, "TCP", 80, func(in *elb.CreateTargetGroupInput) { in.TargetType = "ip" })
			return lb
		}, true, []answer{{nil, invalidArgumentError}, {yes, invalidArgumentError}, {no, invalidArgumentError}}},
		"instance": {func(r *harness) string { return r.instance }, false, []answer{{nil, "true"}, {yes, "true"}, {no, invalidArgumentError}}},
		"elastic IP": {func(r *harness) string {
			return *must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{}))(r.t).AllocationId
		}, false, []answer{{nil, "false"}, {yes, "false"}, {no, "false"}}},
		"VPC without internet gateway": {func(r *harness) string {
			r.detachInternetGateways()
			return r.instance
		}, false, []answer{{nil, invalidArgumentError}, {yes, invalidArgumentError}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			g := r.createEndpointGroup(r.createListener(r.createAccelerator(func(in *ga.CreateAcceleratorInput) {
				if c.dual {
					in.IpAddressType = "DUAL_STACK"
				}
			}), 80, 80))
			id := c.make(r)
			for _, a := range c.answers {
				out, err := r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: []types.EndpointConfiguration{
					{EndpointId: &id, ClientIPPreservationEnabled: a.asked},
				}})
				got := errorCode(err)
				if err == nil {
					got = map[bool]string{true: "true", false: "false"}[*out.EndpointDescriptions[0].ClientIPPreservationEnabled]
				}
				if got != a.want {
					t.Errorf("ClientIPPreservationEnabled %v: %s, want %s (%v)", aws.ToBool(a.asked), got, a.want, err)
				}
			}
		})
	}
}

// TestClientIPPreservationCreatesENIs checks that each subnet of endpoints with client IP preservation has one ENI with a
// security group. Subnets without such endpoints have none.
func TestClientIPPreservationCreatesENIs(t *testing.T) {
	r := newHarness(t)
	lb := r.createLoadBalancer("web")
	enis := func() []ec2types.NetworkInterface {
		t.Helper()
		return must(r.ec2.DescribeNetworkInterfaces(r.ctx, &ec2.DescribeNetworkInterfacesInput{
			Filters: []ec2types.Filter{{Name: aws.String("interface-type"), Values: []string{"global_accelerator_managed"}}},
		}))(t).NetworkInterfaces
	}
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80), lb, r.instance)
	list := enis()
	if len(list) != 2 || len(list[0].Groups) != 1 || *list[0].Groups[0].GroupName != "GlobalAccelerator" {
		t.Fatalf("ENIs: %+v", list)
	}
	update := func(list ...types.EndpointConfiguration) {
		t.Helper()
		must(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: list}))(t)
	}
	update(endpointConfigurations(r.instance)...)
	if list := enis(); len(list) != 1 || *list[0].SubnetId != r.subnets[0] {
		t.Errorf("ENIs of the instance: %+v", list)
	}
	update(types.EndpointConfiguration{EndpointId: &lb, ClientIPPreservationEnabled: aws.Bool(false)})
	if list := enis(); len(list) != 0 {
		t.Errorf("ENIs without preservation: %+v", list)
	}
}

// addTLSListener adds a TLS listener with a new certificate to an NLB.
func (r *harness) addTLSListener(lb string) {
	r.t.Helper()
	r.configure(func(c *store.Config) { c.ACM.AssumeRecords = true })
	regional := r.cfg.Copy()
	regional.Region = region
	arn := must(acm.NewFromConfig(regional).RequestCertificate(r.ctx, &acm.RequestCertificateInput{DomainName: aws.String("example.com"), ValidationMethod: "DNS"}))(r.t).CertificateArn
	r.clock.Advance(time.Minute)
	group := must(r.elb.CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{Name: aws.String("tls"), Protocol: "TLS", Port: aws.Int32(443), VpcId: &r.vpc}))(r.t).TargetGroups[0]
	must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Protocol: "TLS", Port: aws.Int32(443), Certificates: []elbtypes.Certificate{{CertificateArn: arn}},
		DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: group.TargetGroupArn}},
	}))(r.t)
}

// registerTargetOutsideVPC registers an IP address outside the VPC with the target group that has the ARN group.
func (r *harness) registerTargetOutsideVPC(group string) {
	r.t.Helper()
	must(r.elb.RegisterTargets(r.ctx, &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: []elbtypes.TargetDescription{{Id: aws.String("192.168.7.8"), AvailabilityZone: aws.String("all")}}}))(r.t)
}

// detachInternetGateways detaches the internet gateway from the harness's VPC.
func (r *harness) detachInternetGateways() {
	r.t.Helper()
	for _, g := range must(r.ec2.DescribeInternetGateways(r.ctx, &ec2.DescribeInternetGatewaysInput{
		Filters: []ec2types.Filter{{Name: aws.String("attachment.vpc-id"), Values: []string{r.vpc}}},
	}))(r.t).InternetGateways {
		must(r.ec2.DetachInternetGateway(r.ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: g.InternetGatewayId, VpcId: &r.vpc}))(r.t)
	}
}

// TestEndpointHealthCanBeForced checks that a request to the admin path "/_fulcrum/force" sets the health of an endpoint. An
// empty state removes the forced health.
func TestEndpointHealthCanBeForced(t *testing.T) {
	r := newHarness(t)
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80), r.instance).EndpointGroupArn
	r.clock.Advance(time.Minute)
	force := func(endpoint, state string) int {
		t.Helper()
		body := fmt.Sprintf(`{"EndpointGroup": %q, "Endpoint": %q, "State": %q}`, *g, endpoint, state)
		req, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "http://aws.local/_fulcrum/force", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res := must(r.em.Client().Do(req))(t)
		defer res.Body.Close()
		return res.StatusCode
	}
	for _, state := range []types.HealthState{"UNHEALTHY", ""} {
		if status := force(r.instance, string(state)); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		want := state
		if want == "" {
			want = "HEALTHY" // the health without a forced state
		}
		if got := r.endpointHealth(g, r.instance); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if status := force("i-0", "HEALTHY"); status != http.StatusBadRequest {
		t.Errorf("an unknown endpoint: status %d", status)
	}
}

// TestHealthOfEndpoints checks the health of load balancers, instances and Elastic IP addresses as endpoints. A load
// balancer is only healthy if each of its target groups has a healthy target.
func TestHealthOfEndpoints(t *testing.T) {
	r := newHarness(t)
	lb := r.createLoadBalancer("web")
	group := r.createForwardingListener(lb, "HTTP", 80)
	allocation := *must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{}))(t).AllocationId
	g := r.createEndpointGroup(r.createListener(r.createAccelerator(), 80, 80), lb, r.instance, allocation).EndpointGroupArn
	want := func(when, id string, want types.HealthState) {
		t.Helper()
		if got := r.endpointHealth(g, id); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	want("new", lb, "INITIAL")
	r.clock.Advance(10 * time.Second)
	want("without targets", lb, "UNHEALTHY")
	want("running", r.instance, "HEALTHY")
	want("Elastic IP address without association", allocation, "UNHEALTHY")
	r.registerTarget(group, r.instance)
	r.clock.Advance(10 * time.Second)
	want("with a healthy target", lb, "HEALTHY")
	second := r.createForwardingListener(lb, "HTTP", 81, func(in *elb.CreateTargetGroupInput) { in.Name = aws.String("second") })
	want("with an empty target group", lb, "UNHEALTHY")
	r.registerTarget(second, r.instance)
	r.clock.Advance(10 * time.Second)
	r.createLoadBalancer("net", asNetwork, func(in *elb.CreateLoadBalancerInput) {
		in.Subnets, in.SubnetMappings = nil, []elbtypes.SubnetMapping{{SubnetId: &r.subnets[0], AllocationId: &allocation}}
	})
	want("with two target groups", lb, "HEALTHY")
	want("Elastic IP address of a load balancer", allocation, "HEALTHY")
	must(r.ec2.StopInstances(r.ctx, &ec2.StopInstancesInput{InstanceIds: []string{r.instance}}))(t)
	want("with a stopped target", lb, "UNHEALTHY")
	want("stopped", r.instance, "UNHEALTHY")
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &lb}))(t)
	want("deleted", lb, "UNHEALTHY")
	must(r.ga.RemoveEndpoints(r.ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: g, EndpointIdentifiers: []types.EndpointIdentifier{{EndpointId: &lb}}}))(t)
}
