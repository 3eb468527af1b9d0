package cluster

import (
	"strings"
	"testing"
)

// TestLoadYAMLOfLists checks that all objects of a list are read, also if the items of a typed list have no kind. An item
// that is not an object is an error.
func TestLoadYAMLOfLists(t *testing.T) {
	for text, want := range map[string]string{
		"kind: ServiceList\napiVersion: v1\nitems: [{metadata: {name: a}}, {metadata: {name: b, namespace: shop}}]": "Service default/a, Service shop/b",
		"kind: List\napiVersion: v1\nitems: [{apiVersion: v1, kind: Service, metadata: {name: a}}]":                 "Service default/a",
		"kind: List\napiVersion: v1\nitems: [{kind: ServiceList, apiVersion: v1, items: [{metadata: {name: a}}]}]":  "Service default/a",
		"kind: IngressList\napiVersion: networking.k8s.io/v1\nitems: []":                                            "",
		"# nothing\n---\n": "",
		"kind: List\napiVersion: v1\nitems: [{metadata: {name: a}}]": "document 1: item 1: not a Kubernetes object; it needs apiVersion, kind and metadata",
		"kind: ServiceList\napiVersion: v1\nitems: [null]":           "",
		"metadata: {name: a}": "document 1: not a Kubernetes object; it needs apiVersion, kind and metadata",
		"apiVersion: v1\nkind: Service\nmetadata: {namespace: shop}":                                                      "document 1: Service: metadata.name is not set; set it, even if the object has metadata.generateName",
		"apiVersion: v1\nkind: Service\nmetadata: {generateName: a-}":                                                     "document 1: Service: metadata.name is not set; set it, even if the object has metadata.generateName",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\nkind: ServiceList\napiVersion: v1\nitems: [{kind: {}}]": "document 2: item 1: kind is of type object, which is not allowed there; write it in quotes if it should be a string",
	} {
		l, err := LoadYAML([]byte(text))
		var got []string
		for _, o := range l.Objects {
			got = append(got, RefOf(o).String())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\n got %s\nwant %s", text, s, want)
		}
		if len(l.Skipped) > 0 {
			t.Errorf("%s: skipped %v", text, l.Skipped)
		}
	}
}
