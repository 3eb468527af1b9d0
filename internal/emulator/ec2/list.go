package ec2

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// resourceKind describes a type of resource: its identifiers, its error codes and messages, and its page sizes.
type resourceKind struct {
	prefix       string // prefix of identifiers, such as "vpc-"
	resourceType string // the type in tags and ARNs, such as "vpc"
	// codeStem and malformedStem are the beginnings of the error codes codeStem + ".NotFound" and malformedStem +
	// ".Malformed".
	codeStem, malformedStem string
	// displayName is the name in messages, as in "The subnet ID 'x' does not exist".
	displayName string
	// minResults and maxResults are the smallest and the largest valid value of the request parameter MaxResults.
	minResults, maxResults int
}

var (
	kindVPC               = resourceKind{"vpc-", "vpc", "InvalidVpcID", "InvalidVpcID", "vpc ID", 5, 1000}
	kindSubnet            = resourceKind{"subnet-", "subnet", "InvalidSubnetID", "InvalidSubnetID", "subnet ID", 5, 1000}
	kindSecurityGroup     = resourceKind{"sg-", "security-group", "InvalidGroup", "InvalidGroupId", "security group", 5, 1000}
	kindSecurityGroupRule = resourceKind{"sgr-", "security-group-rule", "InvalidSecurityGroupRuleId", "InvalidSecurityGroupRuleId", "security group rule ID", 5, 1000}
	kindInstance          = resourceKind{"i-", "instance", "InvalidInstanceID", "InvalidInstanceID", "instance ID", 5, 1000}
	kindENI               = resourceKind{"eni-", "network-interface", "InvalidNetworkInterfaceID", "InvalidNetworkInterfaceId", "networkInterface ID", 5, 1000}
	kindRouteTable        = resourceKind{"rtb-", "route-table", "InvalidRouteTableID", "InvalidRouteTableId", "routeTable ID", 5, 100}
	kindGateway           = resourceKind{"igw-", "internet-gateway", "InvalidInternetGatewayID", "InvalidInternetGatewayId", "internetGateway ID", 5, 1000}
	kindAddress           = resourceKind{"eipalloc-", "elastic-ip", "InvalidAllocationID", "InvalidAllocationID", "allocation ID", 5, 1000}
	kindPrefixList        = resourceKind{"pl-", "prefix-list", "InvalidPrefixListID", "InvalidPrefixListId", "prefix list ID", 1, 100}
	kindIPAMPool          = resourceKind{"ipam-pool-", "ipam-pool", "InvalidIpamPoolId", "InvalidIpamPoolId", "ipam pool ID", 5, 1000}
	kindCoIPPool          = resourceKind{"ipv4pool-coip-", "coip-pool", "InvalidPoolID", "InvalidPoolID", "pool ID", 5, 1000}
	kindTag               = resourceKind{maxResults: 1000, minResults: 5}
	idDigitsPattern       = regexp.MustCompile(`^([0-9a-f]{8}|[0-9a-f]{17})$`)
	kindsByIdentifier     = []resourceKind{kindVPC, kindSubnet, kindSecurityGroup, kindSecurityGroupRule, kindInstance, kindENI, kindRouteTable, kindGateway, kindAddress, kindPrefixList, kindIPAMPool, kindCoIPPool}
)

func (k resourceKind) notFoundError(ids ...string) *store.Error {
	if len(ids) == 1 {
		return store.Errorf(store.ReportSource("terraform-aws-modules/terraform-aws-ec2-instance#20"), k.codeStem+".NotFound", "The %s '%s' does not exist", k.displayName, ids[0])
	}
	return store.Errorf(store.UnprovenSource, k.codeStem+".NotFound", "The %ss '%s' do not exist", k.displayName, strings.Join(ids, ", "))
}

func (k resourceKind) checkID(id string) *store.Error {
	digits, ok := strings.CutPrefix(id, k.prefix)
	if !ok || !idDigitsPattern.MatchString(digits) {
		return store.Errorf(store.UnprovenSource, k.malformedStem+".Malformed", "Invalid id: \"%s\" (expecting \"%s...\")", id, k.prefix)
	}
	return nil
}

// findResource returns the resource with an identifier. It returns an error if the identifier is missing or malformed, or if
// no resource has it.
func findResource[T any](k resourceKind, all map[string]*T, id *string) (*T, *store.Error) {
	if aws.ToString(id) == "" {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter %s", strings.ReplaceAll(k.displayName, " ", ""))
	}
	if err := k.checkID(*id); err != nil {
		return nil, err
	}
	item := all[*id]
	if item == nil {
		return nil, k.notFoundError(*id)
	}
	return item, nil
}

