package emulator_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// clientConfig returns the configuration of an SDK client with an access key. The client does not retry, so that a test sees
// each response.
func clientConfig(em *emulator.Emulator, accessKey string) aws.Config {
	return aws.Config{
		Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, "secret", ""),
	}
}

const testAccessKey = "AKIA111122223333"

// code returns the code of an AWS error, the text of any other error, or "" for nil.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return err.Error()
}

func createVPC(t *testing.T, c *ec2.Client) (string, error) {
	t.Helper()
	out, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		return "", err
	}
	return *out.Vpc.VpcId, nil
}

// countVPCs returns the number of VPCs in the emulator state, without an API call.
func countVPCs(em *emulator.Emulator) int {
	em.Store().Lock()
	defer em.Store().Unlock()
	return len(em.Store().Partition("111122223333", "us-west-2").VPCs)
}

func TestAccountsAreSeparate(t *testing.T) {
	em := emulator.New(emulator.Options{})
	if _, err := createVPC(t, ec2.NewFromConfig(clientConfig(em, testAccessKey))); err != nil {
		t.Fatal(err)
	}
	for accessKey, want := range map[string]int{testAccessKey: 2, "AKIA444455556666": 1, "anything": 1} {
		out, err := ec2.NewFromConfig(clientConfig(em, accessKey)).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Vpcs) != want {
			t.Errorf("%s: want %d VPCs, got %d", accessKey, want, len(out.Vpcs))
		}
	}
	elsewhere := clientConfig(em, testAccessKey)
	elsewhere.Region = "eu-central-1"
	out, err := ec2.NewFromConfig(elsewhere).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err != nil || len(out.Vpcs) != 1 {
		t.Errorf("another region: want its default VPC only, got %v, %v", out, err)
	}
}

func TestUnknownAccessKeysCanBeRejected(t *testing.T) {
	em := emulator.New(emulator.Options{})
	em.Store().Lock()
	em.Store().Config.RequireKnownKeys = true
	em.Store().Unlock()
	unknown := clientConfig(em, "unknown")
	_, err := ec2.NewFromConfig(unknown).DescribeVpcs(t.Context(), nil)
	if code(err) != "AuthFailure" {
		t.Errorf("EC2: %v", err)
	}
	_, err = elasticloadbalancingv2.NewFromConfig(unknown).DescribeLoadBalancers(t.Context(), nil)
	if code(err) != "InvalidClientTokenId" {
		t.Errorf("ELBv2: %v", err)
	}
}

func TestUnknownOperationsAreRejected(t *testing.T) {
	em := emulator.New(emulator.Options{})
	c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
	_, err := c.DescribeSpotInstanceRequests(t.Context(), nil)
	if code(err) != "InvalidAction" || !strings.Contains(err.Error(), "DescribeSpotInstanceRequests") {
		t.Errorf("operation: %v", err)
	}
	_, err = c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), Ipv4IpamPoolId: aws.String("ipam-pool-0")})
	if code(err) != "UnsupportedParameter" || !strings.Contains(err.Error(), "Ipv4IpamPoolId") {
		t.Errorf("member: %v", err)
	}
	_, err = c.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), Placement: &types.Placement{GroupName: aws.String("g")},
	})
	if code(err) != "UnsupportedParameter" || !strings.Contains(err.Error(), "Placement.GroupName") {
		t.Errorf("member of a member: %v", err)
	}
	if n := countVPCs(em); n != 1 {
		t.Errorf("want nothing made, got %d VPCs", n)
	}
}

func TestUnknownFormMembersAreRejected(t *testing.T) {
	em := emulator.New(emulator.Options{})
	body := "Action=CreateVpc&Version=2016-11-15&CidrBlock=10.0.0.0/16&Colour=red"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ec2/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+testAccessKey+"/20260101/us-west-2/ec2/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := em.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text := make([]byte, 1000)
	n, _ := resp.Body.Read(text)
	if resp.StatusCode != 400 || !strings.Contains(string(text[:n]), "Colour") {
		t.Errorf("status %d, %s", resp.StatusCode, text[:n])
	}
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		action fault.Action
		want   string // error code, or part of the message
		made   bool
		fault  string
	}{
		"refused":       {fault.Action{Error: &store.Error{Code: "UnauthorizedOperation", Status: 403}}, "UnauthorizedOperation", false, "error"},
		"denied":        {fault.Action{Deny: true}, "UnauthorizedOperation", false, "error"},
		"throttled":     {fault.Action{Throttle: true}, "RequestLimitExceeded", false, "throttled"},
		"reset":         {fault.Action{Reset: true}, "connection reset", false, "reset"},
		"response lost": {fault.Action{Lose: true}, "connection reset", true, "lost"},
		"only slow":     {fault.Action{Latency: 3 * time.Second}, "", true, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				em := emulator.New(emulator.Options{})
				begin, after := time.Now(), 0
				em.Faults().SetHook(func(call fault.Call) fault.Action {
					if call.Operation != "CreateVpc" {
						return fault.Action{}
					}
					a := c.action
					a.After = func() { after++ }
					return a
				})
				_, err := createVPC(t, ec2.NewFromConfig(clientConfig(em, testAccessKey)))
				if got := code(err); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
					t.Errorf("want %q, got %q", c.want, got)
				}
				if made := countVPCs(em) == 2; made != c.made {
					t.Errorf("VPC made: want %v, got %v", c.made, made)
				}
				if waited := time.Since(begin); waited != c.action.Latency {
					t.Errorf("want %v to pass, got %v", c.action.Latency, waited)
				}
				if after != 1 {
					t.Errorf("want After to run once, ran %d times", after)
				}
				entries := em.Calls().Entries()
				if last := entries[len(entries)-1]; last.Fault != c.fault {
					t.Errorf("log: want fault %q, got %q", c.fault, last.Fault)
				}
			})
		})
	}
}

