package serving

import (
	"cmp"
	"slices"
	"sync"
)

// shares bounds a quantity that callers use together, such as the bytes of requests that are read. Anybody in the cluster
// may call, and the API server has few connections from few addresses. So when the whole is used up, the address that has
// most gives way, and one that would have most itself waits for its own.
type shares struct {
	most int

	mu    sync.Mutex
	used  int
	by    map[string]*share
	freed chan struct{} // closed when something is given back; nil: nothing waits
}

// share is what one address has.
type share struct {
	used int
	open []*claim // that can be ended, the oldest first
}

// claim is a part of a share.
type claim struct {
	address string
	end     func() // has the holder give it back; called once at most
	size    int
	ended   bool
}

// grow adds to a claim. If it may not have more now, it returns what to wait for; nil if the claim was ended.
func (s *shares) grow(c *claim, n int) (ok bool, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !c.ended && s.used+n > s.most {
		victim := s.largest(s.of(c.address).used + n)
		if victim == nil {
			if s.freed == nil {
				s.freed = make(chan struct{})
			}
			return false, s.freed
		}
		victim.ended = true
		s.forget(victim)
		victim.end()
	}
	if c.ended {
		return false, nil
	}
	own := s.of(c.address)
	if c.size == 0 {
		own.open = append(own.open, c)
	}
	c.size, own.used, s.used = c.size+n, own.used+n, s.used+n
	return true, nil
}

// makePermanent lets a claim not be ended any more, as its holder will give it back soon; false if it was ended.
func (s *shares) makePermanent(c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.ended {
		s.close(c)
	}
	return !c.ended
}

// release gives a claim back.
func (s *shares) release(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.ended {
		c.ended = true
		s.forget(c)
	}
}

// largest returns the oldest claim of the address that has most, if that is more than n; nil if there is none.
func (s *shares) largest(n int) *claim {
	var out *claim
	for address, o := range s.by {
		if o.used > n && len(o.open) > 0 && (out == nil || cmp.Or(o.used-s.by[out.address].used, cmp.Compare(address, out.address)) > 0) {
			out = o.open[0]
		}
	}
	return out
}

func (s *shares) of(address string) *share {
	if s.by == nil {
		s.by = map[string]*share{}
	}
	if s.by[address] == nil {
		s.by[address] = &share{}
	}
	return s.by[address]
}

func (s *shares) close(c *claim) {
	own := s.of(c.address)
	own.open = slices.DeleteFunc(own.open, func(o *claim) bool { return o == c })
}

func (s *shares) forget(c *claim) {
	s.close(c)
	own := s.of(c.address)
	own.used, s.used = own.used-c.size, s.used-c.size
	if own.used == 0 {
		delete(s.by, c.address)
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
