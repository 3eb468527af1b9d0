package check_test

import (
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

const ignoredTag = "gateway.k8s.aws/migrated-from"

// sampleStack returns a stack whose listener has a rule with each kind of condition and action.
func sampleStack() model.Stack {
	group := func(id, service string) model.TargetGroup {
		return model.TargetGroup{
			ID: id, Type: model.IPTargets, Port: 8080, Protocol: "HTTP", ProtocolVersion: "HTTP1", AddressType: model.IPv4,
			HealthCheck: model.HealthCheck{Port: "traffic-port", Protocol: "HTTP", Path: "/", HTTPCodes: "200", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2},
			Attributes:  map[string]string{"stickiness.enabled": "true"}, Tags: map[string]string{"team": "a"},
			Binding: &model.Binding{Namespace: "shop", Service: service, Port: intstr.FromInt32(80)},
		}
	}
	to := func(ids ...string) model.Forward {
		var f model.Forward
		for i, id := range ids {
			f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ID: id}, Weight: new(int32(10 * (i + 1)))})
		}
		return f
	}
	rule := func(a model.Action, c ...model.Condition) model.Rule {
		return model.Rule{Conditions: c, Actions: []model.Action{a}, Origin: finding.Origin{Field: "spec.rules"}}
	}
	host := model.HostHeader{Values: []string{"a.example.com"}}
	path := func(p string) model.PathPattern { return model.PathPattern{Values: []string{p, p + "/*"}} }
	rules := []model.Rule{
		rule(to("web"), host, path("/header"), model.HTTPHeader{Name: "X", Values: []string{"1"}}),
		rule(to("web"), host, path("/query"), model.QueryString{Pairs: []model.QueryPair{{Key: "v", Value: "1"}}}),
		rule(to("web"), host, path("/method"), model.RequestMethod{Values: []string{"POST"}}),
		rule(to("web"), host, path("/source"), model.SourceIP{CIDRs: []string{"10.0.0.0/8"}}),
		rule(to("web", "api"), host, path("/both")),
		rule(model.Redirect{Host: "b.example.com", Status: "HTTP_301"}, host, path("/moved")),
		rule(model.FixedResponse{Status: "410", Body: "gone"}, host, path("/gone")),
		{Conditions: []model.Condition{host, path("/login")}, Actions: []model.Action{model.AuthCognito{UserPoolARN: "pool", ClientID: "c"}, to("web")}},
		{Conditions: []model.Condition{host, path("/old")}, Actions: []model.Action{to("web")}, Transforms: []model.Transform{{Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "^/old", Replace: "/new"}}}}},
		rule(to("api"), model.HostHeader{Values: []string{"*.example.com"}}, path("/wild")),
	}
	return model.Stack{
		LoadBalancer: &model.LoadBalancer{
			Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{}, Tags: map[string]string{"team": "a"},
			SecurityGroups: model.SecurityGroupsManaged{Backend: true, Group: model.SecurityGroup{Ingress: []model.IngressRule{{Protocol: "tcp", From: 443, To: 443, CIDR: "10.0.0.0/8"}}}},
			Listeners: []model.Listener{{
				Port: 443, TLS: &model.TLS{Policy: "p", Certificates: []model.CertChoice{model.CertARNs{ARNs: []string{"one", "two"}}}},
				Default: []model.Action{model.FixedResponse{Status: "404"}}, Rules: rules,
			}},
		},
		TargetGroups: []model.TargetGroup{group("api", "api"), group("web", "web")},
	}
}

func compare(a, b model.Stack) check.Result {
	port := func(b *model.Binding) string { return b.Port.String() }
	return check.Compare(check.Side{Stack: a, Port: port}, check.Side{Stack: b, Port: port}, ignoredTag)
}

// TestUnsetPrivateLinkRulesAreOn checks that unset rules for AWS PrivateLink are compared as "on", the default of AWS. A
// Gateway that takes over the load balancer keeps the value in AWS.
func TestUnsetPrivateLinkRulesAreOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ingress, gateway string
		takesOver        bool
		want             string // "" for no difference
	}{
		{"", "on", false, ""},
		{"", "off", false, "rules for AWS PrivateLink: Ingress on, Gateway off"},
		{"off", "", false, "rules for AWS PrivateLink: Ingress off, Gateway on"},
		{"on", "", false, ""},
		{"off", "", true, ""},
		{"off", "on", true, "rules for AWS PrivateLink: Ingress off, Gateway on"},
	} {
		from, to := sampleStack(), sampleStack()
		from.LoadBalancer.PrivateLinkRules, to.LoadBalancer.PrivateLinkRules = tt.ingress, tt.gateway
		got := check.Compare(check.Side{Stack: from, Port: portText}, check.Side{Stack: to, Port: portText, TakesOver: tt.takesOver}, ignoredTag).Differences
		if text := textOfDifferences(got); text != tt.want {
			t.Errorf("%+v: %s", tt, text)
		}
	}
}

// textOfDifferences returns the texts of differences, one per line.
func textOfDifferences(ds []check.Difference) string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Text())
	}
	return strings.Join(out, "\n")
}

