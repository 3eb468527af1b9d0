package emulator_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
	"github.com/aws/smithy-go/document"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// selfSignedCertificate creates a certificate for a domain, and its key, as PEM.
func selfSignedCertificate(t *testing.T, domain string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: domain}, DNSNames: []string{domain},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// stackIDs has the IDs and ARNs of an ALB and of all resources that it uses.
type stackIDs struct{ vpc, securityGroup, loadBalancer, listener, rule, targetGroup, certificate string }

// buildStack creates a load balancer with a listener, a rule and a target group in a new VPC, with calls of the SDK.
func buildStack(t *testing.T, em *emulator.Emulator) stackIDs {
	t.Helper()
	cfg, ctx := clientConfig(em, testAccessKey), t.Context()
	network, balancing := ec2.NewFromConfig(cfg), elb.NewFromConfig(cfg)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var s stackIDs
	var err error
	s.vpc, err = createVPC(t, network)
	check(err)
	var subnets []string
	for i, zone := range []string{"us-west-2a", "us-west-2b"} {
		out, err := network.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &s.vpc, CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", i)), AvailabilityZone: &zone})
		check(err)
		subnets = append(subnets, *out.Subnet.SubnetId)
	}
	group, err := network.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("lb"), Description: aws.String("lb"), VpcId: &s.vpc})
	check(err)
	s.securityGroup = *group.GroupId
	_, err = network.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &s.securityGroup, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}},
	}}})
	check(err)
	cert, secret := selfSignedCertificate(t, "app.example.com")
	imported, err := acm.NewFromConfig(cfg).ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: cert, PrivateKey: secret})
	check(err)
	s.certificate = *imported.CertificateArn
	tags := []elbtypes.Tag{{Key: aws.String("stack"), Value: aws.String("default/web")}}
	lb, err := balancing.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("web"), Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: subnets, SecurityGroups: []string{s.securityGroup}, Tags: tags,
	})
	check(err)
	s.loadBalancer = *lb.LoadBalancers[0].LoadBalancerArn
	tg, err := balancing.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
		Name: aws.String("pods"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080), VpcId: &s.vpc, TargetType: elbtypes.TargetTypeEnumIp, Tags: tags,
	})
	check(err)
	s.targetGroup = *tg.TargetGroups[0].TargetGroupArn
	listener, err := balancing.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: &s.loadBalancer, Port: aws.Int32(443), Protocol: elbtypes.ProtocolEnumHttps,
		Certificates: []elbtypes.Certificate{{CertificateArn: &s.certificate}}, SslPolicy: aws.String("ELBSecurityPolicy-2016-08"),
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("404")}}},
	})
	check(err)
	s.listener = *listener.Listeners[0].ListenerArn
	rule, err := balancing.CreateRule(ctx, &elb.CreateRuleInput{
		ListenerArn: &s.listener, Priority: aws.Int32(1),
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: []string{"/a*"}}}},
		Actions:    []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: &s.targetGroup}},
	})
	check(err)
	s.rule = *rule.Rules[0].RuleArn
	_, err = balancing.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: &s.targetGroup, Targets: []elbtypes.TargetDescription{{Id: aws.String("10.0.0.77"), Port: aws.Int32(8080)}}})
	check(err)
	return s
}

func TestRestoredStateIsExportedUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{Seed: 3})
		s := buildStack(t, em)
		cfg, ctx := clientConfig(em, testAccessKey), t.Context()
		time.Sleep(time.Minute) // the load balancer is active
		acl, err := wafv2.NewFromConfig(cfg).CreateWebACL(ctx, &wafv2.CreateWebACLInput{
			Name: aws.String("acl"), Scope: waftypes.ScopeRegional, DefaultAction: &waftypes.DefaultAction{Allow: &waftypes.AllowAction{}},
			VisibilityConfig: &waftypes.VisibilityConfig{MetricName: aws.String("m")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wafv2.NewFromConfig(cfg).AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{WebACLArn: acl.Summary.ARN, ResourceArn: &s.loadBalancer}); err != nil {
			t.Fatal(err)
		}
		if _, err := shield.NewFromConfig(cfg).CreateSubscription(ctx, nil); err != nil {
			t.Fatal(err)
		}
		em.Store().Lock()
		defer em.Store().Unlock()
		before, err := em.Store().Export()
		if err != nil {
			t.Fatal(err)
		}
		if err := em.Store().Restore(before); err != nil {
			t.Fatal(err)
		}
		after, err := em.Store().Export()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Error(diff)
		}
		if broken := em.Store().CheckInvariants(); len(broken) != 0 {
			t.Error(broken)
		}
	})
}

