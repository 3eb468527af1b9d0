package targets

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
)

// nodeDigest is the hash of the endpoints at a node port, which checkpoints contain.
type nodeDigest struct {
	text string // empty until it is computed
	// states has the state of the hash after each nodesPerState nodes, so that the hash of a list with the same first nodes
	// can be computed from this state.
	states []hash.Cloner
}

// nodesPerState is the number of nodes between two entries of nodeDigest.states.
const nodesPerState = 128

// digest returns the hash of the endpoints at a node port.
func (l *NodeList) digest(port int32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.digests[port]
	if d.text != "" {
		return d.text
	}
	h, done := sha256.New(), 0
	if n := len(d.states); n > 0 {
		h, _ = d.states[n-1].Clone() // Clone does not fail for a hash that is a clone itself
		done = n * nodesPerState
	}
	middle := ":" + strconv.FormatInt(int64(port), 10) + ":"
	text := make([]byte, 0, min(len(l.nodes)-done, nodesPerState)*len(",i-0123456789abcdef0:30000:1234567890123"))
	for i := done; i < len(l.nodes); i++ {
		t := &l.nodes[i]
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, t.id...), middle...), t.created...)
		if (i+1)%nodesPerState == 0 {
			h.Write(text)
			text = text[:0]
			if state, err := h.(hash.Cloner).Clone(); err == nil {
				d.states = append(d.states, state)
			}
		}
	}
	h.Write(text)
	d.text = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	l.digests[port] = d
	return d.text
}

// copyHashStates copies from an old list the hash states that cover only the first nodes that both lists have in common.
func (l *NodeList) copyHashStates(old *NodeList) {
	same := 0
	for same < min(len(l.nodes), len(old.nodes)) && l.nodes[same].node == old.nodes[same].node {
		same++
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	for port, d := range old.digests {
		if n := min(same/nodesPerState, len(d.states)); n > 0 && d.text != "" {
			l.digests[port] = nodeDigest{states: d.states[:n:n]}
		}
	}
}
