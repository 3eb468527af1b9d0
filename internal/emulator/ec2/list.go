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

// kind is a type of resource with an identifier.
type kind struct {
	prefix       string // prefix of identifiers, with the hyphen
	resourceType string // the type in tags and ARNs
	// code and malformed are the stems of the error codes: code + ".NotFound", malformed + ".Malformed".
	code, malformed string
	// noun is the name in messages, as in "The subnet ID 'x' does not exist".
	noun string
	// min and max are the bounds of MaxResults.
	min, max int
}

var (
	kindVPC           = kind{"vpc-", "vpc", "InvalidVpcID", "InvalidVpcID", "vpc ID", 5, 1000}
	kindSubnet        = kind{"subnet-", "subnet", "InvalidSubnetID", "InvalidSubnetID", "subnet ID", 5, 1000}
	kindGroup         = kind{"sg-", "security-group", "InvalidGroup", "InvalidGroupId", "security group", 5, 1000}
	kindGroupRule     = kind{"sgr-", "security-group-rule", "InvalidSecurityGroupRuleId", "InvalidSecurityGroupRuleId", "security group rule ID", 5, 1000}
	kindInstance      = kind{"i-", "instance", "InvalidInstanceID", "InvalidInstanceID", "instance ID", 5, 1000}
	kindInterface     = kind{"eni-", "network-interface", "InvalidNetworkInterfaceID", "InvalidNetworkInterfaceId", "networkInterface ID", 5, 1000}
	kindRouteTable    = kind{"rtb-", "route-table", "InvalidRouteTableID", "InvalidRouteTableId", "routeTable ID", 5, 100}
	kindGateway       = kind{"igw-", "internet-gateway", "InvalidInternetGatewayID", "InvalidInternetGatewayId", "internetGateway ID", 5, 1000}
	kindAddress       = kind{"eipalloc-", "elastic-ip", "InvalidAllocationID", "InvalidAllocationID", "allocation ID", 5, 1000}
	kindPrefixList    = kind{"pl-", "prefix-list", "InvalidPrefixListID", "InvalidPrefixListId", "prefix list ID", 1, 100}
	kindPool          = kind{"ipam-pool-", "ipam-pool", "InvalidIpamPoolId", "InvalidIpamPoolId", "ipam pool ID", 5, 1000}
	kindCoIP          = kind{"ipv4pool-coip-", "coip-pool", "InvalidPoolID", "InvalidPoolID", "pool ID", 5, 1000}
	kindTag           = kind{max: 1000, min: 5}
	idDigits          = regexp.MustCompile(`^([0-9a-f]{8}|[0-9a-f]{17})$`)
	kindsByIdentifier = []kind{kindVPC, kindSubnet, kindGroup, kindGroupRule, kindInstance, kindInterface, kindRouteTable, kindGateway, kindAddress, kindPrefixList, kindPool, kindCoIP}
)

func (k kind) notFound(ids ...string) *store.Error {
	if len(ids) == 1 {
		return store.Errorf(store.Quoted("terraform-aws-modules/terraform-aws-ec2-instance#20"), k.code+".NotFound", "The %s '%s' does not exist", k.noun, ids[0])
	}
	return store.Errorf(store.Unproven, k.code+".NotFound", "The %ss '%s' do not exist", k.noun, strings.Join(ids, ", "))
}

func (k kind) checkID(id string) *store.Error {
	digits, ok := strings.CutPrefix(id, k.prefix)
	if !ok || !idDigits.MatchString(digits) {
		return store.Errorf(store.Unproven, k.malformed+".Malformed", "Invalid id: \"%s\" (expecting \"%s...\")", id, k.prefix)
	}
	return nil
}

// find returns the resource with an identifier, or an error of its kind.
func find[T any](k kind, all map[string]*T, id *string) (*T, *store.Error) {
	if aws.ToString(id) == "" {
		return nil, store.Errorf(store.Unproven, "MissingParameter", "The request must contain the parameter %s", strings.ReplaceAll(k.noun, " ", ""))
	}
	if err := k.checkID(*id); err != nil {
		return nil, err
	}
	item := all[*id]
	if item == nil {
		return nil, k.notFound(*id)
	}
	return item, nil
}

// query has the parameters that all describe operations have.
type query struct {
	ids     []string
	filters []types.Filter
	max     *int32
	token   *string
}

// describe returns a page of the resources of one kind that a query selects by identifiers, which must
// exist, and filters.
func describe[T any](s *core, c *store.Call, k kind, all map[string]*T, q query, known filters[*T]) (items []*T, next *string, err error) {
	ids := store.SortedKeys(all)
	if len(q.ids) > 0 {
		if q.max != nil {
			return nil, nil, store.Errorf(store.Unproven, "InvalidParameterCombination", "The parameter MaxResults cannot be used with the parameter of identifiers")
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
	ids, refused := selectBy(ids, q.filters, byID, tags)
	if refused != nil {
		return nil, nil, refused
	}
	if len(q.ids) == 0 {
		if ids, next, refused = page(s.w, k, ids, q.max, q.token); refused != nil {
			return nil, nil, refused
		}
	}
	items = make([]*T, 0, len(ids))
	for _, id := range ids {
		items = append(items, all[id])
	}
	return store.Shuffle(s.w, items), next, nil
}

func checkIDs[T any](k kind, all map[string]*T, ids []string) *store.Error {
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
		return k.notFound(missing...)
	}
	return nil
}

// page returns the page of sorted keys after a token, and the next token. The token is the last key of the
// previous page, so that it stays valid if resources are created or deleted.
func page(w *store.Store, k kind, keys []string, asked *int32, token *string) (cut []string, next *string, err *store.Error) {
	limit := len(keys)
	if asked != nil {
		if int(*asked) < k.min || int(*asked) > k.max {
			return nil, nil, store.Errorf(store.Unproven, "InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", *asked, k.min, k.max)
		}
		limit = int(*asked)
	}
	if after := aws.ToString(token); after != "" {
		last, err := base64.StdEncoding.DecodeString(after)
		if err != nil {
			return nil, nil, store.Errorf(store.Unproven, "InvalidNextToken", "The token '%s' is invalid", after)
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

// resourceType returns the type of an identifier, as in tags and ARNs.
func resourceType(id string) string {
	prefix := id[:strings.LastIndex(id, "-")+1]
	for _, k := range kindsByIdentifier {
		if k.prefix == prefix {
			return k.resourceType
		}
	}
	return fmt.Sprintf("unknown (%s)", prefix)
}

// createdBefore returns the resource that an earlier request with the same client token created, or nil if the
// resource does not exist.
func createdBefore[T any](c *store.Call, all map[string]*T, token *string) *T {
	if aws.ToString(token) == "" {
		return nil
	}
	return all[c.Partition.Tokens[c.Operation+" "+*token]]
}

// recordToken records the id of the resource that a request with a client token creates.
func recordToken(c *store.Call, token *string, id string) {
	if aws.ToString(token) != "" {
		c.Partition.Tokens[c.Operation+" "+*token] = id
	}
}
