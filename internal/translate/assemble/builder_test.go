package assemble_test

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// newMember returns a member with port 80. change sets its settings; of returns the origin of a setting.
func newMember(kind, name string, change func(s *settings.Shared, of func(field string) finding.Origin)) *members.Member {
	m := &members.Member{Ref: finding.Ref{Kind: kind, Namespace: "shop", Name: name}, Ports: []settings.ListenPort{{Port: 80}}}
	change(&m.Set, func(field string) finding.Origin { return finding.Origin{Object: m.Ref, Field: field} })
	return m
}

func buildLoadBalancer(kind model.Kind, live *observed.Stack, all ...*members.Member) (*assemble.Builder, *model.LoadBalancer) {
	b := &assemble.Builder{
		Translation: members.Translation{ID: model.StackID{Kind: kind, Name: "team"}, Live: live, Members: all},
		Options:     assemble.Options{Cluster: "rig", DefaultScheme: model.Internal},
	}
	for _, m := range all {
		b.SetMemberTags(m)
	}
	b.MergePorts()
	return b, b.BuildLoadBalancer()
}

func setScheme(v model.Scheme) func(*settings.Shared, func(string) finding.Origin) {
	return func(s *settings.Shared, of func(string) finding.Origin) { s.Scheme = settings.NewOpt(v, of("scheme")) }
}

// TestConflictingSettingKeepsValueInAWS checks for each kind of stack that a setting with different values on two members
// keeps its value in AWS if one member sets this value.
func TestConflictingSettingKeepsValueInAWS(t *testing.T) {
	live := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Scheme: model.InternetFacing, AddressType: model.IPv4}}}
	for _, kind := range model.Kinds {
		newcomer, incumbent := newMember(string(kind), "a", setScheme(model.Internal)), newMember(string(kind), "b", setScheme(model.InternetFacing))
		b, lb := buildLoadBalancer(kind, nil, newcomer, incumbent)
		if lb.Scheme != model.Internal || !b.Stack.Contested {
			t.Errorf("%s: without a live load balancer the scheme is %s, contested %v", kind, lb.Scheme, b.Stack.Contested)
		}
		b, lb = buildLoadBalancer(kind, live, newcomer, incumbent)
		if lb.Scheme != model.InternetFacing {
			t.Errorf("%s: the newcomer makes the load balancer %s", kind, lb.Scheme)
		}
		if on := b.Found.ForObject(newcomer.Ref); len(on) != 1 || on[0].Reason != finding.AnnotationConflict {
			t.Errorf("%s: the newcomer gets %v", kind, on)
		}
	}
}

func TestFindingsUseSettingNamesOfKind(t *testing.T) {
	named := func(name string) func(*settings.Shared, func(string) finding.Origin) {
		return func(s *settings.Shared, of func(string) finding.Origin) {
			s.Name = settings.NewOpt(name, of("name"))
			s.InboundCIDRs = settings.NewOpt([]string{"2001:db8::/32"}, of("ranges"))
		}
	}
	for kind, want := range map[model.Kind][]string{
		model.Ingress: {`load-balancer-name "one" disagrees`, "set ip-address-type to dualstack"},
		model.Service: {`name "one" disagrees`, "set ip-address-type to dualstack"},
	} {
		b, _ := buildLoadBalancer(kind, nil, newMember(string(kind), "a", named("two")), newMember(string(kind), "b", named("one")))
		var all strings.Builder
		for _, f := range b.Found {
			all.WriteString("\n" + f.Text())
		}
		for _, w := range want {
			if !strings.Contains(all.String(), "\n"+w) && !strings.Contains(all.String(), w) {
				t.Errorf("%s: no finding has %q:%s", kind, w, all.String())
			}
		}
		if kind == model.Service && strings.Contains(all.String(), "load-balancer-name") {
			t.Errorf("a finding about a Service has the setting name of an Ingress:%s", all.String())
		}
	}
}

func TestNamesDependOnOwnerUID(t *testing.T) {
	b, lb := buildLoadBalancer(model.Service, nil, newMember("Service", "a", setScheme(model.Internal)))
	b.OwnerUID = "11111111-0000-4000-8000-000000000009"
	owned := b.BuildLoadBalancer()
	if owned.Name == lb.Name {
		t.Errorf("the name is %s with and without the uid", owned.Name)
	}
	if g, ok := owned.SecurityGroups.(model.SecurityGroupsManaged); !ok || g.Group.Name == lb.SecurityGroups.(model.SecurityGroupsManaged).Group.Name {
		t.Errorf("the security group is %+v with and without the uid", owned.SecurityGroups)
	}
}

func TestCertificateAuthorityOfMemberHasPrecedence(t *testing.T) {
	for own, want := range map[string]string{"": "default", "mine": "mine"} {
		m := newMember("Ingress", "a", func(s *settings.Shared, of func(string) finding.Origin) {
			s.CreateCertificate, s.CertificateCA = settings.NewOpt(true, of("create-acm-cert")), settings.NewOpt(own, of("acm-pca-arn"))
		})
		m.Hosts = []string{"a.example.com"}
		b := &assemble.Builder{Options: assemble.Options{ManageCertificates: true, DefaultCA: "default"}}
		if b.RequestCertificate(m); m.Certificate.CA != want {
			t.Errorf("acm-pca-arn %q: the certificate authority is %q", own, m.Certificate.CA)
		}
	}
}
