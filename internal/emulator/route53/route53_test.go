package route53_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

type harness struct {
	*testing.T
	em     *emulator.Emulator
	clock  *store.ManualClock
	cfg    aws.Config
	client *route53.Client
}

func newHarness(t *testing.T) *harness {
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.WatchAnswers(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{
		Region: "eu-west-1", HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	return &harness{t, em, clock, cfg, route53.NewFromConfig(cfg)}
}

func (r *harness) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func checkError(t *testing.T, err error, code, says string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), says) {
		t.Errorf("want error %s with %q, got %v", code, says, err)
	}
}

func (r *harness) createZone(name string) string {
	r.Helper()
	out, err := r.client.CreateHostedZone(r.Context(), &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String("for " + name)})
	r.must(err)
	return *out.HostedZone.Id
}

func newChange(action types.ChangeAction, name, kind string, ttl int64, values ...string) types.Change {
	set := &types.ResourceRecordSet{Name: &name, Type: types.RRType(kind), TTL: &ttl}
	for _, v := range values {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: aws.String(v)})
	}
	return types.Change{Action: action, ResourceRecordSet: set}
}

func (r *harness) applyChanges(zone string, changes ...types.Change) error {
	_, err := r.client.ChangeResourceRecordSets(r.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: changes},
	})
	return err
}

// listRecords lists the records of a zone except for its NS and SOA records.
func (r *harness) listRecords(zone string) (out []string) {
	r.Helper()
	for p := route53.NewListResourceRecordSetsPaginator(r.client, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone}); p.HasMorePages(); {
		page, err := p.NextPage(r.Context())
		r.must(err)
		for _, s := range page.ResourceRecordSets {
			if s.Type == "NS" || s.Type == "SOA" {
				continue
			}
			line := fmt.Sprintf("%s %s %d", *s.Name, s.Type, *s.TTL)
			for _, v := range s.ResourceRecords {
				line += " " + *v.Value
			}
			out = append(out, line)
		}
	}
	return out
}

func TestZones(t *testing.T) {
	r := newHarness(t)
	made, err := r.client.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
		Name: aws.String("Example.com"), CallerReference: aws.String("1"), HostedZoneConfig: &types.HostedZoneConfig{Comment: aws.String("a <b>")},
	})
	r.must(err)
	z := made.HostedZone
	if *z.Name != "example.com." || !strings.HasPrefix(*z.Id, "/hostedzone/Z") || *z.ResourceRecordSetCount != 2 || *z.Config.Comment != "a <b>" ||
		len(made.DelegationSet.NameServers) != 4 || !strings.HasSuffix(*made.Location, strings.TrimPrefix(*z.Id, "/")) {
		t.Errorf("made %+v, location %s", z, *made.Location)
	}
	_, err = r.client.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: aws.String("other.com"), CallerReference: aws.String("1")})
	checkError(t, err, "HostedZoneAlreadyExists", "caller reference")
	_, err = r.client.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: aws.String("not valid"), CallerReference: aws.String("2")})
	checkError(t, err, "InvalidDomainName", "not valid")
	vpc, err := ec2.NewFromConfig(r.cfg).CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	r.must(err)
	_, err = r.client.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
		Name: aws.String("example.com"), CallerReference: aws.String("3"), HostedZoneConfig: &types.HostedZoneConfig{PrivateZone: true},
		VPC: &types.VPC{VPCId: vpc.Vpc.VpcId, VPCRegion: types.VPCRegionEuWest1},
	})
	r.must(err)
	r.em.Store().Config.PageSize = 1
	var got []string
	for p := route53.NewListHostedZonesPaginator(r.client, &route53.ListHostedZonesInput{}); p.HasMorePages(); {
		page, err := p.NextPage(t.Context())
		r.must(err)
		for _, z := range page.HostedZones {
			got = append(got, fmt.Sprint(*z.Name, z.Config.PrivateZone))
		}
	}
	if len(got) != 2 || got[0] == got[1] {
		t.Errorf("listed %v", got)
	}
	r.em.Store().Config.PageSize = 0
	r.must(r.applyChanges(*z.Id, newChange("CREATE", "a.example.com", "A", 60, "192.0.2.1")))
	_, err = r.client.DeleteHostedZone(t.Context(), &route53.DeleteHostedZoneInput{Id: z.Id})
	checkError(t, err, "HostedZoneNotEmpty", "")
	r.must(r.applyChanges(*z.Id, newChange("DELETE", "a.example.com", "A", 60, "192.0.2.1")))
	_, err = r.client.DeleteHostedZone(t.Context(), &route53.DeleteHostedZoneInput{Id: z.Id})
	r.must(err)
	checkError(t, r.applyChanges(*z.Id, newChange("CREATE", "a.example.com", "A", 60, "192.0.2.1")), "NoSuchHostedZone", strings.TrimPrefix(*z.Id, "/hostedzone/"))
	other := r.cfg.Copy()
	other.Credentials = credentials.NewStaticCredentialsProvider("AKIA444455556666", "secret", "")
	list, err := route53.NewFromConfig(other).ListHostedZones(t.Context(), nil)
	r.must(err)
	if len(list.HostedZones) > 0 {
		t.Errorf("another account sees %v", list.HostedZones)
	}
}

