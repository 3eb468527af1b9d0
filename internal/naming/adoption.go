package naming

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Annotations of a migration in place.
const (
	// AdoptAnnotation of a Gateway names the IngressGroup, Ingress or Service whose load balancer it takes over.
	AdoptAnnotation = "fulcrum.dev/adopt"
	// AdoptedByAnnotation of an Ingress or a Service names the Gateway that may take over its load balancer:
	// "namespace/name", or the name of one in its namespace.
	AdoptedByAnnotation = "fulcrum.dev/adopted-by"
	// DryRunAnnotation of a Gateway with the value "true" asks for a plan alone. It has what the Gateway took over given back.
	DryRunAnnotation = "gateway.k8s.aws/dry-run"
)

// AdoptedTag is on a load balancer as long as it can be given back. Its value is Adopted of the stack that it was made for.
const AdoptedTag = "elbv2.k8s.aws/adopted-from"

// NamespacesTag is beside AdoptedTag. Its value are the namespaces whose objects had the load balancer, with a space between two:
// who may have it back. Where one value cannot hold them, more tags have the same name with -2, -3 and so on.
const NamespacesTag = "elbv2.k8s.aws/adopted-namespaces"

// OriginTag is put on AWS resources of translated objects, for users to read. It proves nothing.
const OriginTag = "gateway.k8s.aws/migrated-from"

// Adopted returns the value of AdoptedTag for a stack.
func Adopted(id model.StackID) string {
	return shorten(id.Kind.TagPrefix()+":"+id.String(), tagValueLimit)
}

// AdoptedTags returns the tags of a load balancer that was made for a stack with objects in those namespaces, and can
// be given back.
func AdoptedTags(id model.StackID, namespaces []string) map[string]string {
	tags := map[string]string{AdoptedTag: Adopted(id)}
	key, value := NamespacesTag, ""
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		switch {
		case value == "":
			value = ns
		case len(value)+1+len(ns) <= tagValueLimit:
			value += " " + ns
		default:
			key, value = fmt.Sprintf("%s-%d", NamespacesTag, len(tags)), ns
		}
		tags[key] = value
	}
	return tags
}

// IsAdoptedTag reports whether a key is one of AdoptedTags.
func IsAdoptedTag(key string) bool {
	return key == AdoptedTag || strings.HasPrefix(key, NamespacesTag)
}

// AdoptedNamespaces returns the namespaces that AdoptedTags name.
func AdoptedNamespaces(tags map[string]string) (out []string) {
	for k, v := range tags {
		if strings.HasPrefix(k, NamespacesTag) {
			out = append(out, strings.Fields(v)...)
		}
	}
	slices.Sort(out)
	return out
}

// AdoptedFrom returns the stack that the value of an AdoptedTag names; false if it names none. A name that is too long
// for a tag cannot be read back.
func AdoptedFrom(value string) (model.StackID, bool) {
	for _, k := range model.Kinds {
		rest, ok := strings.CutPrefix(value, k.TagPrefix()+":")
		if !ok {
			continue
		}
		id := model.StackID{Kind: k, Name: rest}
		if namespace, name, ok := strings.Cut(rest, "/"); ok {
			id.Namespace, id.Name = namespace, name
		}
		return id, Adopted(id) == value
	}
	return model.StackID{}, false
}

// What an AdoptAnnotation may name.
const (
	adoptGroup   = "ingress-group"
	adoptIngress = "ingress"
	adoptService = "service"
)

// ParseAdopt returns the stack that the AdoptAnnotation of a Gateway of a namespace names.
func ParseAdopt(namespace, value string) (model.StackID, error) {
	kind, name, ok := strings.Cut(value, "/")
	if !ok {
		return model.StackID{}, errAdopt
	}
	if kind == adoptGroup {
		if name == "" || strings.Contains(name, "/") {
			return model.StackID{}, errAdopt
		}
		return model.StackID{Kind: model.Ingress, Name: name}, nil
	}
	if of, rest, ok := strings.Cut(name, "/"); ok {
		namespace, name = of, rest
	}
	id := model.StackID{Namespace: namespace, Name: name}
	switch kind {
	case adoptIngress:
		id.Kind = model.Ingress
	case adoptService:
		id.Kind = model.Service
	}
	if id.Kind == "" || namespace == "" || name == "" || strings.Contains(name, "/") {
		return model.StackID{}, errAdopt
	}
	return id, nil
}

var errAdopt = errors.New("it is not ingress-group/NAME, ingress/NAME, ingress/NAMESPACE/NAME, service/NAME or service/NAMESPACE/NAME")

// AdoptValue returns the AdoptAnnotation that names a stack.
func AdoptValue(id model.StackID) string {
	switch {
	case id.Kind == model.Service:
		return adoptService + "/" + id.String()
	case id.Namespace == "":
		return adoptGroup + "/" + id.Name
	}
	return adoptIngress + "/" + id.String()
}
