package cloud_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

const dnsAccount = "123456789012"

var dnsStack = model.StackID{Kind: model.Ingress, Name: "shop"}

// dnsHarness is a test harness with a hosted zone. Its ACM and Route 53 clients act for another user of the account.
type dnsHarness struct {
	*harness
	acm  *acm.Client
	dns  *route53.Client
	zone string
}

func newDNSHarness(t *testing.T) *dnsHarness {
	r := &dnsHarness{harness: newHarness(t, func(c *cloud.Config) { c.ManagedCertificates = true })}
	cfg := aws.Config{Region: region, HTTPClient: r.em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA"+dnsAccount, "secret", "")}
	r.acm, r.dns = acm.NewFromConfig(cfg), route53.NewFromConfig(cfg)
	r.zone = r.createZone("Example.com")
	r.em.Calls().Reset()
	return r
}

func (r *dnsHarness) createZone(name string) string {
	r.t.Helper()
	z := must(r.dns.CreateHostedZone(r.ctx, &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(name + r.clock.Now().String())}))(r.t)
	return strings.TrimPrefix(*z.HostedZone.Id, "/hostedzone/")
}

func (r *dnsHarness) readFacts(questions ...model.Question) observed.Facts {
	r.t.Helper()
	return must(r.cloud.Observe(r.ctx, dnsStack, questions))(r.t).Facts
}

func (r *dnsHarness) apply(a plan.Action) (plan.StepResult, error) {
	return r.cloud.Apply(r.ctx, dnsStack, plan.Step{Do: a}, nil)
}

// requestCertificate requests a certificate as the controller does, and returns the only certificate of the cluster.
func (r *dnsHarness) requestCertificate(hosts ...string) observed.OwnCertificate {
	r.t.Helper()
	tags := plan.Tags{"elbv2.k8s.aws/cluster": cluster, "ingress.k8s.aws/stack": "shop", "ingress.k8s.aws/resource": "amazon_issued/x"}
	must(r.apply(plan.RequestCertificate{Domain: hosts[0], Hosts: hosts, Tags: tags, Token: fmt.Sprint(hosts)}))(r.t)
	own := r.readFacts(model.AskOwnCertificates{}).OwnCertificates
	if len(own) != 1 {
		r.t.Fatalf("own certificates: %v", own)
	}
	return own[0]
}

func createRecordStep(zone, domain string) plan.CreateRecord {
	name, value := store.ValidationRecord(dnsAccount, domain)
	return plan.CreateRecord{Zone: zone, Name: name, Value: value, TTL: 60}
}

func (r *dnsHarness) hasRecord(domain string) bool {
	name, _ := store.ValidationRecord(dnsAccount, domain)
	for _, s := range must(r.dns.ListResourceRecordSets(r.ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &r.zone}))(r.t).ResourceRecordSets {
		if *s.Name == name && s.Type == dnstypes.RRTypeCname {
			return true
		}
	}
	return false
}

func TestHostedZonesAreCached(t *testing.T) {
	r := newDNSHarness(t)
	want := &observed.HostedZones{Zones: []observed.HostedZone{{ID: r.zone, Name: "example.com"}}, ListedAt: r.clock.Now()}
	for range 3 {
		if diff := cmp.Diff(want, r.readFacts(model.AskHostedZones{}).HostedZones); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.clock.Advance(2 * time.Minute)
	}
	if n := r.em.Calls().Count("ListHostedZones"); n != 1 {
		t.Errorf("%d lists within five minutes", n)
	}
	if got := r.readFacts(model.AskHostedZones{}, model.AskHostedZones{Recent: true}).HostedZones; got.ListedAt != r.clock.Now() {
		t.Errorf("list read again: listed at %s", got.ListedAt)
	}
	r.clock.Advance(6 * time.Minute)
	for i := range 3 {
		r.createZone(fmt.Sprintf("z%d.test", i))
	}
	r.em.Store().Config.PageSize = 1
	if got := r.readFacts(model.AskHostedZones{}).HostedZones.Zones; len(got) != 4 {
		t.Errorf("later, by pages: %v", got)
	}
}

