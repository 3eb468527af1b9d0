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

// TestCompareEqualsComparisonOfAllPairs checks that Compare has the same result as a comparison of all pairs, for random
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

// simpleCompare is a slow reference implementation of Compare.
func simpleCompare(want []Endpoint, have []*observed.Target, limit int) Diff {
	var d Diff
	for _, t := range have {
		i := slices.IndexFunc(want, func(e Endpoint) bool { return e.canonicalKey() == CanonicalIdentity(IdentityOf(t)) })
		known := slices.ContainsFunc(d.MatchedPairs, func(p MatchedPair) bool { return p.Endpoint.canonicalKey() == CanonicalIdentity(IdentityOf(t)) })
		switch {
		case IsDraining(t), known:
		case i < 0:
			d.ToDeregister = append(d.ToDeregister, t)
		default:
			for _, e := range want { // the last of those with the same key
				if e.canonicalKey() == want[i].canonicalKey() {
					i = slices.IndexFunc(want, func(o Endpoint) bool { return o == e })
				}
			}
			d.MatchedPairs = append(d.MatchedPairs, MatchedPair{&want[i], t})
		}
	}
	for i, e := range want {
		later := slices.ContainsFunc(want[i+1:], func(o Endpoint) bool { return o.canonicalKey() == e.canonicalKey() })
		if !later && !slices.ContainsFunc(d.MatchedPairs, func(p MatchedPair) bool { return p.Endpoint.canonicalKey() == e.canonicalKey() }) {
			d.ToRegister = append(d.ToRegister, e)
		}
	}
	slices.SortStableFunc(d.ToRegister, func(a, b Endpoint) int { return strings.Compare(a.canonicalKey(), b.canonicalKey()) })
	slices.SortStableFunc(d.MatchedPairs, func(a, b MatchedPair) int { return strings.Compare(a.Endpoint.Identity(), b.Endpoint.Identity()) })
	slices.SortStableFunc(d.ToDeregister, func(a, b *observed.Target) int { return strings.Compare(canonicalTargetKey(a), canonicalTargetKey(b)) })
	if room := max(0, limit-len(have)); limit > 0 && len(d.ToRegister) > room {
		d.ToRegister, d.OverCapacity = d.ToRegister[:room], d.ToRegister[room:]
	}
	return d
}

func diffText(d Diff) string {
	var b strings.Builder
	for _, p := range d.MatchedPairs {
		fmt.Fprintf(&b, "=%s/%s %s ", p.Endpoint.Identity(), IdentityOf(p.Target), p.Target.State)
	}
	for _, e := range d.ToRegister {
		fmt.Fprintf(&b, "+%s ", e.Identity())
	}
	for _, t := range d.ToDeregister {
		fmt.Fprintf(&b, "-%s ", IdentityOf(t))
	}
	for _, e := range d.OverCapacity {
		fmt.Fprintf(&b, "!%s ", e.Identity())
	}
	return b.String()
}
