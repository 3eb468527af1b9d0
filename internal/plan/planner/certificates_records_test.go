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
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// dnsRecordNames has the names of the DNS records that exist in the simulation.
type dnsRecordNames map[string]bool

func (n dnsRecordNames) applyStep(s plan.Step) {
	switch do := s.Do.(type) {
	case plan.CreateRecord:
		n[do.Name] = true
	case plan.DeleteRecord:
		delete(n, do.Name) // deleting a record again, after a crash, has no effect
	}
}

func newDNSRecordNames(domains ...[]string) dnsRecordNames {
	out := dnsRecordNames{}
	for _, d := range domains {
		for _, r := range plantest.ValidationRecords(d) {
			out[r.Name] = true
		}
	}
	return out
}

// withRandomCertificates returns a desired state with certificates of up to three members, for hosts that overlap.
func withRandomCertificates(r *rand.Rand, s model.Stack) model.Stack {
	choice := []string{"a", "*.a", "x.a", "b", "c"}
	var choices []model.CertChoice
	for i := range 3 {
		if r.IntN(3) == 0 {
			continue
		}
		id := fmt.Sprint("amazon_issued/", i)
		ref := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: fmt.Sprint("m", i)}
		var hosts []string
		for _, j := range r.Perm(len(choice))[:1+r.IntN(3)] {
			hosts = append(hosts, choice[j])
		}
		slices.Sort(hosts)
		w := model.ManagedCertificate{ID: id, Member: ref, Domain: hosts[0], Hosts: hosts}
		if r.IntN(5) == 0 {
			w.ID, w.CA = fmt.Sprint("private/", i), "arn:ca"
		}
		s.Certificates = append(s.Certificates, w)
		choices = append(choices, model.CertManaged{Member: ref, IDs: []string{w.ID}})
	}
	if len(choices) > 0 {
		for i := range s.LoadBalancer.Listeners {
			s.LoadBalancer.Listeners[i].TLS = &model.TLS{Policy: "p", Certificates: choices}
		}
	}
	return s
}

// TestRecordsFollowTheCertificates changes the desired state at random, and stops the process after a random step. It checks
// that a DNS record exists as long as a certificate in use, or a certificate of another user, needs it. In the end, only the
// records of the existing certificates are left.
func TestRecordsFollowTheCertificates(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 100, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 8))
		have := observed.Stack{Facts: ownCertificateFacts()}
		foreign := []string{[]string{"a", "*.b", "c"}[r.IntN(3)]}
		dns := newDNSRecordNames(foreign)
		check := func(have observed.Stack, p plan.Plan, n int) {
			t.Helper()
			for _, c := range append(slices.Clone(have.Facts.OwnCertificates), observed.OwnCertificate{ARN: "foreign", Domains: foreign, Public: true}) {
				if !c.Public || c.ARN != "foreign" && !plantest.UsesCertificate(have, c.ARN) {
					continue
				}
				for name := range newDNSRecordNames(c.Domains) {
					if !dns[name] {
						t.Fatalf("seed %d: after %d steps %s lacks %s:\n%s", seed, n, c.ARN, name, p.Text())
					}
				}
			}
		}
		run := func(want model.Stack) {
			t.Helper()
			for range 14 {
				dropFactsReadForEachPlan(&have)
				var p plan.Plan
				for range 6 {
					if p, _ = planner.Make(want, have, managedCertificateOptions, plan.Memory{}); len(p.Questions) == 0 {
						break
					}
					answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
					answerCertificates(&have, p.Questions)
					if have.Facts.PublicCertificatesAsked && !slices.ContainsFunc(have.Facts.PublicCertificates, func(c observed.PublicCertificate) bool { return c.ARN == "foreign" }) {
						have.Facts.PublicCertificates = append(have.Facts.PublicCertificates, observed.PublicCertificate{ARN: "foreign", Domains: foreign})
					}
				}
				if p.Empty() {
					break
				}
				steps := stepsInOrder(p)
				if len(steps) > 0 && r.IntN(3) == 0 {
					steps = steps[:r.IntN(len(steps))] // the process stops
				}
				for n, st := range steps {
					dns.applyStep(st)
					check(plantest.Simulate(have, p.KnownIDs, steps[:n+1]), p, n+1)
				}
				have = plantest.Simulate(have, p.KnownIDs, steps)
			}
			all := [][]string{foreign}
			for _, c := range have.Facts.OwnCertificates {
				if c.Public {
					all = append(all, c.Domains)
				}
			}
			if diff := cmp.Diff(newDNSRecordNames(all...), dns); diff != "" {
				t.Fatalf("seed %d: records (-want +got):\n%s", seed, diff)
			}
		}
		for range 4 {
			base := randomDesired(r)
			for i := range base.LoadBalancer.Listeners { // without rules, so that most rounds change only certificates
				base.LoadBalancer.Listeners[i].Rules = nil
			}
			want := withRandomCertificates(r, base)
			run(want)
			if got, n := have.Facts.OwnCertificates, len(want.Certificates); len(got) != n && have.LiveLoadBalancer(model.LoadBalancerID) != nil {
				t.Fatalf("seed %d: want %d certificates, got %v", seed, n, got)
			}
		}
		run(model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}})
		if len(have.Facts.OwnCertificates) > 0 {
			t.Fatalf("seed %d: deletion leaves %v", seed, have.Facts.OwnCertificates)
		}
	})
}

