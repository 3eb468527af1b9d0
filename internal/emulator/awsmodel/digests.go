package awsmodel

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// digestCache caches the digests of messages without deviations. Nine of ten messages repeat an earlier message, and
// checking a message takes as long as the rest of the call in the emulator. Each digest has a fixed slot; a later digest
// with the same slot replaces it.
type digestCache struct {
	seed  maphash.Seed
	slots [1 << 17]atomic.Uint64
}

var checkedMessages = &digestCache{seed: maphash.MakeSeed()}

// checkOnce runs check, unless the cache contains the digest of the message. A message with deviations is not cached,
// because exceptions differ between tests: it is checked and reported each time.
func (m *digestCache) checkOnce(digest uint64, found reportFunc, check func(reportFunc)) {
	place := &m.slots[digest%uint64(len(m.slots))]
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

// requestDigest returns the digest of the parts of an exchange that determine the result of the request check.
func (m *digestCache) requestDigest(x emulator.Exchange) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	fmt.Fprintf(&h, "request %s %s %t ", x.Service, x.Operation, isRejected(x))
	h.Write(x.Request.Body)
	return h.Sum64()
}

// answerDigest returns the digest of the parts of an exchange that determine the result of the response check, without the
// request ID.
func (m *digestCache) answerDigest(x emulator.Exchange) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	fmt.Fprintf(&h, "answer %s %s %d %t %s ", x.Service, x.Operation, x.Answer.Status, x.IsEmulatorError, x.Code)
	before, after, _ := bytes.Cut(x.Answer.Body, []byte(x.RequestID))
	h.Write(before)
	h.WriteByte(0)
	h.Write(after)
	return h.Sum64()
}
