package planner_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

var managedCertificateOptions = func() plan.Options {
	o := testOptions
	o.ManageCertificates = true
	return o
}()

// withManagedCertificate adds TLS with a managed certificate for the hosts to a stack.
func withManagedCertificate(s model.Stack, hosts ...string) model.Stack {
	const id = "amazon_issued/x-1"
	s.Certificates = []model.ManagedCertificate{{ID: id, Member: testMember, Domain: hosts[0], Hosts: hosts, Of: finding.Origin{Object: testMember, Field: "create"}}}
	for i := range s.LoadBalancer.Listeners {
		l := &s.LoadBalancer.Listeners[i]
		l.TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{model.CertManaged{Member: testMember, IDs: []string{id}}}}
	}
	return s
}

// testHostedZones has a public zone for each test host.
var testHostedZones = &observed.HostedZones{Zones: []observed.HostedZone{{ID: "ZA", Name: "a"}, {ID: "ZB", Name: "b"}, {ID: "ZC", Name: "c"}}}

// deniedZone returns testHostedZones with a fault for changes in one zone.
func deniedZone(id string, f *observed.Fault) *observed.HostedZones {
	zones := slices.Clone(testHostedZones.Zones)
	for i := range zones {
		if zones[i].ID == id {
			zones[i].WriteFault = f
		}
	}
	return &observed.HostedZones{Zones: zones}
}

// dropFactsReadForEachPlan removes the facts that are read again for each plan.
func dropFactsReadForEachPlan(have *observed.Stack) {
	have.Facts.Health, have.Facts.Validations = map[string]observed.Health{}, nil
	have.Facts.PublicCertificates, have.Facts.PublicCertificatesAsked = nil, false
}

// answerCertificates stores the answers to the questions about certificates in the facts of have.
func answerCertificates(have *observed.Stack, asks []model.Question) {
	for _, q := range asks {
		switch q := q.(type) {
		case model.AskHostedZones:
			have.Facts.HostedZones = testHostedZones
		case model.AskPublicCertificates:
			have.Facts.PublicCertificatesAsked = true
			for _, c := range have.Facts.OwnCertificates {
				if c.Public {
					have.Facts.PublicCertificates = append(have.Facts.PublicCertificates, observed.PublicCertificate{ARN: c.ARN, Domains: c.Domains})
				}
			}
		case model.AskValidation:
			v := observed.Validation{InUse: plantest.UsesCertificate(*have, q.ARN)}
			for _, c := range have.Facts.OwnCertificates {
				if c.ARN == q.ARN {
					v.Records = plantest.ValidationRecords(c.Domains)
				}
			}
			if have.Facts.Validations == nil {
				have.Facts.Validations = map[string]observed.Validation{}
			}
			have.Facts.Validations[q.ARN] = v
		}
	}
}

func ownCertificateFacts(own ...observed.OwnCertificate) observed.Facts {
	f := addOnFacts()
	f.OwnCertificatesAsked, f.OwnCertificates = true, own
	f.HostedZones = testHostedZones
	f.Now = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	return f
}

func TestManagedCertificatesFollowTheirHosts(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 60, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		have := observed.Stack{Facts: ownCertificateFacts()}
		hosts := []string{"a", "b", "c"}
		for range 4 {
			want := randomDesired(r)
			n := r.IntN(3)
			if n > 0 {
				want = withManagedCertificate(want, hosts[:n]...)
			}
			for range 10 {
				dropFactsReadForEachPlan(&have)
				p, _ := planner.Make(want, have, managedCertificateOptions, plan.Memory{})
				for range 5 {
					answerCertificates(&have, p.Questions)
					answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
					p, _ = planner.Make(want, have, managedCertificateOptions, plan.Memory{})
				}
				have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
			}
			lb := have.LiveLoadBalancer(model.LoadBalancerID)
			if lb == nil || n == 0 {
				continue
			}
			if len(have.Facts.OwnCertificates) != 1 || !slices.Equal(have.Facts.OwnCertificates[0].Domains, hosts[:n]) {
				t.Fatalf("seed %d: want one certificate for %v, got %v", seed, hosts[:n], have.Facts.OwnCertificates)
			}
			if want.LoadBalancer.Listeners[0].Port == lb.Listeners[0].Port && lb.Listeners[0].Certificate != have.Facts.OwnCertificates[0].ARN {
				t.Fatalf("seed %d: the listener has %s", seed, lb.Listeners[0].Certificate)
			}
		}
		empty := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
		for range 4 {
			dropFactsReadForEachPlan(&have)
			p, _ := planner.Make(empty, have, managedCertificateOptions, plan.Memory{})
			answerCertificates(&have, p.Questions)
			answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
			p, _ = planner.Make(empty, have, managedCertificateOptions, plan.Memory{})
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
		}
		if len(have.Facts.OwnCertificates) > 0 {
			t.Fatalf("seed %d: deletion leaves %v", seed, have.Facts.OwnCertificates)
		}
	})
}

