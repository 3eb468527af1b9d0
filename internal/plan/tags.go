package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// retag plans the change of a resource's tags, if there is one.
func (d *draft) retag(a Address, want Tags, have map[string]string, legacy bool, after []StepID, blames []finding.Ref) StepID {
	put, remove := d.tagDrift(want, have, legacy)
	if d.want.Held.Tags {
		remove = remove[:min(len(remove), tagsOverLimit(put, have))]
	}
	if len(put) == 0 && len(remove) == 0 {
		return ""
	}
	changes := changesOf("tags.", put, have)
	for _, k := range remove {
		changes = append(changes, Change{Path: "tags." + k, From: have[k]})
	}
	return d.add(Step{
		ID: stepID("tag", a), Address: a, Verb: Update, Changes: changes,
		Do:  SetTags{Of: a, Put: put, Remove: remove, RemoveFirst: len(have)+len(put) > naming.MaxTags},
		Why: "tags differ", After: after, Blames: blames,
	})
}

// tagsOverLimit is how many tags a resource has too many after put. Held tags leave as many: a new tag of
// one member does not fail because another cannot be read.
func tagsOverLimit(put Tags, have map[string]string) int {
	n := 0
	for k := range have {
		if _, also := put[k]; !also && !strings.HasPrefix(k, "aws:") {
			n++
		}
	}
	return max(0, n+len(put)-naming.MaxTags)
}

// retagBelow plans the change of the tags of a listener or rule of a load balancer.
func (d *draft) retagBelow(lb string, a Address, want Tags, have map[string]string, after []StepID, blames []finding.Ref) {
	if f := d.unavailable(model.AskRuleTags{ARN: lb}); f != nil {
		d.reportUnavailable(*f, "listeners and rules keep their tags", finding.BlocksNothing)
		return
	}
	d.retag(a, want, have, false, after, blames)
}

// tagDrift says which tags to put and which to remove. Keys of AWS, keys that another
// manages and, for removal, keys of the older controller are left alone.
func (d *draft) tagDrift(want Tags, have map[string]string, legacy bool) (Tags, []string) {
	ignored := func(k string) bool {
		return strings.HasPrefix(k, "aws:") || slices.Contains(d.opt.ExternalTags, k)
	}
	put := Tags{}
	for k, v := range want {
		if h, ok := have[k]; !ignored(k) && (!ok || h != v) {
			put[k] = v
		}
	}
	var remove []string
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[k]; !wanted && !ignored(k) && !(legacy && naming.LegacyTag(d.opt.Cluster, k)) {
			remove = append(remove, k)
		}
	}
	return put, remove
}

// changesOf lists differences of two maps for people.
func changesOf(prefix string, put map[string]string, have map[string]string) []Change {
	var out []Change
	for _, k := range slices.Sorted(maps.Keys(put)) {
		out = append(out, Change{Path: prefix + k, From: have[k], To: put[k]})
	}
	return out
}