func TestValidationRecordsAreShownUntilCertificateIsIssued(t *testing.T) {
	r := newDNSHarness(t)
	own := r.requestCertificate("*.example.com", "example.com")
	if !own.Public || !own.RecordsMissing || len(own.Records) > 0 {
		t.Errorf("at first: %+v", own)
	}
	r.clock.Advance(5 * time.Second)
	get := func() observed.OwnCertificate { return r.readFacts(model.AskOwnCertificates{}).OwnCertificates[0] }
	rec := createRecordStep(r.zone, "example.com")
	want := observed.DNSRecord{Domain: "example.com", Name: rec.Name, Value: rec.Value}
	if diff := cmp.Diff([]observed.DNSRecord{want, want}, get().Records); diff != "" || get().RecordsMissing {
		t.Errorf("before creation (-want +got):\n%s", diff)
	}
	for range 2 { // the second call finds the record
		must(r.apply(rec))(t)
	}
	want.RecentlyCreated = true
	if diff := cmp.Diff([]observed.DNSRecord{want, want}, get().Records); diff != "" {
		t.Errorf("after creation (-want +got):\n%s", diff)
	}
	r.clock.Advance(time.Minute)
	if got := get(); got.Status != observed.CertificateIssued || len(got.Records) > 0 {
		t.Errorf("issued: %+v", got)
	}
	r.clock.Advance(10 * time.Minute)
	r.em.Calls().Reset()
	get()
	if n := r.em.Calls().Count("DescribeCertificate"); n > 0 {
		t.Errorf("%d calls of DescribeCertificate for an issued certificate", n)
	}
}

func TestMissingRecordIsCreatedAgainLater(t *testing.T) {
	r := newDNSHarness(t)
	r.em.Store().Config.ACM.ValidationDelay = -1
	r.requestCertificate("example.com")
	r.clock.Advance(5 * time.Second)
	must(r.apply(createRecordStep(r.zone, "example.com")))(t)
	for _, c := range []struct {
		after time.Duration
		made  bool
	}{{9 * time.Minute, true}, {2 * time.Minute, false}} {
		r.clock.Advance(c.after)
		if got := r.readFacts(model.AskOwnCertificates{}).OwnCertificates[0].Records[0].RecentlyCreated; got != c.made {
			t.Errorf("RecentlyCreated is %t after another %s", got, c.after)
		}
	}
}

func TestRoute53RefusesRecords(t *testing.T) {
	r := newDNSHarness(t)
	r.readFacts(model.AskHostedZones{})
	rec := createRecordStep(r.zone, "example.org") // a name outside the hosted zone
	if _, err := r.apply(rec); r.cloud.Class(err) != failure.Invalid || !strings.Contains(err.Error(), "not permitted in zone") {
		t.Errorf("another zone: %v", err)
	}
	other := createRecordStep(r.zone, "a.example.com")
	must(r.dns.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: &r.zone, ChangeBatch: &dnstypes.ChangeBatch{
		Changes: []dnstypes.Change{{Action: "CREATE", ResourceRecordSet: &dnstypes.ResourceRecordSet{
			Name: &other.Name, Type: "TXT", TTL: aws.Int64(1), ResourceRecords: []dnstypes.ResourceRecord{{Value: aws.String(`"x"`)}},
		}}},
	}}))(t)
	if _, err := r.apply(other); r.cloud.Class(err) != failure.Invalid || !strings.Contains(err.Error(), "conflicting") {
		t.Errorf("a conflict: %v", err)
	}
	rec.Zone = "Z0GONE"
	if _, err := r.apply(rec); r.cloud.Class(err) != failure.Gone {
		t.Errorf("deleted zone: %v", err)
	}
	r.readFacts(model.AskHostedZones{})
	if n := r.em.Calls().Count("ListHostedZones"); n != 2 {
		t.Errorf("%d calls of ListHostedZones, want a second one after a zone was deleted", n)
	}
}