// TestRestoredStateGivesTheSameAnswers checks that reads return the same after the state was restored into another emulator.
func TestRestoredStateGivesTheSameAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em, other := emulator.New(emulator.Options{Seed: 3}), emulator.New(emulator.Options{Seed: 4})
		s := buildStack(t, em)
		time.Sleep(time.Minute) // the load balancer is active
		em.Store().Lock()
		em.Store().Config.Shuffle = false
		state, err := em.Store().Export()
		em.Store().Unlock()
		if err != nil {
			t.Fatal(err)
		}
		other.Store().Lock()
		other.Store().Config.Shuffle = false
		err = other.Store().Restore(state)
		other.Store().Unlock()
		if err != nil {
			t.Fatal(err)
		}
		answers := func(em *emulator.Emulator) []any {
			cfg, ctx := clientConfig(em, testAccessKey), t.Context()
			network, balancing, certificates := ec2.NewFromConfig(cfg), elb.NewFromConfig(cfg), acm.NewFromConfig(cfg)
			var out []any
			add := func(answer any, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, answer)
			}
			vpcs, err := network.DescribeVpcs(ctx, nil)
			add(vpcs, err)
			subnets, err := network.DescribeSubnets(ctx, nil)
			add(subnets, err)
			groups, err := network.DescribeSecurityGroups(ctx, nil)
			add(groups, err)
			enis, err := network.DescribeNetworkInterfaces(ctx, nil)
			add(enis, err)
			tables, err := network.DescribeRouteTables(ctx, nil)
			add(tables, err)
			lbs, err := balancing.DescribeLoadBalancers(ctx, nil)
			add(lbs, err)
			attributes, err := balancing.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &s.loadBalancer})
			add(attributes, err)
			listeners, err := balancing.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: &s.loadBalancer})
			add(listeners, err)
			rules, err := balancing.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: &s.listener})
			add(rules, err)
			targetGroups, err := balancing.DescribeTargetGroups(ctx, nil)
			add(targetGroups, err)
			health, err := balancing.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &s.targetGroup})
			add(health, err)
			tags, err := balancing.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: []string{s.loadBalancer, s.targetGroup}})
			add(tags, err)
			certificate, err := certificates.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &s.certificate})
			add(certificate, err)
			body, err := certificates.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: &s.certificate})
			add(body, err)
			return out
		}
		// Each call has another request ID, and the SDK stores it in the metadata.
		ignored := cmp.Options{cmpopts.IgnoreTypes(middleware.Metadata{}, document.NoSerde{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(answers(em), answers(other), ignored); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSecurityGroupOfLoadBalancerCannotBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		em := emulator.New(emulator.Options{})
		em.Store().Lock()
		em.Store().Config.Delays.InterfaceLinger = 30 * time.Second
		em.Store().Unlock()
		s := buildStack(t, em)
		cfg, ctx := clientConfig(em, testAccessKey), t.Context()
		del := func() string {
			_, err := ec2.NewFromConfig(cfg).DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &s.securityGroup})
			return code(err)
		}
		if got := del(); got != "DependencyViolation" {
			t.Errorf("with the load balancer: %q", got)
		}
		if _, err := elb.NewFromConfig(cfg).DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &s.loadBalancer}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if got := del(); got != "DependencyViolation" {
			t.Errorf("while its ENIs linger: %q", got)
		}
		time.Sleep(time.Second)
		if got := del(); got != "" {
			t.Errorf("afterwards: %q", got)
		}
	})
}

