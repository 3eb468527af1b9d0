package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// identifierPattern matches identifiers that AWS chooses: ARNs, DNS names of load balancers, IDs of EC2 resources, UUIDs.
var identifierPattern = regexp.MustCompile(`arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:\d*:[^\s"',)]+` +
	`|\b[a-z0-9.-]+\.elb\.[a-z0-9-]*\.?amazonaws\.com(?:\.cn)?\b|\b[a-z0-9.-]+\.elb\.amazonaws\.com(?:\.cn)?\b` +
	`|\b[a-z]{1,10}-(?:[0-9a-f]{17}|[0-9a-f]{8})\b` +
	`|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// volatileMembers lists the members that are not compared, because their values differ in each answer.
var volatileMembers = []string{"RequestId", "requestId", "RequestID", "NextToken", "nextToken", "NextMarker", "Marker", "CanonicalHostedZoneId", "Serial", "ownerId", "OwnerId"}

// stateMembers lists the members whose values change over time without a call.
var stateMembers = []string{"State", "TargetHealth", "Status", "status", "state"}

// comparison compares the recorded answer to one call with the answer of the emulator.
type comparison struct {
	*player
	index int
	call  recording.Call
}

func (x *comparison) reportDifference(path []string, aws, emulator string) {
	member := strings.Join(path, ".")
	timing := x.unorderedCalls[x.index] || slices.ContainsFunc(path, func(p string) bool { return slices.Contains(stateMembers, p) })
	x.result.Differences = append(x.result.Differences, Difference{
		Call: x.index, Service: x.call.Service, Operation: x.call.Operation, Member: member, AWS: aws, Emulator: emulator, Timing: timing,
	})
}

func (x *comparison) compareAnswers(emulated *recording.Node, status int) {
	aws, em := errorCodeOf(x.call.Answer), errorCodeOf(emulated)
	if x.call.Status >= 300 || status >= 300 {
		recorded, got := strings.TrimSpace(fmt.Sprintf("%d %s", x.call.Status, aws)), strings.TrimSpace(fmt.Sprintf("%d %s", status, em))
		if recorded != got {
			x.reportDifference(nil, recorded, got)
			return
		}
	}
	x.compareNodes(nil, x.call.Answer, emulated)
}

// compareNodes compares the elements aws and emulated, which have the same name. Either is nil if one answer does not have
// it.
func (x *comparison) compareNodes(path []string, aws, emulated *recording.Node) {
	if aws == nil || emulated == nil {
		if recorded, got := firstText(aws), firstText(emulated); recorded != got {
			x.reportDifference(path, recorded, got)
		}
		return
	}
	if len(aws.Children) == 0 && len(emulated.Children) == 0 {
		x.compareLeaf(path, aws.Text, emulated.Text)
		return
	}
	// Compare single values before lists. They pair IDs, by which compareItems then matches the items of lists.
	var lists []string
	for _, name := range memberNames(aws, emulated) {
		if isList(aws, name) || isList(emulated, name) {
			lists = append(lists, name)
			continue
		}
		if !slices.Contains(volatileMembers, name) {
			x.compareNodes(append(slices.Clip(path), name), aws.Child(name), emulated.Child(name))
		}
	}
	for _, name := range lists {
		x.compareItems(append(slices.Clip(path), name), childrenWithName(aws, name), childrenWithName(emulated, name))
	}
}

// firstText returns the first text in an element that only one answer has, or Missing if the element contains no text.
func firstText(n *recording.Node) string {
	out := Missing
	n.EachLeaf(func(path []string, leaf *recording.Node) {
		if leaf.Text != "" && out == Missing && !slices.Contains(volatileMembers, path[len(path)-1]) {
			out = leaf.Text
		}
	})
	return out
}

// memberNames returns the names of the children of a and b without duplicates.
func memberNames(a, b *recording.Node) []string {
	var out []string
	for _, k := range append(slices.Clone(a.Children), b.Children...) {
		if !slices.Contains(out, k.Name) {
			out = append(out, k.Name)
		}
	}
	return out
}

// isList reports whether the children of n with this name are items of a list.
func isList(n *recording.Node, name string) bool {
	return name == "member" || name == "item" || len(childrenWithName(n, name)) > 1
}

func childrenWithName(n *recording.Node, name string) []*recording.Node {
	var out []*recording.Node
	for _, k := range n.Children {
		if k.Name == name {
			out = append(out, k)
		}
	}
	return out
}

// compareLeaf compares two values. If both are IDs of the same resource type and the recorded ID is not paired yet,
// compareLeaf pairs them: the emulator's ID then replaces the recorded ID in later calls.
func (x *comparison) compareLeaf(path []string, aws, emulated string) {
	if aws == emulated || x.replaceIDs(aws) == emulated || recording.IsReplacement(aws) || areBothTimes(path, aws, emulated) {
		return
	}
	if kind := idKind(aws); kind != "" && kind == idKind(emulated) && x.ids[aws] == "" {
		x.ids[aws] = emulated
		return
	}
	if recorded, got := strings.Split(aws, " "), strings.Split(emulated, " "); len(recorded) == len(got) && len(recorded) > 1 {
		for i := range recorded {
			if x.replaceIDs(recorded[i]) != got[i] && idKind(strings.Trim(recorded[i], "'\".,")) == "" {
				break
			}
			if i == len(recorded)-1 {
				return // the texts differ only in IDs
			}
		}
	}
	x.reportDifference(path, cmp.Or(aws, Missing), cmp.Or(emulated, Missing))
}

// areBothTimes reports whether both values are times, either as text or as a number.
func areBothTimes(path []string, aws, emulated string) bool {
	if _, err := time.Parse(time.RFC3339Nano, aws); err == nil {
		_, err := time.Parse(time.RFC3339Nano, emulated)
		return err == nil
	}
	if last := path[len(path)-1]; strings.HasSuffix(last, "At") || strings.HasSuffix(last, "Time") || strings.HasPrefix(last, "Not") {
		_, a := strconv.ParseFloat(aws, 64)
		_, b := strconv.ParseFloat(emulated, 64)
		return a == nil && b == nil
	}
	return false
}

// idKind returns the resource type of an ID that AWS chose, such as "vpc" or "elasticloadbalancing:loadbalancer". It returns
// "" if value is not such an ID.
func idKind(value string) string {
	if identifierPattern.FindString(value) != value {
		return ""
	}
	switch {
	case strings.HasPrefix(value, "arn:"):
		p := strings.SplitN(value, ":", 6)
		kind, _, _ := strings.Cut(p[5], "/")
		return p[2] + ":" + kind
	case strings.Contains(value, ".elb."):
		return "dns"
	case strings.Count(value, "-") == 4:
		return "uuid"
	}
	kind, _, _ := strings.Cut(value, "-")
	return kind
}

// compareItems compares the items of two lists. The order of the items may differ.
func (x *comparison) compareItems(path []string, aws, emulated []*recording.Node) {
	remaining := slices.Clone(emulated)
	var unmatched []*recording.Node
	match := func(a *recording.Node, i int) {
		e := remaining[i]
		remaining = slices.Delete(remaining, i, i+1)
		x.compareNodes(path, a, e)
	}
	// Match items with the same key or ID first.
	for _, a := range aws {
		if i := x.findSameItem(a, remaining); i >= 0 {
			match(a, i)
		} else {
			unmatched = append(unmatched, a)
		}
	}
	for _, a := range unmatched {
		if x.existedBeforeRun(a) {
			continue
		}
		if i := x.findMostSimilar(a, remaining); i >= 0 {
			match(a, i)
			continue
		}
		x.reportDifference(path, firstText(a), Missing)
	}
	for _, e := range remaining {
		if x.isExpected(e) {
			x.reportDifference(path, Missing, firstText(e))
		}
	}
}

// findSameItem returns the index of the item in "in" that has the key or the paired ID of a, or -1 if there is none. If
// there are several, it returns the one that has the most values in common with a.
func (x *comparison) findSameItem(a *recording.Node, in []*recording.Node) int {
	want := x.replaceIDs(itemIdentity(a))
	if want == "" {
		return -1
	}
	best, index := -1, -1
	values := x.textsByPath(a, true)
	for i, e := range in {
		if itemIdentity(e) != want {
			continue
		}
		if n := countCommon(values, x.textsByPath(e, false)); n > best {
			best, index = n, i
		}
	}
	return index
}

// countCommon returns the number of values that are in both sets.
func countCommon(a, b map[string]bool) int {
	n := 0
	for v := range b {
		if a[v] {
			n++
		}
	}
	return n
}

// itemIdentity returns the value that identifies an item: its key, its first ID, or its text if it has no children. It
// returns "" if there is none.
func itemIdentity(n *recording.Node) string {
	if len(n.Children) == 0 {
		return n.Text
	}
	for _, name := range []string{"Key", "key", "ResourceRecord"} {
		if k := n.Child(name); k != nil && len(k.Children) == 0 {
			return k.Text
		}
	}
	for _, k := range n.Children {
		if len(k.Children) == 0 && idKind(k.Text) != "" {
			return k.Text
		}
	}
	return ""
}

// findMostSimilar returns the index of the item in "in" that has the most values in common with a, or -1 if there is none.
// It skips items with an ID of another type, or with an ID that is already paired with another recorded ID.
func (x *comparison) findMostSimilar(a *recording.Node, in []*recording.Node) int {
	best, index := 0, -1
	values := x.textsByPath(a, true)
	for i, e := range in {
		if idKind(itemIdentity(e)) != idKind(itemIdentity(a)) || x.isPairedID(itemIdentity(e)) {
			continue
		}
		if n := 1 + countCommon(values, x.textsByPath(e, false)); n > best {
			best, index = n, i
		}
	}
	return index
}

// isPairedID reports whether an ID of the emulator is already paired with a recorded ID.
func (x *comparison) isPairedID(id string) bool {
	for _, e := range x.ids {
		if e == id {
			return true
		}
	}
	return false
}

// textsByPath returns the texts in an item as "path=text". If translate is true, IDs of the emulator replace the recorded
// IDs.
func (x *comparison) textsByPath(n *recording.Node, translate bool) map[string]bool {
	out := map[string]bool{}
	n.EachLeaf(func(path []string, leaf *recording.Node) {
		text := leaf.Text
		if translate {
			text = x.replaceIDs(text)
		}
		out[strings.Join(path, ".")+"="+text] = true
	})
	return out
}

// existedBeforeRun reports whether item a of a recorded answer was in the account before the recorded run. Only answers to
// reads have such items.
func (x *comparison) existedBeforeRun(a *recording.Node) bool {
	if x.call.IsMutating() || len(a.Children) == 0 {
		return false
	}
	if recording.IsReplacement(itemIdentity(a)) {
		return true
	}
	ours, has := false, false
	a.EachLeaf(func(_ []string, leaf *recording.Node) {
		if idKind(leaf.Text) != "" {
			has = true
		}
		ours = ours || slices.ContainsFunc(x.createdNames, func(n string) bool { return strings.Contains(leaf.Text, n) })
	})
	return has && !ours
}

// isExpected reports whether AWS's answer should contain item e of the emulator's answer, because e belongs to the recorded
// run or is a setting and not a resource.
func (x *comparison) isExpected(e *recording.Node) bool {
	if x.call.IsMutating() || len(e.Children) == 0 {
		return true
	}
	ours, has := false, false
	e.EachLeaf(func(_ []string, leaf *recording.Node) {
		if idKind(leaf.Text) != "" {
			has = true
		}
		ours = ours || slices.ContainsFunc(x.createdNames, func(n string) bool { return strings.Contains(leaf.Text, n) })
	})
	return ours || !has
}
