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

// NodeSets caches the nodes that each node selector selects. Bindings with the same selector share these nodes, and a later
// call evaluates only nodes that are new or have changed. The results are the same as without the cache. NodeSets is safe
// for concurrent use. A nil NodeSets caches nothing.
type NodeSets struct {
	lastNodes cluster.LastListCache[*corev1.Node]

	mu         sync.Mutex
	bySelector map[string]*nodeSet
}

// maxNodeSets is the maximum number of cached selectors. A further selector clears the cache. The limit is needed because
// users choose the selectors.
const maxNodeSets = 32

// nodeSet has the nodes of the cluster that a selector selects. It is immutable.
type nodeSet struct {
	nodes []*corev1.Node // all nodes of the cluster, ascending by name
	// readyNodes has the selected nodes that may be registered and whose Ready condition is True. unknownNodes has the
	// selected nodes whose Ready condition is Unknown.
	readyNodes, unknownNodes *NodeList
	findings                 finding.List // about selected nodes that cannot be registered
}

// listNodes returns all nodes. A nil NodeSets reads them without a cache.
func (s *NodeSets) listNodes(v *cluster.View) []*corev1.Node {
	q := cluster.Query{Kind: cluster.KindNode}
	if s == nil {
		return cluster.List[*corev1.Node](v, q)
	}
	return s.lastNodes.Read(v, q)
}

// nodeSetFor returns the nodeSet of a selector and caches it. match is the result of nodeSelector for the selector, and
// nodes has all nodes of the cluster. A nil NodeSets evaluates all nodes and caches nothing.
func (s *NodeSets) nodeSetFor(selector *metav1.LabelSelector, match labels.Selector, nodes []*corev1.Node) *nodeSet {
	if s == nil {
		return newNodeSet("", nil, match, nodes)
	}
	key := metav1.FormatLabelSelector(selector)
	s.mu.Lock()
	old := s.bySelector[key]
	s.mu.Unlock()
	if old != nil && slices.Equal(old.nodes, nodes) {
		return old
	}
	out := newNodeSet(key, old, match, nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySelector == nil || len(s.bySelector) >= maxNodeSets && s.bySelector[key] == nil {
		s.bySelector = map[string]*nodeSet{}
	}
	s.bySelector[key] = out
	return out
}

// newNodeSet returns the nodeSet of a selector. It evaluates only the nodes that are new or have changed since old, an
// earlier nodeSet of the same selector. If old is nil, it evaluates all nodes. selector is the text for NodeList.Selector.
func newNodeSet(selector string, old *nodeSet, match labels.Selector, nodes []*corev1.Node) *nodeSet {
	if old == nil {
		old = &nodeSet{readyNodes: newNodeList(selector, nil), unknownNodes: newNodeList(selector, nil)}
	}
	removed, changed := changedNodes(old.nodes, nodes)
	out := &nodeSet{nodes: nodes, findings: slices.DeleteFunc(slices.Clone(old.findings), func(f finding.Finding) bool { return removed[f.Object.Name] })}
	var ready, unknown []nodeTarget
	for _, n := range changed {
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
	out.readyNodes, out.unknownNodes = old.readyNodes.withChanges(removed, ready), old.unknownNodes.withChanges(removed, unknown)
	return out
}

// changedNodes returns the names of the old nodes that have changed or were deleted, and the nodes that are new or have
// changed. Both lists must be ascending by name.
func changedNodes(old, nodes []*corev1.Node) (removed map[string]bool, changed []*corev1.Node) {
	removed = map[string]bool{}
	for _, n := range nodes {
		for len(old) > 0 && old[0] != n && old[0].Name <= n.Name {
			removed[old[0].Name], old = true, old[1:]
		}
		if len(old) > 0 && old[0] == n {
			old = old[1:]
			continue
		}
		changed = append(changed, n)
	}
	for _, n := range old {
		removed[n.Name] = true
	}
	return removed, changed
}

// withChanges returns the list without the nodes whose names are in removed, and with the nodes in added. It sorts added in
// place.
func (l *NodeList) withChanges(removed map[string]bool, added []nodeTarget) *NodeList {
	retained := l.nodes
	if len(removed) > 0 {
		retained = slices.DeleteFunc(slices.Clone(retained), func(t nodeTarget) bool { return removed[t.node.Name] })
	}
	if len(retained) == len(l.nodes) && len(added) == 0 {
		return l
	}
	slices.SortStableFunc(added, compareByID)
	out := make([]nodeTarget, 0, len(retained)+len(added))
	for _, t := range added {
		at, _ := slices.BinarySearchFunc(retained, t, compareByID)
		out, retained = append(append(out, retained[:at]...), t), retained[at:]
	}
	list := newNodeList(l.selector, append(out, retained...))
	list.copyHashStates(l)
	return list
}

// compareByID compares two nodes by the identities of their targets, which consist of the instance ID, a colon and the port.
// Nodes with the same instance ID are compared by name.
func compareByID(a, b nodeTarget) int {
	return cmp.Or(compareWithColon(a.id, b.id), cmp.Compare(a.node.Name, b.node.Name))
}

// compareWithColon compares two texts as if each text ended with a colon.
func compareWithColon(a, b string) int {
	n := min(len(a), len(b))
	if c := cmp.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) < len(b) {
		return cmp.Or(cmp.Compare(':', rune(b[n])), -1)
	}
	return cmp.Or(cmp.Compare(rune(a[n]), ':'), 1)
}
