package properties

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

type request struct {
	port       int32
	host, path string
}

func (q request) model() model.Request {
	return model.Request{Host: q.host, Path: q.path, Method: "GET", Client: "192.0.2.9"}
}

// requests are the requests for which the tests compare answers. They match the hosts, paths and ports of random
// IngressGroups.
var requests = func() (out []request) {
	for _, port := range []int32{80, 443, 8080} {
		for _, h := range []string{"a.example.com", "b.example.com", "c.example.com", "other.test"} {
			for _, p := range []string{"/", "/a", "/a/x", "/ab", "/b", "/b/z", "/a/7"} {
				out = append(out, request{port, h, p})
			}
		}
	}
	return out
}()

const noAnswer = "nothing"

// requestAnswers returns the answer of the load balancer to each of requests, as text. The answer is noAnswer if no
// listener has the port.
func requestAnswers(have observed.Stack) []string {
	out := make([]string, len(requests))
	for i := range out {
		out[i] = noAnswer
	}
	lb := have.LiveLoadBalancer(model.LoadBalancerID)
	if lb == nil {
		return out
	}
	for _, l := range lb.Listeners {
		rules := make([]model.Rule, len(l.Rules))
		for i, r := range l.Rules {
			rules[i].Conditions = r.Conditions
		}
		for i, q := range requests {
			if q.port != l.Port {
				continue
			}
			at, ok := model.FirstMatchingRule(rules, q.model())
			if ok {
				out[i] = actionsText(l.Rules[at].Transforms, l.Rules[at].Actions)
			} else {
				out[i] = actionsText(nil, l.Default)
			}
		}
	}
	return out
}

// listenersOf returns the listeners of the load balancer. requestAnswers depends on nothing else. Most steps change other
// resources.
func listenersOf(have observed.Stack) []observed.Listener {
	if lb := have.LiveLoadBalancer(model.LoadBalancerID); lb != nil {
		return lb.Listeners
	}
	return nil
}

// actionsText returns the transforms and actions of a rule as text, without target groups of weight 0. These get health
// checks, but no requests.
func actionsText(transforms []model.Transform, actions []model.Action) string {
	var out []string
	if len(transforms) > 0 {
		out = append(out, fmt.Sprint(transforms))
	}
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			out = append(out, fmt.Sprintf("%T%v", a, a))
			continue
		}
		var to []string
		for _, g := range f.Groups {
			if w := g.Weight; w == nil || *w > 0 {
				to = append(to, g.Group.ARN)
				if w != nil {
					to[len(to)-1] += fmt.Sprintf(" x%d", *w)
				}
			}
		}
		if len(to) == 1 {
			to[0], _, _ = strings.Cut(to[0], " x")
		}
		slices.Sort(to)
		out = append(out, strings.Join(to, ", "))
	}
	return strings.Join(out, "; ")
}
