package elbv2_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ignoreUnexportedFields returns an option that makes cmp ignore the unexported fields of SDK types.
func ignoreUnexportedFields() cmp.Option {
	return cmpopts.IgnoreUnexported(
		types.Action{}, types.ForwardActionConfig{}, types.TargetGroupTuple{}, types.TargetGroupStickinessConfig{}, types.RedirectActionConfig{},
		types.FixedResponseActionConfig{}, types.AuthenticateOidcActionConfig{}, types.RuleCondition{}, types.HostHeaderConditionConfig{},
		types.PathPatternConditionConfig{}, types.HttpHeaderConditionConfig{}, types.QueryStringConditionConfig{}, types.QueryStringKeyValuePair{},
		types.SourceIpConditionConfig{}, types.HttpRequestMethodConditionConfig{}, types.RuleTransform{}, types.UrlRewriteConfig{}, types.RewriteConfig{},
		types.MutualAuthenticationAttributes{},
	)
}

func redirectActions(c types.RedirectActionConfig) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &c}}
}

func redirectToHTTPSActions() []types.Action {
	return redirectActions(types.RedirectActionConfig{Protocol: aws.String("HTTPS"), Port: aws.String("443"), StatusCode: "HTTP_301"})
}

func TestCreateListenerRefusals(t *testing.T) {
	r := newHarness(t)
	lb, net := r.createALB("app"), r.createNLB("net")
	cert := r.importCertificate(false, "example.com")
	grpc, tcp := r.createTargetGroup("grpc", withProtocolVersion("GRPC")), r.createTargetGroup("tcp", withProtocol("TCP"))
	r.createListener(lb.LoadBalancerArn, 8080, fixedResponseActions("404"))
	taken := r.createTargetGroup("taken")
	second := r.createALB("second")
	r.createListener(second.LoadBalancerArn, 80, forwardActions(taken.TargetGroupArn))
	secure := func(in *elb.CreateListenerInput) {
		in.Protocol, in.Certificates = "HTTPS", []types.Certificate{{CertificateArn: &cert}}
	}
	unknown := "arn:aws:acm:us-west-2:123456789012:certificate/none"
	tests := map[string]struct {
		edit          func(in *elb.CreateListenerInput)
		code, message string
	}{
		"no port":     {func(in *elb.CreateListenerInput) { in.Port = nil }, "ValidationError", "A listener port must be specified"},
		"no protocol": {func(in *elb.CreateListenerInput) { in.Protocol = "" }, "ValidationError", "A listener protocol must be specified"},
		"port in use": {func(in *elb.CreateListenerInput) {
			in.Port, in.DefaultActions = aws.Int32(8080), fixedResponseActions("410")
		}, "DuplicateListener", "A listener already exists on this port"},
		"TCP on an ALB":  {func(in *elb.CreateListenerInput) { in.Protocol = "TCP" }, "ValidationError", "Listener protocol 'TCP' must be one of 'HTTP, HTTPS'"},
		"HTTP on an NLB": {func(in *elb.CreateListenerInput) { in.LoadBalancerArn = net.LoadBalancerArn }, "ValidationError", "Listener protocol 'HTTP' must be one of 'UDP, TCP, TLS"},
		"no certificate": {func(in *elb.CreateListenerInput) { in.Protocol = "HTTPS" }, "ValidationError", "A certificate must be specified for HTTPS listeners"},
		"certificate on HTTP": {func(in *elb.CreateListenerInput) {
			secure(in)
			in.Protocol = "HTTP"
		}, "ValidationError", "Certificates cannot be specified for HTTP listeners"},
		"two certificates": {func(in *elb.CreateListenerInput) {
			secure(in)
			in.Certificates = append(in.Certificates, in.Certificates...)
		}, "TooManyCertificates", ""},
		"unknown certificate": {func(in *elb.CreateListenerInput) {
			in.Protocol, in.Certificates = "HTTPS", []types.Certificate{{CertificateArn: &unknown}}
		}, "CertificateNotFound", "Certificate '" + unknown + "' not found"},
		"certificate of another region": {func(in *elb.CreateListenerInput) {
			in.Protocol, in.Certificates = "HTTPS", []types.Certificate{{CertificateArn: aws.String("arn:aws:acm:us-east-1:123456789012:certificate/none")}}
		}, "ValidationError", "is not valid"},
		"SSL policy on HTTP": {func(in *elb.CreateListenerInput) { in.SslPolicy = aws.String("ELBSecurityPolicy-2016-08") }, "ValidationError", "An SSL policy cannot be specified for HTTP listeners."},
		"unknown SSL policy": {func(in *elb.CreateListenerInput) { secure(in); in.SslPolicy = aws.String("mine") }, "SSLPolicyNotFound", "SSL policy 'mine' not found"},
		"ALPN on HTTPS":      {func(in *elb.CreateListenerInput) { secure(in); in.AlpnPolicy = []string{"HTTP2Only"} }, "ValidationError", "You cannot set ALPN policy"},
		"mTLS on HTTP": {func(in *elb.CreateListenerInput) {
			in.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String("off")}
		}, "ValidationError", ""},
		"verify without trust store": {func(in *elb.CreateListenerInput) {
			secure(in)
			in.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String("verify")}
		}, "ValidationError", "trust store"},
		"unknown setting of CA names": {func(in *elb.CreateListenerInput) {
			secure(in)
			in.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String("verify"), AdvertiseTrustStoreCaNames: "yes"}
		}, "ValidationError", "'mutualAuthentication.advertiseTrustStoreCaNames'"},
		"fixed response on an NLB":  {func(in *elb.CreateListenerInput) { in.LoadBalancerArn, in.Protocol = net.LoadBalancerArn, "TCP" }, "InvalidLoadBalancerAction", ""},
		"TCP target group":          {func(in *elb.CreateListenerInput) { in.DefaultActions = forwardActions(tcp.TargetGroupArn) }, "IncompatibleProtocols", *tcp.TargetGroupArn},
		"gRPC target group on HTTP": {func(in *elb.CreateListenerInput) { in.DefaultActions = forwardActions(grpc.TargetGroupArn) }, "InvalidLoadBalancerAction", "protocol-version 'GRPC'"},
		"target group of another load balancer": {func(in *elb.CreateListenerInput) { in.DefaultActions = forwardActions(taken.TargetGroupArn) },
			"TargetGroupAssociationLimit", "cannot be associated with more than one load balancer: " + *taken.TargetGroupArn},
		"unknown load balancer": {func(in *elb.CreateListenerInput) {
			in.LoadBalancerArn = aws.String("arn:aws:elasticloadbalancing:us-west-2:123456789012:loadbalancer/app/x/0123456789abcdef")
		}, "LoadBalancerNotFound", "One or more load balancers not found"},
		"unknown target group": {func(in *elb.CreateListenerInput) {
			in.DefaultActions = forwardActions(aws.String("arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef"))
		}, "TargetGroupNotFound", "Target groups 'arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/x/0123456789abcdef' not found"},
		"authentication on HTTP": {func(in *elb.CreateListenerInput) {
			in.DefaultActions = append(oidcActions(1, nil), ordered(fixedResponseActions("404"), 2)...)
		},
			"InvalidLoadBalancerAction", "Actions of type 'authenticate-oidc' are supported only on HTTPS listeners"},
		"redirect loop": {func(in *elb.CreateListenerInput) {
			in.DefaultActions = redirectActions(types.RedirectActionConfig{Query: aws.String("a=b"), StatusCode: "HTTP_302"})
		}, "InvalidLoadBalancerAction", "creates a loop"},
		"invalid status of fixed response": {func(in *elb.CreateListenerInput) { in.DefaultActions = fixedResponseActions("302") }, "ValidationError", "'defaultActions.1.member.fixedResponseConfig.statusCode'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: "HTTP", DefaultActions: fixedResponseActions("404")}
			tt.edit(in)
			_, err := r.elb.CreateListener(r.ctx, in)
			checkError(t, err, tt.code, tt.message)
		})
	}
	r.checkState()
}

