package targets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestCompareEqualsComparisonOfAllPairs compares the result of Compare with a comparison of all pairs, for random
// endpoints and targets. Several of them may have the same identity in different forms.
func TestCompareEqualsComparisonOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	ids := []string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00:0::1", "fd00::2", "i-1", "i-12"}
	for range 2000 {
		var want []Endpoint
		for range r.IntN(6) {
			e := Endpoint{ID: ids[r.IntN(len(ids))], Port: 80 + r.Int32N(2)}
			if strings.HasPrefix(e.ID, "i-") {
				e.Node = &corev1.Node{}
			} else {
				e.Pod = &corev1.Pod{}
			}
			want = append(want, e)
		}
		slices.SortStableFunc(want, func(a, b Endpoint) int { return strings.Compare(a.Identity(), b.Identity()) })
		var have []*observed.Target
		for range r.IntN(6) {
			have = append(have, &observed.Target{ID: ids[r.IntN(len(ids))], Port: 80 + r.Int32N(2), State: []string{"healthy", "draining"}[r.IntN(2)]})
		}
		limit := r.IntN(8)
		if got, def := diffText(Compare(want, have, limit)), diffText(simpleCompare(want, have, limit)); got != def {
			t.Fatalf("want %v, have %v, limit %d:\nwant %s\ngot  %s", want, have, limit, def, got)
		}
	}
}

// simpleCompare is a simple implementation of Compare.
func simpleCompare(want []Endpoint, have []*observed.Target, limit int) Diff {
	var d Diff
	for _, t := range have {
		i := slices.IndexFunc(want, func(e Endpoint) bool { return e.key() == CanonicalIdentity(IdentityOf(t)) })
		known := slices.ContainsFunc(d.Matched, func(p Pair) bool { return p.Endpoint.key() == CanonicalIdentity(IdentityOf(t)) })
		switch {
		case IsDraining(t), known:
		case i < 0:
			d.Deregister = append(d.Deregister, t)
		default:
			for _, e := range want { // the last of those with the same key
				if e.key() == want[i].key() {
					i = slices.IndexFunc(want, func(o Endpoint) bool { return o == e })
				}
			}
			d.Matched = append(d.Matched, Pair{&want[i], t})
		}
	}
	for i, e := range want {
		later := slices.ContainsFunc(want[i+1:], func(o Endpoint) bool { return o.key() == e.key() })
		if !later && !slices.ContainsFunc(d.Matched, func(p Pair) bool { return p.Endpoint.key() == e.key() }) {
			d.Register = append(d.Register, e)
		}
	}
	slices.SortStableFunc(d.Register, func(a, b Endpoint) int { return strings.Compare(a.key(), b.key()) })
	slices.SortStableFunc(d.Matched, func(a, b Pair) int { return strings.Compare(a.Endpoint.Identity(), b.Endpoint.Identity()) })
	slices.SortStableFunc(d.Deregister, func(a, b *observed.Target) int { return strings.Compare(targetKey(a), targetKey(b)) })
	if room := max(0, limit-len(have)); limit > 0 && len(d.Register) > room {
		d.Register, d.OverCapacity = d.Register[:room], d.Register[room:]
	}
	return d
}

func diffText(d Diff) string {
	var b strings.Builder
	for _, p := range d.Matched {
		fmt.Fprintf(&b, "=%s/%s %s ", p.Endpoint.Identity(), IdentityOf(p.Target), p.Target.State)
	}
	for _, e := range d.Register {
		fmt.Fprintf(&b, "+%s ", e.Identity())
	}
	for _, t := range d.Deregister {
		fmt.Fprintf(&b, "-%s ", IdentityOf(t))
	}
	for _, e := range d.OverCapacity {
		fmt.Fprintf(&b, "!%s ", e.Identity())
	}
	return b.String()
}
