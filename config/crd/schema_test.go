package crd_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// definition is a CustomResourceDefinition with all fields that the definitions in config/crd may have.
type definition struct {
	APIVersion, Kind string
	Metadata         struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Group string
		Names struct {
			Kind, ListKind, Plural, Singular string
			ShortNames, Categories           []string
		}
		Scope    string
		Versions []struct {
			Name            string
			Served, Storage bool
			Deprecated      bool
			Warning         string `json:"deprecationWarning"`
			Subresources    map[string]any
			Columns         []struct {
				Name, JSONPath, Type, Description string
				Priority                          int
			} `json:"additionalPrinterColumns"`
			Schema struct {
				OpenAPIV3Schema schema
			}
		}
	}
}

type schema struct {
	Type, Format, Pattern, Description       string
	Enum, Required                           []string
	Default                                  any
	Minimum, Maximum                         *float64
	MinItems, MaxItems, MinLength, MaxLength *int64
	MaxProperties                            *int64
	Properties                               map[string]schema
	Items, AdditionalProperties              *schema
	AnyOf                                    []schema
	ListType                                 string              `json:"x-kubernetes-list-type"`
	ListKeys                                 []string            `json:"x-kubernetes-list-map-keys"`
	MapType                                  string              `json:"x-kubernetes-map-type"`
	IntOrString                              bool                `json:"x-kubernetes-int-or-string"`
	Rules                                    []map[string]string `json:"x-kubernetes-validations"`
}

// TestSchemaMatchesContract compares the definitions with a golden file, which has each field with its validation, and each
// printed column. Clusters have objects of these kinds, so a change of the golden file can break existing objects.
func TestSchemaMatchesContract(t *testing.T) {
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, doc := range docs {
		var d definition
		if err := yaml.UnmarshalStrict(doc, &d); err != nil {
			t.Fatal(err)
		}
		n := d.Spec.Names
		fmt.Fprintf(&out, "%s %s: %s %s %s %s %s, short %v, categories %v, labels %v\n", d.APIVersion, d.Metadata.Name, n.Kind, n.ListKind, n.Plural, n.Singular, d.Spec.Scope,
			n.ShortNames, n.Categories, d.Metadata.Labels)
		for _, v := range d.Spec.Versions {
			fmt.Fprintf(&out, "\n%s %s: served %v, stored %v, subresources %v", n.Kind, v.Name, v.Served, v.Storage, slices.Sorted(maps.Keys(v.Subresources)))
			if v.Deprecated {
				fmt.Fprintf(&out, ", deprecated: %s", v.Warning)
			}
			out.WriteString("\n")
			for _, c := range v.Columns {
				fmt.Fprintf(&out, "column %s %s %s %d\n", c.Name, c.JSONPath, c.Type, c.Priority)
			}
			writeFields(&out, "", v.Schema.OpenAPIV3Schema, false)
		}
		out.WriteString("\n")
	}
	goldentest.CompareFile(t, "testdata/schema.txt", out.String())
}

// writeFields writes one line for the field at path, unless path is "", and then one line for each field below it, sorted by
// name. The line has the type and the validation of the field.
func writeFields(out *strings.Builder, path string, s schema, required bool) {
	var say []string
	add := func(format string, v any) {
		text := fmt.Sprint(v)
		switch p := v.(type) {
		case *float64:
			if p == nil {
				return
			}
			text = fmt.Sprint(*p)
		case *int64:
			if p == nil {
				return
			}
			text = fmt.Sprint(*p)
		}
		if text != "" && text != "[]" && text != "false" && text != "<nil>" {
			say = append(say, fmt.Sprintf(format, text))
		}
	}
	add("required%.0s", required)
	add("format %s", s.Format)
	add("one of %s", s.Enum)
	add("pattern %s", s.Pattern)
	add("default %s", s.Default)
	add("from %s", s.Minimum)
	add("to %s", s.Maximum)
	add("at least %s items", s.MinItems)
	add("at most %s items", s.MaxItems)
	add("at least %s characters", s.MinLength)
	add("at most %s characters", s.MaxLength)
	add("at most %s keys", s.MaxProperties)
	add("list %s", s.ListType)
	add("by %s", s.ListKeys)
	add("map %s", s.MapType)
	add("int or string%.0s", s.IntOrString)
	for _, r := range s.Rules {
		add("rule %s", r["rule"])
	}
	if path != "" {
		fmt.Fprintln(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", path, s.Type, strings.Join(say, ", "))))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		writeFields(out, strings.TrimPrefix(path+"."+name, "."), s.Properties[name], slices.Contains(s.Required, name))
	}
	if s.Items != nil {
		writeFields(out, path+"[]", *s.Items, false)
	}
	if s.AdditionalProperties != nil {
		writeFields(out, path+"{}", *s.AdditionalProperties, false)
	}
}
