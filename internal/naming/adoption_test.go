package naming

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestParseAdopt(t *testing.T) {
	for value, want := range map[string]model.StackID{
		"ingress-group/edge":  {Kind: model.Ingress, Name: "edge"},
		"ingress/web":         {Kind: model.Ingress, Namespace: "shop", Name: "web"},
		"ingress/blog/web":    {Kind: model.Ingress, Namespace: "blog", Name: "web"},
		"service/mail":        {Kind: model.Service, Namespace: "shop", Name: "mail"},
		"service/post/mail":   {Kind: model.Service, Namespace: "post", Name: "mail"},
		"":                    {},
		"edge":                {},
		"ingress-group/":      {},
		"ingress-group/a/b":   {},
		"ingress/":            {},
		"ingress/a/":          {},
		"ingress//a":          {},
		"ingress/a/b/c":       {},
		"gateway/shop/edge":   {},
		"/edge":               {},
		"Ingress/web":         {},
		"ingress-group/a b/c": {},
	} {
		got, err := ParseAdopt("shop", value)
		if got != want || (err == nil) != (want != model.StackID{}) {
			t.Errorf("%q: %v, %v; want %v", value, got, err, want)
		}
		if err != nil {
			continue
		}
		if again, err := ParseAdopt("other", AdoptValue(got)); again != got || err != nil {
			t.Errorf("%q is written as %q, which is read as %v", value, AdoptValue(got), again)
		}
	}
}
