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
const mostNodeSets = 32

// nodeSet is what a selector takes of a list of nodes. It is not changed once it is made.
type nodeSet struct {
	nodes  []*corev1.Node // ascending by name, as listed
	judged []judgedNode   // of the same index
	// ready and unknown are the nodes that may be registered, by their state.
	ready, unknown *NodeList
	findings       finding.List
}

// judgedNode is what a selector makes of one node.
type judgedNode struct {
	id      string
	status  corev1.ConditionStatus // "" if it is left out
	finding *finding.Finding
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
	if s.of == nil || len(s.of) >= mostNodeSets && s.of[key] == nil {
		s.of = map[string]*nodeSet{}
	}
	s.of[key] = out
	return out
}

// newNodeSet judges the nodes that are not as they were in an old set of the same selector.
func newNodeSet(selector string, old *nodeSet, match labels.Selector, nodes []*corev1.Node) *nodeSet {
	out := &nodeSet{nodes: nodes, judged: make([]judgedNode, len(nodes))}
	if old == nil {
		old = &nodeSet{ready: &NodeList{}, unknown: &NodeList{}}
	}
	var fresh []int // indexes of the nodes that are judged now
	gone := map[*corev1.Node]bool{}
	at := 0
	for i, n := range nodes {
		for at < len(old.nodes) && old.nodes[at] != n && old.nodes[at].Name <= n.Name {
			gone[old.nodes[at]] = true
			at++
		}
		if at < len(old.nodes) && old.nodes[at] == n {
			out.judged[i] = old.judged[at]
			at++
			continue
		}
		fresh = append(fresh, i)
		out.judged[i] = judge(match, n)
	}
	for _, n := range old.nodes[at:] {
		gone[n] = true
	}
	for i := range out.judged {
		if f := out.judged[i].finding; f != nil {
			out.findings.Add(*f)
		}
	}
	out.ready = newNodeList(selector, out.targetsOf(corev1.ConditionTrue, old.ready, gone, fresh))
	out.unknown = newNodeList(selector, out.targetsOf(corev1.ConditionUnknown, old.unknown, gone, fresh))
	return out
}

// targetsOf are the nodes of a state: those of the old list that are not gone, which are in order already, and those that
// are judged now.
func (s *nodeSet) targetsOf(status corev1.ConditionStatus, old *NodeList, gone map[*corev1.Node]bool, fresh []int) []nodeTarget {
	var added []nodeTarget
	for _, i := range fresh {
		if j := &s.judged[i]; j.status == status {
			added = append(added, newNodeTarget(j.id, s.nodes[i]))
		}
	}
	slices.SortStableFunc(added, byID)
	out := make([]nodeTarget, 0, len(old.nodes)+len(added))
	for i := range old.nodes {
		t := &old.nodes[i]
		if len(gone) > 0 && gone[t.node] {
			continue
		}
		for len(added) > 0 && byID(added[0], *t) < 0 {
			out, added = append(out, added[0]), added[1:]
		}
		out = append(out, *t)
	}
	return append(out, added...)
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
		return cmp.Compare(':', rune(b[n]))
	}
	return cmp.Compare(rune(a[n]), ':')
}
