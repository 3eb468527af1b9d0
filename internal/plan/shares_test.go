package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

func TestNamespaceWithTheSmallestShareIsFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shares map[string]Share
		claims string
		want   string
	}{
		"no namespace has any, and they take turns":    {nil, "aaabbb", "ababab"},
		"one has three and waits for the other":        {map[string]Share{"a": {Retained: 3}}, "aaabbbbb", "bbbabab" + "a"},
		"what one gives up is its own to fill":         {map[string]Share{"a": {Retained: 9, ToBeDeleted: 2}}, "bbaaa", "aabba"},
		"both give up some":                            {map[string]Share{"a": {ToBeDeleted: 1}, "b": {Retained: 5, ToBeDeleted: 2}}, "aabbb", "abb" + "ab"},
		"one asks for less than it gives up":           {map[string]Share{"a": {Retained: 1, ToBeDeleted: 5}}, "bba", "abb"},
		"those of one namespace keep their order":      {map[string]Share{"a": {Retained: 7}}, "aaaa", "aaaa"},
		"a late comer with one comes before a backlog": {map[string]Share{"a": {Retained: 97}}, "aaaaaaab", "baaaaaaa"},
	} {
		t.Run(name, func(t *testing.T) {
			claims := strings.Split(c.claims, "")
			got := ""
			for _, i := range OrderClaims(c.shares, claims) {
				got += claims[i]
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("turns (-want +got):\n%s", d)
			}
		})
	}
}

func TestSharedClaimCountsForItsSmallestShare(t *testing.T) {
	t.Parallel()
	shares := map[string]Share{"a": {Retained: 2}, "b": {Retained: 4, ToBeDeleted: 1}}
	got := NamespacesOfClaims(shares, [][]string{{"b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a"}})
	if d := cmp.Diff([]string{"b", "a", "a", "a", "a"}, got); d != "" {
		t.Errorf("claims (-want +got):\n%s", d)
	}
}

// TestSharesAreFairAtEveryCapacity checks OrderClaims for any capacity. A namespace first replaces the resources that it
// does not need any more. If it still has an open claim, it has at most one resource less than a namespace that got more
// resources than it had to delete.
func TestSharesAreFairAtEveryCapacity(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 5000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "d"}
		shares, wants := map[string]Share{}, map[string]int{}
		var claims []string
		for _, n := range names {
			shares[n] = Share{Retained: r.IntN(8), ToBeDeleted: r.IntN(4)}
			wants[n] = r.IntN(9)
			claims = append(claims, slices.Repeat([]string{n}, wants[n])...)
		}
		r.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		order := OrderClaims(shares, claims)
		last := map[string]int{}
		got := map[string]int{}
		for _, i := range order {
			n := claims[i]
			if before, ok := last[n]; ok && before > i {
				t.Fatalf("seed %d: the claims of %s change their order: %v", seed, n, order)
			}
			last[n] = i
			got[n]++
			for _, x := range names {
				for _, y := range names {
					has := func(n string) int { return shares[n].Retained + got[n] }
					switch {
					case got[x] >= wants[x] || got[y] <= shares[y].ToBeDeleted:
					case got[x] < min(wants[x], shares[x].ToBeDeleted):
						t.Fatalf("seed %d: %s fills more than it gave up, and %s has not filled its own: %v of %v", seed, y, x, got, shares)
					case has(x) < has(y)-1:
						t.Fatalf("seed %d: %s has %d, and %s has %d: %v of %v", seed, x, has(x), y, has(y), got, shares)
					}
				}
			}
		}
		if len(order) != len(claims) {
			t.Fatalf("seed %d: %d of %d", seed, len(order), len(claims))
		}
	})
}
