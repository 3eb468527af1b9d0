package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestUnwritableStatusDelaysNoOtherMember checks an IngressGroup for hours in which the API server refuses the status of one
// member. A change of another member, which waits for the health of its targets, is complete within a minute.
func TestUnwritableStatusDelaysNoOtherMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &statusRefusingAPI{name: "refused"}
		r := shopWith(t, Options{Workers: 2, Emulator: slowChecks(), API: func(api kube.API) kube.API { server.API = api; return server }})
		defer func() {
			r.stop()
			r.stop = func() {}
		}()
		r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[2:4]...), teamIngress("one", "1", "/one=web"), teamIngress("refused", "5", "/refused=web"))
		time.Sleep(3 * time.Hour)
		r.Apply(teamIngress("one", "1", "/one=api"))
		time.Sleep(time.Minute)
		if got := r.servicesOfPath("/one"); got != "api" {
			t.Errorf("after a minute /one is answered by %s", got)
		}
	})
}

// TestUnwritableGateDelaysNoOtherPod checks a TargetGroupBinding for hours in which the API server refuses the readiness gate
// of one pod. The gate of a new pod opens within a minute.
func TestUnwritableGateDelaysNoOtherPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &statusRefusingAPI{name: "web-0"}
		r := shopWith(t, Options{Workers: 2, API: func(api kube.API) kube.API { server.API = api; return server }})
		defer func() {
			r.stop()
			r.stop = func() {}
		}()
		r.Apply(shop, readyPods("web", podAddresses[2]), webIngress("", "/=web"))
		time.Sleep(10 * time.Minute)
		gated := func(addresses ...string) string {
			gate := targets.ReadinessGatePrefix + webBindingRef(r).Name
			return strings.NewReplacer("uid: web-", "uid: gated-", "spec: {nodeName", "spec: {readinessGates: [{conditionType: "+gate+"}], nodeName").Replace(readyPods("web", addresses...))
		}
		r.deleteObject(cluster.KindPod, "shop", "web-0")
		r.Apply(gated(podAddresses[0]))
		time.Sleep(3 * time.Hour)
		r.Apply(gated(podAddresses[:2]...))
		time.Sleep(time.Minute)
		pod, err := r.Store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: "web-1"})
		if err != nil {
			t.Fatal(err)
		}
		c, _, _ := targets.CurrentCondition(pod.(*corev1.Pod), targets.ReadinessGateType(webBindingRef(r).Name))
		if c.Status != corev1.ConditionTrue {
			t.Errorf("after a minute the gate of the new pod is %+v", c)
		}
	})
}
