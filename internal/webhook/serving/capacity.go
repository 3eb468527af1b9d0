package serving

import (
	"cmp"
	"slices"
	"sync"
)

// capacity limits a quantity that all callers share, such as the bytes of requests. Any pod of the cluster can call the
// webhooks. When the capacity is used up, the oldest reservation of the address with the highest usage is revoked. This
// address is probably not an API server, because API servers use few connections from few addresses. If the address of a new
// caller would have the highest usage, the caller waits.
type capacity struct {
	total int

	mu            sync.Mutex
	used          int
	usage         map[string]*addressUsage
	releaseSignal chan struct{} // closed when a reservation is released; nil if no caller waits
}

// addressUsage is the usage of one address.
type addressUsage struct {
	used      int
	revocable []*reservation // in order of age, the oldest first
}

// reservation is a part of the capacity that one request or connection uses.
type reservation struct {
	address  string
	revoke   func() // makes the holder release the reservation; called at most once
	size     int
	hasEnded bool // whether the reservation was released or revoked
}

// reserve adds n to a reservation. If the capacity is used up, it returns a channel that is closed when capacity is
// released; nil if the reservation was revoked.
func (c *capacity) reserve(r *reservation, n int) (ok bool, released <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !r.hasEnded && c.used+n > c.total {
		largest := c.nextToRevoke(c.amountUsedBy(r.address) + n)
		if largest == nil {
			if c.releaseSignal == nil {
				c.releaseSignal = make(chan struct{})
			}
			return false, c.releaseSignal
		}
		largest.hasEnded = true
		c.subtract(largest)
		largest.revoke()
	}
	if r.hasEnded {
		return false, nil
	}
	usage := c.getOrCreateUsage(r.address)
	if r.size == 0 {
		usage.revocable = append(usage.revocable, r)
	}
	r.size, usage.used, c.used = r.size+n, usage.used+n, c.used+n
	return true, nil
}

// makePermanent excludes a reservation from revocation. It is called when the holder will release the reservation soon. It
// returns false if the reservation has already been revoked.
func (c *capacity) makePermanent(r *reservation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.hasEnded {
		c.removeFromRevocable(r)
	}
	return !r.hasEnded
}

// release releases a reservation.
func (c *capacity) release(r *reservation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.hasEnded {
		r.hasEnded = true
		c.subtract(r)
	}
}

// nextToRevoke returns the oldest revocable reservation of the address with the highest usage; nil if no address has a usage
// of more than n.
func (c *capacity) nextToRevoke(n int) *reservation {
	var out *reservation
	for address, usage := range c.usage {
		if usage.used > n && len(usage.revocable) > 0 && (out == nil || cmp.Or(usage.used-c.usage[out.address].used, cmp.Compare(address, out.address)) > 0) {
			out = usage.revocable[0]
		}
	}
	return out
}

// amountUsedBy returns how much an address uses. It creates no entry for the address, because a refused reservation is never
// released, and only a release removes an entry.
func (c *capacity) amountUsedBy(address string) int {
	if usage := c.usage[address]; usage != nil {
		return usage.used
	}
	return 0
}

// getOrCreateUsage returns the usage of an address, and creates the entry if the address has no entry.
func (c *capacity) getOrCreateUsage(address string) *addressUsage {
	if c.usage == nil {
		c.usage = map[string]*addressUsage{}
	}
	if c.usage[address] == nil {
		c.usage[address] = &addressUsage{}
	}
	return c.usage[address]
}

// removeFromRevocable removes a reservation from the revocable reservations of its address.
func (c *capacity) removeFromRevocable(r *reservation) {
	usage := c.getOrCreateUsage(r.address)
	usage.revocable = slices.DeleteFunc(usage.revocable, func(o *reservation) bool { return o == r })
}

// subtract subtracts a reservation from the usage, and notifies the waiting callers.
func (c *capacity) subtract(r *reservation) {
	c.removeFromRevocable(r)
	usage := c.getOrCreateUsage(r.address)
	usage.used, c.used = usage.used-r.size, c.used-r.size
	if usage.used == 0 {
		delete(c.usage, r.address)
	}
	if c.releaseSignal != nil {
		close(c.releaseSignal)
		c.releaseSignal = nil
	}
}