// TestEachChangeIsADifference checks that each change that affects clients or operators is reported as a difference whose
// text names the setting or request.
func TestEachChangeIsADifference(t *testing.T) {
	t.Parallel()
	if same := compare(sampleStack(), sampleStack()); len(same.Differences) > 0 || same.Requests < 100 || len(same.Partial) > 0 {
		t.Fatalf("of the same: %+v", same)
	}
	rule := func(n int, change func(*model.Rule)) func(*model.Stack) {
		return func(s *model.Stack) { change(&s.LoadBalancer.Listeners[0].Rules[n]) }
	}
	condition := func(n int, c model.Condition) func(*model.Stack) {
		return rule(n, func(r *model.Rule) { r.Conditions[len(r.Conditions)-1] = c })
	}
	action := func(n int, a ...model.Action) func(*model.Stack) {
		return rule(n, func(r *model.Rule) { r.Actions = a })
	}
	web := model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "web"}}}}
	for name, tt := range map[string]struct {
		change func(*model.Stack)
		says   string
	}{
		"a rule is missing":         {func(s *model.Stack) { s.LoadBalancer.Listeners[0].Rules = s.LoadBalancer.Listeners[0].Rules[1:] }, "/header"},
		"another host":              {rule(9, func(r *model.Rule) { r.Conditions[0] = model.HostHeader{Values: []string{"x.example.com"}} }), "/wild"},
		"a prefix is an exact path": {condition(5, model.PathPattern{Values: []string{"/moved"}}), "/moved"},
		"a prefix is a text":        {condition(6, model.PathPattern{Values: []string{"/gone*"}}), "/gone-x"},
		"another value of a header": {condition(0, model.HTTPHeader{Name: "X", Values: []string{"2"}}), "x: "},
		"no header":                 {rule(0, func(r *model.Rule) { r.Conditions = r.Conditions[:2] }), "/header"},
		"another parameter":         {condition(1, model.QueryString{Pairs: []model.QueryPair{{Key: "v", Value: "2"}}}), "v="},
		"another method":            {condition(2, model.RequestMethod{Values: []string{"PUT"}}), "/method"},
		"other clients":             {condition(3, model.SourceIP{CIDRs: []string{"192.168.0.0/16"}}), "from 1"},
		"another Service":           {action(9, web), "Service shop/web:80"},
		"other weights":             {rule(4, func(r *model.Rule) { r.Actions[0].(model.Forward).Groups[0].Weight = new(int32(50)) }), "weight"},
		"stickiness": {rule(4, func(r *model.Rule) {
			f := r.Actions[0].(model.Forward)
			f.Stickiness = &model.TargetGroupStickiness{Enabled: new(true)}
			r.Actions[0] = f
		}), "/both"},
		"another redirect":           {action(5, model.Redirect{Host: "c.example.com", Status: "HTTP_301"}), "c.example.com"},
		"a redirect for a time":      {action(5, model.Redirect{Host: "b.example.com", Status: "HTTP_302"}), "HTTP_302"},
		"a redirect without a query": {action(5, model.Redirect{Host: "b.example.com", Status: "HTTP_301", DropQuery: true}), "/moved"},
		"another body":               {action(6, model.FixedResponse{Status: "410", Body: "away"}), "away"},
		"no authentication":          {action(7, web), "/login"},
		"another user pool":          {action(7, model.AuthCognito{UserPoolARN: "other", ClientID: "c"}, web), "/login"},
		"no rewrite":                 {rule(8, func(r *model.Rule) { r.Transforms = nil }), "/new"},
		"held":                       {rule(8, func(r *model.Rule) { r.Held = model.HeldInvalid }), "held"},
		"rules in another order": {func(s *model.Stack) {
			r := s.LoadBalancer.Listeners[0].Rules
			r[0].Conditions[1] = model.PathPattern{Values: []string{"/both", "/both/*"}}
		}, "/both"},
		"another default":   {func(s *model.Stack) { s.LoadBalancer.Listeners[0].Default = []model.Action{web} }, "default action"},
		"a port is missing": {func(s *model.Stack) { s.LoadBalancer.Listeners = nil }, "port 443: listener"},
		"a port more": {func(s *model.Stack) {
			s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, model.Listener{Port: 80})
		}, "port 80: listener"},
		"no TLS":         {func(s *model.Stack) { s.LoadBalancer.Listeners[0].TLS = nil }, "protocol"},
		"another policy": {func(s *model.Stack) { s.LoadBalancer.Listeners[0].TLS.Policy = "q" }, "TLS policy"},
		"an ALPN policy": {func(s *model.Stack) { s.LoadBalancer.Listeners[0].TLS.ALPN = "HTTP2Only" }, "ALPN policy"},
		"source NAT":     {func(s *model.Stack) { s.LoadBalancer.SourceNAT = "on" }, "source NAT"},
		"PrivateLink":    {func(s *model.Stack) { s.LoadBalancer.PrivateLinkRules = "off" }, "PrivateLink: Ingress on, Gateway off"},
		"a certificate less": {func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].TLS.Certificates = []model.CertChoice{model.CertARNs{ARNs: []string{"one"}}}
		}, "certificates"},
		"another default certificate": {func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].TLS.Certificates = []model.CertChoice{model.CertARNs{ARNs: []string{"two", "one"}}}
		}, "certificates"},
		"client certificates": {func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].TLS.MutualAuth = &model.MutualAuth{Mode: "passthrough"}
		}, "client certificates"},
		"listener attributes": {func(s *model.Stack) { s.LoadBalancer.Listeners[0].Attributes = map[string]string{"a": "b"} }, "attributes"},
		"public":              {func(s *model.Stack) { s.LoadBalancer.Scheme = model.InternetFacing }, "scheme"},
		"open to all": {func(s *model.Stack) {
			s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged).Group.Ingress[0].CIDR = "0.0.0.0/0"
		}, "admitted clients"},
		"given groups": {func(s *model.Stack) {
			s.LoadBalancer.SecurityGroups = model.SecurityGroupsGiven{Refs: []string{"sg-1"}}
		}, "security groups"},
		"a web ACL": {func(s *model.Stack) { s.LoadBalancer.AddOns.WebACL = &model.WebACL{ARN: "acl"} }, "web ACL"},
		"subnets":   {func(s *model.Stack) { s.LoadBalancer.Subnets = model.SubnetsNamed{Refs: []string{"a"}} }, "subnets"},
		"subnets by tags": {func(s *model.Stack) {
			s.LoadBalancer.Subnets = model.SubnetsTagged{Tags: map[string][]string{"zone": {"x"}, "team": {"b", "a"}}}
		}, "subnets: Ingress discovered, Gateway with tags team=a or b, zone=x"},
		"tags":                 {func(s *model.Stack) { s.LoadBalancer.Tags = map[string]string{"team": "b"} }, "tags"},
		"another target type":  {func(s *model.Stack) { s.TargetGroups[0].Type = model.InstanceTargets }, "target type"},
		"another health check": {func(s *model.Stack) { s.TargetGroups[1].HealthCheck.HTTPCodes = "200-399" }, "health check"},
		"multi-cluster":        {func(s *model.Stack) { s.TargetGroups[1].Binding.MultiCluster = true }, "multi-cluster"},
		"node labels": {func(s *model.Stack) {
			s.TargetGroups[1].Binding.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "web", "arch": "arm64"}}
		}, "nodes: Ingress none, Gateway arch=arm64,pool=web"},
		"another version": {func(s *model.Stack) { s.TargetGroups[1].ProtocolVersion = "GRPC" }, "protocol version"},
		"nothing":         {func(s *model.Stack) { s.LoadBalancer = nil }, "cannot be built"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := sampleStack()
			tt.change(&changed)
			got := compare(sampleStack(), changed)
			if all := textOfDifferences(got.Differences); !strings.Contains(all, tt.says) {
				t.Errorf("%d differences without %q:\n%s", len(got.Differences), tt.says, all)
			}
		})
	}
	origin := sampleStack()
	origin.LoadBalancer.Tags = map[string]string{"team": "a", ignoredTag: "ingress/shop/web"}
	if got := compare(sampleStack(), origin); len(got.Differences) > 0 {
		t.Errorf("the tag of the origin is a difference: %+v", got.Differences)
	}
}