func TestHostedZoneOf(t *testing.T) {
	zones := []observed.HostedZone{
		{ID: "Z1", Name: "example.com"}, {ID: "Z2", Name: "a.example.com"}, {ID: "Z3", Name: "b.a.example.com", Private: true}, {ID: "Z0", Name: "a.example.com"},
	}
	for domain, want := range map[string]string{
		"example.com": "Z1", "x.example.com": "Z1", "*.example.com": "Z1", "a.example.com": "Z0", "X.A.example.com": "Z0", "*.b.a.example.com": "Z0",
		"badexample.com": "", "com": "", "example.com.test": "",
	} {
		if got, ok := certificates.HostedZoneOf(zones, domain); got.ID != want || ok != (want != "") {
			t.Errorf("%s: want %q, got %q", domain, want, got.ID)
		}
	}
}

// certificateStepTexts returns the IDs of the steps for certificates and their DNS records, and what each step waits for.
func certificateStepTexts(p plan.Plan) (out []string) {
	for _, s := range p.Steps {
		if s.Address.Kind != plan.Certificate && s.Address.Kind != plan.ValidationRecord {
			continue
		}
		line := string(s.ID)
		if s.Waits() {
			line += fmt.Sprintf(" waits for %s, %s", s.Wait.For, s.Wait.RetryAfter)
		}
		out = append(out, line)
	}
	return out
}

