package harness

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
)

// A member that asks for deletion protection while it is deleted, or that cannot be deleted for a finalizer of
// its own, keeps no other member from leaving.
func TestAMemberThatLeavesBadlyKeepsNoOther(t *testing.T) {
	t.Parallel()
	protected := []string{"load-balancer-attributes", "deletion_protection.enabled=true"}
	unreadable := []string{"load-balancer-attributes", "deletion_protection.enabled"}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for name, notes := range map[string][]string{"protected": protected, "unreadable": unreadable, "only a finalizer": nil} {
			for _, order := range []string{"attacker first", "victims first", "attacker stays"} {
				t.Run(fmt.Sprint(tenancy, " ", name, " ", order), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
						// What the victims' side says nothing of, the newcomer decides, also the protection.
						r.Apply(victims(r, "alb", "group.name", "edge", "load-balancer-attributes", "deletion_protection.enabled=false")...)
						settled(t, r)
						r.Apply(inGroup("team", "newcomer", "alb", "team.example.com", "team.example.com/never", append(notes, "group.name", "edge")...))
						settled(t, r)
						leave := func() {
							remove(t, r, "shop", "a")
							remove(t, r, "shop", "b")
						}
						switch order {
						case "attacker first":
							remove(t, r, "team", "newcomer")
							r.Settle(settleFor)
							leave()
						case "victims first":
							leave()
							remove(t, r, "team", "newcomer")
						default:
							leave()
						}
						r.Settle(settleFor)
						for _, n := range []string{"a", "b"} {
							if !r.gone(cluster.KindIngress, "shop", n) {
								t.Errorf("Ingress shop/%s hangs; warnings: %v", n, warnings(r))
							}
						}
					})
				})
			}
		}
	}
}

// A TargetGroupBinding that cannot be deleted, for a finalizer that its namespace has put on it, keeps no
// member of another namespace from leaving.
func TestABindingThatCannotBeDeletedKeepsNoOtherMember(t *testing.T) {
	t.Parallel()
	for _, stays := range []bool{true, false} {
		t.Run(fmt.Sprintf("the other member stays: %v", stays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victims(r, "alb", "group.name", "edge")...)
				r.Apply(inGroup("team", "newcomer", "alb", "team.example.com", "", "group.name", "edge"))
				settled(t, r)
				for _, o := range r.Store.All(cluster.KindBinding) {
					if o.GetNamespace() == "team" {
						b := o.DeepCopyObject().(cluster.Object)
						b.SetFinalizers(append(b.GetFinalizers(), "team.example.com/never"))
						if err := r.Store.Apply(b); err != nil {
							t.Fatal(err)
						}
					}
				}
				settled(t, r)
				if !stays {
					remove(t, r, "team", "newcomer")
				}
				remove(t, r, "shop", "a")
				remove(t, r, "shop", "b")
				r.Settle(settleFor)
				for _, n := range []string{"a", "b"} {
					if !r.gone(cluster.KindIngress, "shop", n) {
						t.Errorf("Ingress shop/%s hangs; warnings: %v", n, warnings(r))
					}
				}
			})
		})
	}
}
