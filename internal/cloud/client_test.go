package cloud_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestFenceStopsWritesButNotReads(t *testing.T) {
	l := &lease{}
	r := newHarness(t, func(c *cloud.Config) {
		c.Fence = l
	})
	p, _, _ := r.makePlan(desiredStack(webStack))
	l.setLost()
	err := r.apply(p)
	if r.cloud.Class(err) != failure.Fenced {
		t.Errorf("got %v", err)
	}
	if n := r.em.Calls().CountMutating(); n != 0 {
		t.Errorf("%d mutating calls left the process", n)
	}
	r.cloud.Forget()
	r.makePlan(desiredStack(webStack))
	l.lost.Store(false)
	r.checkConverges(desiredStack(webStack))
}

// callRecorder records calls to AWS and their attempts.
type callRecorder struct {
	calls, attempts []cloud.Call
	afterAttempt    func(c cloud.Call) // called after each attempt, if not nil
}

// RecordCall implements sdk.CallRecorder.
func (r *callRecorder) RecordCall(c cloud.Call) { r.calls = append(r.calls, c) }

// RecordAttempt implements sdk.CallRecorder.
func (r *callRecorder) RecordAttempt(c cloud.Call) {
	if r.attempts = append(r.attempts, c); r.afterAttempt != nil {
		r.afterAttempt(c)
	}
}