func ordered(actions []types.Action, order int32) []types.Action {
	actions[0].Order = &order
	return actions
}

func oidcActions(order int32, secret *string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumAuthenticateOidc, Order: &order, AuthenticateOidcConfig: &types.AuthenticateOidcActionConfig{
		Issuer: aws.String("https://id.example.com"), AuthorizationEndpoint: aws.String("https://id.example.com/auth"),
		TokenEndpoint: aws.String("https://id.example.com/token"), UserInfoEndpoint: aws.String("https://id.example.com/me"),
		ClientId: aws.String("me"), ClientSecret: secret,
	}}}
}

func TestCreateAndDescribeListener(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	cert := r.importCertificate(false, "example.com", "*.example.com")
	r.createListener(lb.LoadBalancerArn, 80, redirectToHTTPSActions())
	r.createHTTPSListener(lb.LoadBalancerArn, 443, cert, forwardActions(g.TargetGroupArn))
	got := map[int32]types.Listener{}
	for _, l := range must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).Listeners {
		got[*l.Port] = l
	}
	wantRedirect := redirectActions(types.RedirectActionConfig{
		Protocol: aws.String("HTTPS"), Port: aws.String("443"), Host: aws.String("#{host}"), Path: aws.String("/#{path}"),
		Query: aws.String("#{query}"), StatusCode: "HTTP_301",
	})
	if d := cmp.Diff(wantRedirect, got[80].DefaultActions, ignoreUnexportedFields()); d != "" {
		t.Errorf("redirect (-want +got):\n%s", d)
	}
	wantForward := []types.Action{{Type: "forward", TargetGroupArn: g.TargetGroupArn, ForwardConfig: &types.ForwardActionConfig{
		TargetGroups:                []types.TargetGroupTuple{{TargetGroupArn: g.TargetGroupArn, Weight: aws.Int32(1)}},
		TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false)},
	}}}
	if d := cmp.Diff(wantForward, got[443].DefaultActions, ignoreUnexportedFields()); d != "" {
		t.Errorf("forward (-want +got):\n%s", d)
	}
	l := got[443]
	if *l.SslPolicy != "ELBSecurityPolicy-2016-08" || *l.Certificates[0].CertificateArn != cert || l.Certificates[0].IsDefault != nil || *l.MutualAuthentication.Mode != "off" {
		t.Errorf("HTTPS listener %+v", l)
	}
	again := r.createHTTPSListener(lb.LoadBalancerArn, 443, cert, forwardActions(g.TargetGroupArn))
	if *again.ListenerArn != *l.ListenerArn {
		t.Error("a repeated CreateListener created a second listener")
	}
	r.checkState()
}

