package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/version"
)

// LoadAndCheck reads files as Load does. It also checks for paths without an object, unknown kinds and objects without a
// name, and returns all errors together. Known kinds are those of Kubernetes, and those that CRDs in the files or in
// installed define. installed are objects that are applied earlier.
func LoadAndCheck(installed []*unstructured.Unstructured, paths ...string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	var faults []error
	var files []file
	for _, p := range paths {
		found, err := loadFiles(p)
		faults = append(faults, err)
		files = append(files, found...)
		if err == nil && countObjects(found) == 0 {
			faults = append(faults, fmt.Errorf("%s has no object", p))
		}
	}
	for _, f := range files {
		out = append(out, f.objects...)
	}
	kinds := customKinds(append(slices.Clone(installed), out...))
	for _, f := range files {
		for _, o := range f.objects {
			if err := kinds.checkKind(o); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", f.path, err))
			}
		}
	}
	return out, errors.Join(faults...)
}

func countObjects(files []file) (n int) {
	for _, f := range files {
		n += len(f.objects)
	}
	return n
}

// customKindSet is a set of kinds that CRDs define, or that client-go has no types for.
type customKindSet map[schema.GroupVersionKind]bool

// customKinds returns the kinds that the CRDs among the objects define, and two built-in kinds for which client-go
// has no types.
func customKinds(objects []*unstructured.Unstructured) customKindSet {
	out := customKindSet{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: true,
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}:             true,
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			if m, ok := v.(map[string]any); ok {
				name, _ := m["name"].(string)
				out[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = true
			}
		}
	}
	return out
}

func (k customKindSet) checkKind(o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	if !k[gvk] && !isBuiltIn(gvk) {
		message := fmt.Sprintf("there is no kind %q in %q", gvk.Kind, o.GetAPIVersion())
		if others := k.apiVersionsOf(gvk.Kind); len(others) > 0 {
			message += "; it is in " + strings.Join(others, ", ")
		}
		return errors.New(message)
	}
	if o.GetName() == "" {
		return fmt.Errorf("a %s has no metadata.name", gvk.Kind)
	}
	return nil
}

// apiVersionsOf returns the sorted API versions, in the set and in Kubernetes, that have a kind with this name.
func (k customKindSet) apiVersionsOf(kind string) []string {
	var out []string
	for gvk := range k {
		if gvk.Kind == kind {
			out = append(out, gvk.GroupVersion().String())
		}
	}
	for _, gv := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if isBuiltIn(gv.WithKind(kind)) {
			out = append(out, gv.String())
		}
	}
	slices.Sort(out)
	return out
}

// isBuiltIn reports whether this version of Kubernetes serves the kind without a CRD. Kinds that were removed from
// Kubernetes are not built in.
func isBuiltIn(gvk schema.GroupVersionKind) bool {
	o, err := scheme.Scheme.New(gvk)
	if err != nil {
		return false
	}
	removed, ok := o.(interface {
		runtime.Object
		APILifecycleRemoved() (major, minor int)
	})
	if !ok {
		return true
	}
	major, minor := removed.APILifecycleRemoved()
	return utilversion.MustParse(version.DefaultKubeBinaryVersion).LessThan(utilversion.MajorMinor(uint(major), uint(minor)))
}
