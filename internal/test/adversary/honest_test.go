package adversary

import (
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Maximum times until an act of a victim is effective, whatever the attacker does. They are slightly longer than
// without an attacker.
const (
	changeWithin   = 2 * time.Minute
	deletionWithin = 2 * time.Minute
	rolloutWithin  = 30 * time.Second // AWS may assign the address of a deleted pod to another pod
	cleanWithin    = 15 * time.Minute // until no resource of the attacker remains
)

// act is a change that a victim makes.
type act struct {
	name   string
	within time.Duration
	do     func(w *testCluster)
}

// change returns an act that adds a route before the other routes of an Ingress.
func change(name string, r route) act {
	return act{"change of " + name, changeWithin, func(w *testCluster) {
		h := ingresses()[name]
		h.routes = append([]route{r}, h.routes...)
		h.pairs = addTag(h.pairs, "Release=2")
		w.apply(h.docs())
	}}
}

// addTag adds a tag to the tags of an Ingress.
func addTag(pairs []string, tag string) []string {
	if i := slices.Index(pairs, "tags"); i >= 0 {
		pairs = slices.Clone(pairs)
		pairs[i+1] += "," + tag
		return pairs
	}
	return with(pairs, "tags", tag)
}

func deletion(name string) act {
	return act{"deletion of " + name, deletionWithin, func(w *testCluster) {
		h := ingresses()[name]
		w.delete(cluster.KindIngress, h.namespace, h.name)
	}}
}

func rollout() act {
	return act{"rollout of pay/web", rolloutWithin, func(w *testCluster) {
		all := workloads()
		web := all[slices.IndexFunc(all, func(o workload) bool { return o.key() == "pay/web" })]
		old := web.podName(replaced)
		web.pods = append(slices.DeleteFunc(web.pods, func(a string) bool { return a == replaced }), replacement)
		w.apply(web.podDocs())
		w.delete(cluster.KindPod, web.namespace, old)
	}}
}

// departure returns an act that changes the class of an Ingress to that of another controller.
func departure(name string) act {
	return act{"departure of " + name, deletionWithin, func(w *testCluster) { w.reclass(name, "nginx") }}
}

// switchover returns an act that changes the Service of all routes of an Ingress.
func switchover(name, service string) act {
	return act{"switchover of " + name + " to " + service, changeWithin, func(w *testCluster) {
		h := ingresses()[name]
		for i := range h.routes {
			h.routes[i].service = service
		}
		w.apply(h.docs())
	}}
}

// later returns an act with more time, for cases in which AWS has faults.
func later(a act, within time.Duration) act {
	a.within = within
	return a
}

// reversal returns an act that reverts a change.
func reversal(name string) act {
	return act{"reversal of the change of " + name, deletionWithin, func(w *testCluster) { w.apply(ingresses()[name].docs()) }}
}

// shutdown returns an act that deletes all objects of namespace blog, as deleting the namespace would.
func shutdown() act {
	return act{"shutdown of namespace blog", deletionWithin, func(w *testCluster) {
		for _, kind := range []cluster.Kind{cluster.KindPod, cluster.KindEndpointSlice, cluster.KindService, cluster.KindIngress} {
			for _, o := range w.Store.All(kind) {
				if o.GetNamespace() == "blog" {
					w.delete(kind, "blog", o.GetName())
				}
			}
		}
	}}
}

// randomScenarios is the number of scenarios for random histories; the others are for fixed cases.
const randomScenarios = 4

// scenarios returns the acts of the victims for each scenario, such as a change, a deletion and a rollout.
func scenarios() [][]act {
	open := change("pay/shop", route{"shop.example.com", "/new", "api"})
	vault := change("pay/vault", route{"vault.app.test", "/new", "api"})
	solo := change("pay/solo", route{"solo.example.com", "/new", "api"})
	return [][]act{
		{open, rollout(), deletion("blog/vault-extra"), mailServiceEdit()},
		{deletion("blog/extra"), vault, rollout(), mailServiceEdit()},
		{rollout(), deletion("blog/extra"), solo},
		{deletion("blog/vault-extra"), open, rollout()},

		{departure("blog/extra")},
		{switchover("pay/shop", "api"), switchover("pay/shop", "web")},
		{open, reversal("pay/shop"), deletion("blog/extra"), shutdown()},
		{rollout()},
		{later(open, 5*time.Minute), later(rollout(), 5*time.Minute)},
		{open, deletion("blog/extra")},
	}
}

// apply creates or changes objects, as their owner would.
func (w *testCluster) apply(docs string) { w.Apply(w.fill.Replace(docs)) }

func (w *testCluster) delete(kind cluster.Kind, namespace, name string) {
	if err := w.Store.Delete(cluster.Ref{Kind: kind, Namespace: namespace, Name: name}); err != nil {
		panic(fmt.Sprintf("delete %s %s/%s: %v", kind, namespace, name, err))
	}
}