func TestManagedCertificateStepsDependOnState(t *testing.T) {
	const id = "amazon_issued/x-1"
	now := ownCertificateFacts().Now
	cert := func(arn, status string, age time.Duration, hosts ...string) observed.OwnCertificate {
		return observed.OwnCertificate{ARN: arn, ResourceID: id, Status: status, Domains: hosts, Created: now.Add(-age), Public: true, RecordsMissing: status == observed.CertificatePendingValidation}
	}
	request, issue := "request certificate/"+id, "issue certificate/"+id
	for name, c := range map[string]struct {
		own   []observed.OwnCertificate
		steps []string // steps for certificates
		made  bool     // whether a load balancer is created
		again time.Duration
	}{
		"none is requested first":              {steps: []string{request, issue}, again: durations.FirstBackOff},
		"one on its way is waited for":         {own: []observed.OwnCertificate{cert("1", "PENDING_VALIDATION", time.Hour, "a")}, steps: []string{issue}, again: durations.FirstBackOff},
		"one that is issued serves":            {own: []observed.OwnCertificate{cert("1", "ISSUED", time.Hour, "a")}, made: true},
		"one that failed now is left":          {own: []observed.OwnCertificate{cert("1", "FAILED", time.Minute, "a")}, steps: []string{issue}, again: durations.MissingWait},
		"one that failed long ago is repeated": {own: []observed.OwnCertificate{cert("1", "VALIDATION_TIMED_OUT", 73*time.Hour, "a")}, steps: []string{request, issue}, again: durations.FirstBackOff},
		"one for other hosts serves meanwhile": {own: []observed.OwnCertificate{cert("1", "ISSUED", time.Hour, "b")}, steps: []string{request, issue}, made: true, again: durations.FirstBackOff},
		"a failed one beside an issued one goes": {own: []observed.OwnCertificate{cert("1", "FAILED", time.Hour, "a"), cert("2", "ISSUED", time.Hour, "a")},
			steps: []string{"delete certificate/1"}, made: true},
		"of two one serves": {own: []observed.OwnCertificate{cert("1", "ISSUED", time.Hour, "a"), cert("2", "ISSUED", time.Hour, "a")},
			steps: []string{"delete certificate/2"}, made: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := withManagedCertificate(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), "a")
			have := observed.Stack{Facts: ownCertificateFacts(c.own...)}
			p, _ := planner.Make(want, have, managedCertificateOptions, plan.Memory{})
			answerCertificates(&have, p.Questions)
			p, _ = planner.Make(want, have, managedCertificateOptions, plan.Memory{})
			var got []string
			made := false
			for _, s := range p.Steps {
				made = made || s.ID == "create load-balancer/LoadBalancer"
				if s.Address.Kind == plan.Certificate {
					got = append(got, string(s.ID))
				}
				if s.Waits() && s.Wait.RetryAfter != c.again {
					t.Errorf("looks again after %s, want %s", s.Wait.RetryAfter, c.again)
				}
			}
			if diff := cmp.Diff(c.steps, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if made != c.made {
				t.Errorf("a load balancer is made: %t", made)
			}
		})
	}
}
