package reference

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
)

func customResources() string {
	var b strings.Builder
	b.WriteString(generated)
	b.WriteString(`# Custom resources

After reading this page you can look up each field of the custom resources of the controller, with the values that the API server admits. The definitions are in ` + "`config/crd`" + `; they are those of aws-load-balancer-controller v3.5.0, so that a cluster that has them needs no change.

` + "`[]`" + ` in a path stands for each item of a list, ` + "`{}`" + ` for each value of a map. A field that is not marked as required may be left out.
`)
	docs, err := crd.Documents()
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, doc := range docs {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(doc, &d); err != nil {
			panic(err)
		}
		definition(&b, d)
	}
	return b.String()
}

// definition is the section of one kind: the version that is stored. Others have the same fields.
func definition(b *strings.Builder, d apiextensionsv1.CustomResourceDefinition) {
	var versions []string
	var schema *apiextensionsv1.JSONSchemaProps
	for _, v := range d.Spec.Versions {
		name := v.Name
		if v.Deprecated {
			name += " (deprecated)"
		}
		versions = append(versions, name)
		if v.Storage {
			schema = v.Schema.OpenAPIV3Schema
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n", d.Spec.Names.Kind)
	scope := "namespaced"
	if d.Spec.Scope == apiextensionsv1.ClusterScoped {
		scope = "cluster-scoped"
	}
	fmt.Fprintf(b, "`%s`, %s, in versions %s. %s\n\n", d.Spec.Group, scope, strings.Join(versions, ", "), oneLine(schema.Description))
	b.WriteString("| Field | Type | Admitted | Meaning |\n|---|---|---|---|\n")
	for _, top := range []string{"spec", "status"} {
		if s, ok := schema.Properties[top]; ok {
			field(b, top, s, slices.Contains(schema.Required, top))
		}
	}
}

// field writes a row for a field and one for each field in it.
func field(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps, required bool) {
	kind := s.Type
	if s.XIntOrString {
		kind = "integer or string"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, kind, cell(admitted(s, required)), cell(oneLine(s.Description)))
	fields(b, path, s)
}

func fields(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps) {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		field(b, path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
	if s.Items != nil && s.Items.Schema != nil {
		fields(b, path+"[]", *s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		fields(b, path+"{}", *s.AdditionalProperties.Schema)
	}
}

// admitted returns what the API server checks of a field, and of each item or value that is no object.
func admitted(s apiextensionsv1.JSONSchemaProps, required bool) string {
	var out []string
	if required {
		out = append(out, "required")
	}
	if s.Default != nil {
		out = append(out, "default `"+string(s.Default.Raw)+"`")
	}
	out = append(out, limits(s)...)
	for _, inner := range []*apiextensionsv1.JSONSchemaProps{items(s), values(s)} {
		if inner == nil || inner.Type == "object" {
			continue
		}
		if of := limits(*inner); len(of) > 0 {
			out = append(out, "each: "+strings.Join(of, ", "))
		}
	}
	for _, r := range s.XValidations {
		out = append(out, "rule `"+oneLine(r.Rule)+"`")
	}
	return strings.Join(out, ", ")
}

func items(s apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

func values(s apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func limits(s apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	if len(s.Enum) > 0 {
		var all []string
		for _, v := range s.Enum {
			all = append(all, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		out = append(out, "one of "+strings.Join(all, ", "))
	}
	number := func(format string, p *float64) {
		if p != nil {
			out = append(out, fmt.Sprintf(format, *p))
		}
	}
	count := func(format string, p *int64) {
		if p != nil {
			out = append(out, fmt.Sprintf(format, *p))
		}
	}
	number("from %g", s.Minimum)
	number("to %g", s.Maximum)
	count("at least %d items", s.MinItems)
	count("at most %d items", s.MaxItems)
	count("at least %d characters", s.MinLength)
	count("at most %d characters", s.MaxLength)
	count("at most %d keys", s.MaxProperties)
	if s.Pattern != "" {
		out = append(out, "matches `"+s.Pattern+"`")
	}
	return out
}

// oneLine joins the lines of a description.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