// TestCombinedConditionsAreChecked checks that rules with several query parameters or headers are compared. If there are too
// many combinations of values to try all of them, the result must report the port as partial.
func TestCombinedConditionsAreChecked(t *testing.T) {
	t.Parallel()
	listening := func(status string, c ...model.Condition) model.Stack {
		s := sampleStack()
		s.LoadBalancer.Listeners[0].Rules = []model.Rule{{Conditions: c, Actions: []model.Action{model.FixedResponse{Status: status}}}}
		return s
	}
	parameters := func(n int) (out []model.Condition) {
		for i := range n {
			out = append(out, model.QueryString{Pairs: []model.QueryPair{{Key: "p" + strconv.Itoa(i), Value: "1"}}})
		}
		return out
	}
	headers := func(n, values int) (out []model.Condition) {
		for i := range n {
			h := model.HTTPHeader{Name: "h" + strconv.Itoa(i)}
			for v := range values {
				h.Values = append(h.Values, strconv.Itoa(v))
			}
			out = append(out, h)
		}
		return out
	}
	for name, tt := range map[string]struct {
		conditions []model.Condition
		partial    bool
	}{
		"three parameters":  {parameters(3), false},
		"ten parameters":    {parameters(10), false},
		"twelve parameters": {parameters(12), true},
		"256 headers":       {headers(4, 2), false},
		"more headers":      {headers(6, 1), true},
	} {
		got := compare(listening("200", tt.conditions...), listening("201", tt.conditions...))
		if len(got.Partial) > 0 != tt.partial || len(got.Differences) != 1 && !tt.partial {
			t.Errorf("%s: %d differences, not all tried: %v", name, len(got.Differences), got.Partial)
		}
	}
}
