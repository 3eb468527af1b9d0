package acm

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves the operations of ACM.
type Service struct {
	store *store.Store
}

// New returns the service for the state in w.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service, each with the input members that it handles.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.NewOperation("ListCertificates", s.ListCertificates, h("CertificateStatuses", "Includes.KeyTypes", "MaxItems", "NextToken", "SortBy", "SortOrder")),
		wire.NewOperation("DescribeCertificate", s.DescribeCertificate, h("CertificateArn")),
		wire.NewOperation("GetCertificate", s.GetCertificate, h("CertificateArn")),
		wire.NewOperation("ImportCertificate", s.ImportCertificate, h("Certificate", "PrivateKey", "CertificateArn", "CertificateChain", "Tags")),
		wire.NewOperation("RequestCertificate", s.RequestCertificate, h("DomainName", "CertificateAuthorityArn", "DomainValidationOptions",
			"IdempotencyToken", "KeyAlgorithm", "Options", "SubjectAlternativeNames", "Tags", "ValidationMethod")),
		wire.NewOperation("DeleteCertificate", s.DeleteCertificate, h("CertificateArn")),
		wire.NewOperation("ListTagsForCertificate", s.ListTagsForCertificate, h("CertificateArn")),
		wire.NewOperation("AddTagsToCertificate", s.AddTagsToCertificate, h("CertificateArn", "Tags")),
		wire.NewOperation("RemoveTagsFromCertificate", s.RemoveTagsFromCertificate, h("CertificateArn", "Tags")),
	}
}

// TaggedResources lists the certificates in partition p for the tagging service.
func (s *Service) TaggedResources(p *store.Partition) []store.TaggedResource {
	var out []store.TaggedResource
	for _, arn := range store.SortedKeys(p.ACM.Certificates) {
		out = append(out, store.TaggedResource{ARN: arn, Type: "acm:certificate", Tags: p.ACM.Certificates[arn].Tags})
	}
	return out
}

func validationError(from store.Source, format string, args ...any) error {
	return store.Errorf(from, "ValidationException", format, args...)
}

var arnPattern = regexp.MustCompile(`^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[\w-]+$`)

// findCertificate returns the certificate with an ARN, or AWS's error if the ARN is invalid or no certificate has it.
func findCertificate(p *store.Partition, arn *string) (*store.Certificate, error) {
	if arn == nil {
		return nil, validationError(store.UnprovenSource, "1 validation error detected: Value null at 'certificateArn' failed to satisfy constraint: Member must not be null")
	}
	if !arnPattern.MatchString(*arn) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidArnException", "The certificate ARN '%s' is not valid", *arn)
	}
	c := p.ACM.Certificates[*arn]
	if c == nil {
		return nil, store.Errorf(store.UnprovenSource, "ResourceNotFoundException", "Could not find certificate %s.", *arn)
	}
	return c, nil
}

const maxTagsPerCertificate = 50

// tagPattern matches the keys and values that ACM accepts in tags.
var tagPattern = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// mergeTags returns a copy of have with tags added, or an error if a tag is invalid or the copy has too many tags.
func mergeTags(have map[string]string, tags []types.Tag) (map[string]string, error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for _, t := range tags {
		key, value := store.Value(t.Key), store.Value(t.Value)
		if key == "" || utf8.RuneCountInString(key) > 128 || utf8.RuneCountInString(value) > 256 || !tagPattern.MatchString(key) || !tagPattern.MatchString(value) ||
			strings.HasPrefix(strings.ToLower(key), "aws:") {
			return nil, store.Errorf(store.UnprovenSource, "InvalidTagException", "The tag '%s' is not valid", key)
		}
		out[key] = value
	}
	if len(out) > maxTagsPerCertificate {
		return nil, store.Errorf(store.UnprovenSource, "TooManyTagsException", "A certificate cannot have more than %d tags", maxTagsPerCertificate)
	}
	return out, nil
}

// tagList returns tags in random order, because AWS does not document an order.
func (s *Service) tagList(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return store.Shuffle(s.store, out)
}

// nextPage returns the page of all that follows a page token, and the token of the next page, nil after the last page.
// size is the maximum number of certificates in the page; nil means the default. all is sorted by order, which compares
// ARNs and creation times. A token contains the ARN and the creation time of the last certificate of a page, so it stays
// valid if that certificate is deleted.
func (s *Service) nextPage(all []*store.Certificate, order func(a, b *store.Certificate) int, token *string, size *int32) ([]*store.Certificate, *string, error) {
	if size != nil && (*size < 1 || *size > 1000) {
		return nil, nil, validationError(store.UnprovenSource, "1 validation error detected: Value '%d' at 'maxItems' failed to satisfy constraint: Member must have value between 1 and 1000", *size)
	}
	if token != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*token)
		created, arn, _ := strings.Cut(string(raw), " ")
		nanoseconds, parseErr := strconv.ParseInt(created, 10, 64)
		if err != nil || parseErr != nil || !arnPattern.MatchString(arn) {
			return nil, nil, store.Errorf(store.UnprovenSource, "InvalidArgsException", "The token '%s' is not valid", *token)
		}
		last := &store.Certificate{ARN: arn, Created: time.Unix(0, nanoseconds)}
		i := slices.IndexFunc(all, func(c *store.Certificate) bool { return order(c, last) > 0 })
		if i < 0 {
			i = len(all)
		}
		all = all[i:]
	}
	limit := s.store.PageLimit(int(store.Value(size)), 1000)
	if len(all) <= limit {
		return all, nil, nil
	}
	all = all[:limit]
	last := all[limit-1]
	return all, new(base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", last.Created.UnixNano(), last.ARN))), nil
}
