// Package replacement plans the replacement of load balancers whose scheme or type has to change, because AWS cannot
// change it in place.
package replacement
