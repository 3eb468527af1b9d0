package acm_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

type harness struct {
	t      *testing.T
	em     *emulator.Emulator
	clock  *store.ManualClock
	client *acm.Client
	cfg    aws.Config
	zone   string // the ID of the hosted zone that createValidationRecords created
}

func newHarness(t *testing.T) *harness {
	clock := store.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := emulator.Options{Clock: clock, Seed: 7}
	awsmodel.WatchAnswers(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{
		Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
	}
	return &harness{t: t, em: em, clock: clock, client: acm.NewFromConfig(cfg), cfg: cfg}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func checkError(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Fatalf("want error %s, got %v", code, err)
	}
}

func (r *harness) selfSignedCertificate(names ...string) (certificate, key []byte) {
	r.t.Helper()
	k := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(r.t)
	now := r.clock.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(77), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k))(r.t)
	raw := must(x509.MarshalPKCS8PrivateKey(k))(r.t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func (r *harness) listDomains(kinds ...types.KeyAlgorithm) []string {
	r.t.Helper()
	in := &acm.ListCertificatesInput{}
	if len(kinds) > 0 {
		in.Includes = &types.Filters{KeyTypes: kinds}
	}
	var out []string
	for p := acm.NewListCertificatesPaginator(r.client, in); p.HasMorePages(); {
		for _, c := range must(p.NextPage(r.t.Context()))(r.t).CertificateSummaryList {
			out = append(out, *c.DomainName)
		}
	}
	slices.Sort(out)
	return out
}

func TestImportAndList(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	cert, key := r.selfSignedCertificate("ec.example.com", "*.ec.example.com")
	other, _ := r.selfSignedCertificate("x.example.com")
	_, err := r.client.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: other, PrivateKey: key})
	checkError(t, err, "ValidationException")
	made := must(r.client.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}))(t)
	must(r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String("rsa.example.com"), ValidationMethod: types.ValidationMethodDns}))(t)
	if d := cmp.Diff([]string{"rsa.example.com"}, r.listDomains()); d != "" {
		t.Errorf("without key types (-want +got):\n%s", d)
	}
	r.em.Store().Config.PageSize = 1
	if d := cmp.Diff([]string{"ec.example.com", "rsa.example.com"}, r.listDomains("RSA_2048", "EC_prime256v1")); d != "" {
		t.Errorf("with key types, by pages (-want +got):\n%s", d)
	}
	d := must(r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: made.CertificateArn}))(t).Certificate
	if d.KeyAlgorithm != "EC-prime256v1" || d.Type != types.CertificateTypeImported || d.Status != types.CertificateStatusIssued {
		t.Errorf("described as %+v", d)
	}
	if diff := cmp.Diff([]string{"ec.example.com", "*.ec.example.com"}, d.SubjectAlternativeNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	again := must(r.client.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key, CertificateArn: made.CertificateArn}))(t)
	if *again.CertificateArn != *made.CertificateArn {
		t.Error("importing again made another certificate")
	}
	got := must(r.client.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: made.CertificateArn}))(t)
	if *got.Certificate != string(cert) {
		t.Error("another certificate came back")
	}
	r.clock.Advance(25 * time.Hour)
	d = must(r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: made.CertificateArn}))(t).Certificate
	if d.Status != types.CertificateStatusExpired {
		t.Errorf("status %s after its time", d.Status)
	}
}

func TestTags(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	cert, key := r.selfSignedCertificate("a.example.com")
	arn := must(r.client.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}))(t).CertificateArn
	tag := func(k, v string) []types.Tag { return []types.Tag{{Key: &k, Value: &v}} }
	must(r.client.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: arn, Tags: append(tag("a", "1"), tag("b", "2")...)}))(t)
	must(r.client.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{CertificateArn: arn, Tags: append(tag("a", "other"), types.Tag{Key: aws.String("b")})}))(t)
	got := must(r.client.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: arn}))(t).Tags
	if len(got) != 1 || *got[0].Key != "a" {
		t.Errorf("tags %v", got)
	}
	for _, invalid := range [][2]string{{"aws:x", "1"}, {"a,b", "1"}, {"a", "1;2"}, {"a", strings.Repeat("ä", 257)}} {
		_, err := r.client.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: arn, Tags: tag(invalid[0], invalid[1])})
		checkError(t, err, "InvalidTagException")
	}
	must(r.client.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: arn, Tags: tag("c", strings.Repeat("ä", 256))}))(t)
}

