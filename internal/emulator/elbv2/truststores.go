package elbv2

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var trustStoreNamePattern = regexp.MustCompile(`^([a-zA-Z0-9]+-)*[a-zA-Z0-9]+$`)

// CreateTrustStore creates a trust store. It does not read the bundle of CA certificates. If a trust store with the same
// name and settings exists, it returns this trust store.
func (s *trustStores) CreateTrustStore(c *store.Call, in *elb.CreateTrustStoreInput) (*elb.CreateTrustStoreOutput, error) {
	sh := s.newValidation()
	sh.checkPresent("name", in.Name != nil)
	sh.checkPresent("caCertificatesBundleS3Bucket", in.CaCertificatesBundleS3Bucket != nil)
	sh.checkPresent("caCertificatesBundleS3Key", in.CaCertificatesBundleS3Key != nil)
	sh.checkLength("name", in.Name, 1, 32)
	sh.checkPattern("name", in.Name, trustStoreNamePattern)
	sh.validateTags(in.Tags)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	tags, err := newTags(in.Tags)
	if err != nil {
		return nil, err
	}
	t := &store.TrustStore{
		Name: *in.Name, Bucket: *in.CaCertificatesBundleS3Bucket, Key: *in.CaCertificatesBundleS3Key,
		Version: store.Value(in.CaCertificatesBundleS3ObjectVersion), Active: c.Now.Add(s.store.Config.ELB.TrustStoreDelay), Tags: tags,
	}
	for _, other := range st.TrustStores {
		if other.Name == t.Name {
			if other.Bucket == t.Bucket && other.Key == t.Key && other.Version == t.Version && equalJSON(other.Tags, t.Tags) {
				return &elb.CreateTrustStoreOutput{TrustStores: []types.TrustStore{describeTrustStore(c, other)}}, nil
			}
			return nil, store.Errorf(store.UnprovenSource, "DuplicateTrustStoreName", "A trust store with the same name '%s' exists", t.Name)
		}
	}
	if most := s.quota(quotaTrustStores); len(st.TrustStores) >= most {
		return nil, store.Errorf(store.UnprovenSource, "TooManyTrustStores", "The maximum number of trust stores '%d' has been reached", most)
	}
	t.ARN = newARN(p, fmt.Sprintf("truststore/%s/%s", t.Name, s.store.RandomHex(16)))
	st.TrustStores[t.ARN] = t
	return &elb.CreateTrustStoreOutput{TrustStores: []types.TrustStore{describeTrustStore(c, t)}}, nil
}

// ModifyTrustStore replaces the bundle of CA certificates of a trust store.
func (s *trustStores) ModifyTrustStore(c *store.Call, in *elb.ModifyTrustStoreInput) (*elb.ModifyTrustStoreOutput, error) {
	var sh validation
	sh.checkPresent("trustStoreArn", in.TrustStoreArn != nil)
	sh.checkPresent("caCertificatesBundleS3Bucket", in.CaCertificatesBundleS3Bucket != nil)
	sh.checkPresent("caCertificatesBundleS3Key", in.CaCertificatesBundleS3Key != nil)
	if err := sh.err(); err != nil {
		return nil, err
	}
	t, err := findTrustStore(c.Partition.ELB, in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	t.Bucket, t.Key, t.Version = *in.CaCertificatesBundleS3Bucket, *in.CaCertificatesBundleS3Key, store.Value(in.CaCertificatesBundleS3ObjectVersion)
	return &elb.ModifyTrustStoreOutput{TrustStores: []types.TrustStore{describeTrustStore(c, t)}}, nil
}

// trustStoreListeners returns the ARNs of the listeners that use a trust store.
func trustStoreListeners(st *store.ELBState, arn string) []string {
	var out []string
	for _, l := range sortedValues(st.Listeners) {
		if l.Mutual != nil && store.Value(l.Mutual.TrustStoreArn) == arn {
			out = append(out, l.ARN)
		}
	}
	return out
}

// DeleteTrustStore deletes a trust store that no listener uses.
func (s *trustStores) DeleteTrustStore(c *store.Call, in *elb.DeleteTrustStoreInput) (*elb.DeleteTrustStoreOutput, error) {
	if err := requiredError("trustStoreArn", in.TrustStoreArn != nil); err != nil {
		return nil, err
	}
	st := c.Partition.ELB
	t, err := findTrustStore(st, in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	if len(trustStoreListeners(st, t.ARN)) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "TrustStoreInUse", "Trust store '%s' is currently in use by a listener", t.ARN)
	}
	delete(st.TrustStores, t.ARN)
	return &elb.DeleteTrustStoreOutput{}, nil
}