func TestHangingCallEndsWithItsContext(t *testing.T) {
	for name, lose := range map[string]bool{"without effect": false, "with its effect": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				em := emulator.New(emulator.Options{})
				em.Faults().Add(fault.Rule{Operation: "CreateVpc", Action: fault.Action{Hang: true, Lose: lose}})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begin := time.Now()
				_, err := ec2.NewFromConfig(clientConfig(em, testAccessKey)).CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
				if err == nil || time.Since(begin) != time.Hour {
					t.Errorf("want an error after an hour, got %v after %v", err, time.Since(begin))
				}
				if made := countVPCs(em) == 2; made != lose {
					t.Errorf("VPC made: want %v, got %v", lose, made)
				}
			})
		})
	}
}

func TestTokenBucketRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		em.Faults().SetLimits(fault.DocumentedLimits(1))
		c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
		for i := range 50 {
			if _, err := createVPC(t, c); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		if _, err := createVPC(t, c); code(err) != "RequestLimitExceeded" {
			t.Errorf("call 51: want it throttled, got %v", err)
		}
		time.Sleep(time.Second)
		if _, err := createVPC(t, c); err != nil {
			t.Errorf("a second later: %v", err)
		}
		if diff := cmp.Diff(map[string]int{"ec2:CreateVpc": 1}, em.Faults().ThrottledCalls()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSDKRetriesThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		em.Faults().Add(fault.Rule{Operation: "CreateVpc", Count: 2, Action: fault.Action{Throttle: true}})
		cfg := clientConfig(em, testAccessKey)
		cfg.RetryMaxAttempts = 3
		if _, err := createVPC(t, ec2.NewFromConfig(cfg)); err != nil {
			t.Error(err)
		}
		if n := em.Calls().Count("CreateVpc"); n != 3 {
			t.Errorf("want 3 attempts, got %d", n)
		}
	})
}

func TestStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
		em.Faults().Add(fault.Rule{Operation: "DescribeVpcs", Action: fault.Action{Stale: 10 * time.Second}})
		count := func() int {
			out, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			if err != nil {
				t.Fatal(err)
			}
			return len(out.Vpcs)
		}
		count() // creates the account
		if _, err := createVPC(t, c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if _, err := createVPC(t, c); err != nil {
			t.Fatal(err)
		}
		var got []int
		for range 3 {
			got = append(got, count())
			time.Sleep(6 * time.Second)
		}
		if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCallLog(t *testing.T) {
	em := emulator.New(emulator.Options{})
	c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
	id, err := createVPC(t, c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: aws.String("vpc-0")}); code(err) != "InvalidVpcID.Malformed" {
		t.Fatal(err)
	}
	if _, err := sts.NewFromConfig(clientConfig(em, testAccessKey)).GetCallerIdentity(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	calls := em.Calls()
	want := map[string]int{"ec2:CreateVpc": 1, "ec2:DescribeVpcs": 2, "ec2:DeleteVpc": 1, "sts:GetCallerIdentity": 1}
	if diff := cmp.Diff(want, calls.Counts()); diff != "" {
		t.Error(diff)
	}
	if calls.CountMutating() != 2 || calls.Total() != 5 || calls.Count("DescribeVpcs") != 2 || calls.Count("ec2:DescribeVpcs") != 2 {
		t.Errorf("mutating %d, total %d, describes %d", calls.CountMutating(), calls.Total(), calls.Count("DescribeVpcs"))
	}
	e := calls.Entries()[0]
	if in, ok := e.Input.(*ec2.CreateVpcInput); !ok || *in.CidrBlock != "10.0.0.0/16" || e.Status != 200 || e.Account != "111122223333" || e.Region != "us-west-2" {
		t.Errorf("entry %+v", e)
	}
	if e := calls.Entries()[3]; e.Code != "InvalidVpcID.Malformed" || e.Status != 400 {
		t.Errorf("entry %+v", e)
	}
	calls.Reset()
	if calls.Total() != 0 || calls.CountMutating() != 0 || len(calls.Entries()) != 0 {
		t.Error("the log is not empty after Reset")
	}
}

func TestGenerationFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
		gen := em.Store().Generation()
		if _, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
			t.Fatal(err)
		}
		if now := em.Store().Generation(); now != gen {
			t.Errorf("a read moved the generation from %d to %d", gen, now)
		}
		woken := make(chan uint64)
		go func() {
			now, err := em.Store().Wait(t.Context(), gen)
			if err != nil {
				t.Error(err)
			}
			woken <- now
		}()
		synctest.Wait()
		if _, err := createVPC(t, c); err != nil {
			t.Fatal(err)
		}
		if now := <-woken; now != gen+1 {
			t.Errorf("want generation %d, got %d", gen+1, now)
		}
	})
}

func TestIdentifiersOfASeedDoNotDependOnReads(t *testing.T) {
	names := func(seed uint64, reads int) string {
		em := emulator.New(emulator.Options{Seed: seed})
		c := ec2.NewFromConfig(clientConfig(em, testAccessKey))
		for range reads {
			if _, err := c.DescribeVpcs(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		id, err := createVPC(t, c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := names(7, 1)
	if b := names(7, 5); a != b {
		t.Errorf("identifiers differ with the number of reads: %s and %s", a, b)
	}
	if b := names(8, 1); a == b {
		t.Errorf("another seed gives the same identifier %s", b)
	}
}