func TestRecords(t *testing.T) {
	r := newHarness(t)
	zone := r.createZone("example.com")
	r.must(r.applyChanges(zone,
		newChange("CREATE", "*.example.com", "A", 60, "192.0.2.1"),
		newChange("CREATE", "b.a.example.com", "CNAME", 60, "x.test"),
		newChange("UPSERT", "a.example.com.", "TXT", 300, `"one"`, `"two"`),
		newChange("CREATE", "A.example.com", "A", 60, "192.0.2.2"),
	))
	want := []string{
		`\052.example.com. A 60 192.0.2.1`, `a.example.com. A 60 192.0.2.2`, `a.example.com. TXT 300 "one" "two"`, `b.a.example.com. CNAME 60 x.test`,
	}
	for _, size := range []int{0, 1} {
		r.em.Store().Config.PageSize = size
		if diff := cmp.Diff(want, r.listRecords(zone)); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", size, diff)
		}
	}
	page, err := r.client.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone, StartRecordName: aws.String("b.a.example.com"), MaxItems: aws.Int32(1)})
	r.must(err)
	if got := *page.ResourceRecordSets[0].Name; got != "b.a.example.com." {
		t.Errorf("the list begins at %s", got)
	}
	r.must(r.applyChanges(zone, newChange("UPSERT", "a.example.com", "A", 30, "192.0.2.3"), newChange("DELETE", "a.example.com", "TXT", 300, `"two"`, `"one"`)))
	r.must(r.applyChanges(zone, newChange("DELETE", "*.example.com", "A", 60, "192.0.2.1"), newChange("CREATE", "*.example.com", "CNAME", 60, "x.test")))
	want = []string{`\052.example.com. CNAME 60 x.test`, `a.example.com. A 30 192.0.2.3`, `b.a.example.com. CNAME 60 x.test`}
	r.em.Store().Config.PageSize = 0
	if diff := cmp.Diff(want, r.listRecords(zone)); diff != "" {
		t.Errorf("after changes (-want +got):\n%s", diff)
	}
}

