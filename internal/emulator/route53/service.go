// Package route53 implements the operations of Route 53 on hosted zones and their records. The service is global: its state
// is in the home region of the AWS partition, whatever the region of the call.
//
// Records have values or are aliases. Requests with routing policies or health checks are rejected.
package route53

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves the operations of Route 53.
type Service struct {
	store *store.Store
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.NewOperation("CreateHostedZone", s.CreateHostedZone, h("CallerReference", "HostedZoneConfig", "Name", "VPC")),
		wire.NewOperation("DeleteHostedZone", s.DeleteHostedZone, h("Id")),
		wire.NewOperation("ListHostedZones", s.ListHostedZones, h("Marker", "MaxItems")),
		wire.NewOperation("ListHostedZonesByName", s.ListHostedZonesByName, h("DNSName", "HostedZoneId", "MaxItems")),
		wire.NewOperation("ChangeResourceRecordSets", s.ChangeResourceRecordSets, h("HostedZoneId", "ChangeBatch.Comment", "ChangeBatch.Changes.Action",
			"ChangeBatch.Changes.ResourceRecordSet.Name", "ChangeBatch.Changes.ResourceRecordSet.Type",
			"ChangeBatch.Changes.ResourceRecordSet.TTL", "ChangeBatch.Changes.ResourceRecordSet.ResourceRecords", "ChangeBatch.Changes.ResourceRecordSet.AliasTarget")),
		wire.NewOperation("ListResourceRecordSets", s.ListResourceRecordSets, h("HostedZoneId", "MaxItems", "StartRecordName", "StartRecordType")),
		wire.NewOperation("GetChange", s.GetChange, h("Id")),
	}
}

const pathPrefix = "/2013-04-01/"

// Routes returns the methods and paths of the operations.
func Routes() []wire.Route {
	return []wire.Route{
		{Operation: "CreateHostedZone", Method: "POST", Path: pathPrefix + "hostedzone"},
		{Operation: "DeleteHostedZone", Method: "DELETE", Path: pathPrefix + "hostedzone/{Id}"},
		{Operation: "ListHostedZones", Method: "GET", Path: pathPrefix + "hostedzone", Query: map[string]string{
			"delegationsetid": "DelegationSetId", "hostedzonetype": "HostedZoneType", "marker": "Marker", "maxitems": "MaxItems",
		}},
		{Operation: "ListHostedZonesByName", Method: "GET", Path: pathPrefix + "hostedzonesbyname", Query: map[string]string{
			"dnsname": "DNSName", "hostedzoneid": "HostedZoneId", "maxitems": "MaxItems",
		}},
		{Operation: "ChangeResourceRecordSets", Method: "POST", Path: pathPrefix + "hostedzone/{HostedZoneId}/rrset"},
		{Operation: "ListResourceRecordSets", Method: "GET", Path: pathPrefix + "hostedzone/{HostedZoneId}/rrset", Query: map[string]string{
			"identifier": "StartRecordIdentifier", "maxitems": "MaxItems", "name": "StartRecordName", "type": "StartRecordType",
		}},
		{Operation: "GetChange", Method: "GET", Path: pathPrefix + "change/{Id}"},
	}
}

func errorWithStatus(from store.Source, status int, code, format string, args ...any) error {
	err := store.Errorf(from, code, format, args...)
	err.Status = status
	return err
}

func invalidInputError(from store.Source, format string, args ...any) error {
	return errorWithStatus(from, 400, "InvalidInput", format, args...)
}

func (s *Service) route53State(c *store.Call) *store.Route53State {
	return s.store.Route53State(c.Account)
}

// findZone returns the hosted zone with an ID. The ID may have the prefix "/hostedzone/".
func (s *Service) findZone(c *store.Call, id *string) (*store.HostedZone, error) {
	key := strings.TrimPrefix(store.Value(id), "/hostedzone/")
	z := s.route53State(c).Zones[key]
	if z == nil {
		return nil, errorWithStatus(store.UnprovenSource, 404, "NoSuchHostedZone", "No hosted zone found with ID: %s", key)
	}
	return z, nil
}

// storeChange stores an accepted change and returns its description.
func (s *Service) storeChange(c *store.Call, comment string) *types.ChangeInfo {
	ch := &store.DNSChange{ID: "C0" + strings.ToUpper(s.store.RandomHex(19)), Comment: comment, At: c.Now}
	s.route53State(c).Changes[ch.ID] = ch
	return s.describeChange(c, ch)
}

func (s *Service) describeChange(c *store.Call, ch *store.DNSChange) *types.ChangeInfo {
	out := &types.ChangeInfo{Id: new("/change/" + ch.ID), Comment: store.StringOrNil(ch.Comment), SubmittedAt: &ch.At, Status: types.ChangeStatusInsync}
	if c.Now.Before(ch.At.Add(s.store.Config.Route53.SyncDelay)) {
		out.Status = types.ChangeStatusPending
	}
	return out
}
