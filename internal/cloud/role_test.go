package cloud_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

const otherAccount = "999988887777"

// createTargetGroupInOtherAccount creates a target group in another account, and a role that may register targets in it.
func (r *harness) createTargetGroupInOtherAccount() (bindings.Account, string) {
	r.t.Helper()
	cfg := aws.Config{
		Region: "us-west-2", HTTPClient: r.em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA"+otherAccount, "secret", ""),
	}
	vpc := must(ec2.NewFromConfig(cfg).CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.50.0.0/16")}))(r.t)
	made := must(elb.NewFromConfig(cfg).CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{
		Name: aws.String("theirs"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumIp, VpcId: vpc.Vpc.VpcId,
	}))(r.t)
	a := bindings.Account{Role: "arn:aws:iam::" + otherAccount + ":role/fill", ExternalID: "open-sesame"}
	w := r.em.Store()
	w.Lock()
	defer w.Unlock()
	w.PutRole(store.Role{ARN: a.Role, ExternalID: string(a.ExternalID)})
	return a, aws.ToString(made.TargetGroups[0].TargetGroupArn)
}

func TestARoleIsAssumedAgainBeforeItsCredentialsExpire(t *testing.T) {
	r := newHarness(t)
	account, arn := r.createTargetGroupInOtherAccount()
	r.takeCallCounts()
	read := func() {
		t.Helper()
		if _, err := r.cloud.TargetGroupsOf(account).TargetHealth(r.ctx, arn, 0); err != nil {
			t.Fatal(err)
		}
	}
	read()
	read()
	if got := r.takeCallCounts(); got != "AssumeRole 1\nDescribeTargetHealth 2" {
		t.Errorf("calls:\n%s", got)
	}
	r.clock.Advance(time.Hour - 31*time.Second)
	read()
	if got := r.takeCallCounts(); got != "DescribeTargetHealth 1" {
		t.Errorf("calls before the end:\n%s", got)
	}
	r.clock.Advance(time.Second)
	read()
	if got := r.takeCallCounts(); got != "AssumeRole 1\nDescribeTargetHealth 1" {
		t.Errorf("calls 30 s before the end:\n%s", got)
	}
}

func TestAccountsDoNotShareCachedTargetGroups(t *testing.T) {
	r := newHarness(t)
	account, arn := r.createTargetGroupInOtherAccount()
	if err := r.cloud.TargetGroupsOf(account).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "10.50.0.1", Port: 80}}); err != nil {
		t.Fatal(err)
	}
	must(r.cloud.TargetGroupsOf(account).TargetHealth(r.ctx, arn, 0))(t)
	must(r.cloud.TargetGroupsOf(account).TargetGroup(r.ctx, arn, "", time.Minute))(t)
	wrong := bindings.Account{Role: account.Role, ExternalID: "guess"}
	for name, a := range map[string]bindings.Account{"our own": {}, "wrong external id": wrong} {
		if h, err := r.cloud.TargetGroupsOf(a).TargetHealth(r.ctx, arn, time.Hour); err == nil {
			t.Errorf("%s: read %v", name, h)
		}
		if g, err := r.cloud.TargetGroupsOf(a).TargetGroup(r.ctx, arn, "", time.Minute); err == nil {
			t.Errorf("%s: read %v", name, g)
		}
	}
}

func TestDeniedRoleAndMissingTargetGroupAreCached(t *testing.T) {
	r := newHarness(t)
	account, arn := r.createTargetGroupInOtherAccount()
	account.ExternalID = "guess-work"
	r.takeCallCounts()
	ask := func() {
		t.Helper()
		for range 3 {
			_, err := r.cloud.TargetGroupsOf(account).TargetHealth(r.ctx, arn, 0)
			if err == nil || r.cloud.Class(err) != failure.Denied {
				t.Fatalf("error %v", err)
			}
			_, err = r.cloud.TargetGroupsOf(bindings.Account{}).TargetGroup(r.ctx, "", "nobody", time.Minute)
			if err == nil || r.cloud.Class(err) != failure.Gone {
				t.Fatalf("error %v", err)
			}
		}
	}
	ask()
	if got := r.takeCallCounts(); got != "AssumeRole 1\nDescribeTargetGroups 1" {
		t.Errorf("calls:\n%s", got)
	}
	r.clock.Advance(11 * time.Second)
	ask()
	if got := r.takeCallCounts(); got != "AssumeRole 1\nDescribeTargetGroups 1" {
		t.Errorf("calls later:\n%s", got)
	}
}

func TestErrorsOfAssumeRoleDoNotContainTheExternalID(t *testing.T) {
	r := newHarness(t)
	account, arn := r.createTargetGroupInOtherAccount()
	for _, word := range []string{"guess-work", strings.Repeat("guess-work", 130), "#"} {
		account.ExternalID = model.Secret(word)
		_, err := r.cloud.TargetGroupsOf(account).TargetHealth(r.ctx, arn, 0)
		if err == nil || r.cloud.Class(err) != failure.Denied {
			t.Fatalf("error %v, class %v", err, r.cloud.Class(err))
		}
		if len(word) > 1 && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), word) {
			t.Errorf("reported: %v", err)
		}
	}
}

func TestMissingVPCIsCached(t *testing.T) {
	r := newHarness(t)
	r.takeCallCounts()
	for range 2 {
		if _, err := r.cloud.VPCRanges(r.ctx, "vpc-00000000000000000"); r.cloud.Class(err) != failure.Gone {
			t.Fatalf("error %v", err)
		}
	}
	if got := r.takeCallCounts(); got != "DescribeVpcs 1" {
		t.Errorf("calls:\n%s", got)
	}
	r.clock.Advance(6 * time.Minute)
	_, _ = r.cloud.VPCRanges(r.ctx, "vpc-00000000000000000")
	if got := r.takeCallCounts(); got != "DescribeVpcs 1" {
		t.Errorf("calls after five minutes:\n%s", got)
	}
}

func TestRegisterReportsMissingZone(t *testing.T) {
	r := newHarness(t)
	r.checkConverges(desiredStack(webStack))
	arn := r.groupARN("api")
	err := r.cloud.TargetGroupsOf(bindings.Account{}).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "100.64.0.1", Port: 80}})
	if !errors.Is(err, bindings.ErrZoneNeeded) || r.cloud.Class(err) != failure.Invalid {
		t.Errorf("error %v", err)
	}
	if err := r.cloud.TargetGroupsOf(bindings.Account{}).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "100.64.0.1", Port: 80, Zone: "all"}}); err != nil {
		t.Error(err)
	}
	err = r.cloud.TargetGroupsOf(bindings.Account{}).Register(r.ctx, arn, bindings.CallPriority{}, []bindings.Target{{ID: "8.8.8.8", Port: 80, Zone: "all"}})
	if err == nil || errors.Is(err, bindings.ErrZoneNeeded) {
		t.Errorf("error %v", err)
	}
}
