package cloud

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// CheckIndexes compares what the inventory finds by keys with a scan of all that it holds.
func (c *Cloud) CheckIndexes() (err error) {
	due := c.reader.untagged()
	slices.Sort(due)
	c.inv.read(func() { err = c.reader.checkIndexes(due) })
	return err
}

func (r *reader) checkIndexes(due []string) error {
	v := r.inv
	for _, err := range []error{filedAsScanned(v.lbs), filedAsScanned(v.groups), filedAsScanned(v.sgs), v.checkUses()} {
		if err != nil {
			return err
		}
	}
	stacks := map[model.StackID]bool{}
	for tags := range v.allTags() {
		for _, k := range []model.Kind{model.Ingress, model.Service} {
			if value := tags[naming.StackTag(k)]; value != "" {
				stacks[model.StackID{Kind: k, Name: value}] = true
			}
		}
	}
	for id := range stacks {
		found := [][]string{sortedIDs(r.inv.stackLoadBalancers(id)), sortedIDs(r.inv.stackTargetGroups(id)), sortedIDs(r.inv.stackSecurityGroups(id))}
		scanned := [][]string{
			sortedIDs(only(v.lbs.all(), func(e *lbEntry) bool { return e.lb.VPC == r.VPC && naming.Belongs(r.Config.Cluster, id, e.lb.Tags) })),
			sortedIDs(only(v.groups.all(), func(e *groupEntry) bool { return e.vpc == r.VPC && naming.Belongs(r.Config.Cluster, id, e.g.Tags) })),
			sortedIDs(only(v.sgs.all(), func(e *sgEntry) bool { return naming.Belongs(r.Config.Cluster, id, e.g.Tags) })),
		}
		if d := cmp.Diff(scanned, found); d != "" {
			return fmt.Errorf("stack %s (-scanned +found):\n%s", id, d)
		}
	}
	for id := range v.sgs.all() {
		users := sortedIDs(only(v.lbs.all(), func(e *lbEntry) bool {
			return naming.Owns(r.Config.Cluster, e.lb.Tags) && slices.Contains(e.lb.SecurityGroups, id)
		}))
		if d := cmp.Diff(users, sortedIDs(v.lbs.having(bySecurityGroup, id))); d != "" {
			return fmt.Errorf("users of security group %s (-scanned +found):\n%s", id, d)
		}
	}
	for _, e := range v.groups.all() {
		named := sortedIDs(only(v.groups.all(), func(o *groupEntry) bool { return o.g.Name == e.g.Name }))
		if d := cmp.Diff(named, sortedIDs(v.groups.having(byName, e.g.Name))); d != "" {
			return fmt.Errorf("target groups of name %s (-scanned +found):\n%s", e.g.Name, d)
		}
	}
	if d := cmp.Diff(r.scanUntagged(), due); d != "" {
		return fmt.Errorf("tags to be read (-scanned +found):\n%s", d)
	}
	return nil
}

// filedAsScanned compares the keys that entries are filed under with those that they have.
func filedAsScanned[E any](t *table[E]) error {
	want, have := map[tableKey][]string{}, map[tableKey][]string{}
	for id, e := range t.all() {
		for _, k := range t.keysOf(id, e) {
			want[k] = append(want[k], id)
		}
	}
	for k, ids := range t.byKey {
		have[k] = slices.Sorted(maps.Keys(ids))
	}
	for _, ids := range want {
		slices.Sort(ids)
	}
	if d := cmp.Diff(want, have, cmp.AllowUnexported(tableKey{})); d != "" {
		return fmt.Errorf("keys (-of the entries +filed):\n%s", d)
	}
	return nil
}

// checkUses compares the counted uses of target groups, and whose listeners and rules are, with a scan.
func (v *inventory) checkUses() error {
	parent := map[string]string{}
	for arn, e := range v.lbs.all() {
		fresh := &lbEntry{}
		for l, le := range e.listeners {
			parent[l] = arn
			for r := range le.rules {
				parent[r] = l
			}
			fresh.countListener(le, 1)
		}
		if !maps.Equal(fresh.uses, e.uses) {
			return fmt.Errorf("%s uses %v, counted are %v", arn, fresh.uses, e.uses)
		}
	}
	if d := cmp.Diff(parent, v.parent); d != "" {
		return fmt.Errorf("parents (-scanned +noted):\n%s", d)
	}
	return nil
}

// scanUntagged is what untagged was before there was an index.
func (r *reader) scanUntagged() (out []string) {
	due := r.inv.tagsDue && (!r.Config.TaggingAPI || r.FailedBefore(tagsListed) != nil)
	for arn, e := range r.inv.lbs.all() {
		if e.lb.VPC == r.VPC && (e.tagsAt.IsZero() || due && !r.Fresh(e.tagsAt.Add(r.Config.Refresh), arn)) {
			out = append(out, arn)
		}
	}
	for arn, e := range r.inv.groups.all() {
		if e.vpc == r.VPC && (e.tagsAt.IsZero() || due && !r.Fresh(e.tagsAt.Add(r.Config.Refresh), arn)) {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out
}

func (v *inventory) allTags() iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		for _, e := range v.lbs.all() {
			if !yield(e.lb.Tags) {
				return
			}
		}
		for _, e := range v.groups.all() {
			if !yield(e.g.Tags) {
				return
			}
		}
		for _, e := range v.sgs.all() {
			if !yield(e.g.Tags) {
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