func TestChangeBatchIsAtomic(t *testing.T) {
	there := newChange("CREATE", "there.example.com", "CNAME", 60, "x.test.")
	for name, c := range map[string]struct {
		change types.Change
		code   string
		says   string
	}{
		"exists":                   {there, "InvalidChangeBatch", "[Tried to create resource record set [name='there.example.com.', type='CNAME'] but it already exists]"},
		"exists with other values": {newChange("CREATE", "there.example.com", "CNAME", 30, "y.test."), "InvalidChangeBatch", "but it already exists"},
		"conflicts":                {newChange("CREATE", "there.example.com", "A", 60, "192.0.2.1"), "InvalidChangeBatch", "a conflicting RRSet of type CNAME with the same DNS name already exists in zone example.com."},
		"not found":                {newChange("DELETE", "gone.example.com", "CNAME", 60, "x.test."), "InvalidChangeBatch", "[Tried to delete resource record set [name='gone.example.com.', type='CNAME'] but it was not found]"},
		"other values":             {newChange("DELETE", "there.example.com", "CNAME", 60, "y.test."), "InvalidChangeBatch", "but the values provided do not match the current values"},
		"other TTL":                {newChange("DELETE", "there.example.com", "CNAME", 61, "x.test."), "InvalidChangeBatch", "but the values provided do not match the current values"},
		"other zone":               {newChange("CREATE", "a.example.org", "A", 60, "192.0.2.1"), "InvalidChangeBatch", "is not permitted in zone example.com."},
		"apex":                     {newChange("CREATE", "example.com", "CNAME", 60, "x.test."), "InvalidChangeBatch", "not permitted at apex"},
		"no values":                {newChange("CREATE", "a.example.com", "A", 60), "InvalidInput", "Expected exactly one of"},
		"no such type":             {newChange("CREATE", "a.example.com", "B", 60, "x"), "InvalidInput", "type"},
		"no such action":           {newChange("REPLACE", "a.example.com", "A", 60, "x"), "InvalidInput", "action"},
		"weight": {types.Change{Action: "CREATE", ResourceRecordSet: &types.ResourceRecordSet{Name: aws.String("a.example.com"), Type: "A", Weight: aws.Int64(1)}},
			"UnsupportedParameter", "ChangeBatch.Changes.ResourceRecordSet.Weight"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			zone := r.createZone("example.com")
			r.must(r.applyChanges(zone, there))
			checkError(t, r.applyChanges(zone, newChange("CREATE", "fine.example.com", "A", 60, "192.0.2.1"), c.change), c.code, c.says)
			if diff := cmp.Diff([]string{"there.example.com. CNAME 60 x.test."}, r.listRecords(zone)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllErrorsOfAChangeBatchAreReported(t *testing.T) {
	r := newHarness(t)
	zone := r.createZone("example.com")
	err := r.applyChanges(zone, newChange("DELETE", "a.example.com", "A", 60, "192.0.2.1"), newChange("CREATE", "a.example.org", "A", 60, "192.0.2.1"))
	checkError(t, err, "InvalidChangeBatch", "but it was not found, RRSet with")
}

func TestChangesBecomeINSYNC(t *testing.T) {
	r := newHarness(t)
	zone := r.createZone("example.com")
	out, err := r.client.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Comment: aws.String("why"), Changes: []types.Change{newChange("CREATE", "a.example.com", "A", 60, "192.0.2.1")}},
	})
	r.must(err)
	for _, want := range []types.ChangeStatus{types.ChangeStatusPending, types.ChangeStatusInsync} {
		got, err := r.client.GetChange(t.Context(), &route53.GetChangeInput{Id: out.ChangeInfo.Id})
		r.must(err)
		if got.ChangeInfo.Status != want || *got.ChangeInfo.Comment != "why" {
			t.Errorf("want %s, got %+v", want, got.ChangeInfo)
		}
		r.clock.Advance(time.Second)
	}
	_, err = r.client.GetChange(t.Context(), &route53.GetChangeInput{Id: aws.String("C1")})
	checkError(t, err, "NoSuchChange", "C1")
}

func TestUnsupportedRequestsAreRejected(t *testing.T) {
	r := newHarness(t)
	_, err := r.client.ListHealthChecks(t.Context(), nil)
	checkError(t, err, "InvalidAction", "method and path")
	_, err = r.client.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{DelegationSetId: aws.String("N1")})
	checkError(t, err, "UnsupportedParameter", "DelegationSetId")
	// The path identifies the service, but unsigned calls are rejected.
	resp, err := r.em.Client().Get("http://aws.test/2013-04-01/hostedzone")
	r.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestLimitOfFiveRequestsPerSecond(t *testing.T) {
	r := newHarness(t)
	r.em.Faults().SetLimits(fault.DocumentedLimits(1))
	n := 0
	for ; n < 20; n++ {
		if _, err := r.client.ListHostedZones(t.Context(), nil); err != nil {
			checkError(t, err, "Throttling", "Rate exceeded")
			break
		}
	}
	if n != 5 {
		t.Errorf("%d calls succeeded before throttling, want 5", n)
	}
}

func newAliasChange(action types.ChangeAction, name, kind, to, zone string) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{Name: &name, Type: types.RRType(kind), AliasTarget: &types.AliasTarget{
		DNSName: &to, HostedZoneId: &zone, EvaluateTargetHealth: true,
	}}}
}