func TestRequestedCertificate(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	in := &acm.RequestCertificateInput{
		DomainName: aws.String("example.com"), SubjectAlternativeNames: []string{"*.example.com"}, ValidationMethod: types.ValidationMethodDns,
		IdempotencyToken: aws.String("once"),
	}
	arn := must(r.client.RequestCertificate(ctx, in))(t).CertificateArn
	if again := must(r.client.RequestCertificate(ctx, in))(t).CertificateArn; *again != *arn {
		t.Error("the same token made another certificate")
	}
	describe := func() types.CertificateDetail {
		return *must(r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: arn}))(t).Certificate
	}
	if d := describe(); d.Status != types.CertificateStatusPendingValidation || d.DomainValidationOptions[0].ResourceRecord != nil {
		t.Errorf("a fresh request is %s with record %v", d.Status, d.DomainValidationOptions[0].ResourceRecord)
	}
	_, err := r.client.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: arn})
	checkError(t, err, "RequestInProgressException")
	r.clock.Advance(time.Second)
	if d := describe(); d.DomainValidationOptions[0].ResourceRecord == nil || d.DomainValidationOptions[0].ResourceRecord.Type != types.RecordTypeCname {
		t.Errorf("no record after a second: %+v", d.DomainValidationOptions[0])
	}
	r.clock.Advance(10 * time.Second)
	if d := describe(); d.Status != types.CertificateStatusPendingValidation {
		t.Errorf("status %s without a record", d.Status)
	}
	r.createValidationRecords("example.com")
	r.clock.Advance(5 * time.Second)
	if d := describe(); d.Status != types.CertificateStatusIssued || d.DomainValidationOptions[0].ValidationStatus != types.DomainStatusSuccess {
		t.Errorf("status %s after validation", d.Status)
	}
	got := must(r.client.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: arn}))(t)
	if !strings.HasPrefix(*got.Certificate, "-----BEGIN CERTIFICATE") {
		t.Error("no certificate in PEM")
	}
	must(r.client.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: arn}))(t)
	_, err = r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: arn})
	checkError(t, err, "ResourceNotFoundException")
	_, err = r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: aws.String("arn:aws:acm:nonsense")})
	checkError(t, err, "InvalidArnException")
	_, err = r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String("no spaces.com")})
	checkError(t, err, "ValidationException")
	long := strings.Repeat("a", 60) + ".com"
	must(r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: &long, SubjectAlternativeNames: []string{"b" + long}}))(t)
	_, err = r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String("b" + long), SubjectAlternativeNames: []string{long}})
	checkError(t, err, "InvalidDomainValidationOptionsException")
	r.em.Store().Config.Quotas["domain-names-per-certificate"] = 1
	_, err = r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String("a.com"), SubjectAlternativeNames: []string{"b.com"}})
	checkError(t, err, "LimitExceededException")
	r.em.Store().Config.ACM.ValidationDelay = -1
	never := must(r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: aws.String("a.com")}))(t)
	r.clock.Advance(73 * time.Hour)
	d := must(r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: never.CertificateArn}))(t).Certificate
	if d.Status != types.CertificateStatusValidationTimedOut {
		t.Errorf("status %s after three days", d.Status)
	}
}

// createValidationRecords creates a hosted zone for the last domain. The zone contains the validation records of all
// domains.
func (r *harness) createValidationRecords(domains ...string) {
	r.t.Helper()
	dns := route53.NewFromConfig(r.cfg)
	name := domains[len(domains)-1]
	zone := must(dns.CreateHostedZone(r.t.Context(), &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(r.clock.Now().String())}))(r.t)
	for _, d := range domains {
		r.changeValidationRecord(*zone.HostedZone.Id, "CREATE", d)
	}
	r.zone = *zone.HostedZone.Id
}

