package route53

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaZones      = "hosted-zones"
	maxZonesPerPage = 100
	// nameServerTTL and soaTTL are the TTLs of the NS and SOA records that are created with a zone, in seconds.
	nameServerTTL, soaTTL = 172800, 900
)

// namePattern matches names as store.DNSName returns them. In these names, an asterisk is the octal code \052.
var namePattern = regexp.MustCompile(`^((\\052|[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)\.)+$`)

// CreateHostedZone creates a zone with its NS and SOA records. A zone with a VPC is private.
func (s *Service) CreateHostedZone(c *store.Call, in *route53.CreateHostedZoneInput) (*route53.CreateHostedZoneOutput, error) {
	st := s.route53State(c)
	name := store.DNSName(store.Value(in.Name))
	if store.Value(in.Name) == "" || len(name) > 255 || !namePattern.MatchString(name) || strings.HasPrefix(name, `\052`) {
		return nil, errorWithStatus(store.UnprovenSource, 400, "InvalidDomainName", "%s is not a valid domain name", store.Value(in.Name))
	}
	if n := len(store.Value(in.CallerReference)); n < 1 || n > 128 {
		return nil, invalidInputError(store.UnprovenSource, "1 validation error detected: Value '%s' at 'callerReference' failed to satisfy constraint: Member must have length between 1 and 128", store.Value(in.CallerReference))
	}
	for _, id := range store.SortedKeys(st.Zones) {
		if st.Zones[id].CallerReference == *in.CallerReference {
			return nil, errorWithStatus(store.UnprovenSource, 409, "HostedZoneAlreadyExists", "A hosted zone has already been created with the specified caller reference.")
		}
	}
	if len(st.Zones) >= s.store.Quota(quotaZones, 500) {
		return nil, errorWithStatus(store.UnprovenSource, 400, "TooManyHostedZones", "Limits Exceeded: MAX_HOSTED_ZONES_BY_OWNER - Cannot create more hosted zones.")
	}
	z := &store.HostedZone{ID: "Z0" + strings.ToUpper(s.store.RandomHex(18)), Name: name, CallerReference: *in.CallerReference}
	if in.HostedZoneConfig != nil {
		z.Comment, z.Private = store.Value(in.HostedZoneConfig.Comment), in.HostedZoneConfig.PrivateZone
	}
	if z.Private != (in.VPC != nil) {
		return nil, invalidInputError(store.UnprovenSource, "You must specify a VPC when creating a private hosted zone, and only then.")
	}
	if z.Private {
		z.VPC, z.VPCRegion = store.Value(in.VPC.VPCId), string(in.VPC.VPCRegion)
		if s.store.Partition(c.Account, z.VPCRegion).VPCs[z.VPC] == nil {
			return nil, errorWithStatus(store.UnprovenSource, 400, "InvalidVPCId", "The VPC: %s in region %s doesn't exist", z.VPC, z.VPCRegion)
		}
	}
	for i, end := range []string{"com", "net", "org", "co.uk"} {
		z.NameServers = append(z.NameServers, fmt.Sprintf("ns-%d.awsdns-%02d.%s", 512*i+len(st.Zones)%512, len(st.Zones)%64, end))
	}
	servers := slices.Clone(z.NameServers)
	for i := range servers {
		servers[i] += "."
	}
	z.Records = []store.RecordSet{
		{Name: name, Type: "NS", TTL: nameServerTTL, Values: servers},
		{Name: name, Type: "SOA", TTL: soaTTL, Values: []string{servers[0] + " awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"}},
	}
	st.Zones[z.ID] = z
	out := &route53.CreateHostedZoneOutput{
		HostedZone: new(describeZone(z)), ChangeInfo: s.storeChange(c, ""), VPC: in.VPC,
		Location: new("https://route53." + s.store.AWSPartition().Suffix + pathPrefix + "hostedzone/" + z.ID),
	}
	if !z.Private {
		out.DelegationSet = &types.DelegationSet{NameServers: z.NameServers}
	}
	return out, nil
}

func describeZone(z *store.HostedZone) types.HostedZone {
	return types.HostedZone{
		Id: new("/hostedzone/" + z.ID), Name: new(z.Name), CallerReference: new(z.CallerReference), ResourceRecordSetCount: new(int64(len(z.Records))),
		Config: &types.HostedZoneConfig{Comment: store.StringOrNil(z.Comment), PrivateZone: z.Private},
	}
}

