package certificate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// maxMapSize is the maximum size, in bytes, of each of the two maps of a Reader.
const maxMapSize = 8 << 20

// Reader parses TLS Secrets and caches the results, because the objects of a stack are translated whenever one of them
// changes. The cache has the public parts of certificates or their faults, and never a key. A Reader is safe for concurrent
// use. The zero value is ready.
type Reader struct {
	mu sync.Mutex
	// recent has the results that were used last, older has those that were used before. A result in older that is used
	// moves to recent. When recent is full it becomes older, and the previous older is dropped.
	recent, older map[version]outcome
	size          int // of recent

	parsed int // for tests
}

// version is a hash of all parts of a Secret that are read.
type version [sha256.Size]byte

// outcome is the result of parsing: a certificate without its key, or a fault.
type outcome struct {
	public model.CertificateContent
	fault  *Fault
}

func (o outcome) size() int { return 1024 + len(o.public.Body) + len(o.public.Chain) }

// Parse parses a certificate with its chain, and the private key. If the chain is missing, the issuer is taken from
// authorities. A chain in a wrong order is reordered if there is only one right order.
func (r *Reader) Parse(certificates, key, authorities []byte) (*model.CertificateContent, *Fault) {
	v := versionOf(certificates, key, authorities)
	known, ok := r.get(v)
	if !ok {
		content, f := parse(certificates, key, authorities)
		if known.fault = f; f == nil {
			known.public = *content
			known.public.Key = ""
		}
		r.store(v, known)
	}
	if known.fault != nil {
		return nil, known.fault
	}
	block, f := keyBlock(key)
	if f != nil {
		return nil, f
	}
	out := known.public
	out.Key = model.Secret(pem.EncodeToMemory(block))
	return &out, nil
}

func versionOf(parts ...[]byte) (out version) {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		sum.Write(p)
	}
	return version(sum.Sum(nil))
}

func (r *Reader) get(key version) (outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out, ok := r.recent[key]; ok {
		return out, true
	}
	out, ok := r.older[key]
	if ok {
		r.put(key, out)
	}
	return out, ok
}

func (r *Reader) store(key version, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parsed++
	r.put(key, out)
}

func (r *Reader) put(key version, out outcome) {
	if r.recent == nil || r.size+out.size() > maxMapSize {
		r.older, r.recent, r.size = r.recent, map[version]outcome{}, 0
	}
	r.recent[key] = out
	r.size += out.size()
}