func (r *harness) changeValidationRecord(zone, action, domain string) {
	r.t.Helper()
	name, value := store.ValidationRecord("123456789012", domain)
	must(route53.NewFromConfig(r.cfg).ChangeResourceRecordSets(r.t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &dnstypes.ChangeBatch{Changes: []dnstypes.Change{{
			Action: dnstypes.ChangeAction(action), ResourceRecordSet: &dnstypes.ResourceRecordSet{
				Name: &name, Type: "CNAME", TTL: aws.Int64(60), ResourceRecords: []dnstypes.ResourceRecord{{Value: &value}},
			},
		}}},
	}))(r.t)
}

func TestCertificateIsIssuedWhenAllDomainsAreValidated(t *testing.T) {
	r := newHarness(t)
	ctx := t.Context()
	request := func(names ...string) func() types.CertificateDetail {
		arn := must(r.client.RequestCertificate(ctx, &acm.RequestCertificateInput{DomainName: &names[0], SubjectAlternativeNames: names, ValidationMethod: types.ValidationMethodDns}))(t).CertificateArn
		return func() types.CertificateDetail {
			return *must(r.client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: arn}))(t).Certificate
		}
	}
	both := request("a.example.com", "b.example.com")
	r.createValidationRecords("a.example.com", "example.com")
	r.clock.Advance(time.Hour)
	d := both()
	var got []types.DomainStatus
	for _, v := range d.DomainValidationOptions {
		got = append(got, v.ValidationStatus)
	}
	if diff := cmp.Diff([]types.DomainStatus{types.DomainStatusSuccess, types.DomainStatusPendingValidation}, got); diff != "" || d.Status != types.CertificateStatusPendingValidation {
		t.Errorf("%s with one record of two (-want +got):\n%s", d.Status, diff)
	}
	r.changeValidationRecord(r.zone, "CREATE", "b.example.com")
	r.clock.Advance(time.Second)
	r.changeValidationRecord(r.zone, "DELETE", "b.example.com")
	r.clock.Advance(time.Hour)
	if s := both().Status; s != types.CertificateStatusPendingValidation {
		t.Errorf("%s after a record that was there for a moment", s)
	}
	r.changeValidationRecord(r.zone, "CREATE", "b.example.com")
	r.clock.Advance(5 * time.Second)
	r.changeValidationRecord(r.zone, "DELETE", "b.example.com")
	if d := both(); d.Status != types.CertificateStatusIssued || !d.IssuedAt.Equal(r.clock.Now()) {
		t.Errorf("%s, issued at %v", d.Status, d.IssuedAt)
	}
	// "*.a.example.com" and "a.example.com" share one validation record, so the existing record validates both.
	star := request("*.a.example.com", "a.example.com")
	r.clock.Advance(5 * time.Second)
	one, two := star(), both()
	if one.Status != types.CertificateStatusIssued {
		t.Errorf("%s beside a record", one.Status)
	}
	for _, v := range one.DomainValidationOptions {
		if diff := cmp.Diff(two.DomainValidationOptions[0].ResourceRecord, v.ResourceRecord, cmpopts.IgnoreUnexported(types.ResourceRecord{})); diff != "" {
			t.Errorf("records of %s differ:\n%s", *v.DomainName, diff)
		}
	}
}

func TestPrivateZoneRecordDoesNotValidateCertificate(t *testing.T) {
	r := newHarness(t)
	arn := must(r.client.RequestCertificate(t.Context(), &acm.RequestCertificateInput{DomainName: aws.String("a.com"), ValidationMethod: types.ValidationMethodDns}))(t).CertificateArn
	w := r.em.Store()
	w.Lock()
	var vpc string
	for id := range w.Partition("123456789012", "us-west-2").VPCs {
		vpc = id
	}
	w.Unlock()
	zone := must(route53.NewFromConfig(r.cfg).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
		Name: aws.String("a.com"), CallerReference: aws.String("x"), HostedZoneConfig: &dnstypes.HostedZoneConfig{PrivateZone: true},
		VPC: &dnstypes.VPC{VPCId: &vpc, VPCRegion: dnstypes.VPCRegionUsWest2},
	}))(t)
	r.changeValidationRecord(*zone.HostedZone.Id, "CREATE", "a.com")
	r.clock.Advance(time.Hour)
	d := must(r.client.DescribeCertificate(t.Context(), &acm.DescribeCertificateInput{CertificateArn: arn}))(t).Certificate
	if d.Status != types.CertificateStatusPendingValidation {
		t.Errorf("status %s", d.Status)
	}
}

