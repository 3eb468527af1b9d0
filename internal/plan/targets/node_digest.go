package targets

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
)

// nodeDigest is the part of a checkpoint that stands for the endpoints at a node port.
type nodeDigest struct {
	text string // empty until it is asked for
	// marks are the states of the hash after each markEvery nodes, so that a list with the same first nodes goes on from
	// there.
	marks []hash.Cloner
}

const markEvery = 128

// digest returns the digest of a node port.
func (l *NodeList) digest(port int32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.digests[port]
	if d.text != "" {
		return d.text
	}
	h, done := sha256.New(), 0
	if n := len(d.marks); n > 0 {
		h, _ = d.marks[n-1].Clone() // what is a clone can be cloned
		done = n * markEvery
	}
	middle := ":" + strconv.FormatInt(int64(port), 10) + ":"
	text := make([]byte, 0, min(len(l.nodes)-done, markEvery)*len(",i-0123456789abcdef0:30000:1234567890123"))
	for i := done; i < len(l.nodes); i++ {
		t := &l.nodes[i]
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, t.id...), middle...), t.created...)
		if (i+1)%markEvery == 0 {
			h.Write(text)
			text = text[:0]
			if state, err := h.(hash.Cloner).Clone(); err == nil {
				d.marks = append(d.marks, state)
			}
		}
	}
	h.Write(text)
	d.text = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	l.digests[port] = d
	return d.text
}

// keepMarks takes the marks of an old list that are for the same first nodes, of those node ports that it was asked for.
func (l *NodeList) keepMarks(old *NodeList) {
	same := 0
	for same < min(len(l.nodes), len(old.nodes)) && l.nodes[same].node == old.nodes[same].node {
		same++
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	for port, d := range old.digests {
		if n := min(same/markEvery, len(d.marks)); n > 0 && d.text != "" {
			l.digests[port] = nodeDigest{marks: d.marks[:n:n]}
		}
	}
}
