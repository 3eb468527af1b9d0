package tagging

import (
	"cmp"
	"encoding/base64"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

const (
	defaultPageSize = 50
	maxPageSize     = 100
	maxFilters      = 50
	maxFilterValues = 20
	maxARNs         = 100
	tokenLifetime   = 15 * time.Minute
)

// Service serves GetResources.
type Service struct {
	store   *store.Store
	sources []store.TagSource
}

// New returns the service that lists the resources of the sources.
func New(w *store.Store, sources ...store.TagSource) *Service { return &Service{w, sources} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	return []wire.Operation{
		wire.NewOperation("GetResources", s.GetResources,
			wire.HandledMembers("TagFilters", "ResourceTypeFilters", "ResourceARNList", "ResourcesPerPage", "PaginationToken")),
	}
}

// GetResources lists the tagged resources of a region.
func (s *Service) GetResources(c *store.Call, in *rgt.GetResourcesInput) (*rgt.GetResourcesOutput, error) {
	if err := checkRequest(in); err != nil {
		return nil, err
	}
	after, err := readToken(aws.ToString(in.PaginationToken), c.Now)
	if err != nil {
		return nil, err
	}
	var found []store.TaggedResource
	for _, source := range s.sources {
		for _, r := range source.TaggedResources(c.Partition) {
			if isSelected(in, r) {
				found = append(found, r)
			}
		}
	}
	// Pages are in the order of ARNs. A token therefore stays valid if resources are created or deleted. Within a page the
	// order is random.
	sort.Slice(found, func(i, j int) bool { return found[i].ARN < found[j].ARN })
	from, _ := slices.BinarySearchFunc(found, after, func(r store.TaggedResource, arn string) int {
		if after != "" && r.ARN <= arn {
			return -1
		}
		return 1
	})
	found = found[from:]
	out := &rgt.GetResourcesOutput{PaginationToken: aws.String(""), ResourceTagMappingList: []types.ResourceTagMapping{}}
	if len(in.ResourceARNList) == 0 {
		requested := cmp.Or(int(aws.ToInt32(in.ResourcesPerPage)), defaultPageSize)
		if limit := s.store.PageLimit(requested, maxPageSize); len(found) > limit {
			found = found[:limit]
			out.PaginationToken = aws.String(newToken(found[limit-1].ARN, c.Now))
		}
	}
	for _, r := range found {
		m := types.ResourceTagMapping{ResourceARN: aws.String(r.ARN)}
		for _, key := range store.SortedKeys(r.Tags) {
			m.Tags = append(m.Tags, types.Tag{Key: aws.String(key), Value: aws.String(r.Tags[key])})
		}
		store.Shuffle(s.store, m.Tags)
		out.ResourceTagMappingList = append(out.ResourceTagMappingList, m)
	}
	store.Shuffle(s.store, out.ResourceTagMappingList)
	return out, nil
}

func checkRequest(in *rgt.GetResourcesInput) *store.Error {
	bad := func(from store.Source, format string, args ...any) *store.Error {
		return store.Errorf(from, "InvalidParameterException", format, args...)
	}
	if len(in.TagFilters) > maxFilters {
		return bad(store.UnprovenSource, "There are too many tag filters; the limit is 50.")
	}
	for _, f := range in.TagFilters {
		if aws.ToString(f.Key) == "" {
			return bad(store.UnprovenSource, "Each tag filter must have a key.")
		}
		if len(f.Values) > maxFilterValues {
			return bad(store.UnprovenSource, "There are too many values in a tag filter; the limit is 20.")
		}
	}
	if n := in.ResourcesPerPage; n != nil && (*n < 1 || *n > maxPageSize) {
		return bad(store.UnprovenSource, "ResourcesPerPage must be between 1 and 100.")
	}
	if len(in.ResourceARNList) > 0 {
		if len(in.TagFilters) > 0 || len(in.ResourceTypeFilters) > 0 || in.ResourcesPerPage != nil || in.PaginationToken != nil {
			return bad(store.UnprovenSource, "ResourceARNList cannot be combined with filters or pagination.")
		}
		if len(in.ResourceARNList) > maxARNs {
			return bad(store.UnprovenSource, "There are too many ARNs; the limit is 100.")
		}
	}
	for _, f := range in.ResourceTypeFilters {
		if service, _, _ := strings.Cut(f, ":"); service == "" {
			return bad(store.UnprovenSource, "'%s' is not a resource type.", f)
		}
	}
	return nil
}

// isSelected reports whether a request selects a resource. It is false for resources without tags.
func isSelected(in *rgt.GetResourcesInput, r store.TaggedResource) bool {
	if len(r.Tags) == 0 {
		return false
	}
	if len(in.ResourceARNList) > 0 {
		return slices.Contains(in.ResourceARNList, r.ARN)
	}
	if len(in.ResourceTypeFilters) > 0 && !slices.ContainsFunc(in.ResourceTypeFilters, func(f string) bool { return hasType(r, f) }) {
		return false
	}
	for _, f := range in.TagFilters {
		value, ok := r.Tags[*f.Key]
		if !ok || len(f.Values) > 0 && !slices.Contains(f.Values, value) {
			return false
		}
	}
	return true
}

// hasType reports whether a resource matches a resource type filter, such as "ec2", "ec2:security-group" or
// "elasticloadbalancing:loadbalancer/app".
func hasType(r store.TaggedResource, filter string) bool {
	if r.Type == filter {
		return true
	}
	service, kind, _ := strings.Cut(filter, ":")
	arn := strings.SplitN(r.ARN, ":", 6)
	if len(arn) < 6 || arn[2] != service {
		return false
	}
	return kind == "" || strings.HasPrefix(arn[5], kind+"/")
}

// newToken returns a pagination token. It contains the last ARN of a page, and the time at which the page was returned.
func newToken(arn string, now time.Time) string {
	return base64.StdEncoding.EncodeToString([]byte(strconv.FormatInt(now.Unix(), 10) + " " + arn))
}

// readToken returns the ARN in a pagination token, or "" if the token is empty.
func readToken(token string, now time.Time) (arn string, invalid *store.Error) {
	if token == "" {
		return "", nil
	}
	bad := store.Errorf(store.UnprovenSource, "InvalidParameterException", "The pagination token is not valid.")
	text, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", bad
	}
	at, arn, ok := strings.Cut(string(text), " ")
	made, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return "", bad
	}
	if now.Sub(time.Unix(made, 0)) > tokenLifetime {
		return "", store.Errorf(store.UnprovenSource, "PaginationTokenExpiredException", "The pagination token has expired.")
	}
	return arn, nil
}