func TestPrivateCertificateIsIssuedAtOnce(t *testing.T) {
	r := newHarness(t)
	arn := must(r.client.RequestCertificate(t.Context(), &acm.RequestCertificateInput{
		DomainName: aws.String("a.example.com"), CertificateAuthorityArn: aws.String("arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/x"),
	}))(t).CertificateArn
	d := must(r.client.DescribeCertificate(t.Context(), &acm.DescribeCertificateInput{CertificateArn: arn}))(t).Certificate
	if d.Type != types.CertificateTypePrivate || d.Status != types.CertificateStatusIssued || d.CertificateAuthorityArn == nil {
		t.Errorf("described as %+v", d)
	}
}

// signCertificate returns a new certificate for key, parsed and as PEM. issuerKey signs the certificate, and by is the
// certificate of the issuer. If by is nil, the certificate is self-signed and issuerKey is not used. A non-nil edit changes
// the template of the certificate.
func (r *harness) signCertificate(by *x509.Certificate, issuerKey, key crypto.Signer, edit func(*x509.Certificate)) (*x509.Certificate, []byte) {
	r.t.Helper()
	now := r.clock.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "a.example.com"}, DNSNames: []string{"a.example.com"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(template)
	}
	parent := template
	if by != nil {
		parent = by
	} else {
		issuerKey = key
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), issuerKey))(r.t)
	return must(x509.ParseCertificate(der))(r.t), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodePKCS8(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))(t)})
}