func TestModifyListener(t *testing.T) {
	r := newHarness(t)
	lb, g := r.createALB("app"), r.createTargetGroup("web")
	cert, other := r.importCertificate(false, "a.example.com"), r.importCertificate(true, "b.example.com")
	l := r.createHTTPSListener(lb.LoadBalancerArn, 443, cert, forwardActions(g.TargetGroupArn))
	r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	rule := r.createRule(l.ListenerArn, 1, "/a", forwardActions(g.TargetGroupArn))
	must(r.elb.AddListenerCertificates(r.ctx, &elb.AddListenerCertificatesInput{ListenerArn: l.ListenerArn, Certificates: []types.Certificate{{CertificateArn: &other}}}))(t)
	modify := func(in elb.ModifyListenerInput) (types.Listener, error) {
		in.ListenerArn = l.ListenerArn
		out, err := r.elb.ModifyListener(r.ctx, &in)
		if err != nil {
			return types.Listener{}, err
		}
		return out.Listeners[0], nil
	}
	_, err := modify(elb.ModifyListenerInput{Port: aws.Int32(80)})
	checkError(t, err, "DuplicateListener", "")
	got := must(modify(elb.ModifyListenerInput{Port: aws.Int32(8443), SslPolicy: aws.String("ELBSecurityPolicy-TLS13-1-2-2021-06")}))(t)
	if *got.Port != 8443 || *got.ListenerArn != *l.ListenerArn || *got.SslPolicy != "ELBSecurityPolicy-TLS13-1-2-2021-06" || *got.Certificates[0].CertificateArn != cert {
		t.Errorf("after the change: %+v", got)
	}
	got = must(modify(elb.ModifyListenerInput{Protocol: "HTTP", DefaultActions: fixedResponseActions("503")}))(t)
	if got.SslPolicy != nil || len(got.Certificates) != 0 || got.MutualAuthentication != nil {
		t.Errorf("HTTP listener still has TLS settings: %+v", got)
	}
	certs := must(r.elb.DescribeListenerCertificates(r.ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn}))(t)
	if len(certs.Certificates) != 0 {
		t.Errorf("HTTP listener still has certificates: %+v", certs.Certificates)
	}
	rules := must(r.elb.DescribeRules(r.ctx, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn}))(t).Rules
	if len(rules) != 2 || *rules[0].RuleArn != *rule.RuleArn || *rules[1].Actions[0].FixedResponseConfig.StatusCode != "503" {
		t.Errorf("rules %+v", rules)
	}
	_, err = modify(elb.ModifyListenerInput{Protocol: "HTTPS"})
	checkError(t, err, "ValidationError", "A certificate must be specified for HTTPS listeners")
	r.checkState()
}

