package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxDeregistrationDelay is the time within which the controller deregisters a deleted pod if the rate limits of AWS
// allow it.
const maxDeregistrationDelay = 5 * time.Second

// inNamespace joins YAML documents, and replaces their namespace "shop" with another namespace.
func inNamespace(namespace string, docs ...string) string {
	return strings.NewReplacer("namespace: shop", "namespace: "+namespace, "metadata: {name: shop}", "metadata: {name: "+namespace+"}").
		Replace(strings.Join(docs, "\n---\n"))
}

// allActiveTargets returns the sorted IDs of the targets that are not draining, in all target groups with tags,
// separated by spaces.
func (r *Harness) allActiveTargets() string {
	var out []string
	for ip := range r.activeTargetHealth() {
		out = append(out, ip)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (r *Harness) deletePod(name string) { r.deleteObject(cluster.KindPod, "shop", name) }

// TestPodsOfExternalNameServiceAreDeregistered checks that deleted pods are deregistered after a Service with a
// selector becomes type ExternalName. Its endpoints are unknown then, because Kubernetes deletes its EndpointSlices.
func TestPodsOfExternalNameServiceAreDeregistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.settleOrFail(30 * time.Minute)
		expectEqual(t, "addresses", "10.0.132.10 10.0.148.10 10.0.164.10", r.allActiveTargets())
		r.Apply(`
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 11111111-0000-4000-8000-000000000001}
spec: {type: ExternalName, externalName: example.com, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`)
		r.deleteObject(cluster.KindEndpointSlice, "shop", "web-1")
		r.settleOrFail(time.Minute)
		expectEqual(t, "addresses while the pods exist", "10.0.132.10 10.0.148.10 10.0.164.10", r.allActiveTargets())
		r.deletePod("web-0")
		r.settleOrFail(maxDeregistrationDelay)
		expectEqual(t, "addresses after one pod is deleted", "10.0.148.10 10.0.164.10", r.allActiveTargets())
		r.deletePod("web-1")
		r.deletePod("web-2")
		r.settleOrFail(maxDeregistrationDelay)
		expectEqual(t, "addresses after all pods are deleted", "", r.allActiveTargets())
		r.settleOrFail(24 * time.Hour)
	})
}

// TestHeldBindingDropsAddressOfAnotherTenant checks that a target is deregistered when a pod of another namespace gets
// its address, even if the EndpointSlice of the Service is missing and the previous pod still exists.
func TestHeldBindingDropsAddressOfAnotherTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:2]...), webIngress("", "/=web"))
		r.settleOrFail(30 * time.Minute)
		r.deleteObject(cluster.KindEndpointSlice, "shop", "web-1")
		r.settleOrFail(time.Hour)
		expectEqual(t, "addresses while the EndpointSlice is missing", "10.0.132.10 10.0.148.10", r.allActiveTargets())
		stolen, _, _ := strings.Cut(readyPods("other", podAddresses[1]), "---")
		r.Apply(inNamespace("other", stolen))
		r.settleOrFail(maxDeregistrationDelay)
		expectEqual(t, "addresses after a pod of another namespace gets one", "10.0.132.10", r.allActiveTargets())
	})
}

// TestManualEndpointSlicesRegisterOnlyRunningPods checks that an EndpointSlice that a user wrote does not register pods
// that have finished, that have another UID, or that have another address than the EndpointSlice.
func TestManualEndpointSlicesRegisterOnlyRunningPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		doc := readyPods("web", podAddresses[:5]...)
		for name, edit := range map[string]string{
			"web-0": "phase: Succeeded",
			"web-1": "phase: Failed",
		} {
			i := strings.Index(doc, "metadata: {name: "+name)
			doc = doc[:i] + strings.Replace(doc[i:], "phase: Running", edit, 1)
		}
		doc = strings.Replace(doc, "name: web-2}}", "name: web-2, uid: the-one-before}}", 1)
		doc = strings.Replace(doc, "- {addresses: ["+podAddresses[3]+"]", "- {addresses: ["+podAddresses[5]+"]", 1)
		r.Apply(shop, doc, inNamespace("other", strings.Split(readyPods("victim", podAddresses[5]), "---")[0]), webIngress("", "/=web"))
		r.settleOrFail(30 * time.Minute)
		expectEqual(t, "addresses", podAddresses[4], r.allActiveTargets())
	})
}

// TestTargetsOfDeletedNamespaceAreDeregistered checks that the pods of a deleted namespace are deregistered although
// the rules of its Ingress still exist. The catch-all rule of the other member of the IngressGroup has no healthy
// targets.
func TestTargetsOfDeletedNamespaceAreDeregistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		group := func(order string) string {
			return ", alb.ingress.kubernetes.io/group.name: team, alb.ingress.kubernetes.io/group.order: '" + order + "'"
		}
		catchAll := strings.Replace(webIngress(group("1000"), "/=web"), "- host: shop.example.com\n    http:", "- http:", 1)
		r.Apply(shop, readyPods("web", podAddresses[:2]...), webIngress(group("1"), "/=web"))
		r.Apply(inNamespace("other", strings.SplitN(shop, "---", 2)[1], readyPods("web"), catchAll))
		r.settleOrFail(30 * time.Minute)
		expectEqual(t, "addresses", "10.0.132.10 10.0.148.10", r.allActiveTargets())

		r.deleteObject(cluster.KindIngress, "shop", "web")
		for _, b := range r.Store.All(cluster.KindBinding) {
			if b.GetNamespace() == "shop" {
				r.deleteObject(cluster.KindBinding, "shop", b.GetName())
			}
		}
		r.Settle(time.Second)
		r.deletePod("web-0")
		r.deletePod("web-1")
		r.deleteObject(cluster.KindEndpointSlice, "shop", "web-1")
		r.deleteObject(cluster.KindService, "shop", "web")
		r.Settle(maxDeregistrationDelay)
		expectEqual(t, "addresses after the namespace was deleted", "", r.allActiveTargets())
	})
}

// TestTargetGroupIsUsedOnlyByItsNamespace checks that a TargetGroupBinding cannot register targets in a target group of
// another namespace. It names the target group before an Ingress creates it, which is possible because the name is
// predictable. The check is repeated after a restart.
func TestTargetGroupIsUsedOnlyByItsNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := newShop(t)
		first.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
		first.settleOrFail(10 * time.Minute)
		name := onlyBinding(t, first).GetName()

		r := newShop(t)
		foreign := strings.NewReplacer("targetGroupARN: ARN", "targetGroupName: "+name, "namespace: shop", "namespace: other").Replace(bindingTo("ARN"))
		r.Apply(shop, inNamespace("other", strings.SplitN(shop, "---", 2)[1], readyPods("web", podAddresses[3])), foreign)
		r.settleOrFail(10 * time.Minute)
		r.Apply(readyPods("web", podAddresses[:2]...), webIngress("", "/=web"))
		r.settleOrFail(10 * time.Minute)
		expectEqual(t, "addresses", "10.0.132.10 10.0.148.10", r.allActiveTargets())
		r.Start()
		r.Apply(readyPods("web", podAddresses[:3]...))
		r.Apply(inNamespace("other", readyPods("web", podAddresses[3:5]...)))
		r.settleOrFail(time.Hour)
		expectEqual(t, "addresses after a restart", "10.0.132.10 10.0.148.10 10.0.164.10", r.allActiveTargets())
	})
}
