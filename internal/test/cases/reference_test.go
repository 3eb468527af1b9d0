package cases

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// recorded records the moments of the adoption of a case: all of it is taken over, given back, taken over again and released.
func recorded(t *testing.T, name string) (*adoption, *desires, []moment) {
	a := &adoption{t: t}
	rec := &recorder{a: a}
	a.r = NewWorld(t, harness.Options{Transport: rec.transport, API: func(api kube.API) kube.API { rec.API = api; return rec }})
	empty := harness.MomentOf(a.r)
	ofCase(t, name)(a.r)
	a.settle("ingress")
	time.Sleep(horizon) // all targets are healthy
	before := a.r.State()
	result := translated(t, a.r)
	a.groups = result.Groups
	a.noteLoadBalancers()
	rec.begin("ingress")
	a.shadow(result)
	rec.begin("shadow")
	docs := &desires{t: t, empty: empty.AWS, made: map[string][]byte{}, from: harness.MomentOf(a.r)}
	for _, step := range []struct {
		name string
		do   func()
	}{{"adopt", a.adopt}, {"give back", func() { a.giveBack(before) }}, {"adopt again", a.adopt}, {"release", a.release}} {
		rec.begin(step.name)
		step.do()
	}
	rec.begin("end")
	rec.on = false
	return a, docs, rec.moments
}

func TestOtherController(t *testing.T) {
	for _, name := range []string{"ingress-group-namespaces", "ingress-hosts", "ingress-security-groups", "ingress-security-groups-managed", "ingress-group-tls"} {
		synctest.Test(t, func(t *testing.T) {
			a, docs, moments := recorded(t, name)
			for i, m := range moments {
				for _, order := range [][]int{{0, 1}, {1, 0}} {
					for _, at := range []int{0, 1, 3, 5} {
						s := a.succeed(m, docs)
						states := s.states()
						s.hand()
						out := s.work(order, at)
						final := s.difference(s.before, s.last)
						fmt.Println(name, i, m, states, order, at, len(s.changed), "LOST", s.lost != "", "FINAL", final != "", "DELETED", s.deleted != "")
						if s.deleted != "" || final != "" {
							fmt.Println("DEL", s.deleted, "FIN", final)
						}
						for id, o := range out {
							fmt.Println("   ", id.Kind, o.Planned, o.LoadBalancer, o.Err)
						}
					}
				}
			}
		})
	}
}