func TestListenerCertificates(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	first, second := r.importCertificate(false, "a.example.com"), r.importCertificate(true, "b.example.com")
	l := r.createHTTPSListener(lb.LoadBalancerArn, 443, first, fixedResponseActions("404"))
	add := func(arn string) error {
		_, err := r.elb.AddListenerCertificates(r.ctx, &elb.AddListenerCertificatesInput{ListenerArn: l.ListenerArn, Certificates: []types.Certificate{{CertificateArn: &arn}}})
		return err
	}
	remove := func(arn string) error {
		_, err := r.elb.RemoveListenerCertificates(r.ctx, &elb.RemoveListenerCertificatesInput{ListenerArn: l.ListenerArn, Certificates: []types.Certificate{{CertificateArn: &arn}}})
		return err
	}
	list := func() []string {
		var out []string
		for _, c := range must(r.elb.DescribeListenerCertificates(r.ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn}))(t).Certificates {
			out = append(out, fmt.Sprint(*c.CertificateArn == first, *c.IsDefault))
		}
		slices.Sort(out)
		return out
	}
	for _, arn := range []string{first, first, second} {
		if err := add(arn); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"false false", "true false", "true true"}, list()); d != "" {
		t.Errorf("certificates, first and default (-want +got):\n%s", d)
	}
	_, err := r.acm.DeleteCertificate(r.ctx, &acm.DeleteCertificateInput{CertificateArn: &second})
	checkError(t, err, "ResourceInUseException", "")
	for _, arn := range []string{first, second} {
		if err := remove(arn); err != nil {
			t.Fatal(err)
		}
	}
	checkError(t, remove(first), "OperationNotPermitted", "")
	must(r.acm.DeleteCertificate(r.ctx, &acm.DeleteCertificateInput{CertificateArn: &second}))(t)
	checkError(t, add(second), "CertificateNotFound", "")
	r.em.Store().Config.Quotas["certificates-per-application-load-balancer"] = 0
	checkError(t, add(first), "TooManyCertificates", "")
}

func TestListenerAttributes(t *testing.T) {
	r := newHarness(t)
	lb, net := r.createALB("app"), r.createNLB("net")
	tcp := r.createTargetGroup("tcp", withProtocol("TCP"))
	plain := r.createListener(lb.LoadBalancerArn, 80, fixedResponseActions("404"))
	stream := must(r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
		LoadBalancerArn: net.LoadBalancerArn, Port: aws.Int32(80), Protocol: "TCP", DefaultActions: forwardActions(tcp.TargetGroupArn),
	}))(t).Listeners[0]
	got := must(r.elb.DescribeListenerAttributes(r.ctx, &elb.DescribeListenerAttributesInput{ListenerArn: stream.ListenerArn}))(t).Attributes
	if len(got) != 1 || *got[0].Key != "tcp.idle_timeout.seconds" || *got[0].Value != "350" {
		t.Errorf("attributes of the TCP listener %+v", got)
	}
	set := func(l types.Listener, key, value string) error {
		_, err := r.elb.ModifyListenerAttributes(r.ctx, &elb.ModifyListenerAttributesInput{ListenerArn: l.ListenerArn, Attributes: []types.ListenerAttribute{{Key: &key, Value: &value}}})
		return err
	}
	for _, tt := range []struct {
		l                         types.Listener
		key, value, code, message string
	}{
		{plain, "foo", "1", "ValidationError", "Listener attribute key 'foo' is not recognized"},
		{plain, "tcp.idle_timeout.seconds", "100", "InvalidConfigurationRequest", ""},
		{plain, "routing.http.request.x_amzn_tls_version.header_name", "X", "InvalidConfigurationRequest", ""},
		{plain, "routing.http.response.access_control_allow_methods.header_value", "GET,FETCH", "ValidationError", "FETCH"},
		{stream, "tcp.idle_timeout.seconds", "10", "ValidationError", "'60-6000'"},
	} {
		checkError(t, set(tt.l, tt.key, tt.value), tt.code, tt.message)
	}
	const frameOptions = "routing.http.response.x_frame_options.header_value"
	if err := set(plain, frameOptions, "DENY"); err != nil {
		t.Fatal(err)
	}
	got = must(r.elb.DescribeListenerAttributes(r.ctx, &elb.DescribeListenerAttributesInput{ListenerArn: plain.ListenerArn}))(t).Attributes
	if i := slices.IndexFunc(got, func(a types.ListenerAttribute) bool { return *a.Key == frameOptions }); i < 0 || *got[i].Value != "DENY" {
		t.Errorf("the attribute was not changed: %+v", got)
	}
}

