package ec2

import (
	"net/netip"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateManagedPrefixList creates a prefix list that the caller owns.
func (s *networks) CreateManagedPrefixList(c *store.Call, in *ec2.CreateManagedPrefixListInput) (*ec2.CreateManagedPrefixListOutput, error) {
	p := c.Partition
	if l := resourceByToken(c, p.PrefixLists, in.ClientToken); l != nil {
		return &ec2.CreateManagedPrefixListOutput{PrefixList: new(s.describePrefixList(p, l))}, nil
	}
	list := &store.PrefixList{
		Name: aws.ToString(in.PrefixListName), Family: aws.ToString(in.AddressFamily),
		MaxEntries: aws.ToInt32(in.MaxEntries), Version: 1, Owner: c.Account,
	}
	if list.Name == "" || list.MaxEntries == 0 {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameters PrefixListName and MaxEntries")
	}
	if list.Family != "IPv4" && list.Family != "IPv6" {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter AddressFamily is invalid.", list.Family)
	}
	if len(in.Entries) > int(list.MaxEntries) {
		return nil, store.Errorf(store.UnprovenSource, "PrefixListMaxEntriesExceeded", "The number of entries exceeds the maximum of the prefix list")
	}
	for _, e := range in.Entries {
		block, err := netip.ParsePrefix(aws.ToString(e.Cidr))
		if err != nil || block.Addr().Is4() != (list.Family == "IPv4") {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "CIDR block %s is malformed", aws.ToString(e.Cidr))
		}
		list.Entries = append(list.Entries, store.PrefixListEntry{Block: block.Masked(), Description: aws.ToString(e.Description)})
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypePrefixList)
	if err != nil {
		return nil, err
	}
	list.ID = s.store.NewID("pl-")
	p.PrefixLists[list.ID] = list
	p.AddTags(list.ID, tags)
	recordToken(c, in.ClientToken, list.ID)
	return &ec2.CreateManagedPrefixListOutput{PrefixList: new(s.describePrefixList(p, list))}, nil
}

// DeleteManagedPrefixList deletes a prefix list that no security group rule uses.
func (s *networks) DeleteManagedPrefixList(c *store.Call, in *ec2.DeleteManagedPrefixListInput) (*ec2.DeleteManagedPrefixListOutput, error) {
	p := c.Partition
	list, err := findResource(kindPrefixList, p.PrefixLists, in.PrefixListId)
	if err != nil {
		return nil, err
	}
	for _, g := range p.SecurityGroups {
		for _, rules := range [][]store.SecurityGroupRule{g.Ingress, g.Egress} {
			for _, r := range rules {
				if r.Peer.PrefixList == list.ID {
					return nil, store.Errorf(store.UnprovenSource, "PrefixListInUse", "The prefix list '%s' is in use", list.ID)
				}
			}
		}
	}
	delete(p.PrefixLists, list.ID)
	delete(p.Tags, list.ID)
	out := s.describePrefixList(p, list)
	out.State = types.PrefixListStateDeleteComplete
	return &ec2.DeleteManagedPrefixListOutput{PrefixList: &out}, nil
}

// DescribeManagedPrefixLists lists prefix lists without their entries.
func (s *networks) DescribeManagedPrefixLists(c *store.Call, in *ec2.DescribeManagedPrefixListsInput) (*ec2.DescribeManagedPrefixListsOutput, error) {
	p := c.Partition
	items, next, err := describe(s.core, c, kindPrefixList, p.PrefixLists, describeQuery{in.PrefixListIds, in.Filters, in.MaxResults, in.NextToken}, filters[*store.PrefixList]{
		"owner-id":         func(l *store.PrefixList) []string { return textValue(l.Owner) },
		"prefix-list-id":   func(l *store.PrefixList) []string { return textValue(l.ID) },
		"prefix-list-name": func(l *store.PrefixList) []string { return textValue(l.Name) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeManagedPrefixListsOutput{NextToken: next, PrefixLists: []types.ManagedPrefixList{}}
	for _, l := range items {
		out.PrefixLists = append(out.PrefixLists, s.describePrefixList(p, l))
	}
	return out, nil
}

// GetManagedPrefixListEntries lists the CIDR blocks of a prefix list.
func (s *networks) GetManagedPrefixListEntries(c *store.Call, in *ec2.GetManagedPrefixListEntriesInput) (*ec2.GetManagedPrefixListEntriesOutput, error) {
	list, err := findResource(kindPrefixList, c.Partition.PrefixLists, in.PrefixListId)
	if err != nil {
		return nil, err
	}
	if v := in.TargetVersion; v != nil && *v != list.Version {
		return nil, store.Errorf(store.UnprovenSource, "InvalidPrefixListVersion.NotFound", "The prefix list '%s' has no version %s", list.ID, strconv.FormatInt(*v, 10))
	}
	byBlock := map[string]store.PrefixListEntry{}
	for _, e := range list.Entries {
		byBlock[e.Block.String()] = e
	}
	keys, next, err := page(s.store, kindPrefixList, store.SortedKeys(byBlock), in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ec2.GetManagedPrefixListEntriesOutput{NextToken: next, Entries: []types.PrefixListEntry{}}
	for _, k := range keys {
		out.Entries = append(out.Entries, types.PrefixListEntry{Cidr: aws.String(k), Description: store.StringOrNil(byBlock[k].Description)})
	}
	return out, nil
}

func (s *networks) describePrefixList(p *store.Partition, l *store.PrefixList) types.ManagedPrefixList {
	return types.ManagedPrefixList{
		PrefixListId: aws.String(l.ID), PrefixListName: aws.String(l.Name), AddressFamily: aws.String(l.Family),
		MaxEntries: aws.Int32(l.MaxEntries), Version: aws.Int64(l.Version), OwnerId: aws.String(l.Owner),
		PrefixListArn: aws.String(p.ARN("ec2", "prefix-list/"+l.ID)), State: types.PrefixListStateCreateComplete,
		Tags: s.tagList(p, l.ID),
	}
}
