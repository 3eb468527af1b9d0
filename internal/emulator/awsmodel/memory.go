package awsmodel

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// memory has digests of messages in which nothing departs. Nine messages of ten were sent before, by the same test or
// another one, and reading one takes as long as the rest of the call in the emulator. Each digest has one place,
// which it loses to the next one that has the same.
type memory struct {
	seed   maphash.Seed
	places [1 << 17]atomic.Uint64
}

var checked = &memory{seed: maphash.MakeSeed()}

// once runs a check unless the same message was checked and nothing departed. A message that departs is checked, and
// reported, each time: what is allowed differs from test to test.
func (m *memory) once(digest uint64, found report, check func(report)) {
	place := &m.places[digest%uint64(len(m.places))]
	if place.Load() == digest {
		return
	}
	departs := false
	check(func(member, value, rule string) {
		departs = true
		found(member, value, rule)
	})
	if !departs {
		place.Store(digest)
	}
}

// request returns the digest of what the check of a request depends on.
func (m *memory) request(x emulator.Exchange) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	fmt.Fprintf(&h, "request %s %s %t ", x.Service, x.Operation, refused(x))
	h.Write(x.Request.Body)
	return h.Sum64()
}

// answer is likewise that of an answer, without the request ID that each has of its own.
func (m *memory) answer(x emulator.Exchange) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	fmt.Fprintf(&h, "answer %s %s %d %t %s ", x.Service, x.Operation, x.Answer.Status, x.Own, x.Code)
	before, after, _ := bytes.Cut(x.Answer.Body, []byte(x.RequestID))
	h.Write(before)
	h.WriteByte(0)
	h.Write(after)
	return h.Sum64()
}