// DeleteHostedZone deletes a zone. The zone must have no records except the NS and SOA records that were created with it.
func (s *Service) DeleteHostedZone(c *store.Call, in *route53.DeleteHostedZoneInput) (*route53.DeleteHostedZoneOutput, error) {
	z, err := s.findZone(c, in.Id)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(z.Records, func(r store.RecordSet) bool { return !z.IsCreatedWithZone(r) }) {
		return nil, errorWithStatus(store.UnprovenSource, 400, "HostedZoneNotEmpty", "The specified hosted zone contains non-required resource record sets and so cannot be deleted.")
	}
	delete(s.route53State(c).Zones, z.ID)
	return &route53.DeleteHostedZoneOutput{ChangeInfo: s.storeChange(c, "")}, nil
}

// ListHostedZones lists a page of the hosted zones.
func (s *Service) ListHostedZones(c *store.Call, in *route53.ListHostedZonesInput) (*route53.ListHostedZonesOutput, error) {
	if in.MaxItems != nil && *in.MaxItems < 1 {
		return nil, invalidInputError(store.UnprovenSource, "The value of maxitems must be positive")
	}
	zones := s.route53State(c).Zones
	limit := s.store.PageLimit(int(store.Value(in.MaxItems)), maxZonesPerPage)
	out := &route53.ListHostedZonesOutput{Marker: in.Marker, MaxItems: new(int32(limit)), HostedZones: []types.HostedZone{}}
	for _, id := range store.SortedKeys(zones) {
		if id < store.Value(in.Marker) {
			continue
		}
		if len(out.HostedZones) == limit {
			out.IsTruncated, out.NextMarker = true, new(id)
			break
		}
		out.HostedZones = append(out.HostedZones, describeZone(zones[id]))
	}
	store.Shuffle(s.store, out.HostedZones)
	return out, nil
}

// ListHostedZonesByName lists a page of the hosted zones. It orders them by the labels of their names, from the last label
// to the first, and then by ID.
func (s *Service) ListHostedZonesByName(c *store.Call, in *route53.ListHostedZonesByNameInput) (*route53.ListHostedZonesByNameOutput, error) {
	if in.HostedZoneId != nil && in.DNSName == nil {
		return nil, invalidInputError(store.UnprovenSource, "HostedZoneId is given without DNSName")
	}
	order := func(a, b *store.HostedZone) int {
		return cmp.Or(slices.Compare(reversedLabels(a.Name), reversedLabels(b.Name)), cmp.Compare(a.ID, b.ID))
	}
	zones := slices.SortedFunc(maps.Values(s.route53State(c).Zones), order)
	from := store.HostedZone{ID: strings.TrimPrefix(store.Value(in.HostedZoneId), "/hostedzone/")}
	if in.DNSName != nil {
		from.Name = store.DNSName(*in.DNSName)
	}
	limit := s.store.PageLimit(int(store.Value(in.MaxItems)), maxZonesPerPage)
	out := &route53.ListHostedZonesByNameOutput{DNSName: in.DNSName, HostedZoneId: in.HostedZoneId, MaxItems: new(int32(limit)), HostedZones: []types.HostedZone{}}
	for _, z := range zones {
		if in.DNSName != nil && order(z, &from) < 0 {
			continue
		}
		if len(out.HostedZones) == limit {
			out.IsTruncated, out.NextDNSName, out.NextHostedZoneId = true, new(z.Name), new(z.ID)
			break
		}
		out.HostedZones = append(out.HostedZones, describeZone(z))
	}
	return out, nil
}

// GetChange returns a change. Its status is PENDING until SyncDelay has passed, and then INSYNC.
func (s *Service) GetChange(c *store.Call, in *route53.GetChangeInput) (*route53.GetChangeOutput, error) {
	id := strings.TrimPrefix(store.Value(in.Id), "/change/")
	ch := s.route53State(c).Changes[id]
	if ch == nil {
		return nil, errorWithStatus(store.UnprovenSource, 404, "NoSuchChange", "Could not find resource with ID: %s", id)
	}
	return &route53.GetChangeOutput{ChangeInfo: s.describeChange(c, ch)}, nil
}
