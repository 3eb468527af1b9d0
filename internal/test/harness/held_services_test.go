package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// sharingBulk is a Service that shares a load balancer with Service mail. annotations follow those of the targets.
func sharingBulk(annotations string) string {
	doc := nlbService("bulk", ipTargets+annotations, "{port: 25, targetPort: 8080}")
	return strings.Replace(doc, "uid: 22222222-0000-4000-8000-000000000001", "uid: 33333333-0000-4000-8000-000000000001", 1)
}

// TestListenerOfAnExcludedServiceStays checks that nothing in AWS changes when a flag of the controller excludes a Service that
// shares a load balancer, and that the other Service can still be edited and deleted.
func TestListenerOfAnExcludedServiceStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		only := false
		r := shopWith(t, Options{Service: func(o *services.Options) { o.OnlyLoadBalancers = only }})
		const shares = ", fulcrum.dev/load-balancer-group: public, service.beta.kubernetes.io/aws-load-balancer-type: external"
		withoutClass := strings.NewReplacer("loadBalancerClass: "+services.DefaultClass+", ", "")
		mail := withoutClass.Replace(nlbService("mail", ipTargets+shares, "{port: 80, targetPort: 8080}"))
		bulk := strings.Replace(withoutClass.Replace(sharingBulk(shares)), "type: LoadBalancer", "type: ClusterIP", 1)
		r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("bulk", podAddresses[3:5]...), mail, bulk)
		r.advanceTime(8 * time.Minute)
		before := r.State()
		if len(linesWith(before, "listener ")) != 2 {
			t.Fatal(before)
		}
		only = true
		r.Start()
		r.advanceTime(8 * time.Minute)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("the flag changes AWS: %s", d)
		}
		if w := strings.Join(warningsByObject(r)["bulk"], "\n"); !strings.Contains(w, "RemovalNotTrusted") {
			t.Errorf("warnings %s", w)
		}
		r.Apply(strings.Replace(mail, "port: 80,", "port: 81,", 1))
		r.advanceTime(8 * time.Minute)
		if got := linesWith(r.State(), "listener "); len(linesWith(got, ",81,")) != 1 || len(linesWith(got, ",25,")) != 1 || len(got) != 2 {
			t.Errorf("after an edit of the other Service: %q", got)
		}
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.advanceTime(30 * time.Minute)
		if got := linesWith(r.State(), "listener "); len(linesWith(got, ",25,")) != 1 || len(got) != 1 || len(r.Store.All(cluster.KindService)) != 1 {
			t.Errorf("after the deletion of the other Service: %q", got)
		}
	})
}

// TestDeletedServiceDoesNotWaitForAProtectedOne checks that, of two deleted Services that share a load balancer, the one
// without deletion protection is gone although the other one, and its listener, stay.
func TestDeletedServiceDoesNotWaitForAProtectedOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		const shares = ", fulcrum.dev/load-balancer-group: public"
		const attributes = ", service.beta.kubernetes.io/aws-load-balancer-attributes: deletion_protection.enabled="
		mail := func(protected string) string {
			return nlbService("mail", ipTargets+shares+attributes+protected, "{port: 80, targetPort: 8080}")
		}
		r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("bulk", podAddresses[3:5]...), mail(`"true"`), sharingBulk(shares))
		r.advanceTime(8 * time.Minute)
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.deleteObject(cluster.KindService, "shop", "bulk")
		r.advanceTime(30 * time.Minute)
		left := r.Store.All(cluster.KindService)
		if len(left) != 1 || left[0].GetName() != "mail" {
			t.Errorf("Services %v", left)
		}
		if got := linesWith(r.State(), "listener "); len(got) != 1 || !strings.Contains(got[0], ",80,") {
			t.Errorf("listeners %q", got)
		}
		if w := strings.Join(warningsByObject(r)["mail"], "\n"); !strings.Contains(w, "DeletionProtected") {
			t.Errorf("warnings %s", w)
		}
	})
}

// TestStatusOfAnExcludedServiceStays checks that the controller does not write the status of a Service that another controller
// serves, because a flag excludes it, while the other Services of its load balancer are edited.
func TestStatusOfAnExcludedServiceStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		class := services.DefaultClass
		r := shopWith(t, Options{Service: func(o *services.Options) { o.Class = class }})
		const shares = ", fulcrum.dev/load-balancer-group: public"
		mail := nlbService("mail", ipTargets+shares, "{port: 80, targetPort: 8080}")
		bulk := sharingBulk(shares)
		r.Apply(readyPods("mail", podAddresses[:3]...), readyPods("bulk", podAddresses[3:5]...), mail, bulk)
		r.advanceTime(8 * time.Minute)
		class = "example.com/other"
		r.Start()
		r.advanceTime(8 * time.Minute)
		svc := func(name string) *corev1.Service {
			obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: name})
			if err != nil {
				t.Fatal(err)
			}
			return obj.(*corev1.Service)
		}
		s := svc("bulk").DeepCopy()
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "other.example.com"}}
		if err := r.Store.Put(s); err != nil {
			t.Fatal(err)
		}
		r.Apply(readyPods("new", podAddresses[:3]...), strings.NewReplacer(services.DefaultClass, class, "22222222", "44444444").Replace(nlbService("new", ipTargets+shares, "{port: 82, targetPort: 8080}")))
		r.advanceTime(8 * time.Minute)
		if got := svc("bulk").Status.LoadBalancer.Ingress; len(got) != 1 || got[0].Hostname != "other.example.com" {
			t.Errorf("status %v", got)
		}
		if got := svc("new").Status.LoadBalancer.Ingress; len(got) != 1 {
			t.Errorf("status of the other Service %v", got)
		}
	})
}