func TestDeniedRecordsAreRetriedLater(t *testing.T) {
	r := newDNSHarness(t)
	r.em.Faults().Add(fault.Rule{Operation: "ChangeResourceRecordSets", Action: fault.Action{Error: &store.Error{Code: "AccessDenied", Status: 403, Message: "not authorized"}}})
	rec := createRecordStep(r.zone, "example.com")
	for range 2 {
		_, err := r.apply(rec)
		var reason interface{ Reason() finding.Reason }
		if r.cloud.Class(err) != failure.Denied || !errors.As(err, &reason) || reason.Reason() != finding.CertificatePending || !strings.Contains(err.Error(), rec.Name+" CNAME "+rec.Value) {
			t.Errorf("want the record in the error, got %v", err)
		}
	}
	if n := r.em.Calls().Count("ChangeResourceRecordSets"); n != 1 {
		t.Errorf("%d calls", n)
	}
	want := &observed.Fault{Reason: finding.AccessDenied, Action: "route53:ChangeResourceRecordSets",
		Message: `AWS denies "route53:ChangeResourceRecordSets" (AccessDenied) for hosted zone ` + r.zone}
	if diff := cmp.Diff(want, r.readFacts(model.AskHostedZones{}).HostedZones.Zones[0].WriteFault); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.em.Faults().ClearRules()
	r.clock.Advance(5 * time.Minute)
	if denied := r.readFacts(model.AskHostedZones{}).HostedZones.Zones[0].WriteFault; denied != nil {
		t.Errorf("writes are still denied: %v", denied)
	}
	must(r.apply(rec))(t)
	if !r.hasRecord("example.com") {
		t.Error("no record after AWS permits it")
	}
}

// TestDeniedZoneBlocksNoOther checks that records of a hosted zone are created after AWS has denied a change in another one.
func TestDeniedZoneBlocksNoOther(t *testing.T) {
	r := newDNSHarness(t)
	closed := r.createZone("closed.test")
	r.em.Faults().Add(fault.Rule{Operation: "ChangeResourceRecordSets", Count: 1, Action: fault.Action{Error: &store.Error{Code: "AccessDenied", Status: 403, Message: "not authorized"}}})
	if _, err := r.apply(createRecordStep(closed, "closed.test")); r.cloud.Class(err) != failure.Denied {
		t.Errorf("denied change: %v", err)
	}
	must(r.apply(createRecordStep(r.zone, "example.com")))(t)
	if !r.hasRecord("example.com") {
		t.Error("no record in the other zone")
	}
	for _, z := range r.readFacts(model.AskHostedZones{}).HostedZones.Zones {
		if (z.WriteFault != nil) != (z.ID == closed) {
			t.Errorf("zone %s: fault %v", z.Name, z.WriteFault)
		}
	}
}

