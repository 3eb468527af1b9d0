package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

var importOptions = func() plan.Options {
	o := testOptions
	o.ImportCertificates = true
	return o
}()

const importedID = "imported/ns/tls"

// withImportedCertificate adds TLS with a certificate imported from a Secret to a stack. A nil identity means that the
// content of the Secret cannot be used.
func withImportedCertificate(s model.Stack, is *model.CertificateIdentity) model.Stack {
	use := finding.Origin{Object: testMember, Field: "spec.tls[0].secretName"}
	c := model.ManagedCertificate{ID: importedID, Member: testMember, Of: use, Import: &model.CertificateImport{Secret: "ns/tls", Uses: []finding.Origin{use}}}
	if is != nil {
		c.Import.Content = &model.CertificateContent{Body: "body", Key: "key", Is: *is}
	}
	s.Certificates = []model.ManagedCertificate{c}
	for i := range s.LoadBalancer.Listeners {
		s.LoadBalancer.Listeners[i].TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{model.CertManaged{Member: testMember, IDs: []string{c.ID}}}}
	}
	return s
}

// validCertificate returns a certificate that is valid at the time of the tests.
func validCertificate(fingerprint, algorithm string) model.CertificateIdentity {
	now := ownCertificateFacts().Now
	return model.CertificateIdentity{
		Fingerprint: fingerprint, Names: []string{"a"}, Algorithm: algorithm,
		NotBefore: now.Add(-time.Hour).Unix(), NotAfter: now.Add(time.Hour).Unix(),
	}
}

