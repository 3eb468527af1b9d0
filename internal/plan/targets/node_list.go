package targets

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// NodeList has the nodes that bindings with the same selector register, in the order of the identities of their targets. It is
// immutable, because the bindings share it.
type NodeList struct {
	selector string
	nodes    []nodeTarget
	// distinct is set if the identities of the targets (ID, colon, port) are in order without duplicates. This is not the
	// case if an instance ID occurs twice or contains a colon.
	distinct bool

	mu      sync.Mutex
	digests map[int32]nodeDigest // by node port
}

// nodeTarget is a node that may be registered as a target.
type nodeTarget struct {
	id      string
	created string // creation time in milliseconds
	node    *corev1.Node
}

func newNodeTarget(id string, n *corev1.Node) nodeTarget {
	return nodeTarget{id, strconv.FormatInt(n.CreationTimestamp.UnixMilli(), 10), n}
}

// newNodeList returns a list of nodes, which must be sorted by compareByID.
func newNodeList(selector string, nodes []nodeTarget) *NodeList {
	l := &NodeList{selector: selector, nodes: nodes, distinct: true, digests: map[int32]nodeDigest{}}
	for i, t := range nodes {
		if strings.IndexByte(t.id, ':') >= 0 || i > 0 && compareWithColon(nodes[i-1].id, t.id) >= 0 {
			l.distinct = false
			break
		}
	}
	return l
}

// Len returns the number of nodes; a nil list has none.
func (l *NodeList) Len() int {
	if l == nil {
		return 0
	}
	return len(l.nodes)
}

// At returns the node with index i and the ID of its instance.
func (l *NodeList) At(i int) (id string, n *corev1.Node) { return l.nodes[i].id, l.nodes[i].node }

// Selector returns a text that identifies the selector of the nodes.
func (l *NodeList) Selector() string { return l.selector }

// UnchangedNodes returns the index of each node that has not changed since an old list, with the index of the node in that
// list.
func (l *NodeList) UnchangedNodes(old *NodeList) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		at := 0
		for i := range l.nodes {
			t := &l.nodes[i]
			for at < len(old.nodes) && old.nodes[at].node != t.node && compareByID(old.nodes[at], *t) <= 0 {
				at++
			}
			if at == len(old.nodes) {
				return
			}
			if old.nodes[at].node == t.node {
				if !yield(i, at) {
					return
				}
				at++
			}
		}
	}
}

// isInOrder reports whether the endpoints of the list have distinct identities in ascending order.
func (l *NodeList) isInOrder() bool { return l != nil && l.distinct }

// Checkpoint returns the checkpoint of the endpoints. The hash of nodes is computed once for all bindings with the same node
// port.
func (r Resolution) Checkpoint(spec elbv2.TargetGroupBindingSpec) (string, error) {
	if !r.Nodes.isInOrder() {
		return Checkpoint(r.endpoints, spec)
	}
	return joinDigests(r.Nodes.digest(r.NodePort), spec)
}

// maxDifferences is the maximum number of differences that compareInOrder finds. If there are more, as in a new target
// group, Compare is faster.
const maxDifferences = 32

func (l *NodeList) endpointsAt(port int32) []Endpoint {
	out := make([]Endpoint, l.Len())
	for i := range out {
		out[i] = Endpoint{ID: l.nodes[i].id, Port: port, Node: l.nodes[i].node}
	}
	return out
}

// Compare returns the difference between the registered targets and the endpoints, as the function Compare does. If the
// endpoints are nodes and few targets differ, it compares both lists in order, and returns the matched targets in
// Diff.MatchedNodeTargets.
func (r Resolution) Compare(have []*observed.Target, limit int) Diff {
	if r.Nodes.isInOrder() {
		if d, ok := r.Nodes.compareInOrder(r.NodePort, have); ok {
			d.sortAndLimit(have, limit)
			return d
		}
	}
	return Compare(r.Endpoints(), have, limit)
}

// compareInOrder returns the difference between two lists in the same order; false if there are many differences, or if the
// targets are in another order than the nodes.
func (l *NodeList) compareInOrder(port int32, have []*observed.Target) (Diff, bool) {
	var d Diff
	i, draining := 0, 0
	register := func() {
		d.ToRegister = append(d.ToRegister, Endpoint{ID: l.nodes[i].id, Port: port, Node: l.nodes[i].node})
		i++
	}
	hasFew := func() bool { return len(d.ToRegister)+len(d.ToDeregister) <= maxDifferences }
	for _, t := range have {
		if IsDraining(t) {
			draining++
			continue
		}
		for i < len(l.nodes) && l.nodes[i].id != t.ID && compareWithColon(l.nodes[i].id, t.ID) < 0 && hasFew() {
			register()
		}
		samePort := t.Port == port && t.ServerID == ""
		if i < len(l.nodes) && l.nodes[i].id == t.ID && samePort {
			i++
			continue
		}
		if samePort && l.hasInstance(t.ID) {
			return d, false // the target occurs twice, or the order differs
		}
		if d.ToDeregister = append(d.ToDeregister, t); !hasFew() {
			return d, false
		}
	}
	for i < len(l.nodes) && hasFew() {
		register()
	}
	if !hasFew() {
		return d, false
	}
	if d.MatchedNodeTargets = have; draining+len(d.ToDeregister) > 0 {
		d.MatchedNodeTargets = slices.DeleteFunc(slices.Clone(have), func(t *observed.Target) bool { return IsDraining(t) || slices.Contains(d.ToDeregister, t) })
	}
	return d, true
}

func (l *NodeList) hasInstance(instance string) bool {
	_, ok := slices.BinarySearchFunc(l.nodes, instance, func(t nodeTarget, id string) int { return compareWithColon(t.id, id) })
	return ok
}
