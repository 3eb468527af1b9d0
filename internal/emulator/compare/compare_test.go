package compare_test

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/compare"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// recordRun creates a load balancer in an account that also has other resources, and returns a recording of the calls.
func recordRun(t *testing.T) *recording.Recording {
	t.Helper()
	r := &recording.Recording{Version: recording.Version, Run: "abc123", At: time.Now(), Region: "eu-west-1", Account: "999988887777"}
	var mu sync.Mutex
	calling := false
	em := emulator.New(emulator.Options{Seed: 7, Account: r.Account, Observe: func(x emulator.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		if !calling {
			return
		}
		header := http.Header{"Authorization": {"Credential=KEY/1/" + x.Region + "/" + x.Service + "/aws4_request, "}, "Content-Type": {"application/x-www-form-urlencoded"}}
		in, err := http.NewRequest(x.Request.Method, "http://aws"+x.Request.Path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		in.Header = header
		c, err := recording.NewCall(in, x.Request.Body)
		if err != nil {
			t.Error(err)
			return
		}
		c.Caller, c.StartMillis, c.Status = "controller", int64(len(r.Calls)), x.Answer.Status
		if c.Answer, err = recording.ParseResponseBody(x.Answer.Body); err != nil {
			t.Error(err)
		}
		r.Calls = append(r.Calls, c)
	}})
	cfg := aws.Config{Region: r.Region, HTTPClient: em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA", "-", "")}
	net, api := ec2.NewFromConfig(cfg), elb.NewFromConfig(cfg)
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	vpc, err := net.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.7.0.0/16")})
	check(err)
	r.Site.VPC, r.Site.CIDRs = *vpc.Vpc.VpcId, []string{"10.7.0.0/16"}
	var subnets []string
	for i, zone := range []string{"eu-west-1a", "eu-west-1b"} {
		cidr := []string{"10.7.0.0/20", "10.7.16.0/20"}[i]
		s, err := net.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: &cidr, AvailabilityZone: &zone, TagSpecifications: []ec2types.TagSpecification{
			{ResourceType: ec2types.ResourceTypeSubnet, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String("payments-prod")}}},
		}})
		check(err)
		subnets = append(subnets, *s.Subnet.SubnetId)
		r.Site.Subnets = append(r.Site.Subnets, recording.Subnet{ID: *s.Subnet.SubnetId, CIDR: cidr, Zone: zone})
	}
	make := func(name string) *types.LoadBalancer {
		out, err := api.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{Name: &name, Scheme: types.LoadBalancerSchemeEnumInternal, Subnets: subnets})
		check(err)
		return &out.LoadBalancers[0]
	}
	make("payments-prod")

	mu.Lock()
	calling = true
	mu.Unlock()
	_, err = net.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	check(err)
	lb := make("k8s-run-web")
	group, err := api.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{Name: aws.String("k8s-run-pods"), Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp, VpcId: vpc.Vpc.VpcId, TargetType: types.TargetTypeEnumIp})
	check(err)
	listener, err := api.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp,
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: group.TargetGroups[0].TargetGroupArn}},
	})
	check(err)
	_, err = api.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
	check(err)
	_, err = api.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: listener.Listeners[0].ListenerArn})
	check(err)
	_, err = api.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn})
	check(err)
	if _, err = api.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: group.TargetGroups[0].TargetGroupArn}); err == nil {
		t.Fatal("a target group in use was deleted")
	}
	mu.Lock()
	defer mu.Unlock()
	check(r.Redact(r.Account, "payments-prod", r.Site.VPC, "AKIA"))
	return r
}