func TestCertificateImportDependsOnState(t *testing.T) {
	now := ownCertificateFacts().Now
	fit := validCertificate("new", "EC")
	expired, early := fit, fit
	expired.NotAfter = now.Add(-time.Minute).Unix()
	early.NotBefore = now.Add(time.Minute).Unix()
	longer, ending := fit, validCertificate("old", "EC")
	longer.NotAfter, ending.NotAfter = now.Add(2*time.Hour).Unix(), now.Add(10*time.Minute).Unix()
	shorter := ending
	shorter.Fingerprint = "another"
	wider := fit
	wider.Names = []string{"a", "b"}
	ofOther := func(name string) []model.ClaimedName {
		return []model.ClaimedName{{Name: name, Host: name, By: finding.Ref{Kind: "Ingress", Namespace: "other", Name: "web"}}}
	}
	live := func(arn string, is model.CertificateIdentity) observed.OwnCertificate {
		return observed.OwnCertificate{ARN: arn, ResourceID: importedID, Status: observed.CertificateIssued, ImportedIdentity: &is}
	}
	old, otherKey := validCertificate("old", "EC"), validCertificate("old", "RSA")
	for name, c := range map[string]struct {
		is     *model.CertificateIdentity
		own    []observed.OwnCertificate
		paused time.Duration
		// expiring is the pause of imports that replace a certificate which expires before paused ends.
		expiring time.Duration
		counts   observed.Imports
		claimed  []model.ClaimedName // names for hosts of other namespaces
		steps    []string            // steps for certificates
		in       string              // ARN of the certificate that the import replaces
		serves   string
		found    finding.Reason
	}{
		"none is imported":                 {is: &fit, steps: []string{"import", "await"}},
		"it is there":                      {is: &fit, own: []observed.OwnCertificate{live("1", fit)}, serves: "1"},
		"of two one serves":                {is: &fit, own: []observed.OwnCertificate{live("1", fit), live("2", fit)}, serves: "1", steps: []string{"delete"}},
		"another is renewed":               {is: &fit, own: []observed.OwnCertificate{live("1", old)}, serves: "1", steps: []string{"import"}, in: "1"},
		"a key of another type":            {is: &fit, own: []observed.OwnCertificate{live("1", otherKey)}, serves: "1", steps: []string{"import", "await"}},
		"it is imported, the old one goes": {is: &fit, own: []observed.OwnCertificate{live("1", otherKey), live("2", fit)}, serves: "2", steps: []string{"delete"}},
		"it cannot be used":                {own: []observed.OwnCertificate{live("1", old)}, serves: "1"},
		"it cannot be used, none live":     {},
		"a host of another":                {is: &fit, claimed: ofOther("a"), found: finding.HostNotOwned},
		"an edit adds a host of another":   {is: &wider, own: []observed.OwnCertificate{live("1", old)}, claimed: ofOther("b"), serves: "1", found: finding.HostNotOwned},
		"it had the host before another":   {is: &wider, own: []observed.OwnCertificate{live("1", old)}, claimed: ofOther("a"), serves: "1", steps: []string{"import"}, in: "1"},
		"expired":                          {is: &expired, own: []observed.OwnCertificate{live("1", old)}, serves: "1", found: finding.CertificateInvalid},
		"expired and live":                 {is: &expired, own: []observed.OwnCertificate{live("1", expired)}, serves: "1", found: finding.CertificateInvalid},
		"not valid yet":                    {is: &early, own: []observed.OwnCertificate{live("1", old)}, serves: "1", found: finding.CertificateInvalid},
		"too often":                        {is: &fit, own: []observed.OwnCertificate{live("1", old)}, serves: "1", paused: time.Hour, steps: []string{"await"}, found: finding.ImportsLimited},
		"too often, ends before that":      {is: &longer, own: []observed.OwnCertificate{live("1", ending)}, serves: "1", paused: 2 * time.Hour, steps: []string{"import"}, in: "1"},
		"too often, later is in time":      {is: &longer, own: []observed.OwnCertificate{live("1", old)}, serves: "1", paused: 2 * time.Hour, steps: []string{"await"}, found: finding.ImportsLimited},
		"too often for all":                {is: &longer, own: []observed.OwnCertificate{live("1", ending)}, serves: "1", paused: 2 * time.Hour, expiring: time.Minute, steps: []string{"await"}, found: finding.ImportsLimited},
		"too often, and ends no later":     {is: &ending, own: []observed.OwnCertificate{live("1", shorter)}, serves: "1", paused: 2 * time.Hour, steps: []string{"await"}, found: finding.ImportsLimited},
		"others have nearly all":           {is: &fit, counts: observed.Imports{AccountTotal: 2499}, steps: []string{"import", "await"}},
		"there is no room":                 {is: &fit, counts: observed.Imports{AccountTotal: 2500}, steps: []string{"await"}, found: finding.QuotaReached},
		"it has as many as are left":       {is: &fit, counts: observed.Imports{AccountTotal: 1250, ByNamespace: map[string]int{"ns": 1250}}, steps: []string{"await"}, found: finding.QuotaReached},
		"the others have few":              {is: &fit, counts: observed.Imports{AccountTotal: 1100, ByNamespace: map[string]int{"ns": 800}, OtherTenants: slices.Repeat([]int{10}, 30)}, steps: []string{"import", "await"}},
		"what is left is for others":       {is: &fit, counts: observed.Imports{AccountTotal: 2250, ByNamespace: map[string]int{"ns": 50}, OtherTenants: slices.Repeat([]int{275}, 8)}, steps: []string{"await"}, found: finding.QuotaReached},
		"it has few, the others many":      {is: &fit, counts: observed.Imports{AccountTotal: 2259, ByNamespace: map[string]int{"ns": 9}, OtherTenants: slices.Repeat([]int{250}, 9)}, steps: []string{"import", "await"}},
		"it has as many and is renewed":    {is: &fit, own: []observed.OwnCertificate{live("1", old)}, counts: observed.Imports{AccountTotal: 1250, ByNamespace: map[string]int{"ns": 1250}}, serves: "1", steps: []string{"import"}, in: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			memory := plan.Memory{PausedImports: map[string]plan.ImportPause{importedID: {UsualDuration: c.paused, DurationIfExpiring: c.expiring}}}
			facts := ownCertificateFacts(c.own...)
			facts.Imports, facts.Validations = c.counts, map[string]observed.Validation{}
			for _, o := range c.own {
				facts.Validations[o.ARN] = observed.Validation{}
			}
			want := withImportedCertificate(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), c.is)
			want.Certificates[0].Import.Claimed = c.claimed
			p, found := planner.Make(want, observed.Stack{Facts: facts}, importOptions, memory)
			var got []string
			serves := ""
			for _, s := range p.Steps {
				switch do := s.Do.(type) {
				case plan.ImportCertificate:
					if !s.Waits() && do.ARN != c.in {
						t.Errorf("imported in place of %q, want %q", do.ARN, c.in)
					}
				case plan.CreateListener:
					serves = do.Settings.Certificate
				}
				if s.Address.Kind == plan.Certificate {
					verb, _, _ := strings.Cut(string(s.ID), " ")
					got = append(got, verb)
				}
			}
			slices.Sort(got)
			slices.Sort(c.steps)
			if diff := cmp.Diff(c.steps, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if serves != c.serves {
				t.Errorf("the listener has %q, want %q", serves, c.serves)
			}
			has := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == c.found && strings.Contains(f.Message, `"ns/tls"`) })
			if (c.found != "") != has {
				t.Errorf("findings: %v", found)
			}
			if c.is == &early && p.RetryAfter != time.Minute {
				t.Errorf("again after %s", p.RetryAfter)
			}
			if text := p.Text() + fmt.Sprintf("%+v %#v", p, p); strings.Contains(text, "Key:key") || strings.Contains(text, `Key:"key"`) {
				t.Error("the key is shown")
			}
		})
	}
}

