package cloud

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// CheckIndexes compares the indexes of the inventory with a scan of all its entries. It returns an error that describes the
// first difference.
func (c *Cloud) CheckIndexes() (err error) {
	due := c.reader.Tags.TagsToRead()
	slices.Sort(due)
	c.inv.WithReadLock(func() { err = checkIndexes(c.reader, due) })
	return err
}

func checkIndexes(r *observe.Reader, due []string) error {
	v := r.Inv
	for _, err := range []error{checkTableIndex(v.LoadBalancers), checkTableIndex(v.TargetGroups), checkTableIndex(v.SecurityGroups), checkTargetGroupUses(v)} {
		if err != nil {
			return err
		}
	}
	stacks := map[model.StackID]bool{}
	for tags := range allTags(v) {
		for _, k := range []model.Kind{model.Ingress, model.Service} {
			if value := tags[naming.StackTag(k)]; value != "" {
				stacks[model.StackID{Kind: k, Name: value}] = true
			}
		}
	}
	for id := range stacks {
		found := [][]string{sortedIDs(r.Inv.StackLoadBalancers(id)), sortedIDs(r.Inv.StackTargetGroups(id)), sortedIDs(r.Inv.StackSecurityGroups(id))}
		scanned := [][]string{
			sortedIDs(inventory.Filter(v.LoadBalancers.All(), func(e *inventory.LoadBalancer) bool {
				return e.Seen.VPC == r.VPC && naming.BelongsToStack(r.Config.Cluster, id, e.Seen.Tags)
			})),
			sortedIDs(inventory.Filter(v.TargetGroups.All(), func(e *inventory.TargetGroup) bool {
				return e.VPC == r.VPC && naming.BelongsToStack(r.Config.Cluster, id, e.Seen.Tags)
			})),
			sortedIDs(inventory.Filter(v.SecurityGroups.All(), func(e *inventory.SecurityGroup) bool { return naming.BelongsToStack(r.Config.Cluster, id, e.Seen.Tags) })),
		}
		if d := cmp.Diff(scanned, found); d != "" {
			return fmt.Errorf("stack %s (-scanned +found):\n%s", id, d)
		}
	}
	for id := range v.SecurityGroups.All() {
		users := sortedIDs(inventory.Filter(v.LoadBalancers.All(), func(e *inventory.LoadBalancer) bool {
			return naming.BelongsToCluster(r.Config.Cluster, e.Seen.Tags) && slices.Contains(e.Seen.SecurityGroups, id)
		}))
		if d := cmp.Diff(users, sortedIDs(v.LoadBalancers.EntriesWithKey(inventory.BySecurityGroup, id))); d != "" {
			return fmt.Errorf("users of security group %s (-scanned +found):\n%s", id, d)
		}
	}
	for _, e := range v.TargetGroups.All() {
		named := sortedIDs(inventory.Filter(v.TargetGroups.All(), func(o *inventory.TargetGroup) bool { return o.Seen.Name == e.Seen.Name }))
		if d := cmp.Diff(named, sortedIDs(v.TargetGroups.EntriesWithKey(inventory.ByName, e.Seen.Name))); d != "" {
			return fmt.Errorf("target groups of name %s (-scanned +found):\n%s", e.Seen.Name, d)
		}
	}
	if d := cmp.Diff(scanUntagged(r), due); d != "" {
		return fmt.Errorf("tags to be read (-scanned +found):\n%s", d)
	}
	return nil
}

// checkTableIndex compares the index of a table with the keys of its entries, and returns an error if they differ.
func checkTableIndex[E any](t *inventory.Table[E]) error {
	want, have := map[inventory.Key][]string{}, map[inventory.Key][]string{}
	for id, e := range t.All() {
		for _, k := range t.KeysOf(id, e) {
			want[k] = append(want[k], id)
		}
	}
	for k, ids := range t.IDsByKey {
		have[k] = slices.Sorted(maps.Keys(ids))
	}
	for _, ids := range want {
		slices.Sort(ids)
	}
	if d := cmp.Diff(want, have); d != "" {
		return fmt.Errorf("keys (-entries +index):\n%s", d)
	}
	return nil
}

// checkTargetGroupUses compares the use counts of target groups, and the recorded parents of listeners and rules, with a
// scan of all listeners and rules.
func checkTargetGroupUses(v *inventory.Inventory) error {
	parent := map[string]string{}
	for arn, e := range v.LoadBalancers.All() {
		fresh := &inventory.LoadBalancer{}
		for l, le := range e.Listeners {
			parent[l] = arn
			for r := range le.Rules {
				parent[r] = l
			}
			fresh.AddListenerUses(le, 1)
		}
		if !maps.Equal(fresh.TargetGroupUses, e.TargetGroupUses) {
			return fmt.Errorf("%s uses %v, counted are %v", arn, fresh.TargetGroupUses, e.TargetGroupUses)
		}
	}
	if d := cmp.Diff(parent, v.Parent); d != "" {
		return fmt.Errorf("parents (-scanned +recorded):\n%s", d)
	}
	return nil
}

// scanUntagged returns the resources whose tags are due to be read. It scans all entries and does not use the index.
func scanUntagged(r *observe.Reader) (out []string) {
	due := r.Inv.TagsDue && (!r.Config.TaggingAPI || r.EarlierFailure(inventory.TaggedList) != nil)
	for arn, e := range r.Inv.LoadBalancers.All() {
		if e.Seen.VPC == r.VPC && (e.TagsAt.IsZero() || due && !r.IsFresh(e.TagsAt.Add(r.Config.Refresh), arn)) {
			out = append(out, arn)
		}
	}
	for arn, e := range r.Inv.TargetGroups.All() {
		if e.VPC == r.VPC && (e.TagsAt.IsZero() || due && !r.IsFresh(e.TagsAt.Add(r.Config.Refresh), arn)) {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out
}

func allTags(v *inventory.Inventory) iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		for _, e := range v.LoadBalancers.All() {
			if !yield(e.Seen.Tags) {
				return
			}
		}
		for _, e := range v.TargetGroups.All() {
			if !yield(e.Seen.Tags) {
				return
			}
		}
		for _, e := range v.SecurityGroups.All() {
			if !yield(e.Seen.Tags) {
				return
			}
		}
	}
}

func sortedIDs[E any](entries iter.Seq2[string, *E]) (out []string) {
	for id := range entries {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
