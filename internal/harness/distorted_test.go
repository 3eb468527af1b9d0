package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/seeds"
)

// distortion is one member of the answers to an operation, and how it is shown.
type distortion struct {
	service, operation string
	fault.Distortion
}

func (d distortion) String() string {
	return fmt.Sprintf("%s:%s %s %s", d.service, d.operation, strings.ReplaceAll(d.Member, ".", "-"), d.How)
}

// rich uses most of what a load balancer has.
func rich(r *Harness, paths ...string) string {
	return ingressOf(annotated(
		"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", r.World.Certs["example.com"]+","+r.World.Certs["app.test"],
		"tags", "team=shop,cost=7", "wafv2-acl-arn", r.World.WebACL, "inbound-cidrs", "10.0.0.0/8,192.0.2.0/24",
		"load-balancer-attributes", "idle_timeout.timeout_seconds=77", "target-group-attributes", "deregistration_delay.timeout_seconds=33",
		"conditions.api", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Kind","values":["b","a"]}}]`,
		"conditions.query", `[{"field":"query-string","queryStringConfig":{"values":[{"key":"z","value":"1"},{"key":"a","value":"2"}]}}]`,
		"actions.query", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80}]}}`,
		"conditions.split", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Split","regexValues":["^z[0-9]+$","^a[0-9]+$"]}}]`,
		"actions.split", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":20},{"serviceName":"api","servicePort":80,"weight":80}]}}`,
	), paths...)
}

func richShop(t *testing.T) *Harness {
	r := shopWith(t, Options{Resync: 10 * time.Minute})
	doc := rich(r, "/=web", "/api=api", "/query=query", "/split=split")
	for _, action := range []string{"query", "split"} {
		doc = strings.Replace(doc, "{name: "+action+", port: {number: 80}}", "{name: "+action+", port: {name: use-annotation}}", 1)
	}
	r.Apply(shop, pods("web", podAddresses[:3]...), pods("api", podAddresses[3:5]...), doc)
	return r
}

// distortions are all of the answers that the controller reads for a rich load balancer.
func distortions(t *testing.T) (out []distortion) {
	synctest.Test(t, func(t *testing.T) {
		r := richShop(t)
		r.during(20 * time.Minute)
		r.Start()
		r.during(20 * time.Minute)
		if w := warnings(r); len(w) > 0 {
			t.Fatal(w)
		}
		for _, op := range slices.Sorted(maps.Keys(r.Emulator.Calls().Counts())) {
			service, operation, _ := strings.Cut(op, ":")
			for _, d := range fault.Distortions(r.Emulator.AnswerOf(service, operation)) {
				out = append(out, distortion{service, operation, d})
			}
		}
	})
	return out
}

// made counts what the controller has made.
func (r *Harness) made() map[string]int {
	out := map[string]int{}
	for _, line := range r.State() {
		kind, _, _ := strings.Cut(line, " ")
		out[kind]++
	}
	return out
}

// asDesired is a shop whose rich load balancer is complete.
func asDesired(t *testing.T) *Harness {
	t.Helper()
	r := richShop(t)
	r.during(20 * time.Minute)
	if w := warnings(r); len(w) > 0 {
		t.Fatal(w)
	}
	return r
}

// The order of a list in an answer means nothing: with every list of every answer the other way round,
// nothing is written, and nothing is reported as drift.
func TestTheOrderOfListsInAnswersMeansNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asDesired(t)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			all := fault.Distortions(r.Emulator.AnswerOf(c.Service, c.Operation))
			return fault.Action{Distort: slices.DeleteFunc(all, func(d fault.Distortion) bool { return d.How != fault.Reorder })}
		})
		r.Emulator.Calls().Reset()
		r.during(40 * time.Minute)
		r.Start()
		r.during(40 * time.Minute)
		if n := r.Emulator.Calls().Mutating(); n > 0 {
			t.Errorf("%d writes: %v", n, r.Emulator.Calls().Counts())
		}
		if w := warnings(r); len(w) > 0 {
			t.Errorf("reported %q", w)
		}
		if n := r.Emulator.Calls().Count("DescribeRules"); n == 0 {
			t.Error("nothing was compared")
		}
	})
}

// Where AWS shows of a rule something else than was written, no rule is there twice and none is missing, and
// each is written once for each comparison at most.
func TestWhatAWSShowsOtherwiseIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	all := distortions(t)
	of := []string{"Rules.Conditions.HttpHeaderConfig.", "Rules.Actions.ForwardConfig.TargetGroups.Weight"}
	if seeds.Long() {
		of = []string{"Rules.Conditions.", "Rules.Actions."}
	}
	all = slices.DeleteFunc(all, func(d distortion) bool {
		return d.operation != "DescribeRules" || d.How == fault.Reorder ||
			!slices.ContainsFunc(of, func(member string) bool { return strings.HasPrefix(d.Member, member) })
	})
	if len(all) == 0 {
		t.Fatal("no distortions")
	}
	for _, d := range all {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := asDesired(t)
				want := r.made()
				r.Emulator.Calls().Reset()
				r.Emulator.Faults().Add(fault.Rule{Service: d.service, Operation: d.operation, Action: fault.Action{Distort: []fault.Distortion{d.Distortion}}})
				for range 60 {
					r.during(time.Minute)
					if got := r.made(); !maps.Equal(got, want) {
						t.Fatalf("there are %v, want %v", got, want)
					}
				}
				// A comparison every ten minutes makes each rule and deletes the one before.
				if n := r.Emulator.Calls().Mutating(); n > 7*2*want["rule"] {
					t.Errorf("%d writes in an hour: %v", n, r.Emulator.Calls().Counts())
				}
			})
		})
	}
}