// DescribeTrustStores lists the trust stores with the ARNs or names in the request, or all.
func (s *trustStores) DescribeTrustStores(c *store.Call, in *elb.DescribeTrustStoresInput) (*elb.DescribeTrustStoresOutput, error) {
	st := c.Partition.ELB
	if len(in.Names) > 0 && len(in.TrustStoreArns) > 0 {
		return nil, validationError(store.UnprovenSource, "Trust store names and trust store ARNs cannot be specified at the same time")
	}
	found, err := findAll(st, kindTrustStore, st.TrustStores, in.TrustStoreArns)
	if err != nil {
		return nil, err
	}
	for _, name := range withoutDuplicates(in.Names) {
		i := slices.IndexFunc(sortedValues(st.TrustStores), func(t *store.TrustStore) bool { return t.Name == name })
		if i < 0 {
			return nil, trustStoreNotFoundError()
		}
		found = append(found, sortedValues(st.TrustStores)[i])
	}
	if len(in.Names) == 0 && len(in.TrustStoreArns) == 0 {
		found = sortedValues(st.TrustStores)
	}
	found, next, err := page(s.store, found, func(t *store.TrustStore) string { return t.ARN }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTrustStoresOutput{NextMarker: next}
	for _, t := range found {
		out.TrustStores = append(out.TrustStores, describeTrustStore(c, t))
	}
	return out, nil
}

func describeTrustStore(c *store.Call, t *store.TrustStore) types.TrustStore {
	status, entries := types.TrustStoreStatusActive, int64(0)
	if c.Now.Before(t.Active) {
		status = types.TrustStoreStatusCreating
	}
	for _, r := range t.Revocations {
		entries += r.Entries
	}
	return types.TrustStore{
		TrustStoreArn: new(t.ARN), Name: new(t.Name), Status: status,
		NumberOfCaCertificates: new(int32(1)), TotalRevokedEntries: new(entries),
	}
}

// DescribeTrustStoreAssociations lists the listeners that use a trust store.
func (s *trustStores) DescribeTrustStoreAssociations(c *store.Call, in *elb.DescribeTrustStoreAssociationsInput) (*elb.DescribeTrustStoreAssociationsOutput, error) {
	st := c.Partition.ELB
	t, err := findTrustStore(st, in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	users, next, err := page(s.store, trustStoreListeners(st, t.ARN), func(arn string) string { return arn }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTrustStoreAssociationsOutput{NextMarker: next}
	for _, arn := range users {
		out.TrustStoreAssociations = append(out.TrustStoreAssociations, types.TrustStoreAssociation{ResourceArn: new(arn)})
	}
	return out, nil
}

// AddTrustStoreRevocations adds revocation lists to a trust store. The emulator does not read the lists, and counts each
// list as one entry.
func (s *trustStores) AddTrustStoreRevocations(c *store.Call, in *elb.AddTrustStoreRevocationsInput) (*elb.AddTrustStoreRevocationsOutput, error) {
	t, err := findTrustStore(c.Partition.ELB, in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	if most := s.quota(quotaRevocationEntries); len(t.Revocations)+len(in.RevocationContents) > most {
		return nil, store.Errorf(store.UnprovenSource, "TooManyTrustStoreRevocationEntries", "The maximum number of revocation entries '%d' has been reached on trust store '%s'", most, t.ARN)
	}
	out := &elb.AddTrustStoreRevocationsOutput{}
	for _, r := range in.RevocationContents {
		if store.Value(r.S3Bucket) == "" || store.Value(r.S3Key) == "" {
			return nil, store.Errorf(store.UnprovenSource, "RevocationContentNotFound", "The revocation content must name an S3 bucket and key")
		}
	}
	for _, r := range in.RevocationContents {
		t.NextRevocation++
		t.Revocations = append(t.Revocations, store.TrustStoreRevocation{
			ID: t.NextRevocation, Bucket: *r.S3Bucket, Key: *r.S3Key, Version: store.Value(r.S3ObjectVersion), Entries: 1,
		})
		out.TrustStoreRevocations = append(out.TrustStoreRevocations, types.TrustStoreRevocation{
			TrustStoreArn: new(t.ARN), RevocationId: new(t.NextRevocation), RevocationType: types.RevocationTypeCrl, NumberOfRevokedEntries: new(int64(1)),
		})
	}
	return out, nil
}

// DescribeTrustStoreRevocations lists the revocation lists of a trust store.
func (s *trustStores) DescribeTrustStoreRevocations(c *store.Call, in *elb.DescribeTrustStoreRevocationsInput) (*elb.DescribeTrustStoreRevocationsOutput, error) {
	t, err := findTrustStore(c.Partition.ELB, in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	var found []store.TrustStoreRevocation
	for _, id := range in.RevocationIds {
		i := slices.IndexFunc(t.Revocations, func(r store.TrustStoreRevocation) bool { return r.ID == id })
		if i < 0 {
			return nil, store.Errorf(store.UnprovenSource, "RevocationIdNotFound", "Revocation '%d' not found", id)
		}
		found = append(found, t.Revocations[i])
	}
	if len(in.RevocationIds) == 0 {
		found = slices.Clone(t.Revocations)
	}
	slices.SortFunc(found, func(a, b store.TrustStoreRevocation) int { return cmp.Compare(a.ID, b.ID) })
	found, next, err := page(s.store, found, func(r store.TrustStoreRevocation) string { return fmt.Sprintf("%012d", r.ID) }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTrustStoreRevocationsOutput{NextMarker: next}
	for _, r := range found {
		out.TrustStoreRevocations = append(out.TrustStoreRevocations, types.DescribeTrustStoreRevocation{
			TrustStoreArn: new(t.ARN), RevocationId: new(r.ID), RevocationType: types.RevocationTypeCrl, NumberOfRevokedEntries: new(r.Entries),
		})
	}
	return out, nil
}
