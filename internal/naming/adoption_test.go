package naming

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestParseAdoptAnnotation(t *testing.T) {
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
		got, err := ParseAdoptAnnotation("shop", value)
		if got != want || (err == nil) != (want != model.StackID{}) {
			t.Errorf("%q: %v, %v; want %v", value, got, err, want)
		}
		if err != nil {
			continue
		}
		if again, err := ParseAdoptAnnotation("other", AdoptAnnotationValue(got)); again != got || err != nil {
			t.Errorf("%q is written as %q, which is read as %v", value, AdoptAnnotationValue(got), again)
		}
	}
}

// TestAdoptedNamespacesReturnsTheTaggedNamespaces checks that AdoptedNamespaces returns the namespaces from which
// AdoptedTags made tags, and that none of the values is too long for AWS.
func TestAdoptedNamespacesReturnsTheTaggedNamespaces(t *testing.T) {
	t.Parallel()
	group := model.StackID{Kind: model.Ingress, Name: "edge"}
	for _, n := range []int{0, 1, 3, 4, 40} {
		var namespaces []string
		for i := range n {
			namespaces = append(namespaces, strings.Repeat("n", 60)+fmt.Sprintf("%03d", i))
		}
		tags := AdoptedTags(group, append(slices.Clone(namespaces), namespaces...))
		if got := AdoptedNamespaces(tags); !slices.Equal(got, namespaces) {
			t.Errorf("%d: %v", n, got)
		}
		if want := 1 + (n+3)/4; len(tags) != want {
			t.Errorf("%d: %d tags, want %d", n, len(tags), want)
		}
		for k, v := range tags {
			if len(v) > MaxTagValue || !IsAdoptedTag(k) || !IsReservedTag(k) {
				t.Errorf("%d: %s: %s", n, k, v)
			}
		}
	}
	if IsAdoptedTag(ClusterTag) {
		t.Errorf("%s is no tag of an adoption", ClusterTag)
	}
}
