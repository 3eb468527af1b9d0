package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

var webIngress = finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}

func parseIngress(kv ...string) Ingress {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[Prefix+kv[i]] = kv[i+1]
	}
	return ParseIngress(m, webIngress)
}

func TestRowsAreDocumented(t *testing.T) {
	for _, c := range []struct {
		annotations Annotations
		least       int
	}{{IngressAnnotations, 70}, {ServiceAnnotations, 50}} {
		seen := map[string]bool{}
		for _, r := range c.annotations.Rows() {
			if r.Group == "" || r.Key == "" || r.Type == "" || r.Merge == "" || r.Doc == "" {
				t.Errorf("row %q lacks documentation: %+v", r.Key, r)
			}
			if seen[r.Key] {
				t.Errorf("row %q is listed twice", r.Key)
			}
			seen[r.Key] = true
		}
		if len(seen) < c.least {
			t.Errorf("only %d rows with prefix %s", len(seen), c.annotations.Prefix)
		}
	}
}

func TestParseIngressRecordsOriginsAndFaults(t *testing.T) {
	in := parseIngress("scheme", "public", "tags", "a=b", "healthcheck-interval-seconds", "soon", "actions.x", "{}")
	if in.Scheme.Set || in.Scheme.Fault == nil || !in.Scheme.IsPresent() {
		t.Errorf("scheme: %+v", in.Scheme)
	}
	want := NewOpt(map[string]string{"a": "b"}, finding.Origin{Object: webIngress, Field: Prefix + "tags"})
	if diff := cmp.Diff(want, in.Tags); diff != "" {
		t.Error(diff)
	}
	if in.Actions["x"].Fault == nil || in.Target.HealthInterval.Fault == nil {
		t.Error("faults of rules and target groups are not kept")
	}
	var fields []string
	for _, f := range in.MemberFaults() {
		fields = append(fields, f.Origin.Field)
	}
	if diff := cmp.Diff([]string{Prefix + "scheme"}, fields); diff != "" {
		t.Errorf("faults that hold the member: %s", diff)
	}
}

func TestParseServiceReadsOnlyBackendAnnotations(t *testing.T) {
	got := ParseService(map[string]string{
		Prefix + "target-type": "ip", Prefix + "scheme": "internal", Prefix + "listen-ports": "oops",
	}, finding.Ref{Kind: "Service", Namespace: "shop", Name: "web"})
	if got.Target.Type.Value != model.IPTargets {
		t.Errorf("target type: %+v", got.Target.Type)
	}
}

func TestServiceSettingReplacesWholeIngressSetting(t *testing.T) {
	svc := parseIngress("target-group-attributes", "a=1", "healthcheck-path", "/svc").Target
	ing := parseIngress("target-group-attributes", "b=2", "success-codes", "204", "multi-cluster-target-group", "true").Target
	got := svc.WithDefaults(ing)
	if diff := cmp.Diff(map[string]string{"a": "1"}, got.Attributes.Value); diff != "" {
		t.Error(diff)
	}
	if got.HealthPath.Value != "/svc" || got.SuccessCodes.Value != "204" || !got.MultiCluster.Value {
		t.Errorf("%+v", got)
	}
}

// TestMultiClusterOfIngressAndService checks that a target group of several clusters is enabled by the Ingress or the Service,
// and that the Service does not hide a value of the Ingress that is not valid: with false, the targets of other clusters
// would be deregistered.
func TestMultiClusterOfIngressAndService(t *testing.T) {
	const unset, invalid = "", "ture"
	for _, c := range []struct{ service, ingress, want string }{
		{unset, unset, "false"}, {"true", unset, "true"}, {unset, "true", "true"}, {"false", "true", "true"}, {"true", "false", "true"},
		{"false", "false", "false"}, {invalid, "true", "true"}, {invalid, "false", invalid}, {"false", invalid, invalid}, {"true", invalid, invalid}, {unset, invalid, invalid},
	} {
		of := func(value string) TargetGroup {
			if value == unset {
				return TargetGroup{}
			}
			return parseIngress("multi-cluster-target-group", value).Target
		}
		o := of(c.service).WithDefaults(of(c.ingress)).MultiCluster
		got := fmt.Sprint(o.ValueOr(false))
		if o.Fault != nil {
			got = invalid
		}
		if got != c.want {
			t.Errorf("Service %q, Ingress %q: got %s, want %s", c.service, c.ingress, got, c.want)
		}
	}
}

