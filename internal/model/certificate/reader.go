package certificate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// maxMapBytes is the maximum size of each of the two maps of a Reader.
const maxMapBytes = 8 << 20

// Reader parses TLS Secrets and caches the results, because all objects of a stack are translated again whenever one of them
// changes. The cache has the public content of certificates, or their faults, and never a private key. A Reader may be used
// by several goroutines. Its zero value is ready for use.
type Reader struct {
	mu sync.Mutex
	// recentResults and olderResults are the cache. New results go into recentResults, and so do results in olderResults
	// when they are used. When recentResults is full, it becomes olderResults, and the previous olderResults is dropped.
	recentResults, olderResults map[secretHash]parseResult
	size                        int // size of recentResults, in bytes

	parseCount int // for tests
}

// secretHash is a hash of all values of a Secret that are parsed, including the private key.
type secretHash [sha256.Size]byte

// parseResult is the result of parsing: a certificate without its key, or a fault.
type parseResult struct {
	contentWithoutKey model.CertificateContent
	fault             *Fault
}

func (o parseResult) size() int {
	return 1024 + len(o.contentWithoutKey.Body) + len(o.contentWithoutKey.Chain)
}

// Parse parses a certificate with its chain, and the private key, all in PEM. If the chain is missing, the certificate of
// the issuer is taken from authorities. A chain in a wrong order is sorted if only one order is possible.
func (r *Reader) Parse(certificates, key, authorities []byte) (*model.CertificateContent, *Fault) {
	v := secretHashOf(certificates, key, authorities)
	known, ok := r.getCached(v)
	if !ok {
		content, f := parse(certificates, key, authorities)
		if known.fault = f; f == nil {
			known.contentWithoutKey = *content
			known.contentWithoutKey.Key = ""
		}
		r.cacheResult(v, known)
	}
	if known.fault != nil {
		return nil, known.fault
	}
	block, f := privateKeyBlock(key)
	if f != nil {
		return nil, f
	}
	out := known.contentWithoutKey
	out.Key = model.Secret(pem.EncodeToMemory(block))
	return &out, nil
}

func secretHashOf(parts ...[]byte) (out secretHash) {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		sum.Write(p)
	}
	return secretHash(sum.Sum(nil))
}

func (r *Reader) getCached(key secretHash) (parseResult, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out, ok := r.recentResults[key]; ok {
		return out, true
	}
	out, ok := r.olderResults[key]
	if ok {
		r.put(key, out)
	}
	return out, ok
}

func (r *Reader) cacheResult(key secretHash, out parseResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parseCount++
	r.put(key, out)
}

func (r *Reader) put(key secretHash, out parseResult) {
	if r.recentResults == nil || r.size+out.size() > maxMapBytes {
		r.olderResults, r.recentResults, r.size = r.recentResults, map[secretHash]parseResult{}, 0
	}
	r.recentResults[key] = out
	r.size += out.size()
}
