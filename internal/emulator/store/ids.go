package store

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// RandomHex returns n random lower-case hexadecimal digits.
func (w *Store) RandomHex(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", w.ids.Uint64())
	}
	return b.String()[:n]
}

// RandomDecimal returns a random number of at most n decimal digits, as in DNS names of load balancers.
func (w *Store) RandomDecimal(n int) string {
	max := uint64(1)
	for range n {
		max *= 10
	}
	return fmt.Sprint(w.ids.Uint64N(max))
}

// RandomAddress returns a random address of a range, but not its first or last address.
func (w *Store) RandomAddress(block netip.Prefix) netip.Addr {
	b := block.Masked().Addr().AsSlice()
	for {
		random := w.RandomHex(2 * len(b))
		for i := range b {
			n, _ := strconv.ParseUint(random[2*i:2*i+2], 16, 8) // never fails for hexadecimal digits
			host := byte(0xff) >> max(0, min(8, block.Bits()-8*i))
			b[i] = b[i]&^host | byte(n)&host
		}
		a, _ := netip.AddrFromSlice(b) // the length is valid
		if block.Contains(a.Prev()) && block.Contains(a.Next()) {
			return a
		}
	}
}

// NewID returns a random EC2 resource ID. It consists of the prefix, which ends with a hyphen, and 17 hexadecimal digits.
// The first digit is 0, as in AWS.
func (w *Store) NewID(prefix string) string { return prefix + "0" + w.RandomHex(16) }

// RequestID returns a random request ID. It uses w.Rand, not the random source of identifiers.
func (w *Store) RequestID() string {
	return formatUUID(fmt.Sprintf("%016x%016x", w.Rand.Uint64(), w.Rand.Uint64()))
}

// RandomUUID returns a random UUID of version 4.
func (w *Store) RandomUUID() string { return formatUUID(w.RandomHex(32)) }

func formatUUID(h string) string {
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// Shuffle puts a list in random order, in place, if Config.Shuffle is set. It returns the list. Callers use it for lists
// without a documented order.
func Shuffle[T any](w *Store, s []T) []T {
	if w.Config.Shuffle {
		w.Rand.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	return s
}