// writeAndRead writes a recording to memory and returns what recording.Read makes of it.
func writeAndRead(t *testing.T, r *recording.Recording) *recording.Recording {
	t.Helper()
	var file bytes.Buffer
	if err := r.Write(&file); err != nil {
		t.Fatal(err)
	}
	out, err := recording.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEmulatorGivesTheRecordedAnswers checks that a recording of the emulator itself has no differences, although the IDs
// differ, the account had another load balancer and other subnets, and the names of these resources are redacted.
func TestEmulatorGivesTheRecordedAnswers(t *testing.T) {
	t.Parallel()
	r := writeAndRead(t, recordRun(t))
	out, err := compare.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if out.Calls != 8 {
		t.Errorf("%d calls were compared, want 8", out.Calls)
	}
	if text := out.Text(); !strings.Contains(text, "no differences") {
		t.Error(text)
	}
}

// TestDifferentAnswersAreReported checks that each kind of difference between two answers is reported.
func TestDifferentAnswersAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string
		change    func(*recording.Call)
		want      []compare.Difference
	}{
		"another value": {"CreateLoadBalancer", func(c *recording.Call) { findElement(c, "IpAddressType").Text = "dualstack" }, []compare.Difference{
			{Member: "CreateLoadBalancerResult.LoadBalancers.member.IpAddressType", AWS: "dualstack", Emulator: "ipv4"},
		}},
		"a member more in AWS": {"CreateLoadBalancer", func(c *recording.Call) {
			n := findElement(c, "IpAddressType")
			*n = recording.Node{Name: "EnablePrefixForIpv6SourceNat", Text: "off"}
		}, []compare.Difference{
			{Member: "CreateLoadBalancerResult.LoadBalancers.member.EnablePrefixForIpv6SourceNat", AWS: "off", Emulator: compare.Missing},
			{Member: "CreateLoadBalancerResult.LoadBalancers.member.IpAddressType", AWS: compare.Missing, Emulator: "ipv4"},
		}},
		"another state": {"CreateLoadBalancer", func(c *recording.Call) { findElement(c, "Code").Text = "active_impaired" }, []compare.Difference{
			{Member: "CreateLoadBalancerResult.LoadBalancers.member.State.Code", AWS: "active_impaired", Emulator: "provisioning", Timing: true},
		}},
		"a text that was replaced": {"CreateLoadBalancer", func(c *recording.Call) { findElement(c, "IpAddressType").Text = "text-7" }, nil},
		"an error less": {"DeleteTargetGroup", func(c *recording.Call) { c.Status, c.Answer = 200, nil }, []compare.Difference{
			{AWS: "200", Emulator: "400 ResourceInUse"},
		}},
		"a setting less": {"DescribeLoadBalancerAttributes", func(c *recording.Call) {
			list := findElement(c, "Attributes")
			i := slices.IndexFunc(list.Children, func(n *recording.Node) bool { return n.Child("Key").Text == "idle_timeout.timeout_seconds" })
			list.Children = slices.Delete(list.Children, i, i+1)
		}, []compare.Difference{
			{Member: "DescribeLoadBalancerAttributesResult.Attributes.member", AWS: compare.Missing, Emulator: "idle_timeout.timeout_seconds"},
		}},
		"a rule less": {"DescribeRules", func(c *recording.Call) { findElement(c, "Rules").Children = nil }, []compare.Difference{
			{Member: "DescribeRulesResult.Rules.member", AWS: compare.Missing},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recordRun(t)
			i := slices.IndexFunc(r.Calls, func(x recording.Call) bool { return x.Operation == c.operation })
			c.change(&r.Calls[i])
			out, err := compare.Run(t.Context(), writeAndRead(t, r))
			if err != nil {
				t.Fatal(err)
			}
			for j := range c.want {
				c.want[j].Call, c.want[j].Service, c.want[j].Operation = i, "elasticloadbalancing", c.operation
				if c.want[j].Emulator == "" && j < len(out.Differences) {
					c.want[j].Emulator = out.Differences[j].Emulator // an ARN
				}
			}
			if d := cmp.Diff(c.want, out.Differences); d != "" {
				t.Error(d)
			}
		})
	}
}

// findElement returns the first element with this name in the recorded answer.
func findElement(c *recording.Call, name string) *recording.Node {
	var find func(n *recording.Node) *recording.Node
	find = func(n *recording.Node) *recording.Node {
		if n.Name == name {
			return n
		}
		for _, k := range n.Children {
			if out := find(k); out != nil {
				return out
			}
		}
		return nil
	}
	return find(c.Answer)
}

