package targets

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// NodeSets remembers which nodes a selector takes, so that bindings with the same selector share the work, and a node
// that comes or changes costs no look at the others. It saves work and decides nothing: without it, all nodes are
// looked at again. It is safe for concurrent use.
type NodeSets struct {
	all cluster.LastList[*corev1.Node]

	mu sync.Mutex
	of map[string]*nodeSet // by selector
}

// mostNodeSets bounds the selectors that are remembered: they are what users choose.
const maxNodeSets = 32

// nodeSet is what a selector takes of a list of nodes. It is not changed once it is made.
type nodeSet struct {
	nodes []*corev1.Node // ascending by name, as listed
	// ready and unknown are the nodes that may be registered, by their state.
	ready, unknown *NodeList
	findings       finding.List // of the other nodes that the selector takes
}

// list reads all nodes.
func (s *NodeSets) list(v *cluster.View) []*corev1.Node {
	q := cluster.Query{Kind: cluster.KindNode}
	if s == nil {
		return cluster.List[*corev1.Node](v, q)
	}
	return s.all.Read(v, q)
}

// set returns the set of a selector. A nil NodeSets computes it in full.
func (s *NodeSets) set(selector *metav1.LabelSelector, match labels.Selector, nodes []*corev1.Node) *nodeSet {
	if s == nil {
		return newNodeSet("", nil, match, nodes)
	}
	key := metav1.FormatLabelSelector(selector)
	s.mu.Lock()
	old := s.of[key]
	s.mu.Unlock()
	if old != nil && slices.Equal(old.nodes, nodes) {
		return old
	}
	out := newNodeSet(key, old, match, nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxNodeSets && s.of[key] == nil {
		s.of = map[string]*nodeSet{}
	}
	s.of[key] = out
	return out
}

// newNodeSet judges the nodes that are not as they were in an old set of the same selector.
func newNodeSet(selector string, old *nodeSet, match labels.Selector, nodes []*corev1.Node) *nodeSet {
	if old == nil {
		old = &nodeSet{ready: newNodeList(selector, nil), unknown: newNodeList(selector, nil)}
	}
	gone, fresh := changedNodes(old.nodes, nodes)
	out := &nodeSet{nodes: nodes, findings: slices.DeleteFunc(slices.Clone(old.findings), func(f finding.Finding) bool { return gone[f.Object.Name] })}
	var ready, unknown []nodeTarget
	for _, n := range fresh {
		id, status, f := nodeStatus(match, n)
		switch {
		case f != nil:
			out.findings.Add(*f)
		case status == corev1.ConditionTrue:
			ready = append(ready, newNodeTarget(id, n))
		case status == corev1.ConditionUnknown:
			unknown = append(unknown, newNodeTarget(id, n))
		}
	}
	out.findings = out.findings.Sorted()
	out.ready, out.unknown = old.ready.with(gone, ready), old.unknown.with(gone, unknown)
	return out
}

// changedNodes returns the names of the nodes that are not as they were, or are not there any more, and the nodes that
// have come or changed. Both lists are ascending by name.
func changedNodes(old, nodes []*corev1.Node) (gone map[string]bool, fresh []*corev1.Node) {
	gone = map[string]bool{}
	for _, n := range nodes {
		for len(old) > 0 && old[0] != n && old[0].Name <= n.Name {
			gone[old[0].Name], old = true, old[1:]
		}
		if len(old) > 0 && old[0] == n {
			old = old[1:]
			continue
		}
		fresh = append(fresh, n)
	}
	for _, n := range old {
		gone[n.Name] = true
	}
	return gone, fresh
}

// with returns the list without the nodes of some names, and with others.
func (l *NodeList) with(gone map[string]bool, added []nodeTarget) *NodeList {
	kept := l.nodes
	if len(gone) > 0 {
		kept = slices.DeleteFunc(slices.Clone(kept), func(t nodeTarget) bool { return gone[t.node.Name] })
	}
	if len(kept) == len(l.nodes) && len(added) == 0 {
		return l
	}
	slices.SortStableFunc(added, byID)
	out := make([]nodeTarget, 0, len(kept)+len(added))
	for _, t := range added {
		at, _ := slices.BinarySearchFunc(kept, t, byID)
		out, kept = append(append(out, kept[:at]...), t), kept[at:]
	}
	list := newNodeList(l.selector, append(out, kept...))
	list.keepMarks(l)
	return list
}

// byID orders as the identities of targets do, in which a colon and the port follow. Nodes with the same instance, of
// which there should be none, are in the order of their names.
func byID(a, b nodeTarget) int {
	return cmp.Or(compareBeforeColon(a.id, b.id), cmp.Compare(a.node.Name, b.node.Name))
}

// compareBeforeColon compares two texts as if a colon followed each.
func compareBeforeColon(a, b string) int {
	n := min(len(a), len(b))
	if c := cmp.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) < len(b) {
		return cmp.Or(cmp.Compare(':', rune(b[n])), -1)
	}
	return cmp.Or(cmp.Compare(rune(a[n]), ':'), 1)
}