// TestListenerHasTheLastCertificateOfTheSecret checks that, after any sequence of changes of a Secret, the listener has the
// last valid certificate of the Secret, and no other imported certificate exists.
func TestListenerHasTheLastCertificateOfTheSecret(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 30, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 8))
		have := observed.Stack{Facts: ownCertificateFacts()}
		last := ""
		for range 5 {
			want := randomDesired(r)
			is := validCertificate(fmt.Sprint(r.IntN(3)), []string{"EC", "RSA"}[r.IntN(2)])
			is.Fingerprint += is.Algorithm
			switch r.IntN(4) {
			case 0:
				want, last = withFinalizers(want), ""
			case 1:
				want = withImportedCertificate(withFinalizers(want), nil)
			default:
				want, last = withImportedCertificate(withFinalizers(want), &is), is.Fingerprint
			}
			var p plan.Plan
			waited := map[string]time.Duration{}
			for range 12 {
				dropFactsReadForEachPlan(&have)
				for range 5 {
					p, _ = planner.Make(want, have, importOptions, plan.Memory{WaitedTimes: waited})
					answerCertificates(&have, p.Questions)
					answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
				}
				have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
			}
			if len(want.Certificates) > 0 && last == "" {
				continue // the Secret never had a certificate
			}
			var left []string
			for _, c := range have.Facts.OwnCertificates {
				left = append(left, c.ImportedIdentity.Fingerprint)
			}
			if strings.Join(left, " ") != last {
				t.Fatalf("seed %d: left %v, want %q\n%s", seed, left, last, p.Text())
			}
			lb := have.LiveLoadBalancer(model.LoadBalancerID)
			if lb == nil || last == "" || len(lb.Listeners) == 0 || len(want.LoadBalancer.Listeners) == 0 || lb.Listeners[0].Port != want.LoadBalancer.Listeners[0].Port {
				continue
			}
			if got := lb.Listeners[0].Certificate; got != have.Facts.OwnCertificates[0].ARN {
				t.Fatalf("seed %d: the listener has %s", seed, got)
			}
		}
	})
}