func TestPendingCertificateGetsItsDNSRecords(t *testing.T) {
	const issue = "issue certificate/amazon_issued/x-1 waits for ACM to issue it, "
	a := observed.DNSRecord{Domain: "a", Name: "_x.a.", Value: "_y.aws."}
	b := observed.DNSRecord{Domain: "b", Name: "_z.b.", Value: "_w.aws."}
	with := func(r observed.DNSRecord, seen, made bool) observed.DNSRecord {
		r.SeenByACM, r.RecentlyCreated = seen, made
		return r
	}
	denied := &observed.Fault{Reason: finding.AccessDenied, Message: "list hosted zones: AccessDenied: no"}
	for name, c := range map[string]struct {
		records []observed.DNSRecord
		unnamed bool
		age     time.Duration
		zones   *observed.HostedZones
		steps   []string
		asks    bool
		says    []string // parts of the message of the only finding
	}{
		"not named yet": {unnamed: true, steps: []string{issue + "5s"}},
		"named":         {records: []observed.DNSRecord{a, b}, steps: []string{"create validation-record/_x.a", "create validation-record/_z.b", issue + "30s"}},
		"twice":         {records: []observed.DNSRecord{a, a}, steps: []string{"create validation-record/_x.a", issue + "30s"}},
		"partly named":  {records: []observed.DNSRecord{a}, unnamed: true, steps: []string{"create validation-record/_x.a", issue + "5s"}},
		"made or seen":  {records: []observed.DNSRecord{with(a, false, true), with(b, true, false)}, steps: []string{issue + "30s"}},
		"slow": {records: []observed.DNSRecord{with(a, false, true), with(b, true, false)}, age: time.Hour, steps: []string{issue + "30s"},
			says: []string{"requested at 2026-01-02T02:00:00Z: _x.a. CNAME _y.aws.;", "delegated"}},
		"zones not known": {records: []observed.DNSRecord{a}, zones: &observed.HostedZones{Zones: []observed.HostedZone{{ID: "?"}}}, asks: true, steps: []string{issue + "30s"}},
		"zones denied": {records: []observed.DNSRecord{a, with(b, false, true)}, zones: &observed.HostedZones{Fault: denied}, steps: []string{issue + "30s"},
			says: []string{"AccessDenied: no", "_x.a. CNAME _y.aws.; _z.b. CNAME _w.aws.;", "create the records"}},
		"records denied": {records: []observed.DNSRecord{a}, zones: deniedZone("ZA", denied), steps: []string{issue + "30s"},
			says: []string{"AccessDenied: no", "_x.a. CNAME _y.aws.", "create the records"}},
		"records of one zone denied": {records: []observed.DNSRecord{a, b}, zones: deniedZone("ZA", denied), steps: []string{"create validation-record/_z.b", issue + "30s"},
			says: []string{"AccessDenied: no): _x.a. CNAME _y.aws.;", "create the records"}},
		"an outage":        {records: []observed.DNSRecord{a}, zones: &observed.HostedZones{Fault: &observed.Fault{Message: "no answer"}}, steps: []string{issue + "30s"}, says: []string{"no answer"}},
		"the pace is kept": {records: []observed.DNSRecord{a}, zones: &observed.HostedZones{Fault: &observed.Fault{}}, steps: []string{issue + "30s"}},
		"a zone was deleted": {records: []observed.DNSRecord{a, b}, zones: &observed.HostedZones{Zones: testHostedZones.Zones[:1]}, steps: []string{"create validation-record/_x.a", issue + "30s"},
			says: []string{"no public hosted zone: _z.b. CNAME _w.aws.;", "create the hosted zone"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := withManagedCertificate(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), "a", "b")
			own := observed.OwnCertificate{ARN: "1", ResourceID: want.Certificates[0].ID, Status: observed.CertificatePendingValidation, Domains: []string{"a", "b"},
				Public: true, Records: c.records, RecordsMissing: c.unnamed, Created: ownCertificateFacts().Now.Add(-c.age)}
			have := observed.Stack{Facts: ownCertificateFacts(own)}
			if have.Facts.HostedZones = c.zones; c.zones == nil {
				have.Facts.HostedZones = testHostedZones
			}
			if c.asks {
				have.Facts.HostedZones = nil
			}
			p, found := planner.Make(want, have, managedCertificateOptions, plan.Memory{})
			if diff := cmp.Diff(c.steps, certificateStepTexts(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if asks := slices.Contains(p.Questions, model.Question(model.AskHostedZones{})); asks != c.asks {
				t.Errorf("zones are asked for: %t", asks)
			}
			if (len(found) > 0) != (len(c.says) > 0) || len(found) > 1 || found.LargestReach() != finding.BlocksNothing {
				t.Fatalf("findings: %v", found)
			}
			for _, s := range c.says {
				if f := found[0]; f.Reason != finding.CertificatePending || f.Object != testMember || !strings.Contains(f.Text(), s) {
					t.Errorf("want CertificatePending with %q, got %s", s, f)
				}
			}
		})
	}
}

func TestCertificateRequestNeedsHostedZone(t *testing.T) {
	none := &observed.HostedZones{Zones: testHostedZones.Zones[:1]}
	denied := &observed.Fault{Reason: finding.AccessDenied, Message: "no"}
	old := observed.OwnCertificate{ARN: "old", ResourceID: "amazon_issued/x-1", Status: observed.CertificateIssued, Domains: []string{"a"}, Public: true}
	const request, issue = "request certificate/amazon_issued/x-1", "issue certificate/amazon_issued/x-1 waits for "
	for name, c := range map[string]struct {
		zones  *observed.HostedZones
		own    []observed.OwnCertificate
		ca     string
		steps  []string
		reason finding.Reason
		reach  finding.Reach
	}{
		"no zone":                    {zones: none, steps: []string{issue + "a hosted zone, 1m0s"}, reason: finding.HostedZoneNotFound, reach: finding.BlocksMember},
		"no zone, one serves":        {zones: none, own: []observed.OwnCertificate{old}, steps: []string{issue + "a hosted zone, 1m0s"}, reason: finding.HostedZoneNotFound},
		"no zone, private authority": {zones: none, ca: "arn:ca", steps: []string{request, issue + "ACM to issue it, 5s"}},
		"zones":                      {zones: testHostedZones, steps: []string{request, issue + "ACM to issue it, 5s"}},
		"denied":                     {zones: &observed.HostedZones{Fault: denied}, steps: []string{request, issue + "ACM to issue it, 5s"}},
		"an outage": {zones: &observed.HostedZones{Fault: &observed.Fault{Message: "no answer"}}, steps: []string{issue + "an answer from Route 53, 30s"},
			reason: finding.ServiceUnavailable},
		"the pace is kept": {zones: &observed.HostedZones{Fault: &observed.Fault{}}, steps: []string{issue + "an answer from Route 53, 30s"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := withManagedCertificate(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), "a", "b")
			want.Certificates[0].CA = c.ca
			have := observed.Stack{Facts: ownCertificateFacts(c.own...)}
			have.Facts.HostedZones = c.zones
			p, found := planner.Make(want, have, managedCertificateOptions, plan.Memory{})
			if diff := cmp.Diff(c.steps, certificateStepTexts(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if again := slices.Contains(p.Questions, model.Question(model.AskHostedZones{Recent: true})); again != (c.reason == finding.HostedZoneNotFound) {
				t.Errorf("zones are asked for again: %t", again)
			}
			if c.reason == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Reason != c.reason || found[0].Blocks != c.reach || c.reason == finding.HostedZoneNotFound && !strings.Contains(found[0].Message, "host b") {
				t.Errorf("findings: %v", found)
			}
		})
	}
}

func TestUnusedCertificateIsDeletedWithItsRecords(t *testing.T) {
	deletes := func(records ...string) (out []string) {
		for _, r := range records {
			out = append(out, "delete validation-record/"+r)
		}
		return append(out, "delete certificate/1")
	}
	own := func(arn string, public bool, hosts ...string) observed.OwnCertificate {
		return observed.OwnCertificate{ARN: arn, ResourceID: "amazon_issued/" + arn, Status: observed.CertificateIssued, Domains: hosts, Public: public}
	}
	one := own("1", true, "*.a", "a", "b")
	const inUse = "delete certificate/1 waits for ACM to report that nothing uses it, 5s"
	for name, c := range map[string]struct {
		own      []observed.OwnCertificate
		others   []string // domains of a certificate of another user
		used     bool
		attached bool // to a listener of the stack
		zones    *observed.HostedZones
		waited   time.Duration // since the first plan
		steps    []string
		found    string // part of the finding CertificateInUse; "": there is no finding
	}{
		"alone":                  {own: []observed.OwnCertificate{one}, steps: deletes("_name.a", "_name.b")},
		"beside one with a star": {own: []observed.OwnCertificate{one}, others: []string{"*.a", "x.b"}, steps: deletes("_name.b")},
		"with another unused certificate for the same host": {own: []observed.OwnCertificate{one, own("2", true, "a")}, steps: append(deletes("_name.a", "_name.b"), "delete certificate/2")},
		"in use for ACM":       {own: []observed.OwnCertificate{one}, used: true, steps: []string{inUse}},
		"in use for 5 minutes": {own: []observed.OwnCertificate{one}, used: true, waited: durations.LongestWait, found: "with its DNS records"},
		"in use for 5 minutes, beside one that is not": {own: []observed.OwnCertificate{one, own("2", true, "b", "c")}, used: true, waited: durations.LongestWait,
			steps: []string{"delete validation-record/_name.c", "delete certificate/2"}, found: "with its DNS records"},
		"on a listener of the stack":                   {own: []observed.OwnCertificate{one}, attached: true, steps: []string{inUse}},
		"on a listener of the stack for 5 minutes":     {own: []observed.OwnCertificate{one}, attached: true, waited: durations.LongestWait, steps: []string{strings.Replace(inUse, "5s", "20s", 1)}},
		"of a private authority, in use":               {own: []observed.OwnCertificate{own("1", false, "a")}, used: true, steps: []string{inUse}},
		"of a private authority, in use for 5 minutes": {own: []observed.OwnCertificate{own("1", false, "a")}, used: true, waited: durations.LongestWait, found: "it stays in ACM;"},
		"a zone went":                           {own: []observed.OwnCertificate{one}, zones: &observed.HostedZones{Zones: testHostedZones.Zones[:1]}, steps: deletes("_name.a")},
		"denied":                                {own: []observed.OwnCertificate{one}, zones: &observed.HostedZones{Fault: &observed.Fault{Reason: finding.AccessDenied}}, steps: deletes()},
		"records of one zone denied":            {own: []observed.OwnCertificate{one}, zones: deniedZone("ZA", &observed.Fault{Reason: finding.AccessDenied}), steps: deletes("_name.b")},
		"an outage":                             {own: []observed.OwnCertificate{one}, zones: &observed.HostedZones{Fault: &observed.Fault{}}, steps: []string{"delete certificate/1 waits for an answer from Route 53, 30s"}},
		"of a private authority":                {own: []observed.OwnCertificate{own("1", false, "a")}, zones: &observed.HostedZones{Fault: &observed.Fault{}}, steps: deletes()},
		"of a certificate that ACM has deleted": {own: []observed.OwnCertificate{own("1", true)}, steps: deletes()},
	} {
		t.Run(name, func(t *testing.T) {
			have := observed.Stack{Facts: ownCertificateFacts(c.own...)}
			want := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
			if have.Facts.HostedZones = nil; c.zones != nil {
				have.Facts.HostedZones = c.zones
			}
			if c.attached {
				have.LoadBalancers = []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Listeners: []observed.Listener{{ARN: "l", Port: 443, Certificate: "1"}}}}
			}
			memory := plan.Memory{WaitedTimes: map[string]time.Duration{"unused 1": c.waited, "attached 1": c.waited}}
			p, _ := planner.Make(want, have, managedCertificateOptions, memory)
			if !slices.Contains(p.WaitKeys, "unused 1") && !c.attached {
				t.Errorf("the wait begins again if a read fails: %q", p.WaitKeys)
			}
			if !c.attached && slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
				return s.Address.Kind == plan.Certificate || s.Address.Kind == plan.ValidationRecord
			}) {
				t.Errorf("steps before all is known:\n%s", p.Text())
			}
			answerCertificates(&have, p.Questions)
			have.Facts.PublicCertificates = append(have.Facts.PublicCertificates, observed.PublicCertificate{ARN: "other", Domains: c.others})
			if c.attached && len(p.Questions) > 0 {
				t.Errorf("questions: %v", p.Questions)
			}
			if c.used {
				v := have.Facts.Validations["1"]
				v.InUse = true
				have.Facts.Validations["1"] = v
			}
			p, found := planner.Make(want, have, managedCertificateOptions, memory)
			if diff := cmp.Diff(c.steps, certificateStepTexts(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			release := p.Steps[len(p.Steps)-1]
			if _, ok := release.Do.(plan.ReleaseFinalizer); !ok || release.Waits() != strings.Contains(strings.Join(c.steps, ""), "waits") {
				t.Errorf("the end of the plan:\n%s", p.Text())
			}
			if c.found == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Reason != finding.CertificateInUse || found[0].Object != testMember || c.found == "" || !strings.Contains(found[0].Text(), c.found) {
				t.Errorf("want a finding with %q, got %v", c.found, found)
			}
		})
	}
}

