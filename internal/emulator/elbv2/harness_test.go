package elbv2_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const region = "us-west-2"

// harness is an emulator in memory with a VPC, and SDK clients that call it.
type harness struct {
	t     *testing.T
	ctx   context.Context
	em    *emulator.Emulator
	clock *store.ManualClock
	cfg   aws.Config

	elb *elb.Client
	ec2 *ec2.Client
	acm *acm.Client

	vpc             string
	subnets         []string // public subnets in the Availability Zones a, b and c
	securityGroupID string
	instances       []string // IDs; one instance in each subnet
}

// newHarness starts an emulator and creates a VPC with an internet gateway and an IPv6 block, three subnets, a security
// group, and an instance in each subnet.
func newHarness(t *testing.T) *harness {
	t.Helper()
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.WatchAnswers(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{
		Region: region, HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	r := &harness{
		t: t, ctx: t.Context(), em: em, clock: clock, cfg: cfg,
		elb: elb.NewFromConfig(cfg), ec2: ec2.NewFromConfig(cfg), acm: acm.NewFromConfig(cfg),
	}
	vpc := must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true)}))(t)
	r.vpc = *vpc.Vpc.VpcId
	igw := must(r.ec2.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{}))(t)
	must(r.ec2.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: &r.vpc}))(t)
	for i, zone := range []string{"a", "b", "c"} {
		r.subnets = append(r.subnets, r.createSubnet(zone, []string{"10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20"}[i]))
	}
	r.securityGroupID = r.createSecurityGroup("web")
	for _, s := range r.subnets {
		run := must(r.ec2.RunInstances(r.ctx, &ec2.RunInstancesInput{
			ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &s, InstanceType: ec2types.InstanceTypeM5Large,
		}))(t)
		r.instances = append(r.instances, *run.Instances[0].InstanceId)
	}
	r.clock.Advance(time.Minute)
	return r
}

func (r *harness) createSubnet(zone, cidr string) string {
	r.t.Helper()
	out := must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: &cidr, AvailabilityZone: aws.String(region + zone)}))(r.t)
	return *out.Subnet.SubnetId
}

func (r *harness) createSecurityGroup(name string) string {
	r.t.Helper()
	out := must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name, VpcId: &r.vpc}))(r.t)
	return *out.GroupId
}

// createALB creates an internet-facing ALB in the first two subnets, with the harness's security group.
func (r *harness) createALB(name string) types.LoadBalancer {
	r.t.Helper()
	out := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: &name, Subnets: r.subnets[:2], SecurityGroups: []string{r.securityGroupID}}))(r.t)
	return out.LoadBalancers[0]
}

// createNLB creates an internet-facing NLB in the first two subnets. groups are the IDs of its security groups.
func (r *harness) createNLB(name string, groups ...string) types.LoadBalancer {
	r.t.Helper()
	out := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: &name, Subnets: r.subnets[:2], SecurityGroups: groups, Type: types.LoadBalancerTypeEnumNetwork,
	}))(r.t)
	return out.LoadBalancers[0]
}

// createTargetGroup creates a target group with target type "ip", protocol HTTP and port 80. The functions in edit change
// the request.
func (r *harness) createTargetGroup(name string, edit ...func(*elb.CreateTargetGroupInput)) types.TargetGroup {
	r.t.Helper()
	return must(r.elb.CreateTargetGroup(r.ctx, r.targetGroupInput(name, edit...)))(r.t).TargetGroups[0]
}

func (r *harness) targetGroupInput(name string, edit ...func(*elb.CreateTargetGroupInput)) *elb.CreateTargetGroupInput {
	in := &elb.CreateTargetGroupInput{
		Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &r.vpc, TargetType: types.TargetTypeEnumIp,
	}
	for _, e := range edit {
		e(in)
	}
	return in
}

func forwardActions(arn *string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: arn}}
}

func fixedResponseActions(status string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: &status}}}
}

// createListener creates an HTTP listener.
func (r *harness) createListener(lb *string, port int32, actions []types.Action) types.Listener {
	r.t.Helper()
	out := must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb, Port: &port, Protocol: types.ProtocolEnumHttp, DefaultActions: actions,
	}))(r.t)
	return out.Listeners[0]
}

// createHTTPSListener creates an HTTPS listener with a certificate.
func (r *harness) createHTTPSListener(lb *string, port int32, cert string, actions []types.Action) types.Listener {
	r.t.Helper()
	out := must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb, Port: &port, Protocol: types.ProtocolEnumHttps, DefaultActions: actions,
		Certificates: []types.Certificate{{CertificateArn: &cert}},
	}))(r.t)
	return out.Listeners[0]
}

func pathConditions(values ...string) []types.RuleCondition {
	return []types.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &types.PathPatternConditionConfig{Values: values}}}
}

func (r *harness) createRule(listener *string, priority int32, path string, actions []types.Action) types.Rule {
	r.t.Helper()
	out := must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{ListenerArn: listener, Priority: &priority, Conditions: pathConditions(path), Actions: actions}))(r.t)
	return out.Rules[0]
}

// importCertificate imports a self-signed certificate and returns its ARN. The key is an EC key if ec is set, else an RSA
// key.
func (r *harness) importCertificate(ec bool, names ...string) string {
	r.t.Helper()
	var key any
	var public any
	if ec {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			r.t.Fatal(err)
		}
		key, public = k, &k.PublicKey
	} else {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			r.t.Fatal(err)
		}
		key, public = k, &k.PublicKey
	}
	now := r.clock.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(100 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		r.t.Fatal(err)
	}
	out := must(r.acm.ImportCertificate(r.ctx, &acm.ImportCertificateInput{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}))(r.t)
	return *out.CertificateArn
}

// must returns a function that returns v. If err is not nil, this function fails the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// checkError fails the test unless err has an AWS error code and its message contains a text.
func checkError(t *testing.T, err error, code, message string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("want error %s, got %v", code, err)
	}
	if api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), message) {
		t.Fatalf("want error %s %q, got %s %q", code, message, api.ErrorCode(), api.ErrorMessage())
	}
}

// checkState fails the test if the emulator state violates an invariant.
func (r *harness) checkState() {
	r.t.Helper()
	r.em.Store().Lock()
	defer r.em.Store().Unlock()
	for _, broken := range r.em.Store().CheckInvariants() {
		r.t.Error(broken)
	}
}
