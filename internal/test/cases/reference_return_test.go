package cases

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// returned is this controller in a cluster that the other one has worked on.
type returned struct {
	*successor
	runs int
	// made are load balancers that were not there, and faults what is answered otherwise.
	made   map[string]bool
	faults string
	lbs    []string
}

// comeBack lets this controller start again where the other one has ended.
func (s *successor) comeBack() *returned {
	b := &returned{}
	m := harness.MomentOf(s.r)
	b.successor = &successor{of: s.of}
	b.adoption = &adoption{t: s.t, groups: s.groups, arns: s.arns, step: s.step}
	b.r = NewWorld(s.t, harness.Options{From: &m, Transport: b.watch, Ran: func(string, error) { b.runs++ }})
	b.lbs = b.loadBalancers()
	b.before = b.served()
	return b
}

func (b *returned) loadBalancers() (out []string) {
	all := b.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	for arn := range all.Partition(harness.Account, harness.Region).ELB.LoadBalancers {
		out = append(out, arn)
	}
	slices.Sort(out)
	return out
}

// watch compares after each call that changes something.
func (b *returned) watch(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripper(func(req *http.Request) (*http.Response, error) {
		n := 0
		if b.r != nil {
			n = b.changes()
		}
		res, err := next.RoundTrip(req)
		if b.before != nil && b.changes() > n && b.faults == "" {
			b.compare()
		}
		return res, err
	})
}

func (b *returned) compare() {
	now := b.served()
	for port, of := range b.before {
		for req, was := range of {
			if is := now[port][req]; is != was && !strings.Contains(was, "without targets") {
				b.faults = fmt.Sprintf("%s %s: %q, before %q", port, req, is, was)
			}
		}
	}
	for _, arn := range b.loadBalancers() {
		if !slices.Contains(b.lbs, arn) {
			b.faults = "another load balancer is made: " + arn
		}
	}
}

func TestDbgReturn(t *testing.T) {
	seen := map[string]int{}
	for c, name := range givenCases {
		synctest.Test(t, func(t *testing.T) {
			a, docs, moments := recorded(t, name)
			for i, m := range moments {
				if os.Getenv("FULCRUM_ADOPTIONS") != "all" && (i+c)%6 != 0 && m.n != 0 {
					continue
				}
				for _, w := range ways(i/6 + c) {
					s := a.succeed(m, docs)
					state := s.states()[0]
					s.hand()
					s.work(s.order(w), w.at)
					b := s.comeBack()
					first := b.states()[0]
					b.r.Settle(horizon)
					b.r.Settle(horizon)
					second := b.states()[0]
					b.r.Emulator.Calls().Reset()
					b.runs = 0
					b.r.Settle(3 * time.Hour)
					runs, muts := b.runs, b.changes()
					ing := len(b.tagged(model.Ingress)) 
					gw := len(b.tagged(model.ALBGateway))
					lost := b.faults
					b.gateway(func(gw *gwv1.Gateway, _ migrate.Group) { gw.Annotations[naming.DryRunAnnotation] = "true" })
					b.r.Settle(horizon)
					b.r.Settle(horizon)
					third := b.states()[0]
					key := fmt.Sprintf("%s -> %s -> %s -> back %s; lbs %d, runs>30 %t, muts>20 %t, lost %t, lost back %t", state, first, second, third, len(b.lbs), runs > 30, muts > 20, lost != "", b.faults != "")
					seen[key]++
					if seen[key] <= 1 || b.faults != "" && seen[key] < 3 {
						fmt.Println("####", name, m, w, key, "runs", runs, "muts", muts, "ingress tags", ing, "gw", gw)
						fmt.Println(b.faults)
						fmt.Println(strings.Join(b.events(), "\n"))
					}
				}
			}
		})
	}
	for k, n := range seen {
		fmt.Println(n, k)
	}
	_ = handover.Adopted
}