func TestFailedDNSRecordDoesNotBlockOtherSteps(t *testing.T) {
	want := withManagedCertificate(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), "a")
	pending := observed.OwnCertificate{ARN: "1", ResourceID: want.Certificates[0].ID, Status: observed.CertificatePendingValidation, Domains: []string{"a"},
		Public: true, Records: plantest.ValidationRecords([]string{"a"})}
	old := observed.OwnCertificate{ARN: "0", ResourceID: want.Certificates[0].ID, Status: observed.CertificateIssued, Domains: []string{"b"}, Public: true}
	p, _ := planner.Make(want, observed.Stack{Facts: ownCertificateFacts(old, pending)}, managedCertificateOptions, plan.Memory{})
	var makes plan.StepID
	for _, s := range p.Steps {
		if _, ok := s.Do.(plan.CreateRecord); ok {
			makes = s.ID
		}
	}
	for _, s := range p.Steps {
		if makes == "" || slices.Contains(s.After, makes) {
			t.Errorf("%s needs %q", s.ID, makes)
		}
	}
	if !strings.Contains(p.Text(), "+ create validation-record/_name.a   # ACM validates a with this record\n    zone: a\n    CNAME: _value.a.\n") {
		t.Errorf("text:\n%s", p.Text())
	}
}

// TestFindingAboutUsedCertificate checks which members get the finding about a certificate in use. Only the owner of the
// certificate gets its ARN, because the others can be in other namespaces.
func TestFindingAboutUsedCertificate(t *testing.T) {
	member := func(namespace string) model.Member {
		return model.Member{Ref: finding.Ref{Kind: "Ingress", Namespace: namespace, Name: "web"}, Finalizer: "f", Claimed: true, Deleting: true}
	}
	shop, bank, team := member("shop"), member("bank"), member("team")
	owned := observed.OwnCertificate{
		ARN: "1", ResourceID: naming.CertificateID("amazon_issued", shop.Ref, "a"), Status: observed.CertificateIssued, Domains: []string{"a"}, Public: true,
	}
	for name, c := range map[string]struct {
		members, leaving []model.Member
		want             map[string]bool // by namespace, whether the finding has the ARN
	}{
		"all leave":                 {leaving: []model.Member{bank, shop}, want: map[string]bool{"shop": true, "bank": false}},
		"the owner has left before": {leaving: []model.Member{bank, team}, want: map[string]bool{"bank": false, "team": false}},
		"the owner leaves":          {members: []model.Member{bank, team}, leaving: []model.Member{shop}, want: map[string]bool{"shop": true}},
		"the owner stays":           {members: []model.Member{bank, shop}, want: map[string]bool{"shop": true}},
		"the owner has left":        {members: []model.Member{bank, team}, want: map[string]bool{"bank": false}},
	} {
		t.Run(name, func(t *testing.T) {
			want := model.Stack{ID: testStackID}
			if len(c.members) > 0 {
				want = stackWithRules(forwardRule("/*", "g1"))
			}
			want.Members, want.Leaving = c.members, c.leaving
			have := observed.Stack{Facts: ownCertificateFacts(owned)}
			have.Facts.Validations = map[string]observed.Validation{"1": {InUse: true}}
			have.Facts.PublicCertificatesAsked = true
			_, found := planner.Make(want, have, managedCertificateOptions, plan.Memory{WaitedTimes: map[string]time.Duration{"unused 1": durations.SettleWindow}})
			got := map[string]bool{}
			for _, f := range found {
				if f.Reason == finding.CertificateInUse {
					got[f.Object.Namespace] = strings.Contains(f.Text(), `"1"`)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("ARN by namespace (-want +got):\n%s", diff)
			}
		})
	}
}
