package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
)

// customResourcesPage returns the page of custom resources.
func customResourcesPage() string {
	var b strings.Builder
	b.WriteString(generatedNotice)
	b.WriteString(`# Custom resources

After reading this page you can look up each field of the custom resources of the controller, with the values that the API server admits. The definitions are in ` + "`config/crd`" + `; they are those of aws-load-balancer-controller v3.5.0, so a cluster with its definitions needs no change.

` + "`[]`" + ` in a path stands for each item of a list, ` + "`{}`" + ` for each value of a map. A field that is not marked as required may be left out.
`)
	docs, err := crd.Documents()
	if err != nil {
		panic(err) // the files are embedded in the program
	}
	for _, doc := range docs {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(doc, &d); err != nil {
			panic(err)
		}
		writeKind(&b, d)
	}
	return b.String()
}

// writeKind writes the section of one kind, with the fields of its storage version. Other versions have the same fields.
func writeKind(b *strings.Builder, d apiextensionsv1.CustomResourceDefinition) {
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
	for _, section := range []string{"spec", "status"} {
		if s, ok := schema.Properties[section]; ok {
			writeField(b, section, s, slices.Contains(schema.Required, section))
		}
	}
}

// writeField writes a table row for a field, and rows for its nested fields. path is the path of the field.
func writeField(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps, required bool) {
	kind := s.Type
	if s.XIntOrString {
		kind = "integer or string"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, kind, escapeCell(constraints(s, required)), escapeCell(oneLine(s.Description)))
	writeNestedFields(b, path, s)
}

// writeNestedFields writes table rows for the fields that are nested in the field at path.
func writeNestedFields(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		writeField(b, path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
	if items := itemSchema(s); items != nil {
		writeNestedFields(b, path+"[]", *items)
	}
	if values := valueSchema(s); values != nil {
		writeNestedFields(b, path+"{}", *values)
	}
}

// constraints returns the constraints that the API server checks for a field. It includes those of the items of a list and
// the values of a map, unless they are objects.
func constraints(s apiextensionsv1.JSONSchemaProps, required bool) string {
	var out []string
	if required {
		out = append(out, "required")
	}
	if s.Default != nil {
		out = append(out, "default `"+string(s.Default.Raw)+"`")
	}
	out = append(out, valueConstraints(s)...)
	for _, inner := range []*apiextensionsv1.JSONSchemaProps{itemSchema(s), valueSchema(s)} {
		if inner == nil || inner.Type == "object" {
			continue
		}
		if each := valueConstraints(*inner); len(each) > 0 {
			out = append(out, "each: "+strings.Join(each, ", "))
		}
	}
	for _, r := range s.XValidations {
		out = append(out, "rule `"+oneLine(r.Rule)+"`")
	}
	return strings.Join(out, ", ")
}

// itemSchema returns the schema of the items of a list, or nil if the field is not a list.
func itemSchema(s apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// valueSchema returns the schema of the values of a map, or nil if the field is not a map.
func valueSchema(s apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// valueConstraints returns the constraints of a schema on a single value, such as its range and length.
func valueConstraints(s apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	if len(s.Enum) > 0 {
		var enum []string
		for _, v := range s.Enum {
			enum = append(enum, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		out = append(out, "one of "+strings.Join(enum, ", "))
	}
	addNumber := func(format string, p *float64) {
		if p != nil {
			out = append(out, fmt.Sprintf(format, *p))
		}
	}
	addCount := func(format string, p *int64) {
		if p != nil {
			out = append(out, fmt.Sprintf(format, *p))
		}
	}
	addNumber("from %g", s.Minimum)
	addNumber("to %g", s.Maximum)
	addCount("at least %d items", s.MinItems)
	addCount("at most %d items", s.MaxItems)
	addCount("at least %d characters", s.MinLength)
	addCount("at most %d characters", s.MaxLength)
	addCount("at most %d keys", s.MaxProperties)
	if s.Pattern != "" {
		out = append(out, "matches `"+s.Pattern+"`")
	}
	return out
}

// oneLine returns a text on one line, with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
