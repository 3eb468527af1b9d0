package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// reservedCapacity returns the reserved capacity units of the only load balancer, or -1 without a load balancer.
func reservedCapacity(r *Harness) int32 {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		return lb.Capacity.Units
	}
	return -1
}

// TestCapacityWaitsOnlyForActiveLoadBalancer checks that capacity is reserved when the load balancer becomes active,
// and that all other changes are made earlier.
func TestCapacityWaitsOnlyForActiveLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				w := r.Emulator.Store()
				w.Lock()
				w.Config.ELB.ProvisioningDelay = 5 * time.Minute
				w.Unlock()
				r.Apply(shop, readyPods("web", podAddresses[:3]...),
					webIngress(`, alb.ingress.kubernetes.io/minimum-load-balancer-capacity: CapacityUnits=500`, "/=web"))
				if failed := r.Settle(time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				if restart {
					r.Start()
				}
				ing := r.Store.All(cluster.KindIngress)[0].(*networkingv1.Ingress)
				if len(ing.Status.LoadBalancer.Ingress) != 1 {
					t.Errorf("the status is not written while the load balancer is being made: %+v", ing.Status)
				}
				if n := r.Emulator.Calls().Count("RegisterTargets"); n != 1 {
					t.Errorf("%d registrations while the load balancer is being made", n)
				}
				if n := reservedCapacity(r); n != 0 {
					t.Errorf("%d units reserved while the load balancer is being made", n)
				}
				r.Emulator.Calls().Reset()
				r.Settle(6 * time.Minute)
				if n := reservedCapacity(r); n != 500 {
					t.Errorf("%d units reserved after the load balancer is active", n)
				}
				if n := r.Emulator.Calls().Count("ModifyCapacityReservation"); n != 1 {
					t.Errorf("%d reservations", n)
				}
				if n := r.Emulator.Calls().Count("DescribeCapacityReservation"); n > 4 {
					t.Errorf("%d calls of DescribeCapacityReservation", n)
				}
			})
		})
	}
}