func TestGetResourcesFindsLoadBalancers(t *testing.T) {
	em := emulator.New(emulator.Options{})
	s := buildStack(t, em)
	out, err := rgt.NewFromConfig(clientConfig(em, testAccessKey)).GetResources(t.Context(), &rgt.GetResourcesInput{
		ResourceTypeFilters: []string{"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range out.ResourceTagMappingList {
		got = append(got, *r.ResourceARN)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{s.loadBalancer, s.targetGroup}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSDKRepeatsCallWhoseResponseIsLost checks that the SDK repeats a call of CreateTargetGroup whose response is lost, and
// that only one target group is created.
func TestSDKRepeatsCallWhoseResponseIsLost(t *testing.T) {
	steps := func(t *testing.T, em *emulator.Emulator) {
		cfg := clientConfig(em, testAccessKey)
		cfg.RetryMaxAttempts = 3
		c := elb.NewFromConfig(cfg)
		if _, err := c.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{Name: aws.String("pods"), TargetType: elbtypes.TargetTypeEnumLambda}); err != nil {
			t.Error(err)
		}
	}
	groups := func(em *emulator.Emulator) int {
		em.Store().Lock()
		defer em.Store().Unlock()
		return len(em.Store().Partition("111122223333", "us-west-2").ELB.TargetGroups)
	}
	synctest.Test(t, func(t *testing.T) {
		clean := emulator.New(emulator.Options{})
		steps(t, clean)
		for n := 1; n <= clean.Calls().CountMutating(); n++ {
			em := emulator.New(emulator.Options{})
			em.Faults().SetHook(loseMutation(n))
			steps(t, em)
			if got, want := groups(em), groups(clean); got != want {
				t.Errorf("answer %d lost: want %d target groups, got %d", n, want, got)
			}
			if em.Calls().CountMutating() != clean.Calls().CountMutating()+1 {
				t.Errorf("answer %d lost: want one retry, got %d calls", n, em.Calls().CountMutating())
			}
		}
	})
}

// loseMutation returns a hook that loses the response of the n-th mutating call.
func loseMutation(n int) fault.Hook {
	return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
}

func TestAdminCanForceStates(t *testing.T) {
	clock := store.NewManualClock(time.Now())
	em, url, _ := startHTTPServer(t, emulator.Options{Clock: clock})
	s := buildStack(t, em)
	c := elb.NewFromConfig(clientConfig(em, testAccessKey))
	force := func(body string) {
		t.Helper()
		if status, out := sendAdmin(t, "POST", url+"/_fulcrum/force", body); status != 200 {
			t.Fatal(out)
		}
	}
	force(fmt.Sprintf(`{"LoadBalancer": %q, "State": "failed", "Reason": "no luck"}`, s.loadBalancer))
	lbs, err := c.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{s.loadBalancer}})
	if err != nil || lbs.LoadBalancers[0].State.Code != elbtypes.LoadBalancerStateEnumFailed {
		t.Errorf("%+v, %v", lbs, err)
	}
	clock.Advance(time.Minute) // the registration delay is over
	force(fmt.Sprintf(`{"TargetGroup": %q, "Target": "10.0.0.77", "Port": 8080, "State": "unhealthy", "Reason": "Target.Timeout"}`, s.targetGroup))
	health, err := c.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &s.targetGroup})
	if err != nil || health.TargetHealthDescriptions[0].TargetHealth.State != elbtypes.TargetHealthStateEnumUnhealthy {
		t.Errorf("%+v, %v", health, err)
	}
	em.Store().ReportHealth(store.HealthReport{TargetGroup: s.targetGroup, Target: "10.0.0.77", Port: 8080, Verdict: store.TargetHealthResult{
		State: elbtypes.TargetHealthStateEnumHealthy,
	}})
	health, err = c.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &s.targetGroup})
	if err != nil || health.TargetHealthDescriptions[0].TargetHealth.State != elbtypes.TargetHealthStateEnumUnhealthy {
		t.Errorf("a report ended the override: %+v, %v", health, err)
	}
	force(fmt.Sprintf(`{"TargetGroup": %q, "Target": "10.0.0.77", "Port": 8080}`, s.targetGroup))
	health, err = c.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &s.targetGroup})
	if err != nil || health.TargetHealthDescriptions[0].TargetHealth.State != elbtypes.TargetHealthStateEnumHealthy {
		t.Errorf("an empty state does not end the override: %+v, %v", health, err)
	}
	force(fmt.Sprintf(`{"LoadBalancer": %q}`, s.loadBalancer))
	lbs, err = c.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{s.loadBalancer}})
	if err != nil || lbs.LoadBalancers[0].State.Code != elbtypes.LoadBalancerStateEnumActive {
		t.Errorf("an empty state does not end the override: %+v, %v", lbs, err)
	}
	for _, body := range []string{
		fmt.Sprintf(`{"TargetGroup": %q, "Target": "10.0.0.78", "Port": 8080, "State": "unhealthy"}`, s.targetGroup),
		fmt.Sprintf(`{"TargetGroup": %q, "Target": "10.0.0.77", "Port": 8080, "State": "unhealthy"}`, s.targetGroup+"0"),
		`{"TargetGroup": "web", "Target": "10.0.0.77", "Port": 8080, "State": "unhealthy"}`,
	} {
		if status, out := sendAdmin(t, "POST", url+"/_fulcrum/force", body); status != 400 {
			t.Errorf("%s: %d %v", body, status, out)
		}
	}
}