func TestCallsAreReported(t *testing.T) {
	of := &callRecorder{}
	r := newHarness(t, func(c *cloud.Config) { c.CallRecorder = of })
	r.makePlan(desiredStack(webStack))
	calls, requests := of.calls, of.attempts
	if len(calls) == 0 || len(calls) != len(requests) || len(calls) != r.em.Calls().Total() {
		t.Fatalf("%d calls and %d requests reported, %d made", len(calls), len(requests), r.em.Calls().Total())
	}
	want := cloud.Call{Service: "Elastic Load Balancing v2", Operation: "DescribeLoadBalancers", Status: 200, Cause: "stack", Attempts: 1}
	if diff := cmp.Diff(want, calls[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := r.cloud.TargetGroupsOf(bindings.Account{}).TargetGroup(r.ctx, "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/a/0123456789abcdef", "", time.Minute); err == nil {
		t.Fatal("no error")
	}
	if last := of.calls[len(of.calls)-1]; last.Code != "TargetGroupNotFound" || last.Status != 400 {
		t.Errorf("got %+v", last)
	}
}

type userAgentRecorder struct {
	next http.RoundTripper
	seen map[string]bool
}

func (a userAgentRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	a.seen[r.Header.Get("User-Agent")] = true
	return a.next.RoundTrip(r)
}

func TestCallsSendTheUserAgentOfTheController(t *testing.T) {
	check := userAgentRecorder{seen: map[string]bool{}}
	r := newHarness(t, func(c *cloud.Config) {
		check.next = c.HTTP.Transport
		c.HTTP = &http.Client{Transport: check}
	})
	r.makePlan(desiredStack(webStack))
	if diff := cmp.Diff(map[string]bool{"elbv2.k8s.aws/test": true}, check.seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInvalidConfigIsRejected(t *testing.T) {
	for want, c := range map[string]cloud.Config{
		"cluster name": {},
		"not a URL":    {Cluster: "c", Endpoints: map[string]string{"EC2": "x"}},
	} {
		_, err := cloud.New(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMissingVPCIsReported(t *testing.T) {
	r := newHarness(t)
	r.cfg.VPC = ""
	must(r.ec2.CreateTags(r.ctx, &ec2.CreateTagsInput{Resources: []string{r.vpc}, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String("shop")}}}))(t)
	r.cfg.VPCTags = map[string]string{"Name": "shop"}
	if c, err := cloud.New(r.ctx, r.cfg); err != nil || c.VPC() != r.vpc {
		t.Errorf("want VPC %s, got error %v", r.vpc, err)
	}
	r.cfg.VPCTags = map[string]string{"Name": "missing"}
	if _, err := cloud.New(r.ctx, r.cfg); err == nil {
		t.Error("found a VPC by a tag that no VPC has")
	}
	r.cfg.VPCTags = nil
	r.cfg.Region = ""
	r.cfg.Env = func(k string) string {
		return map[string]string{"AWS_REGION": region, "NODENAME": "ip-10-0-0-1"}[k]
	}
	if _, err := cloud.New(r.ctx, r.cfg); err == nil || !strings.Contains(err.Error(), "--aws-vpc-id") {
		t.Errorf("got %v", err)
	}
}

func TestRegionAndVPCAreReadFromInstanceMetadata(t *testing.T) {
	r := newHarness(t)
	must(r.ec2.RunInstances(r.ctx, &ec2.RunInstancesInput{
		ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &r.privateSubnets[0], InstanceType: ec2types.InstanceTypeM5Large,
	}))(t)
	r.clock.Advance(time.Minute)
	r.cfg.VPC, r.cfg.Region = "", ""
	r.restart()
	if r.cloud.VPC() != r.vpc || r.cloud.Region() != region {
		t.Errorf("got %s in %s, want %s in %s", r.cloud.VPC(), r.cloud.Region(), r.vpc, region)
	}
}

// TestStackConvergesIfListIsReadBeforeWriteIsAnswered checks that a stack converges if a list is read after a write took
// effect, but before the answer to the write arrived. The list then has a resource that the inventory does not have yet.
func TestStackConvergesIfListIsReadBeforeWriteIsAnswered(t *testing.T) {
	for _, op := range []string{"CreateLoadBalancer", "CreateTargetGroup", "CreateSecurityGroup", "CreateListener", "CreateRule"} {
		t.Run(op, func(t *testing.T) {
			r := newHarness(t)
			other := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "other"}
			var err error
			r.em.Faults().Add(fault.Rule{Operation: op, Count: 1, Action: fault.Action{After: func() {
				r.clock.Advance(time.Hour)
				_, err = r.cloud.Observe(r.ctx, other, nil)
			}}})
			p, _, _ := r.makePlan(desiredStack(webStack))
			if err := r.apply(p); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.checkNoSteps(desiredStack(webStack))
			r.checkCounts(1, 2)
		})
	}
}

// TestLastingRefusalsAreNotRetried checks that a call is not repeated at once if a quota is reached, AWS has no capacity, or
// an earlier change takes long. The SDK would repeat it. A change of DNS records is repeated.
func TestLastingRefusalsAreNotRetried(t *testing.T) {
	for name, c := range map[string]struct {
		operation string
		refusal   store.Error
		calls     int
	}{
		"a quota of ACM":        {"RequestCertificate", store.Error{Code: "LimitExceededException", Status: 400}, 1},
		"a change of capacity":  {"ModifyCapacityReservation", store.Error{Code: "PriorRequestNotComplete", Status: 429}, 1},
		"no capacity":           {"ModifyCapacityReservation", store.Error{Code: "InsufficientCapacity", Status: 500}, 1},
		"a change of a zone":    {"ChangeResourceRecordSets", store.Error{Code: "PriorRequestNotComplete", Status: 400}, 3},
		"throttled certificate": {"RequestCertificate", store.Error{Code: "ThrottlingException", Status: 400}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t, func(c *cloud.Config) { c.MaxAttempts, c.MaxBackoff = 3, time.Millisecond })
			r.em.Faults().Add(fault.Rule{Operation: c.operation, Action: fault.Action{Error: &c.refusal}})
			api, err := r.cloud.Client().API, error(nil)
			switch c.operation {
			case "RequestCertificate":
				_, err = api.ACM.RequestCertificate(r.ctx, &acm.RequestCertificateInput{DomainName: aws.String("a.test")})
			case "ModifyCapacityReservation":
				_, err = api.ELB.ModifyCapacityReservation(r.ctx, &elb.ModifyCapacityReservationInput{LoadBalancerArn: aws.String("arn"), ResetCapacityReservation: aws.Bool(true)})
			case "ChangeResourceRecordSets":
				_, err = api.Route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String("Z"), ChangeBatch: &dnstypes.ChangeBatch{
					Changes: []dnstypes.Change{{Action: "CREATE", ResourceRecordSet: &dnstypes.ResourceRecordSet{Name: aws.String("a.test"), Type: "CNAME"}}},
				}})
			}
			if sdk.Code(err) != c.refusal.Code || r.em.Calls().Count(c.operation) != c.calls {
				t.Errorf("%d calls, want %d: %v", r.em.Calls().Count(c.operation), c.calls, err)
			}
		})
	}
}
