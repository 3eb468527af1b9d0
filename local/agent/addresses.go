package agent

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// pools allocates the addresses of pods, one range for each node. An address that was
// released is allocated again only after all others, so that what still refers to it (a
// draining target) does not reach another pod.
type pools struct {
	mu    sync.Mutex
	nodes map[string]*pool
}

type pool struct {
	prefix netip.Prefix
	last   netip.Addr
	used   map[netip.Addr]bool
}

func newPools(nodes []layout.Node) *pools {
	p := &pools{nodes: map[string]*pool{}}
	for _, n := range nodes {
		p.nodes[n.Name] = &pool{prefix: n.Pods, last: n.Pods.Addr(), used: map[netip.Addr]bool{}}
	}
	return p
}

// take gives out the next free address of a node.
func (p *pools) take(node string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[node]
	if n == nil {
		return netip.Addr{}, fmt.Errorf("node %s has no addresses", node)
	}
	size := 1 << (32 - n.prefix.Bits())
	a := n.last
	for range size {
		a = a.Next()
		if !n.prefix.Contains(a) {
			a = n.prefix.Addr()
		}
		if b := a.As4(); n.used[a] || b[3] == 0 || b[3] == 255 {
			continue
		}
		n.used[a], n.last = true, a
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("node %s has no free address in %s", node, n.prefix)
}

// reserve takes a certain address.
func (p *pools) reserve(node string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[node]; n != nil && n.prefix.Contains(a) {
		n.used[a] = true
		if n.last.Less(a) {
			n.last = a
		}
	}
}

func (p *pools) giveBack(node string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[node]; n != nil {
		delete(n.used, a)
	}
}