func TestImportChecksCertificateChain(t *testing.T) {
	r := newHarness(t)
	key := func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t) }
	authority := func(c *x509.Certificate) {
		c.Subject.CommonName, c.DNSNames, c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = c.SerialNumber.String(), nil, true, true, x509.KeyUsageCertSign, nil
	}
	rootKey, lowKey, leafKey := key(), key(), key()
	root, rootPEM := r.signCertificate(nil, nil, rootKey, authority)
	r.clock.Advance(time.Second)
	low, lowPEM := r.signCertificate(root, rootKey, lowKey, authority)
	r.clock.Advance(time.Second)
	_, leaf := r.signCertificate(low, lowKey, leafKey, nil)
	for name, c := range map[string]struct {
		body, chain []byte
		want        string
	}{
		"in order":           {leaf, append(slices.Clone(lowPEM), rootPEM...), ""},
		"without the root":   {leaf, lowPEM, ""},
		"in another order":   {leaf, append(slices.Clone(rootPEM), lowPEM...), "Could not validate the certificate with the certificate chain."},
		"without the issuer": {leaf, rootPEM, "Could not validate the certificate with the certificate chain."},
		"without a chain":    {leaf, nil, "valid self-signed certificate or certificate chain"},
		"all in one":         {append(slices.Clone(leaf), lowPEM...), nil, "more than one certificate"},
	} {
		_, err := r.client.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: c.body, CertificateChain: c.chain, PrivateKey: encodePKCS8(t, leafKey)})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkError(t, err, "ValidationException")
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReimportReplacesCertificate(t *testing.T) {
	r := newHarness(t)
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	other := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))(t)
	_, first := r.signCertificate(nil, nil, key, nil)
	arn := must(r.client.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: first, PrivateKey: encodePKCS8(t, key)}))(t).CertificateArn
	for name, c := range map[string]struct {
		key  crypto.Signer
		edit func(*x509.Certificate)
		tags []types.Tag
		want string
	}{
		"renewed":             {key: key},
		"with another name":   {key: key, edit: func(c *x509.Certificate) { c.DNSNames = []string{"b.example.com"} }},
		"without client auth": {key: key, edit: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }},
		"without server auth": {key: key, edit: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }, want: "Extended Key Usage"},
		"with a usage less":   {key: key, edit: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }, want: "Key Usage"},
		"with a larger key":   {key: other, want: "key type and size"},
		"with tags":           {key: key, tags: []types.Tag{{Key: aws.String("a")}}, want: "Tagging is not permitted on re-import."},
	} {
		_, body := r.signCertificate(nil, nil, c.key, c.edit)
		in := &acm.ImportCertificateInput{Certificate: first, PrivateKey: encodePKCS8(t, key), CertificateArn: arn}
		must(r.client.ImportCertificate(t.Context(), in))(t)
		in.Certificate, in.PrivateKey, in.Tags = body, encodePKCS8(t, c.key), c.tags
		_, err := r.client.ImportCertificate(t.Context(), in)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "":
			checkError(t, err, "ValidationException")
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestPagesByCreationTime checks that a page begins after the last certificate of the previous page, if this certificate was
// deleted meanwhile.
func TestPagesByCreationTime(t *testing.T) {
	for _, order := range []types.SortOrder{"ASCENDING", "DESCENDING"} {
		r := newHarness(t)
		var arns []string
		for i := range 6 {
			out := must(r.client.RequestCertificate(t.Context(), &acm.RequestCertificateInput{
				DomainName: aws.String(fmt.Sprintf("%d.example.com", i)), ValidationMethod: types.ValidationMethodDns,
			}))(t)
			arns = append(arns, *out.CertificateArn)
			r.clock.Advance(time.Minute)
		}
		if order == "DESCENDING" {
			slices.Reverse(arns)
		}
		var got []string
		in := &acm.ListCertificatesInput{MaxItems: aws.Int32(1), SortBy: types.SortByCreatedAt, SortOrder: order}
		for {
			out := must(r.client.ListCertificates(t.Context(), in))(t)
			for _, c := range out.CertificateSummaryList {
				got = append(got, *c.CertificateArn)
				must(r.client.DeleteCertificate(t.Context(), &acm.DeleteCertificateInput{CertificateArn: c.CertificateArn}))(t)
			}
			if in.NextToken = out.NextToken; in.NextToken == nil {
				break
			}
		}
		if d := cmp.Diff(arns, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", order, d)
		}
	}
}

func TestImportQuotaCountsImportsOfLastYear(t *testing.T) {
	r := newHarness(t)
	r.em.Store().Config.Quotas["imported-certificates-per-year"] = 2
	cert, key := r.selfSignedCertificate("a.example.com")
	in := &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}
	arn := must(r.client.ImportCertificate(t.Context(), in))(t).CertificateArn
	again := &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key, CertificateArn: arn}
	must(r.client.ImportCertificate(t.Context(), again))(t)
	for _, next := range []*acm.ImportCertificateInput{in, again} {
		_, err := r.client.ImportCertificate(t.Context(), next)
		checkError(t, err, "LimitExceededException")
	}
	r.clock.Advance(366 * 24 * time.Hour)
	cert, key = r.selfSignedCertificate("a.example.com")
	must(r.client.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}))(t)
}

func TestImportSizeLimits(t *testing.T) {
	r := newHarness(t)
	cert, key := r.selfSignedCertificate("a.example.com")
	// padded returns PEM data with the given length. A PEM parser skips the line of padding.
	padded := func(text []byte, length int) []byte {
		return append([]byte(strings.Repeat("x", length-len(text)-1)+"\n"), text...)
	}
	for _, in := range []*acm.ImportCertificateInput{
		{Certificate: padded(cert, 32769), PrivateKey: key},
		{Certificate: cert, PrivateKey: padded(key, 5121)},
	} {
		_, err := r.client.ImportCertificate(t.Context(), in)
		checkError(t, err, "ValidationException")
		if !strings.Contains(err.Error(), "Member must have length less than or equal to") {
			t.Error(err)
		}
	}
	must(r.client.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: padded(cert, 32768), PrivateKey: padded(key, 5120)}))(t)
}
