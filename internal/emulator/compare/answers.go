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

// identifiers matches the ids that AWS chooses: ARNs, DNS names of load balancers, ids of EC2, UUIDs.
var identifiers = regexp.MustCompile(`arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:\d*:[^\s"',)]+` +
	`|\b[a-z0-9.-]+\.elb\.[a-z0-9-]*\.?amazonaws\.com(?:\.cn)?\b|\b[a-z0-9.-]+\.elb\.amazonaws\.com(?:\.cn)?\b` +
	`|\b[a-z]{1,10}-(?:[0-9a-f]{17}|[0-9a-f]{8})\b` +
	`|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// volatile has the members whose values differ in each answer.
var volatile = []string{"RequestId", "requestId", "RequestID", "NextToken", "nextToken", "NextMarker", "Marker", "CanonicalHostedZoneId", "Serial", "ownerId", "OwnerId"}

// states has the members that change over time without a call.
var states = []string{"State", "TargetHealth", "Status", "status", "state"}

// comparison compares the recorded answer to a call with the answer of the emulator.
type comparison struct {
	*player
	index int
	call  recording.Call
}

func (x *comparison) reportDifference(path []string, aws, emulator string) {
	member := strings.Join(path, ".")
	timing := x.unordered[x.index] || slices.ContainsFunc(path, func(p string) bool { return slices.Contains(states, p) })
	x.result.Differences = append(x.result.Differences, Difference{
		Call: x.index, Service: x.call.Service, Operation: x.call.Operation, Member: member, AWS: aws, Emulator: emulator, Timing: timing,
	})
}

func (x *comparison) answers(emulated *recording.Node, status int) {
	aws, em := codeOf(x.call.Answer), codeOf(emulated)
	if x.call.Status >= 300 || status >= 300 {
		recorded, got := strings.TrimSpace(fmt.Sprintf("%d %s", x.call.Status, aws)), strings.TrimSpace(fmt.Sprintf("%d %s", status, em))
		if recorded != got {
			x.reportDifference(nil, recorded, got)
			return
		}
	}
	x.nodes(nil, x.call.Answer, emulated)
}

// nodes compares two elements with the same name.
func (x *comparison) nodes(path []string, aws, emulated *recording.Node) {
	if aws == nil || emulated == nil {
		if recorded, got := content(aws), content(emulated); recorded != got {
			x.reportDifference(path, recorded, got)
		}
		return
	}
	if len(aws.Kids) == 0 && len(emulated.Kids) == 0 {
		x.leaf(path, aws.Text, emulated.Text)
		return
	}
	// Single values come first, as their ids are needed to match the items of lists.
	var lists []string
	for _, name := range members(aws, emulated) {
		if isList(aws, name) || isList(emulated, name) {
			lists = append(lists, name)
			continue
		}
		if !slices.Contains(volatile, name) {
			x.nodes(append(slices.Clip(path), name), aws.Kid(name), emulated.Kid(name))
		}
	}
	for _, name := range lists {
		x.items(append(slices.Clip(path), name), children(aws, name), children(emulated, name))
	}
}

// content returns the first text in an element, or Missing if there is none. It is for elements that only one answer
// has.
func content(n *recording.Node) string {
	out := Missing
	n.Leaves(func(path []string, leaf *recording.Node) {
		if leaf.Text != "" && out == Missing && !slices.Contains(volatile, path[len(path)-1]) {
			out = leaf.Text
		}
	})
	return out
}

// members returns the names of the children of both elements without duplicates.
func members(a, b *recording.Node) []string {
	var out []string
	for _, k := range append(slices.Clone(a.Kids), b.Kids...) {
		if !slices.Contains(out, k.Name) {
			out = append(out, k.Name)
		}
	}
	return out
}

// isList reports whether the elements with a name are items of a list.
func isList(n *recording.Node, name string) bool {
	return name == "member" || name == "item" || len(children(n, name)) > 1
}

// children returns the children with a name.
func children(n *recording.Node, name string) []*recording.Node {
	var out []*recording.Node
	for _, k := range n.Kids {
		if k.Name == name {
			out = append(out, k)
		}
	}
	return out
}

// leaf compares two values. If both are ids of the same kind, the emulator's id replaces the recorded id in later
// calls.
func (x *comparison) leaf(path []string, aws, emulated string) {
	if aws == emulated || x.replaceIDs(aws) == emulated || recording.Replaced(aws) || volatileValue(path, aws, emulated) {
		return
	}
	if kind := kindOf(aws); kind != "" && kind == kindOf(emulated) && x.ids[aws] == "" {
		x.ids[aws] = emulated
		return
	}
	if recorded, got := strings.Split(aws, " "), strings.Split(emulated, " "); len(recorded) == len(got) && len(recorded) > 1 {
		for i := range recorded {
			if x.replaceIDs(recorded[i]) != got[i] && kindOf(strings.Trim(recorded[i], "'\".,")) == "" {
				break
			}
			if i == len(recorded)-1 {
				return // the texts differ only in an id
			}
		}
	}
	x.reportDifference(path, cmp.Or(aws, Missing), cmp.Or(emulated, Missing))
}

// volatileValue reports whether both values are times, as text or number.
func volatileValue(path []string, aws, emulated string) bool {
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

// kindOf returns the kind of an id that AWS chose, empty for other values.
func kindOf(value string) string {
	if identifiers.FindString(value) != value {
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

// items compares two lists, whose order may differ.
func (x *comparison) items(path []string, aws, emulated []*recording.Node) {
	remaining := slices.Clone(emulated)
	var unmatched []*recording.Node
	match := func(a *recording.Node, i int) {
		e := remaining[i]
		remaining = slices.Delete(remaining, i, i+1)
		x.nodes(path, a, e)
	}
	// Items with the same key or id are matched first.
	for _, a := range aws {
		if i := x.sameItem(a, remaining); i >= 0 {
			match(a, i)
		} else {
			unmatched = append(unmatched, a)
		}
	}
	for _, a := range unmatched {
		if x.isForeign(a) {
			continue
		}
		if i := x.mostSimilar(a, remaining); i >= 0 {
			match(a, i)
			continue
		}
		x.reportDifference(path, content(a), Missing)
	}
	for _, e := range remaining {
		if x.isExpected(e) {
			x.reportDifference(path, Missing, content(e))
		}
	}
}

// sameItem returns the index of the item with the id or the key of a, or -1 if there is none. Of several items it
// returns the one with most equal values.
func (x *comparison) sameItem(a *recording.Node, in []*recording.Node) int {
	want := x.replaceIDs(identity(a))
	if want == "" {
		return -1
	}
	best, index := -1, -1
	values := x.values(a, true)
	for i, e := range in {
		if identity(e) != want {
			continue
		}
		if n := countCommon(values, x.values(e, false)); n > best {
			best, index = n, i
		}
	}
	return index
}

// countCommon counts the values that are in both sets.
func countCommon(a, b map[string]bool) int {
	n := 0
	for v := range b {
		if a[v] {
			n++
		}
	}
	return n
}

// identity returns the value that identifies an item: its key, its first id, or the text of an item without elements.
func identity(n *recording.Node) string {
	if len(n.Kids) == 0 {
		return n.Text
	}
	for _, name := range []string{"Key", "key", "ResourceRecord"} {
		if k := n.Kid(name); k != nil && len(k.Kids) == 0 {
			return k.Text
		}
	}
	for _, k := range n.Kids {
		if len(k.Kids) == 0 && kindOf(k.Text) != "" {
			return k.Text
		}
	}
	return ""
}

// mostSimilar returns the index of the item with most equal values, or -1 if there is none. It skips items whose id
// replaces another recorded id.
func (x *comparison) mostSimilar(a *recording.Node, in []*recording.Node) int {
	best, index := 0, -1
	values := x.values(a, true)
	for i, e := range in {
		if kindOf(identity(e)) != kindOf(identity(a)) || x.isPaired(identity(e)) {
			continue
		}
		if n := 1 + countCommon(values, x.values(e, false)); n > best {
			best, index = n, i
		}
	}
	return index
}

// isPaired reports whether an id of the emulator replaces an id of the recording.
func (x *comparison) isPaired(id string) bool {
	for _, e := range x.ids {
		if e == id {
			return true
		}
	}
	return false
}

// values returns the texts of an item with the paths of their elements, as "path=text". If translate is true,
// recorded ids are replaced with those of the emulator.
func (x *comparison) values(n *recording.Node, translate bool) map[string]bool {
	out := map[string]bool{}
	n.Leaves(func(path []string, leaf *recording.Node) {
		text := leaf.Text
		if translate {
			text = x.replaceIDs(text)
		}
		out[strings.Join(path, ".")+"="+text] = true
	})
	return out
}

// isForeign reports whether an item of the recording was in the account before the recorded run. Only answers to
// reads have such items.
func (x *comparison) isForeign(a *recording.Node) bool {
	if x.call.Mutating() || len(a.Kids) == 0 {
		return false
	}
	if recording.Replaced(identity(a)) {
		return true
	}
	ours, has := false, false
	a.Leaves(func(_ []string, leaf *recording.Node) {
		if kindOf(leaf.Text) != "" {
			has = true
		}
		ours = ours || slices.ContainsFunc(x.names, func(n string) bool { return strings.Contains(leaf.Text, n) })
	})
	return has && !ours
}

// isExpected reports whether AWS's answer should have an item of the emulator: the item belongs to the recorded run,
// or is a setting and not a resource.
func (x *comparison) isExpected(e *recording.Node) bool {
	if x.call.Mutating() || len(e.Kids) == 0 {
		return true
	}
	ours, has := false, false
	e.Leaves(func(_ []string, leaf *recording.Node) {
		if kindOf(leaf.Text) != "" {
			has = true
		}
		ours = ours || slices.ContainsFunc(x.names, func(n string) bool { return strings.Contains(leaf.Text, n) })
	})
	return ours || !has
}
