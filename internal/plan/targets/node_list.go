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

// NodeList is the nodes that bindings with the same selector register, ascending by instance id as a part of an
// identity. The bindings share it and what follows from it, so that it is not changed once it is made.
type NodeList struct {
	selector string
	nodes    []nodeTarget
	// distinct: no instance is there twice and no id has a colon, so that the order is that of the identities too.
	distinct bool

	mu      sync.Mutex
	digests map[int32]nodeDigest // by node port
}

// nodeTarget is a node that may be registered.
type nodeTarget struct {
	id      string
	created string // creation time in milliseconds
	node    *corev1.Node
}

func newNodeTarget(id string, n *corev1.Node) nodeTarget {
	return nodeTarget{id, strconv.FormatInt(n.CreationTimestamp.UnixMilli(), 10), n}
}

func newNodeList(selector string, nodes []nodeTarget) *NodeList {
	l := &NodeList{selector: selector, nodes: nodes, distinct: true, digests: map[int32]nodeDigest{}}
	for i, t := range nodes {
		if strings.IndexByte(t.id, ':') >= 0 || i > 0 && compareBeforeColon(nodes[i-1].id, t.id) >= 0 {
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

// At returns a node and the id of its instance.
func (l *NodeList) At(i int) (id string, n *corev1.Node) { return l.nodes[i].id, l.nodes[i].node }

// Selector identifies the selector that has taken the nodes.
func (l *NodeList) Selector() string { return l.selector }

// Unchanged returns the indexes of the nodes that are as they were in an old list, and those that they had there.
func (l *NodeList) Unchanged(old *NodeList) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		at := 0
		for i := range l.nodes {
			t := &l.nodes[i]
			for at < len(old.nodes) && old.nodes[at].node != t.node && byID(old.nodes[at], *t) <= 0 {
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

// inOrder reports whether the endpoints made from the list are in the order of their identities, which are distinct.
func (l *NodeList) inOrder() bool { return l != nil && l.distinct }

// Checkpoint returns what the function of that name returns for the endpoints. That of nodes is made once for all
// bindings with the same node port.
func (r Resolution) Checkpoint(spec elbv2.TargetGroupBindingSpec) (string, error) {
	if !r.Nodes.inOrder() {
		return Checkpoint(r.endpoints, spec)
	}
	return joinDigests(r.Nodes.digest(r.NodePort), spec)
}

// maxDifferences is how many differences compareInOrder looks for. If there are more, as when a target group is
// filled for the first time, Compare takes less work.
const maxDifferences = 32

// at returns the endpoints at a node port.
func (l *NodeList) at(port int32) []Endpoint {
	out := make([]Endpoint, l.Len())
	for i := range out {
		out[i] = Endpoint{ID: l.nodes[i].id, Port: port, Node: l.nodes[i].node}
	}
	return out
}

// Compare returns what the function of that name returns for the endpoints, with the targets that stay in Nodes if
// these are nodes. Where few targets differ, it walks along both lists.
func (r Resolution) Compare(have []*observed.Target, limit int) Diff {
	if r.Nodes.inOrder() {
		if d, ok := r.Nodes.compareInOrder(r.NodePort, have); ok {
			d.order(have, limit)
			return d
		}
	}
	return Compare(r.Endpoints(), have, limit)
}

// compareInOrder returns the differences by walking along both lists; false if there are many, or if the targets are
// in another order than the nodes.
func (l *NodeList) compareInOrder(port int32, have []*observed.Target) (Diff, bool) {
	var d Diff
	i, draining := 0, 0
	register := func() {
		d.Register = append(d.Register, Endpoint{ID: l.nodes[i].id, Port: port, Node: l.nodes[i].node})
		i++
	}
	few := func() bool { return len(d.Register)+len(d.Deregister) <= maxDifferences }
	for _, t := range have {
		if Draining(t) {
			draining++
			continue
		}
		for i < len(l.nodes) && l.nodes[i].id != t.ID && compareBeforeColon(l.nodes[i].id, t.ID) < 0 && few() {
			register()
		}
		ours := t.Port == port && t.ServerID == ""
		if i < len(l.nodes) && l.nodes[i].id == t.ID && ours {
			i++
			continue
		}
		if ours && l.has(t.ID) {
			return d, false // twice there, or the targets are in another order
		}
		if d.Deregister = append(d.Deregister, t); !few() {
			return d, false
		}
	}
	for i < len(l.nodes) && few() {
		register()
	}
	if !few() {
		return d, false
	}
	if d.Nodes = have; draining+len(d.Deregister) > 0 {
		d.Nodes = slices.DeleteFunc(slices.Clone(have), func(t *observed.Target) bool { return Draining(t) || slices.Contains(d.Deregister, t) })
	}
	return d, true
}

// has reports whether an instance is that of a node.
func (l *NodeList) has(instance string) bool {
	_, ok := slices.BinarySearchFunc(l.nodes, instance, func(t nodeTarget, id string) int { return compareBeforeColon(t.id, id) })
	return ok
}
