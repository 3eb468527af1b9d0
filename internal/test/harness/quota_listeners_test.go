package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listenerQuota is the maximum number of listeners of a load balancer in these tests.
const listenerQuota = 6

// groupMemberOnPorts returns YAML of a groupMember with one rule, which has an HTTP listener on each of the ports. Its
// host is "<name>.example.com".
func groupMemberOnPorts(namespace, name string, first bool, ports ...int32) string {
	var list []string
	for _, p := range ports {
		list = append(list, fmt.Sprintf(`{"HTTP":%d}`, p))
	}
	doc := groupMember(namespace, name, first, name+".example.com", "/=web")
	return strings.Replace(doc, "{note: shared", "{note: shared"+ingressAnnotations("listen-ports", "["+strings.Join(list, ",")+"]"), 1)
}

// consecutivePorts returns n consecutive ports that begin with from.
func consecutivePorts(from int32, n int) (out []int32) {
	for i := range n {
		out = append(out, from+int32(i))
	}
	return out
}

// countOpenPorts returns how many of the ports forward requests for "<name>.example.com" to a target group of the
// namespace.
func countOpenPorts(r *Harness, namespace, name string, ports ...int32) (n int) {
	for _, p := range ports {
		if strings.HasPrefix(answerTo(r, p, name+".example.com", "/"), "k8s-"+namespace+"-") {
			n++
		}
	}
	return n
}

// TestListenerQuotaIsSharedBetweenNamespaces checks that a member that needs more listeners than the quota allows does
// not use the whole quota, even if it has a higher priority and lower port numbers than the other member.
func TestListenerQuotaIsSharedBetweenNamespaces(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *Harness {
		r := newShop(t)
		setQuota(r, "listeners-per-application-load-balancer", listenerQuota)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), neighbourNamespace)
		return r
	}
	const low, high = 1000, 9000
	crowded := func(t *testing.T, r *Harness, victim int) {
		t.Helper()
		r.Apply(groupMemberOnPorts("shop", "victim", false, consecutivePorts(high, victim)...))
		settleWithoutErrors(t, r)
		r.Apply(groupMemberOnPorts("team", "front", true, consecutivePorts(low, 2*listenerQuota)...))
		r.Settle(time.Hour)
		if v, n := countOpenPorts(r, "shop", "victim", consecutivePorts(high, victim)...), countOpenPorts(r, "team", "front", consecutivePorts(low, 2*listenerQuota)...); v != victim || n != listenerQuota-victim {
			t.Fatalf("the victim has %d, the neighbour %d", v, n)
		}
	}
	t.Run("of a new load balancer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t)
			r.Apply(groupMemberOnPorts("team", "front", true, consecutivePorts(low, 8)...), groupMemberOnPorts("shop", "victim", false, consecutivePorts(high, 5)...))
			r.Settle(time.Hour)
			if v, n := countOpenPorts(r, "shop", "victim", consecutivePorts(high, 5)...), countOpenPorts(r, "team", "front", consecutivePorts(low, 8)...); v != listenerQuota/2 || n != listenerQuota/2 {
				t.Errorf("the victim has %d of 5 and the neighbour %d of 8", v, n)
			}
		})
	})
	t.Run("that a member gives up for others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t)
			crowded(t, r, 4) // more than half of the quota: the victim gets new listeners only for those that it gives up
			for _, at := range []int32{high + 10, high + 20} {
				r.Apply(groupMemberOnPorts("shop", "victim", false, append(consecutivePorts(high, 2), at, at+1)...))
				r.Settle(time.Hour)
				if v := countOpenPorts(r, "shop", "victim", append(consecutivePorts(high, 2), at, at+1)...); v != 4 {
					t.Errorf("the victim has %d of 4; warnings %v", v, warningsByObject(r)["victim"])
				}
			}
			if n := countOpenPorts(r, "team", "front", consecutivePorts(low, 2*listenerQuota)...); n != 2 {
				t.Errorf("the neighbour has %d", n)
			}
		})
	})
	t.Run("that no member needs any more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t)
			crowded(t, r, 4)
			r.Apply(groupMemberOnPorts("shop", "victim", false, high))
			r.Settle(maxRepeatDelay)
			if n := countOpenPorts(r, "team", "front", consecutivePorts(low, 2*listenerQuota)...); n != listenerQuota-1 {
				t.Errorf("the neighbour has %d", n)
			}
		})
	})
	t.Run("of a raised quota", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t)
			crowded(t, r, 1)
			r.Apply(groupMemberOnPorts("shop", "victim", false, consecutivePorts(high, 3)...))
			r.Settle(time.Hour)
			if v := countOpenPorts(r, "shop", "victim", consecutivePorts(high, 3)...); v != 1 {
				t.Fatalf("the victim has %d of 3", v)
			}
			setQuota(r, "listeners-per-application-load-balancer", listenerQuota+2)
			r.Settle(time.Hour)
			if v := countOpenPorts(r, "shop", "victim", consecutivePorts(high, 3)...); v != 3 {
				t.Errorf("the victim has %d of 3; warnings %v", v, warningsByObject(r)["victim"])
			}
		})
	})
	// A port that two members use counts for the member with fewer ports. A member therefore cannot take away another
	// member's share of the quota by using the same ports.
	t.Run("that a neighbour asks for as well", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := begin(t)
			r.Apply(groupMemberOnPorts("team", "front", true, append(consecutivePorts(low, 8), consecutivePorts(high, 3)...)...), groupMemberOnPorts("shop", "victim", false, consecutivePorts(high, 3)...))
			r.Settle(time.Hour)
			if v := countOpenPorts(r, "shop", "victim", consecutivePorts(high, 3)...); v != 3 {
				t.Errorf("the victim has %d of 3", v)
			}
		})
	})
}

// TestNamespacesCreateTargetGroupsInTurn checks that two namespaces that join a new load balancer each get half of the
// target groups that the quota of the account still allows.
func TestNamespacesCreateTargetGroupsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		setQuota(r, "target-groups", countTargetGroups(r)+4)
		services := func(namespace, id string, n int) (docs, rules []string) {
			for i := range n {
				docs = append(docs, strings.NewReplacer("namespace: team, uid", "namespace: "+namespace+", uid", "name: web,", fmt.Sprintf("name: s%d,", i),
					"000000000001", fmt.Sprintf("000000000%s%d", id, i), "30099", fmt.Sprint(30100+i)).Replace(neighbourNamespace))
				rules = append(rules, fmt.Sprintf("/p%d=s%d", i, i))
			}
			return docs, rules
		}
		theirDocs, theirs := services("evil", "0e1", 8)
		victimDocs, victims := services("team", "0a1", 3)
		r.Apply(shop)
		r.Apply(theirDocs...)
		r.Apply(victimDocs...)
		r.Apply(groupMember("evil", "front", true, neighbourHost, theirs...), groupMember("team", "victim", false, victimHost, victims...))
		r.Settle(time.Hour)
		v, missing := countServed(r, "team", victimHost, victims...)
		n, _ := countServed(r, "evil", neighbourHost, theirs...)
		if v != 2 || n != 2 {
			t.Errorf("the victim has %d of 3, the neighbour %d of 8: %v", v, n, missing)
		}
	})
}