func TestFailedListOfHostedZonesIsRetriedLater(t *testing.T) {
	for name, c := range map[string]struct {
		err  *store.Error
		want observed.Fault
	}{
		"denied":    {&store.Error{Code: "AccessDenied", Status: 403, Message: "no"}, observed.Fault{Reason: finding.AccessDenied, Message: `AWS denies "route53:ListHostedZones" (AccessDenied)`, RetryAfter: time.Minute}},
		"throttled": {&store.Error{Code: "Throttling", Status: 400, Message: "Rate exceeded"}, observed.Fault{RetryAfter: 5 * time.Second}},
		"broken":    {&store.Error{Code: "InternalFailure", Status: 500, Message: "oh"}, observed.Fault{Message: `AWS answers "route53:ListHostedZones" with "InternalFailure: oh"`, RetryAfter: 5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Action = "route53:ListHostedZones"
			r := newDNSHarness(t)
			r.em.Faults().Add(fault.Rule{Operation: "ListHostedZones", Action: fault.Action{Error: c.err}})
			for range 2 {
				if diff := cmp.Diff(&c.want, r.readFacts(model.AskHostedZones{}).HostedZones.Fault); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if n := r.em.Calls().Count("ListHostedZones"); n != 1 {
				t.Errorf("%d lists", n)
			}
			r.em.Faults().ClearRules()
			r.clock.Advance(5 * time.Minute)
			if z := r.readFacts(model.AskHostedZones{}).HostedZones; z.Fault != nil || len(z.Zones) != 1 {
				t.Errorf("later: %+v", z)
			}
		})
	}
}

func TestOnlyRecordsOfControllerAreDeleted(t *testing.T) {
	r := newDNSHarness(t)
	own := r.requestCertificate("a.example.com", "b.example.com")
	r.clock.Advance(5 * time.Second)
	a, b := createRecordStep(r.zone, "a.example.com"), createRecordStep(r.zone, "b.example.com")
	must(r.apply(a))(t)
	must(r.apply(b))(t)
	r.clock.Advance(time.Minute)
	gone := func(rec plan.CreateRecord) plan.DeleteRecord {
		return plan.DeleteRecord{Certificate: own.ARN, CreateRecord: rec}
	}
	if _, err := r.apply(gone(a)); r.cloud.Class(err) != failure.Conflict {
		t.Errorf("record of a certificate whose records are not known: %v", err)
	}
	v := r.readFacts(model.AskOwnCertificates{}, model.AskValidation{ARN: own.ARN}).Validations[own.ARN]
	if len(v.Records) != 2 || v.InUse || !v.Records[0].SeenByACM {
		t.Errorf("validation: %+v", v)
	}
	if _, err := r.apply(gone(createRecordStep(r.zone, "c.example.com"))); r.cloud.Class(err) != failure.Conflict {
		t.Errorf("record of no certificate: %v", err)
	}
	for range 2 { // the second call does not find the record
		must(r.apply(gone(a)))(t)
	}
	if r.hasRecord("a.example.com") || !r.hasRecord("b.example.com") {
		t.Error("not exactly one record was deleted")
	}
	other := gone(b)
	other.TTL = 61
	must(r.apply(other))(t)
	if !r.hasRecord("b.example.com") {
		t.Error("a record of another user was deleted")
	}
	other.Zone = "Z0GONE"
	if res := must(r.apply(other))(t); !strings.Contains(res.Note, "was not removed") {
		t.Errorf("deleted zone: %+v", res)
	}
	r.em.Faults().Add(fault.Rule{Operation: "ChangeResourceRecordSets", Action: fault.Action{Error: &store.Error{Code: "AccessDenied", Status: 403}}})
	if res := must(r.apply(gone(b)))(t); !strings.Contains(res.Note, "was not removed") {
		t.Errorf("denied: %+v", res)
	}
	must(r.apply(plan.DeleteCertificate{ARN: own.ARN}))(t)
	if v := r.readFacts(model.AskValidation{ARN: own.ARN}).Validations[own.ARN]; len(v.Records) > 0 {
		t.Errorf("records of a deleted certificate: %+v", v)
	}
}

func TestPublicCertificatesOfAllOwnersAreRead(t *testing.T) {
	r := newDNSHarness(t)
	theirs := func(in *acm.RequestCertificateInput) {
		in.ValidationMethod = acmtypes.ValidationMethodDns
		must(r.acm.RequestCertificate(r.ctx, in))(t)
	}
	theirs(&acm.RequestCertificateInput{DomainName: aws.String("late.example.com")})
	r.clock.Advance(73 * time.Hour) // beyond the time in which a certificate can be validated
	own := r.requestCertificate("a.example.com")
	theirs(&acm.RequestCertificateInput{DomainName: aws.String("b.example.com"), KeyAlgorithm: acmtypes.KeyAlgorithmEcPrime256v1})
	theirs(&acm.RequestCertificateInput{DomainName: aws.String("private.example.com"), CertificateAuthorityArn: aws.String("arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/x")})
	got := map[string]bool{}
	for _, c := range r.readFacts(model.AskPublicCertificates{}).PublicCertificates {
		got[strings.Join(c.Domains, ",")] = true
		if c.ARN == "" {
			t.Error("a certificate has no ARN")
		}
	}
	if diff := cmp.Diff(map[string]bool{own.Domains[0]: true, "b.example.com": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	theirs(&acm.RequestCertificateInput{DomainName: aws.String("c.example.com")})
	r.clock.Advance(10 * time.Second)
	if n := len(r.readFacts(model.AskPublicCertificates{}).PublicCertificates); n != 3 {
		t.Errorf("%d certificates ten seconds later, want 3", n)
	}
}