func TestUnknownAnnotations(t *testing.T) {
	for key, want := range map[string]bool{"shceme": true, "scheme": false, "actions.x": false, "actions.": true} {
		if got := IngressAnnotations.isUnknown(Prefix + key); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
	if IngressAnnotations.isUnknown("other/x") {
		t.Error("other/x")
	}
}

func TestNewerWebACLAnnotationHasPrecedence(t *testing.T) {
	if got := parseIngress("web-acl-id", "old", "waf-acl-id", "new").WAFClassic.Value; got != "new" {
		t.Error(got)
	}
	if got := parseIngress("web-acl-id", "old").WAFClassic.Value; got != "old" {
		t.Error(got)
	}
	if got := parseIngress("web-acl-id", "old", "waf-acl-id", "").WAFClassic.Value; got != "" {
		t.Error(got)
	}
}

func TestClassReplacesAnnotations(t *testing.T) {
	scheme := v1beta1.LoadBalancerSchemeInternetFacing
	params := &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{
		Group: &v1beta1.IngressGroup{Name: "g"}, Scheme: &scheme, SSLRedirectPort: "x", WAFv2ACLArn: "pinned",
		InboundCIDRs: []string{"10.0.0.0/8", "bad"}, PrefixListsIDsLegacy: []string{"pl-1"},
		Listeners: []v1beta1.Listener{
			{Protocol: "HTTPS", Port: 443, ListenerAttributes: []v1beta1.Attribute{{Key: "a", Value: "1"}}},
			{Protocol: "HTTPS", Port: 443, ListenerAttributes: []v1beta1.Attribute{{Key: "a", Value: "2"}}},
		},
	}}
	params.Name = "p"
	in := parseIngress("scheme", "nonsense", "inbound-cidrs", "nonsense", "group.name", "other", "wafv2-acl-name", "mine", "tags", "x").WithClass(params)
	if in.Scheme.Value != model.InternetFacing || in.GroupName.Value != "g" || in.PrefixLists.Value[0] != "pl-1" {
		t.Errorf("%+v %+v %+v", in.Scheme, in.GroupName, in.PrefixLists)
	}
	if in.WAFv2Name.Set || in.WAFv2ARN.Value != "pinned" {
		t.Error("an annotation escapes the pinned web ACL")
	}
	if in.Class.ListenerAttributes["HTTPS-443"]["a"] != "1" {
		t.Error("the first entry of a listener does not count")
	}
	var fields []string
	for _, f := range in.MemberFaults() {
		fields = append(fields, f.Origin.Field)
	}
	slices.Sort(fields)
	if diff := cmp.Diff([]string{Prefix + "tags", "spec.inboundCIDRs", "spec.sslRedirectPort"}, fields); diff != "" {
		t.Errorf("faults: %s", diff)
	}
}

func TestTrailingCommasInMapsAreReported(t *testing.T) {
	var got []string
	for key, value := range map[string]string{
		Prefix + "tags": "a=1, ", Prefix + "load-balancer-attributes": "a=1", Prefix + "target-group-attributes": `a=1\,`,
		Prefix + "listener-attributes.HTTP-80": "a=1,b=2,", Prefix + "subnets": "a,", Prefix + "frontend-nlb-tags": "oops,", "tags": "a=1,",
	} {
		if IngressAnnotations.hasTrailingComma(key, value) {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	want := []string{Prefix + "listener-attributes.HTTP-80", Prefix + "tags"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRepeatedEntriesAreLimited checks that a value which each rule or target group repeats has a maximum number of entries.
func TestRepeatedEntriesAreLimited(t *testing.T) {
	entries := func(n int, format, separator string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, separator)
	}
	for key, value := range map[string]func(n int) string{
		"target-group-attributes": func(n int) string { return entries(n, "a%d=b", ",") },
		"target-node-labels":      func(n int) string { return entries(n, "a%d=b", ",") },
		"auth-idp-cognito": func(n int) string {
			return `{"authenticationRequestExtraParams":{` + entries(n, `"a%d":"b"`, ",") + `}}`
		},
		"auth-idp-oidc": func(n int) string {
			return `{"authenticationRequestExtraParams":{` + entries(n, `"a%d":"b"`, ",") + `}}`
		},
		"jwt-validation": func(n int) string {
			return `{"jwksEndpoint":"j","issuer":"i","additionalClaims":[{"format":"f","name":"n","values":[` + entries(n, `"a%d"`, ",") + `]}]}`
		},
		"transforms.web": func(n int) string {
			return `[` + entries(n, `{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"a%d","replace":"b"}]}}`, ",") + `]`
		},
	} {
		fault := func(n int) bool {
			in := parseIngress(key, value(n))
			return len(in.Target.Faults())+len(in.Auth.Faults())+len(NonNilFaults(in.JWT.Check(), in.Transforms["web"].Check())) > 0
		}
		if fault(MaxRepeatedEntries) || !fault(MaxRepeatedEntries+1) {
			t.Errorf("%s: with %d entries fault is %t, with one more %t", key, MaxRepeatedEntries, fault(MaxRepeatedEntries), fault(MaxRepeatedEntries+1))
		}
	}
	labels := ParseLoadBalancerService(map[string]string{ServicePrefix + "aws-load-balancer-target-node-labels": entries(MaxRepeatedEntries+1, "a%d=b", ",")}, webIngress)
	if labels.Target.NodeLabels.Fault == nil {
		t.Error("labels of nodes of a Service are not limited")
	}
	attributes := ParseLoadBalancerService(map[string]string{ServicePrefix + "aws-load-balancer-target-group-attributes.80": entries(MaxRepeatedEntries+1, "a%d=b", ",")}, webIngress)
	if attributes.Target.PortAttributes["80"].Fault == nil {
		t.Error("attributes of a port of a Service are not limited")
	}
	for n, want := range map[int]bool{MaxRepeatedEntries: false, MaxRepeatedEntries + 1: true} {
		tags := ParseService(map[string]string{Prefix + "tags": entries(n, "a%d=b", ",")}, webIngress).Tags
		if got := tags.Fault != nil; got != want || got == tags.Set {
			t.Errorf("%d tags of a Service behind an Ingress: fault is %t", n, got)
		}
	}
}
