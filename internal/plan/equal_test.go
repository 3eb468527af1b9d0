package plan

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestRedirectsAreComparedWithWhatAWSFillsIn(t *testing.T) {
	filled := model.Redirect{Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}", Status: "HTTP_301"}
	bare := model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301"}
	for name, c := range map[string]struct {
		want, have model.Redirect
		same       bool
	}{
		"placeholders are what unset fields mean": {bare, filled, true},
		"a query that is dropped":                 {model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301", DropQuery: true}, filled, false},
		"one that is kept again":                  {bare, model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301", DropQuery: true}, false},
		"another status":                          {model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_302"}, filled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameAction(c.want, c.have, nil); got != c.same {
				t.Errorf("want %v, got %v", c.same, got)
			}
		})
	}
}
