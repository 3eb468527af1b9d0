package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func at(hosts, paths []string, a model.Action) model.Rule {
	r := model.Rule{Actions: []model.Action{a}}
	if hosts != nil {
		r.Conditions = append(r.Conditions, model.HostHeader{Values: hosts})
	}
	if paths != nil {
		r.Conditions = append(r.Conditions, model.PathPattern{Values: paths})
	}
	return r
}

func TestOptimize(t *testing.T) {
	toHTTPS := model.Redirect{Port: "443", Protocol: "HTTPS", Status: "HTTP_301"}
	web := model.Forward{Groups: []model.WeightedGroup{{Group: model.GroupRef{ID: "web"}}}}
	all := []string{"/*"}
	x, xy := []string{"x"}, []string{"x", "y"}
	regexHost := model.Rule{Conditions: []model.Condition{model.HostHeader{Regex: x}, model.PathPattern{Values: all}}, Actions: []model.Action{toHTTPS}}
	narrow := at(x, all, toHTTPS)
	narrow.Conditions = append(narrow.Conditions, model.RequestMethod{Values: []string{"GET"}})
	regexPath := model.Rule{Conditions: []model.Condition{model.PathPattern{Regex: []string{"^/"}}}, Actions: []model.Action{toHTTPS}}
	authenticated := at(nil, all, toHTTPS)
	authenticated.Actions = []model.Action{model.AuthCognito{}, toHTTPS}

	http, https := Optimizer{Port: 80, Protocol: "HTTP"}, Optimizer{Port: 443, Protocol: "HTTPS"}
	for name, c := range map[string]struct {
		o     Optimizer
		rules []model.Rule
		kept  []int
	}{
		"a redirect to TLS hides what it covers":          {http, []model.Rule{at(nil, all, toHTTPS), at(nil, all, web)}, []int{0}},
		"and is dropped where it leads to itself":         {https, []model.Rule{at(nil, all, toHTTPS), at(nil, all, web)}, []int{1}},
		"an authentication before it makes no difference": {https, []model.Rule{authenticated, at(nil, all, web)}, []int{1}},
		"a forward hides nothing":                         {http, []model.Rule{at(nil, all, web), at(nil, all, web)}, []int{0, 1}},
		"a redirect without conditions hides all":         {http, []model.Rule{at(nil, nil, toHTTPS), at(x, all, web)}, []int{0}},
		"fewer hosts do not cover more":                   {http, []model.Rule{at(x, all, toHTTPS), at(xy, all, web)}, []int{0, 1}},
		"more hosts cover fewer":                          {http, []model.Rule{at(xy, all, toHTTPS), at(x, []string{"/a"}, web)}, []int{0}},
		"hosts do not cover a rule for every host":        {http, []model.Rule{at(x, all, toHTTPS), at(nil, all, web)}, []int{0, 1}},
		"paths do not cover a rule for every path":        {http, []model.Rule{at(nil, []string{"/a"}, toHTTPS), at(x, nil, web)}, []int{0, 1}},
		"paths are compared as text":                      {http, []model.Rule{at(nil, []string{"/a*"}, toHTTPS), at(nil, []string{"/ab"}, web)}, []int{0, 1}},
		"a further condition makes a redirect cover less": {http, []model.Rule{narrow, at(x, all, web)}, []int{0, 1}},
		"a redirect by regular path is never dropped":     {https, []model.Rule{regexPath}, []int{0}},
		"a host of the rule itself leads to itself":       {https, []model.Rule{at(x, all, model.Redirect{Host: "x", Path: "/#{path}", Port: "#{port}", Protocol: "#{protocol}", Query: "#{query}"})}, nil},
		"another query does not":                          {https, []model.Rule{at(x, all, model.Redirect{Query: "a=b"})}, []int{0}},
		"regular hosts do not cover others":               {http, []model.Rule{regexHost, at(nil, all, web)}, []int{0, 1}},
		"regular hosts cover the same":                    {http, []model.Rule{regexHost, regexHost}, []int{0}},
		"regular hosts cover all, as it used to be":       {Optimizer{Port: 80, Protocol: "HTTP", RegexHostsCover: true}, []model.Rule{regexHost, at(xy, all, web)}, []int{0}},
		"a held rule behind a covering redirect goes too": {http, []model.Rule{at(nil, all, toHTTPS), {Conditions: at(nil, all, web).Conditions, Held: true}}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []model.Rule
			for _, i := range c.kept {
				want = append(want, c.rules[i])
			}
			if diff := cmp.Diff(want, c.o.Optimize(c.rules)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
