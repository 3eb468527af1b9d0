package agent

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// addressPools allocates the addresses of pods, one range for each node. A released address is allocated again only after
// all other addresses of the range, so that a draining target with this address does not send traffic to another pod.
type addressPools struct {
	mu    sync.Mutex
	nodes map[string]*addressPool
}

type addressPool struct {
	prefix        netip.Prefix
	lastAllocated netip.Addr
	used          map[netip.Addr]bool
}

func newAddressPools(nodes []layout.Node) *addressPools {
	p := &addressPools{nodes: map[string]*addressPool{}}
	for _, n := range nodes {
		p.nodes[n.Name] = &addressPool{prefix: n.PodRange, lastAllocated: n.PodRange.Addr(), used: map[netip.Addr]bool{}}
	}
	return p
}

// allocate returns the next free address of a node.
func (p *addressPools) allocate(node string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[node]
	if n == nil {
		return netip.Addr{}, fmt.Errorf("node %s has no addresses", node)
	}
	size := 1 << (32 - n.prefix.Bits())
	a := n.lastAllocated
	for range size {
		a = a.Next()
		if !n.prefix.Contains(a) {
			a = n.prefix.Addr()
		}
		if b := a.As4(); n.used[a] || b[3] == 0 || b[3] == 255 {
			continue
		}
		n.used[a], n.lastAllocated = true, a
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("node %s has no free address in %s", node, n.prefix)
}

// reserve records that an address is in use, so that allocate does not return it.
func (p *addressPools) reserve(node string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[node]; n != nil && n.prefix.Contains(a) {
		n.used[a] = true
		if n.lastAllocated.Less(a) {
			n.lastAllocated = a
		}
	}
}

func (p *addressPools) release(node string, a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[node]; n != nil {
		delete(n.used, a)
	}
}