func TestTrustStores(t *testing.T) {
	r := newHarness(t)
	lb := r.createALB("app")
	cert := r.importCertificate(false, "example.com")
	r.em.Store().Config.ELB.TrustStoreDelay = 1
	make := func(name string) (*elb.CreateTrustStoreOutput, error) {
		return r.elb.CreateTrustStore(r.ctx, &elb.CreateTrustStoreInput{Name: &name, CaCertificatesBundleS3Bucket: aws.String("b"), CaCertificatesBundleS3Key: aws.String(name)})
	}
	store := must(make("roots"))(t).TrustStores[0]
	_, err := make("bad name")
	checkError(t, err, "ValidationError", "regular expression pattern")
	create := func() error {
		_, err := r.elb.CreateListener(r.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(443), Protocol: "HTTPS", DefaultActions: fixedResponseActions("404"),
			Certificates:         []types.Certificate{{CertificateArn: &cert}},
			MutualAuthentication: &types.MutualAuthenticationAttributes{Mode: aws.String("verify"), TrustStoreArn: store.TrustStoreArn},
		})
		return err
	}
	checkError(t, create(), "TrustStoreNotReady", "")
	r.clock.Advance(1)
	if err := create(); err != nil {
		t.Fatal(err)
	}
	got := must(r.elb.DescribeListeners(r.ctx, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}))(t).Listeners[0]
	want := &types.MutualAuthenticationAttributes{
		Mode: aws.String("verify"), TrustStoreArn: store.TrustStoreArn, IgnoreClientCertificateExpiry: aws.Bool(false), AdvertiseTrustStoreCaNames: "off",
	}
	if d := cmp.Diff(want, got.MutualAuthentication, ignoreUnexportedFields()); d != "" {
		t.Errorf("mutual authentication (-want +got):\n%s", d)
	}
	users := must(r.elb.DescribeTrustStoreAssociations(r.ctx, &elb.DescribeTrustStoreAssociationsInput{TrustStoreArn: store.TrustStoreArn}))(t)
	if len(users.TrustStoreAssociations) != 1 || *users.TrustStoreAssociations[0].ResourceArn != *got.ListenerArn {
		t.Errorf("associations %+v", users.TrustStoreAssociations)
	}
	drop := &elb.DeleteTrustStoreInput{TrustStoreArn: store.TrustStoreArn}
	_, err = r.elb.DeleteTrustStore(r.ctx, drop)
	checkError(t, err, "TrustStoreInUse", "")
	_, err = r.elb.DescribeTrustStores(r.ctx, &elb.DescribeTrustStoresInput{Names: []string{"missing"}})
	checkError(t, err, "TrustStoreNotFound", "")
	must(r.elb.AddTrustStoreRevocations(r.ctx, &elb.AddTrustStoreRevocationsInput{TrustStoreArn: store.TrustStoreArn, RevocationContents: []types.RevocationContent{{S3Bucket: aws.String("b"), S3Key: aws.String("crl")}}}))(t)
	lists := must(r.elb.DescribeTrustStoreRevocations(r.ctx, &elb.DescribeTrustStoreRevocationsInput{TrustStoreArn: store.TrustStoreArn}))(t)
	if len(lists.TrustStoreRevocations) != 1 {
		t.Errorf("revocations %+v", lists.TrustStoreRevocations)
	}
	must(r.elb.ModifyTrustStore(r.ctx, &elb.ModifyTrustStoreInput{TrustStoreArn: store.TrustStoreArn, CaCertificatesBundleS3Bucket: aws.String("b"), CaCertificatesBundleS3Key: aws.String("new")}))(t)
	must(r.elb.DeleteListener(r.ctx, &elb.DeleteListenerInput{ListenerArn: got.ListenerArn}))(t)
	must(r.elb.DeleteTrustStore(r.ctx, drop))(t)
}

func TestDescribeSSLPoliciesAndAccountLimits(t *testing.T) {
	r := newHarness(t)
	out := must(r.elb.DescribeSSLPolicies(r.ctx, &elb.DescribeSSLPoliciesInput{Names: []string{"ELBSecurityPolicy-TLS13-1-2-2021-06"}}))(t)
	if d := cmp.Diff([]string{"TLSv1.3", "TLSv1.2"}, out.SslPolicies[0].SslProtocols); d != "" || len(out.SslPolicies[0].Ciphers) != 11 {
		t.Errorf("policy with %d ciphers (-want +got):\n%s", len(out.SslPolicies[0].Ciphers), d)
	}
	_, err := r.elb.DescribeSSLPolicies(r.ctx, &elb.DescribeSSLPoliciesInput{Names: []string{"x"}})
	checkError(t, err, "SSLPolicyNotFound", "")
	limits := map[string]string{}
	for _, l := range must(r.elb.DescribeAccountLimits(r.ctx, &elb.DescribeAccountLimitsInput{}))(t).Limits {
		limits[*l.Name] = *l.Max
	}
	if limits["rules-per-application-load-balancer"] != "100" {
		t.Errorf("limits %v", limits)
	}
}
