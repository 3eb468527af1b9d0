package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestBlockedDeletionBlocksNoOtherMember checks that a member with deletion protection and a finalizer that is never
// removed does not block the deletion of the other members.
func TestBlockedDeletionBlocksNoOtherMember(t *testing.T) {
	t.Parallel()
	protected := []string{"load-balancer-attributes", "deletion_protection.enabled=true"}
	unreadable := []string{"load-balancer-attributes", "deletion_protection.enabled"}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for name, notes := range map[string][]string{"protected": protected, "unreadable": unreadable, "only a finalizer": nil} {
			for _, order := range []string{"attacker first", "victims first", "attacker stays"} {
				t.Run(fmt.Sprint(tenancy, " ", name, " ", order), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
						// The victims disable deletion protection. Otherwise the newcomer could enable it.
						r.Apply(victimIngresses(r, "alb", "group.name", "edge", "load-balancer-attributes", "deletion_protection.enabled=false")...)
						settleWithoutErrors(t, r)
						r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "team.example.com/never", append(notes, "group.name", "edge")...))
						settleWithoutErrors(t, r)
						leave := func() {
							deleteIngress(t, r, "shop", "a")
							deleteIngress(t, r, "shop", "b")
						}
						switch order {
						case "attacker first":
							deleteIngress(t, r, "team", "newcomer")
							r.Settle(attackSettleTime)
							leave()
						case "victims first":
							leave()
							deleteIngress(t, r, "team", "newcomer")
						default:
							leave()
						}
						r.Settle(attackSettleTime)
						for _, n := range []string{"a", "b"} {
							if !r.isDeleted(cluster.KindIngress, "shop", n) {
								t.Errorf("Ingress shop/%s is not deleted; warnings: %v", n, warningsByObject(r))
							}
						}
					})
				})
			}
		}
	}
}

// TestBlockedBindingDeletionBlocksNoOtherMember checks that a TargetGroupBinding whose deletion a tenant blocks with a
// finalizer does not block the deletion of members of other namespaces.
func TestBlockedBindingDeletionBlocksNoOtherMember(t *testing.T) {
	t.Parallel()
	for _, stays := range []bool{true, false} {
		t.Run(fmt.Sprintf("the other member stays: %v", stays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", "group.name", "edge"))
				settleWithoutErrors(t, r)
				for _, o := range r.Store.All(cluster.KindBinding) {
					if o.GetNamespace() == "team" {
						b := o.DeepCopyObject().(cluster.Object)
						b.SetFinalizers(append(b.GetFinalizers(), "team.example.com/never"))
						if err := r.Store.Apply(b); err != nil {
							t.Fatal(err)
						}
					}
				}
				settleWithoutErrors(t, r)
				if !stays {
					deleteIngress(t, r, "team", "newcomer")
				}
				deleteIngress(t, r, "shop", "a")
				deleteIngress(t, r, "shop", "b")
				r.Settle(attackSettleTime)
				for _, n := range []string{"a", "b"} {
					if !r.isDeleted(cluster.KindIngress, "shop", n) {
						t.Errorf("Ingress shop/%s is not deleted; warnings: %v", n, warningsByObject(r))
					}
				}
			})
		})
	}
}

// TestDeletedMemberIsNotServedWhileOthersAreHeld checks a load balancer that is held because its only remaining member
// is invalid. Deleted members are no longer served, and their finalizers are removed.
func TestDeletedMemberIsNotServedWhileOthersAreHeld(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"order":  {"group.order", "first"},
		"ports":  {"listen-ports", "x"},
		"scheme": {"scheme", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				member := func(notes ...string) string {
					return ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", append(notes, "group.name", "edge")...)
				}
				r.Apply(member(), strings.Replace(ingressInNamespace("shop", "c", "alb", "c.example.com", "", "group.name", "edge"), "  rules:", "  defaultBackend: {service: {name: web, port: {number: 80}}}\n  rules:", 1))
				settleWithoutErrors(t, r)
				r.Apply(member(notes...))
				r.Settle(attackSettleTime)
				expectEqual(t, "the default backend before", "shop/c-web:80", servingRoute(r, "application", 80, "other.example.com", "/"))
				for _, n := range []string{"a", "b", "c"} {
					deleteIngress(t, r, "shop", n)
				}
				r.Settle(attackSettleTime)
				for _, host := range []string{"a", "b", "c", "other"} {
					expectEqual(t, host, "dataplane.FixedResponse", servingRoute(r, "application", 80, host+".example.com", "/"))
				}
				expectEqual(t, "the member that remains", "team/newcomer-web:80", servingRoute(r, "application", 80, "team.example.com", "/"))
				for _, n := range []string{"a", "b", "c"} {
					if !r.isDeleted(cluster.KindIngress, "shop", n) {
						t.Errorf("Ingress shop/%s is not deleted: %v", n, warningsByObject(r))
					}
				}
				r.Emulator.Calls().Reset()
				r.Settle(attackSettleTime)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
				}
				r.Apply(member())
				settleWithoutErrors(t, r)
				if state := strings.Join(stateOfKinds(r, "target-group"), "\n"); strings.Contains(state, "shop/") {
					t.Errorf("target groups of deleted members are left:\n%s", state)
				}
			})
		})
	}
}

// TestDeletedServiceIsNotServedWhileOthersAreHeld checks a load balancer of two Services that is held because the
// remaining Service is invalid. The port of the deleted Service is closed, and its finalizer is removed.
func TestDeletedServiceIsNotServedWhileOthersAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(readyPods("web", podAddresses[0]), readyPods("mail", podAddresses[1]), sharedService("web", "10", publicGroupAnnotation, servicePort("443")), sharedService("mail", "12", publicGroupAnnotation, servicePort("25")))
		r.advanceTime(20 * time.Minute)
		expectEqual(t, "mail before", "shop/mail:25", servingRoute(r, "network", 25, "", ""))
		r.Apply(sharedService("web", "10", publicGroupAnnotation+serviceAnnotationStart+"scheme: outside", servicePort("443")))
		r.advanceTime(10 * time.Minute)
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.advanceTime(20 * time.Minute)
		expectEqual(t, "mail", "refused", servingRoute(r, "network", 25, "", ""))
		expectEqual(t, "web", "shop/web:443", servingRoute(r, "network", 443, "", ""))
		if !r.isDeleted(cluster.KindService, "shop", "mail") {
			t.Error("the Service is not deleted")
		}
	})
}