// TestAliases checks that an alias record has no values, that its target is a name of AWS or a name in the same zone, and
// that a deletion must give the exact record.
func TestAliases(t *testing.T) {
	r := newHarness(t)
	zone := r.createZone("example.com")
	const lb, elb = "dualstack.k8s-web-1.us-west-2.elb.amazonaws.com", "Z1H1FL5HABSF5"
	r.must(r.applyChanges(zone, newAliasChange("UPSERT", "web.example.com", "A", lb, elb), newChange("CREATE", "own.example.com", "A", 60, "192.0.2.1"),
		newAliasChange("CREATE", "example.com", "A", "own.example.com", strings.TrimPrefix(zone, "/hostedzone/"))))
	aliases := func() (out []string) {
		page, err := r.client.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
		r.must(err)
		for _, s := range page.ResourceRecordSets {
			if a := s.AliasTarget; a != nil {
				if s.TTL != nil || len(s.ResourceRecords) > 0 {
					t.Errorf("alias %s has a TTL or values", *s.Name)
				}
				out = append(out, fmt.Sprint(*s.Name, " ", *a.DNSName, " ", *a.HostedZoneId == elb, " ", a.EvaluateTargetHealth))
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"example.com. own.example.com. false true", "web.example.com. " + lb + ". true true"}, aliases()); diff != "" {
		t.Error(diff)
	}
	checkError(t, r.applyChanges(zone, newAliasChange("UPSERT", "x.example.com", "A", "lb.elsewhere.net", elb)), "InvalidChangeBatch", "does not lie within the target zone")
	both := newAliasChange("UPSERT", "x.example.com", "A", lb, elb)
	both.ResourceRecordSet.TTL = aws.Int64(60)
	checkError(t, r.applyChanges(zone, both), "InvalidInput", "more than one")
	checkError(t, r.applyChanges(zone, newAliasChange("DELETE", "web.example.com", "A", "other.us-west-2.elb.amazonaws.com", elb)), "InvalidChangeBatch", "do not match the current values")
	r.must(r.applyChanges(zone, newAliasChange("DELETE", "web.example.com", "A", lb, elb)))
	if got := aliases(); len(got) != 1 {
		t.Errorf("after the deletion: %q", got)
	}
}

// TestZonesByName checks that zones are listed by the labels of their names from the last to the first, and that a page
// begins at a given name and ID.
func TestZonesByName(t *testing.T) {
	r := newHarness(t)
	for _, name := range []string{"example.org", "b.example.com", "example.com", "a.example.com"} {
		r.createZone(name)
	}
	var got []string
	in := &route53.ListHostedZonesByNameInput{MaxItems: aws.Int32(2)}
	for {
		out, err := r.client.ListHostedZonesByName(t.Context(), in)
		r.must(err)
		for _, z := range out.HostedZones {
			got = append(got, *z.Name)
		}
		if !out.IsTruncated {
			break
		}
		in.DNSName, in.HostedZoneId = out.NextDNSName, out.NextHostedZoneId
	}
	if diff := cmp.Diff([]string{"example.com.", "a.example.com.", "b.example.com.", "example.org."}, got); diff != "" {
		t.Error(diff)
	}
	out, err := r.client.ListHostedZonesByName(t.Context(), &route53.ListHostedZonesByNameInput{DNSName: aws.String("b.example.com"), MaxItems: aws.Int32(1)})
	r.must(err)
	if len(out.HostedZones) != 1 || *out.HostedZones[0].Name != "b.example.com." {
		t.Errorf("from a name on: %+v", out.HostedZones)
	}
}
