package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

func TestStepsHaveARNsOfTargetGroupsGivenByName(t *testing.T) {
	named := []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{Name: "external"}}}}}
	rule := forwardRule("/a", "")
	rule.Actions = named
	want := stackWithRules(rule)
	want.TargetGroups = nil
	want.LoadBalancer.Listeners[0].Default, want.LoadBalancer.Listeners[0].DefaultOf = named, rule.Origin
	have := observed.Stack{Facts: testFacts()}
	have.Facts.TargetGroups = map[string]string{"external": "arn:external"}

	p, found := planner.Make(withFinalizers(want), have, testOptions, plan.Memory{})
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	resolved := []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn:external"}}}}}
	seen := 0
	for _, s := range p.Steps {
		var got []model.Action
		switch do := s.Do.(type) {
		case plan.CreateListener:
			got = do.Settings.Default
		case plan.CreateRule:
			got = do.Rule.Actions
		default:
			continue
		}
		seen++
		if diff := cmp.Diff(resolved, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.ID, diff)
		}
	}
	if seen != 2 {
		t.Errorf("%d steps with actions, want a listener and a rule:\n%s", seen, stepIDsText(p))
	}
	if diff := cmp.Diff(model.TargetGroupRef{Name: "external"}, named[0].(model.Forward).Groups[0].Group); diff != "" {
		t.Errorf("the desired state was changed (-want +got):\n%s", diff)
	}
}

func TestUnsetMutualAuthenticationIsTurnedOff(t *testing.T) {
	first := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	l := &first.LoadBalancer.Listeners[0]
	l.Port, l.TLS = 443, &model.TLS{Policy: "p", MutualAuth: &model.MutualAuth{Mode: "passthrough"}, Certificates: []model.CertChoice{
		model.CertARNs{Member: testMember, ARNs: []string{"iam-certificate"}},
	}}
	have := converge(t, first, observed.Stack{Facts: testFacts()})
	second := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	second.LoadBalancer.Listeners[0].Port = 443
	second.LoadBalancer.Listeners[0].TLS = &model.TLS{Policy: "p", Certificates: l.TLS.Certificates}
	for name, c := range map[string]struct {
		kind          model.Kind
		enhanced, off bool
	}{
		"an Ingress keeps it":             {model.Ingress, false, false},
		"the feature gate switches off":   {model.Ingress, true, true},
		"a Gateway needs no feature gate": {model.ALBGateway, false, true},
	} {
		opt := testOptions
		opt.EnhancedDefaults = c.enhanced
		second.ID.Kind = c.kind
		p, _ := planner.Make(second, have, opt, plan.Memory{})
		off := false
		for _, s := range p.Steps {
			if do, ok := s.Do.(plan.ModifyListener); ok {
				off = do.Settings.MutualAuth != nil && do.Settings.MutualAuth.Mode == "off"
			}
		}
		if off != c.off || !c.off && !p.Empty() {
			t.Errorf("%s: switched off is %t, want %t\n%s", name, off, c.off, p.Text())
		}
	}
}

// TestCertificateOfAHeldMemberBecomesTheDefault checks that an additional certificate of the existing listener, which
// belongs to a held member, becomes the default certificate if no accepted member of the port has a host or names a
// certificate.
func TestCertificateOfAHeldMemberBecomesTheDefault(t *testing.T) {
	held := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "held"}
	desired := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	l := &desired.LoadBalancer.Listeners[0]
	l.Port, l.TLS = 443, &model.TLS{Policy: "p", Certificates: []model.CertChoice{
		model.CertARNs{Member: testMember, ARNs: []string{"certificate-a"}}, model.CertARNs{Member: held, ARNs: []string{"certificate-b"}},
	}}
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	have.Facts.CertificatesAsked, have.Facts.Certificates = true, []observed.Certificate{
		{ARN: "certificate-a", Domains: []string{"a.example.com"}}, {ARN: "certificate-b", Domains: []string{"b.example.com"}},
	}
	l.TLS = &model.TLS{Policy: "p"}
	l.Rules = append(l.Rules, model.Rule{
		Conditions: []model.Condition{model.HostHeader{Values: []string{"b.example.com"}}}, Member: held, Held: model.HeldInvalid,
	})
	desired.Members = append(desired.Members, model.Member{Ref: held, Finalizer: "f", Claimed: true, Blocked: true})
	p, _ := planner.Make(desired, have, testOptions, plan.Memory{})
	for _, s := range p.Steps {
		if do, ok := s.Do.(plan.ModifyListener); ok && do.Settings.Certificate == "certificate-b" {
			return
		}
	}
	t.Errorf("want certificate-b to be the default, got\n%s", p.Text())
}

// TestGatewaysFindRequestedCertificates checks that a certificate that was requested for an Ingress is found by the hostname of
// a Gateway, while discovery for Ingresses excludes it with feature gate EnableCertificateManagement.
func TestGatewaysFindRequestedCertificates(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	desired.LoadBalancer.Listeners[0].TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{model.CertHosts{Member: testMember, Hosts: []string{"a.example.com"}, Fields: []string{"f"}}}}
	have := observed.Stack{Facts: testFacts()}
	have.Facts.CertificatesAsked, have.Facts.Certificates = true, []observed.Certificate{{
		ARN: "requested", Status: observed.CertificateIssued, Domains: []string{"a.example.com"},
		Owner: &observed.CertificateOwner{Managed: true, Kind: model.Ingress, ResourceID: "amazon_issued/x-1"},
	}}
	opt := managedCertificateOptions
	opt.SkipManagedCertificates = true
	for kind, want := range map[model.Kind]string{model.Ingress: "", model.ALBGateway: "requested"} {
		desired.ID.Kind = kind
		p, found := planner.Make(desired, have, opt, plan.Memory{})
		got := ""
		for _, s := range p.Steps {
			if do, ok := s.Do.(plan.CreateListener); ok {
				got = do.Settings.Certificate
			}
		}
		if got != want {
			t.Errorf("%s: the listener has certificate %q, want %q: %v", kind, got, want, found)
		}
	}
}