// describeQuery contains the request parameters that most describe operations have.
type describeQuery struct {
	ids        []string
	filters    []types.Filter
	maxResults *int32
	nextToken  *string
}

// describe returns one page of the resources of kind k that have the identifiers in the query and match its filters, and the
// token of the next page. Without identifiers it selects from all resources. It returns an error if an identifier does not
// exist.
func describe[T any](s *core, c *store.Call, k resourceKind, all map[string]*T, q describeQuery, known filters[*T]) (items []*T, next *string, err error) {
	ids := store.SortedKeys(all)
	if len(q.ids) > 0 {
		if q.maxResults != nil {
			return nil, nil, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "The parameter MaxResults cannot be used with the parameter of identifiers")
		}
		if err := checkIDs(k, all, q.ids); err != nil {
			return nil, nil, err
		}
		ids = slices.Compact(slices.Sorted(slices.Values(q.ids)))
	}
	tags := func(id string) map[string]string { return c.Partition.Tags[id] }
	byID := filters[string]{}
	for name, values := range known {
		byID[name] = func(id string) []string { return values(all[id]) }
	}
	ids, refused := filterItems(ids, q.filters, byID, tags)
	if refused != nil {
		return nil, nil, refused
	}
	if len(q.ids) == 0 {
		if ids, next, refused = page(s.store, k, ids, q.maxResults, q.nextToken); refused != nil {
			return nil, nil, refused
		}
	}
	items = make([]*T, 0, len(ids))
	for _, id := range ids {
		items = append(items, all[id])
	}
	return store.Shuffle(s.store, items), next, nil
}

func checkIDs[T any](k resourceKind, all map[string]*T, ids []string) *store.Error {
	var missing []string
	for _, id := range ids {
		if err := k.checkID(id); err != nil {
			return err
		}
		if all[id] == nil && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return k.notFoundError(missing...)
	}
	return nil
}

// page returns the keys of one page, and the token of the next page, which is nil after the last page. keys must be sorted.
// asked is the page size in the request, token the token in the request. A token contains the last key of its page, so it
// stays valid if resources are created or deleted.
func page(w *store.Store, k resourceKind, keys []string, asked *int32, token *string) (cut []string, next *string, err *store.Error) {
	limit := len(keys)
	if asked != nil {
		if int(*asked) < k.minResults || int(*asked) > k.maxResults {
			return nil, nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", *asked, k.minResults, k.maxResults)
		}
		limit = int(*asked)
	}
	if after := aws.ToString(token); after != "" {
		last, err := base64.StdEncoding.DecodeString(after)
		if err != nil {
			return nil, nil, store.Errorf(store.UnprovenSource, "InvalidNextToken", "The token '%s' is invalid", after)
		}
		from, found := slices.BinarySearch(keys, string(last))
		if found {
			from++
		}
		keys = keys[from:]
	}
	if limit > 0 {
		limit = w.PageLimit(limit, max(limit, 1))
	}
	if limit >= len(keys) || limit == 0 {
		return keys, nil, nil
	}
	keys = keys[:limit]
	return keys, aws.String(base64.StdEncoding.EncodeToString([]byte(keys[limit-1]))), nil
}

// resourceTypeOf returns the resource type in tags and ARNs for an identifier, such as "subnet" for "subnet-1234abcd".
func resourceTypeOf(id string) string {
	prefix := id[:strings.LastIndex(id, "-")+1]
	for _, k := range kindsByIdentifier {
		if k.prefix == prefix {
			return k.resourceType
		}
	}
	return fmt.Sprintf("unknown (%s)", prefix)
}

// resourceByToken returns the resource that an earlier request for the same operation created with this client token. It
// returns nil if there was no such request, or if the resource was deleted.
func resourceByToken[T any](c *store.Call, all map[string]*T, token *string) *T {
	if aws.ToString(token) == "" {
		return nil
	}
	return all[c.Partition.Tokens[c.Operation+" "+*token]]
}

// recordToken records that a request with a client token created the resource id. It does nothing without a token.
func recordToken(c *store.Call, token *string, id string) {
	if aws.ToString(token) != "" {
		c.Partition.Tokens[c.Operation+" "+*token] = id
	}
}
