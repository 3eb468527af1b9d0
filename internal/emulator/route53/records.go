package route53

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	maxChanges        = 1000
	maxRecordsPerPage = 300
	maxTTL            = 1<<31 - 1
)

// ChangeResourceRecordSets applies all changes of a batch, or none. Its error contains a reason for each change that cannot
// be applied.
func (s *Service) ChangeResourceRecordSets(c *store.Call, in *route53.ChangeResourceRecordSetsInput) (*route53.ChangeResourceRecordSetsOutput, error) {
	z, err := s.findZone(c, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if in.ChangeBatch == nil || len(in.ChangeBatch.Changes) == 0 {
		return nil, invalidInputError(store.UnprovenSource, "1 validation error detected: Value '[]' at 'changeBatch.changes' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if len(in.ChangeBatch.Changes) > maxChanges {
		return nil, invalidChangeBatchError(fmt.Sprintf("Number of records limit of %d exceeded.", maxChanges))
	}
	next := store.HostedZone{Name: z.Name, Records: slices.Clone(z.Records)}
	var faults []string
	for _, ch := range in.ChangeBatch.Changes {
		r, err := recordSetOfChange(ch)
		if err != nil {
			return nil, err
		}
		if fault := invalidAliasReason(z, r); fault != "" && ch.Action != types.ChangeActionDelete {
			faults = append(faults, fault)
			continue
		}
		if fault := applyChange(&next, ch.Action, r); fault != "" {
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return nil, invalidChangeBatchError(faults...)
	}
	slices.SortStableFunc(next.Records, compareRecords)
	z.Records = next.Records
	s.store.UpdateValidations(c.Account)
	return &route53.ChangeResourceRecordSetsOutput{ChangeInfo: s.storeChange(c, store.Value(in.ChangeBatch.Comment))}, nil
}

func invalidChangeBatchError(faults ...string) error {
	return errorWithStatus(store.UnprovenSource, 400, "InvalidChangeBatch", "[%s]", strings.Join(faults, ", "))
}

// recordSetOfChange returns the record set of a change, or an error if the change is invalid for any zone.
func recordSetOfChange(ch types.Change) (store.RecordSet, error) {
	var out store.RecordSet
	set := ch.ResourceRecordSet
	if set == nil || !slices.Contains(ch.Action.Values(), ch.Action) {
		return out, invalidInputError(store.UnprovenSource, "1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.action' failed to satisfy constraint: Member must satisfy enum value set: [CREATE, DELETE, UPSERT]", ch.Action)
	}
	if !slices.Contains(set.Type.Values(), set.Type) {
		return out, invalidInputError(store.UnprovenSource, "1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.resourceRecordSet.type' failed to satisfy constraint: Member must satisfy enum value set", set.Type)
	}
	if a := set.AliasTarget; a != nil {
		if set.TTL != nil || len(set.ResourceRecords) > 0 {
			return out, invalidInputError(store.UnprovenSource, "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], "+
				"but found more than one in Change with [Action=%s, Name=%s, Type=%s, SetIdentifier=null]", ch.Action, store.Value(set.Name), set.Type)
		}
		return store.RecordSet{Name: store.DNSName(store.Value(set.Name)), Type: string(set.Type), Alias: &store.RecordAlias{
			Name: store.DNSName(store.Value(a.DNSName)), Zone: strings.TrimPrefix(store.Value(a.HostedZoneId), "/hostedzone/"), EvaluateTargetHealth: a.EvaluateTargetHealth,
		}}, nil
	}
	if set.TTL == nil || len(set.ResourceRecords) == 0 {
		return out, invalidInputError(store.UnprovenSource, "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], "+
			"but found none in Change with [Action=%s, Name=%s, Type=%s, SetIdentifier=null]", ch.Action, store.Value(set.Name), set.Type)
	}
	if *set.TTL < 0 || *set.TTL > maxTTL {
		return out, invalidInputError(store.UnprovenSource, "The TTL %d is not between 0 and %d", *set.TTL, maxTTL)
	}
	out = store.RecordSet{Name: store.DNSName(store.Value(set.Name)), Type: string(set.Type), TTL: *set.TTL}
	for _, r := range set.ResourceRecords {
		out.Values = append(out.Values, store.Value(r.Value))
	}
	return out, nil
}

// awsZoneSuffixes are the suffixes of names in hosted zones of AWS, which may be targets of aliases.
var awsZoneSuffixes = []string{".amazonaws.com.", ".amazonaws.com.cn.", ".amazonaws.eu.", ".awsglobalaccelerator.com.", ".cloudfront.net."}

// invalidAliasReason returns why an alias record is invalid, or "" if it is valid or no alias. The target must be in the
// hosted zone that the alias gives. For hosted zones of AWS, whose records the emulator does not have, it checks only the
// suffix of the target.
func invalidAliasReason(z *store.HostedZone, r store.RecordSet) string {
	if r.Alias == nil {
		return ""
	}
	within := slices.ContainsFunc(awsZoneSuffixes, func(end string) bool { return strings.HasSuffix(r.Alias.Name, end) })
	if r.Alias.Zone == z.ID {
		within = r.Alias.Name == z.Name || strings.HasSuffix(r.Alias.Name, "."+z.Name)
	}
	if within {
		return ""
	}
	return fmt.Sprintf("Tried to create an alias that targets %s, type %s in zone %s, but the alias target name does not lie within the target zone", r.Alias.Name, r.Type, r.Alias.Zone)
}

// applyChange applies one change to a zone. It returns why the change cannot be applied, or "".
func applyChange(z *store.HostedZone, action types.ChangeAction, r store.RecordSet) string {
	what := fmt.Sprintf("[name='%s', type='%s']", r.Name, r.Type)
	at := slices.IndexFunc(z.Records, func(o store.RecordSet) bool { return o.Name == r.Name && o.Type == r.Type })
	if action == types.ChangeActionDelete {
		switch {
		case at < 0:
			return "Tried to delete resource record set " + what + " but it was not found"
		case !recordSetsEqual(z.Records[at], r):
			return "Tried to delete resource record set " + what + " but the values provided do not match the current values"
		case z.IsCreatedWithZone(r):
			return fmt.Sprintf("A HostedZone must contain at least one %s record for the zone itself.", r.Type)
		}
		z.Records = slices.Delete(z.Records, at, at+1)
		return ""
	}
	if fault := invalidInZoneReason(z, r); fault != "" {
		return fault
	}
	if at >= 0 && action == types.ChangeActionCreate {
		return "Tried to create resource record set " + what + " but it already exists"
	}
	if at >= 0 {
		z.Records[at] = r
	} else {
		z.Records = append(z.Records, r)
	}
	return ""
}

// invalidInZoneReason returns why a record set cannot be in a zone, or "".
func invalidInZoneReason(z *store.HostedZone, r store.RecordSet) string {
	switch {
	case !namePattern.MatchString(r.Name) || len(r.Name) > 255:
		return fmt.Sprintf("FATAL problem: DomainContainsInvalidCharacters (Domain label contains invalid characters) encountered with '%s'", r.Name)
	case r.Name != z.Name && !strings.HasSuffix(r.Name, "."+z.Name):
		return fmt.Sprintf("RRSet with DNS name %s is not permitted in zone %s", r.Name, z.Name)
	case r.Type == "CNAME" && r.Name == z.Name:
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", r.Name, z.Name)
	case r.Type == "CNAME" && len(r.Values) > 1:
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s has more than one value", r.Name)
	}
	for _, o := range z.Records {
		if o.Name == r.Name && o.Type != r.Type && (o.Type == "CNAME" || r.Type == "CNAME") {
			return fmt.Sprintf("RRSet of type %s with DNS name %s is not permitted because a conflicting RRSet of type %s with the same DNS name already exists in zone %s",
				r.Type, r.Name, o.Type, z.Name)
		}
	}
	return ""
}

// recordSetsEqual reports whether two record sets have the same TTL, values and alias. The order of values does not matter.
func recordSetsEqual(a, b store.RecordSet) bool {
	if a.TTL != b.TTL || len(a.Values) != len(b.Values) || (a.Alias == nil) != (b.Alias == nil) || a.Alias != nil && *a.Alias != *b.Alias {
		return false
	}
	return slices.Equal(slices.Sorted(slices.Values(a.Values)), slices.Sorted(slices.Values(b.Values)))
}

// compareRecords orders record sets by the labels of their names, from the last label to the first, and then by type.
func compareRecords(a, b store.RecordSet) int {
	return cmp.Or(slices.Compare(reversedLabels(a.Name), reversedLabels(b.Name)), cmp.Compare(a.Type, b.Type))
}

func reversedLabels(name string) []string {
	l := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(l)
	return l
}

// ListResourceRecordSets lists a page of the record sets of a zone, in the order of compareRecords.
func (s *Service) ListResourceRecordSets(c *store.Call, in *route53.ListResourceRecordSetsInput) (*route53.ListResourceRecordSetsOutput, error) {
	z, err := s.findZone(c, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if in.StartRecordType != "" && in.StartRecordName == nil {
		return nil, invalidInputError(store.UnprovenSource, "StartRecordType is given without StartRecordName")
	}
	limit := s.store.PageLimit(int(store.Value(in.MaxItems)), maxRecordsPerPage)
	out := &route53.ListResourceRecordSetsOutput{MaxItems: new(int32(limit)), ResourceRecordSets: []types.ResourceRecordSet{}}
	for _, r := range z.Records {
		if in.StartRecordName != nil && compareRecords(r, store.RecordSet{Name: store.DNSName(*in.StartRecordName), Type: string(in.StartRecordType)}) < 0 {
			continue
		}
		if len(out.ResourceRecordSets) == limit {
			out.IsTruncated, out.NextRecordName, out.NextRecordType = true, new(r.Name), types.RRType(r.Type)
			break
		}
		set := types.ResourceRecordSet{Name: new(r.Name), Type: types.RRType(r.Type)}
		if a := r.Alias; a != nil {
			set.AliasTarget = &types.AliasTarget{DNSName: new(a.Name), HostedZoneId: new(a.Zone), EvaluateTargetHealth: a.EvaluateTargetHealth}
		} else {
			set.TTL = new(r.TTL)
		}
		for _, v := range r.Values {
			set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: new(v)})
		}
		out.ResourceRecordSets = append(out.ResourceRecordSets, set)
	}
	return out, nil
}
