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
	maxChangeTime   = 2 * time.Minute
	maxDeletionTime = 2 * time.Minute
	maxRolloutTime  = 30 * time.Second // AWS may assign the address of a deleted pod to another pod
	maxCleanupTime  = 15 * time.Minute // until no resource of the attacker remains
)

// act is a change that a victim makes.
type act struct {
	name     string
	maxDelay time.Duration
	do       func(w *testCluster)
}

// changeAct returns an act that adds a route before the other routes of an Ingress, and a tag.
func changeAct(name string, r route) act {
	return act{"change of " + name, maxChangeTime, func(w *testCluster) {
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
	return appendPairs(pairs, "tags", tag)
}

func deletionAct(name string) act {
	return act{"deletion of " + name, maxDeletionTime, func(w *testCluster) {
		h := ingresses()[name]
		w.delete(cluster.KindIngress, h.namespace, h.name)
	}}
}

func rolloutAct() act {
	return act{"rollout of pay/web", maxRolloutTime, func(w *testCluster) {
		all := workloads()
		web := all[slices.IndexFunc(all, func(o workload) bool { return o.key() == "pay/web" })]
		old := web.podName(replacedAddress)
		web.pods = append(slices.DeleteFunc(web.pods, func(a string) bool { return a == replacedAddress }), replacementAddress)
		w.apply(web.podDocs())
		w.delete(cluster.KindPod, web.namespace, old)
	}}
}

// classChangeAct returns an act that changes the class of an Ingress to that of another controller.
func classChangeAct(name string) act {
	return act{"departure of " + name, maxDeletionTime, func(w *testCluster) { w.changeClass(name, "nginx") }}
}

// serviceSwitchAct returns an act that changes the Service of all routes of an Ingress.
func serviceSwitchAct(name, service string) act {
	return act{"switchover of " + name + " to " + service, maxChangeTime, func(w *testCluster) {
		h := ingresses()[name]
		for i := range h.routes {
			h.routes[i].service = service
		}
		w.apply(h.docs())
	}}
}

// withMoreTime returns an act with more time, for cases in which AWS has faults.
func withMoreTime(a act, within time.Duration) act {
	a.maxDelay = within
	return a
}

// reversalAct returns an act that restores the original Ingress.
func reversalAct(name string) act {
	return act{"reversal of the change of " + name, maxDeletionTime, func(w *testCluster) { w.apply(ingresses()[name].docs()) }}
}

// namespaceDeletionAct returns an act that deletes all objects of namespace "blog", as the deletion of the namespace would.
func namespaceDeletionAct() act {
	return act{"shutdown of namespace blog", maxDeletionTime, func(w *testCluster) {
		for _, kind := range []cluster.Kind{cluster.KindPod, cluster.KindEndpointSlice, cluster.KindService, cluster.KindIngress} {
			for _, o := range w.Store.All(kind) {
				if o.GetNamespace() == "blog" {
					w.delete(kind, "blog", o.GetName())
				}
			}
		}
	}}
}

// randomScenarios is the number of scenarios at the start of the list that random histories use. Only fixed cases use the
// others.
const randomScenarios = 4

// scenarios returns the acts of the victims for each scenario, such as a change, a deletion and a rollout.
func scenarios() [][]act {
	open := changeAct("pay/shop", route{"shop.example.com", "/new", "api"})
	vault := changeAct("pay/vault", route{"vault.app.test", "/new", "api"})
	solo := changeAct("pay/solo", route{"solo.example.com", "/new", "api"})
	return [][]act{
		{open, rolloutAct(), deletionAct("blog/vault-extra"), mailServiceEdit()},
		{deletionAct("blog/extra"), vault, rolloutAct(), mailServiceEdit()},
		{rolloutAct(), deletionAct("blog/extra"), solo},
		{deletionAct("blog/vault-extra"), open, rolloutAct()},

		{classChangeAct("blog/extra")},
		{serviceSwitchAct("pay/shop", "api"), serviceSwitchAct("pay/shop", "web")},
		{open, reversalAct("pay/shop"), deletionAct("blog/extra"), namespaceDeletionAct()},
		{rolloutAct()},
		{withMoreTime(open, 5*time.Minute), withMoreTime(rolloutAct(), 5*time.Minute)},
		{open, deletionAct("blog/extra")},
	}
}

// apply creates or changes objects, as their owner would.
func (w *testCluster) apply(docs string) { w.Apply(w.placeholderReplacer.Replace(docs)) }

func (w *testCluster) delete(kind cluster.Kind, namespace, name string) {
	if err := w.Store.Delete(cluster.Ref{Kind: kind, Namespace: namespace, Name: name}); err != nil {
		panic(fmt.Sprintf("delete %s %s/%s: %v", kind, namespace, name, err))
	}
}