// TestCallsThatCannotBeRepeatedAreSkipped checks that calls without a response, and calls that AWS failed, throttled or
// denied, are not compared, because they do not depend on the emulator.
func TestCallsThatCannotBeRepeatedAreSkipped(t *testing.T) {
	t.Parallel()
	r := recordRun(t)
	failed, denied := len(r.Calls)-2, len(r.Calls)-3
	r.Calls[0].Status = 0
	r.Calls[failed].Status = 500
	r.Calls[denied].Answer = &recording.Node{Name: "ErrorResponse", Children: []*recording.Node{{Name: "Error", Children: []*recording.Node{{Name: "Code", Text: "AccessDenied"}}}}}
	r.Calls[len(r.Calls)-1].Answer = &recording.Node{Name: "ErrorResponse", Children: []*recording.Node{{Name: "Error", Children: []*recording.Node{{Name: "Code", Text: "Throttling"}}}}}
	out, err := compare.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"the call got no response": 1, "AWS throttled the call": 1, "AWS failed": 1, "AWS denied the call": 1}, out.Skipped); d != "" || len(out.Differences) > 0 {
		t.Errorf("%s%v", d, out.Differences)
	}
}

// TestReadsDuringAChangeMayHaveEitherAnswer checks that a difference in a read counts as timing if another call changed
// resources of the same service at the same time, because AWS may have carried out either call first.
func TestReadsDuringAChangeMayHaveEitherAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start, took int64 // of the read, in ms; start is relative to the start of the change, which takes 10 ms
		change      string
		timing      bool
	}{
		"begins during the change":      {start: 5, took: 20, change: "DeleteTargetGroup", timing: true},
		"ends during the change":        {start: -5, took: 10, change: "DeleteTargetGroup", timing: true},
		"around the change":             {start: -5, took: 30, change: "DeleteTargetGroup", timing: true},
		"within the change":             {start: 2, took: 2, change: "DeleteTargetGroup", timing: true},
		"after the change":              {start: 10, took: 5, change: "DeleteTargetGroup"},
		"before the change":             {start: -5, took: 5, change: "DeleteTargetGroup"},
		"during a read":                 {start: 5, took: 20, change: "DescribeRules"},
		"while another service changes": {start: 5, took: 20, change: "CreateSecurityGroup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recordRun(t)
			for i := range r.Calls {
				r.Calls[i].StartMillis *= 50
			}
			call := func(operation string) *recording.Call {
				i := slices.IndexFunc(r.Calls, func(x recording.Call) bool { return x.Operation == operation })
				if i < 0 {
					t.Fatalf("the recording has no %s", operation)
				}
				return &r.Calls[i]
			}
			read := call("DescribeLoadBalancerAttributes")
			other := *call("DeleteTargetGroup")
			other.Operation, other.StartMillis, other.DurationMillis, other.Status = c.change, read.StartMillis-c.start, 10, 0
			if c.change == "CreateSecurityGroup" {
				other.Service = "ec2"
			}
			read.DurationMillis = c.took
			findElement(read, "Attributes").Children = nil
			r.Calls = append(r.Calls, other)
			out, err := compare.Run(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Differences) == 0 {
				t.Fatal("the changed response has no differences")
			}
			for _, d := range out.Differences {
				if d.Timing != c.timing {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestResourcesFromBeforeTheRunAreNotCompared checks that a read of a resource that existed before the run is not compared,
// because the emulator does not have the resource.
func TestResourcesFromBeforeTheRunAreNotCompared(t *testing.T) {
	t.Parallel()
	r := recordRun(t)
	i := slices.IndexFunc(r.Calls, func(x recording.Call) bool { return x.Operation == "DescribeLoadBalancerAttributes" })
	r.Calls[i].Body = url.Values{
		"Action": {"DescribeLoadBalancerAttributes"}, "Version": {"2015-12-01"},
		"LoadBalancerArn": {"arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/app/others/0123456789abcdef"},
	}.Encode()
	out, err := compare.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if out.Skipped["the call reads resources that existed before the run"] != 1 || len(out.Differences) > 0 {
		t.Errorf("%v, %v", out.Skipped, out.Differences)
	}
}

// TestNamesOfARecordingCannotControlTheTerminal checks that Text does not print control characters in a recording, because a
// recording is untrusted input.
func TestNamesOfARecordingCannotControlTheTerminal(t *testing.T) {
	r := compare.Result{Differences: []compare.Difference{{
		Service: "ec2", Operation: "Describe\x1b[2J\nno differences", Member: "a\rb", AWS: "\x1b]0;title\a", Emulator: compare.Missing,
	}}}
	text := r.Text()
	if strings.ContainsAny(text, "\x1b\r\a") || strings.Contains(text, "\nno differences") {
		t.Errorf("the text is %q", text)
	}
}
