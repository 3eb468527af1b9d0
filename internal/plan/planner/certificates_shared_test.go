package planner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// stackWithSecrets returns a stack with one member in each namespace. counts has the number of TLS Secrets that each member
// names.
func stackWithSecrets(counts map[string]int) model.Stack {
	s := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	l := &s.LoadBalancer.Listeners[0]
	l.TLS = &model.TLS{Policy: "p"}
	for _, namespace := range slices.Sorted(maps.Keys(counts)) {
		m := finding.Ref{Kind: "Ingress", Namespace: namespace, Name: "web"}
		s.Members = append(s.Members, model.Member{Ref: m, Finalizer: "f", Claimed: true})
		choice := model.CertManaged{Member: m}
		for i := range counts[namespace] {
			name := fmt.Sprintf("s%02d", i)
			use := finding.Origin{Object: m, Field: "spec.tls"}
			c := model.ManagedCertificate{ID: "imported/" + namespace + "/" + name, Member: m, Of: use, Import: &model.CertificateImport{
				Secret: namespace + "/" + name, Uses: []finding.Origin{use},
				Content: &model.CertificateContent{Body: "body", Key: "key", Is: validCertificate(namespace+name, "EC")},
			}}
			s.Certificates, choice.IDs = append(s.Certificates, c), append(choice.IDs, c.ID)
		}
		l.Members, l.TLS.Certificates = append(l.Members, m), append(l.TLS.Certificates, choice)
	}
	return s
}

// importSteps returns the number of certificates that a plan imports, by the namespace of their Secrets.
func importSteps(p plan.Plan) map[string]int {
	out := map[string]int{}
	for _, s := range p.Steps {
		if do, ok := s.Do.(plan.ImportCertificate); ok && !s.Waits() {
			namespace, _, _ := strings.Cut(do.Secret, "/")
			out[namespace]++
		}
	}
	return out
}

// TestNamespacesShareTheCertificatesOfALoadBalancer checks that imported certificates get the places of a load balancer by
// the shares of namespaces, and that no certificate that is imported already loses its place.
func TestNamespacesShareTheCertificatesOfALoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		secrets  map[string]int
		imported int // number of certificates of namespace a that are imported already
		want     map[string]int
	}{
		"one names more than there are places": {map[string]int{"a": 40, "b": 1}, 0, map[string]int{"a": 24, "b": 1}},
		"both do":                              {map[string]int{"a": 40, "b": 40}, 0, map[string]int{"a": 13, "b": 12}},
		"one has some and waits for the other": {map[string]int{"a": 40, "b": 9}, 20, map[string]int{"b": 5}},
		"one has all":                          {map[string]int{"a": 40, "b": 9}, 25, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			want, facts := stackWithSecrets(c.secrets), ownCertificateFacts()
			for _, w := range want.Certificates {
				if len(facts.OwnCertificates) < c.imported && strings.HasPrefix(w.Import.Secret, "a/") {
					facts.OwnCertificates = append(facts.OwnCertificates, observed.OwnCertificate{
						ARN: "arn " + w.ID, ResourceID: w.ID, Status: observed.CertificateIssued, ImportedIdentity: &w.Import.Content.Is,
					})
				}
			}
			p, _ := planner.Make(want, observed.Stack{Facts: facts}, importOptions, plan.Memory{})
			if diff := cmp.Diff(c.want, importSteps(p)); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

// TestImportsOfOtherNamespacesDoNotCount checks that the first certificate of a namespace is imported while the account has
// room, even if the same plan imports certificates of another namespace.
func TestImportsOfOtherNamespacesDoNotCount(t *testing.T) {
	facts := ownCertificateFacts()
	facts.Imports.AccountTotal = plan.DefaultImportedCertificateQuota - 12
	p, _ := planner.Make(stackWithSecrets(map[string]int{"a": 12, "b": 1}), observed.Stack{Facts: facts}, importOptions, plan.Memory{})
	if got := importSteps(p); got["b"] != 1 {
		t.Errorf("imports: %v", got)
	}
}

// TestMembersShareACertificateAtTheQuota checks that a new certificate that two members request replaces one attached
// certificate, and that none of the members is held.
func TestMembersShareACertificateAtTheQuota(t *testing.T) {
	other := finding.Ref{Kind: "Ingress", Namespace: "team", Name: "web"}
	stack := func(own, others []string) model.Stack {
		s := withFinalizers(stackWithRules(forwardRule("/a", "g1"), forwardRule("/b", "g2")))
		s.Members = append(s.Members, model.Member{Ref: other, Finalizer: "f", Claimed: true})
		l := &s.LoadBalancer.Listeners[0]
		l.Members = append(l.Members, other)
		l.Rules[1].Member, l.Rules[1].Origin.Object = other, other
		l.TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{
			model.CertARNs{Member: testMember, ARNs: own}, model.CertARNs{Member: other, ARNs: others},
		}}
		return s
	}
	for _, unused := range [][]string{{"y"}, {"y", "z"}} {
		t.Run(strings.Join(unused, " "), func(t *testing.T) {
			have := converge(t, stack(append([]string{"d"}, unused...), []string{"d"}), observed.Stack{Facts: testFacts()})
			have.Facts.CertificatesAsked = true
			want := stack([]string{"d", "x"}, []string{"d", "x"})
			want.LoadBalancer.Listeners[0].TLS.OverQuota = []string{"x"}
			certs := planner.Choose(want, have, testOptions, plan.Memory{}).LoadBalancers[0].Listeners[0].Certs
			if len(certs.BlockedMembers) > 0 || !slices.Contains(certs.List, "x") || len(certs.ReplacedBy) != 1 {
				t.Errorf("held: %v, certificates: %v, replaced: %v", certs.BlockedMembers, certs.List, certs.ReplacedBy)
			}
		})
	}
}
