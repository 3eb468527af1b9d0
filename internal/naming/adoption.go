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
	// AdoptAnnotation of a Gateway names the IngressGroup, Ingress or Service with the load balancer that it takes over.
	AdoptAnnotation = "fulcrum.dev/adopt"
	// AdoptedByAnnotation of an Ingress or a Service names the Gateway that may take over its load balancer:
	// "namespace/name", or the name of a Gateway in its own namespace.
	AdoptedByAnnotation = "fulcrum.dev/adopted-by"
	// DryRunAnnotation of a Gateway, with the value "true", makes only a plan. A load balancer that the Gateway took over is
	// given back.
	DryRunAnnotation = "gateway.k8s.aws/dry-run"
)

// AdoptedTag is a tag of a load balancer that was taken over and can be given back. Its value is AdoptedTagValue of the
// stack for which the load balancer was made.
const AdoptedTag = "elbv2.k8s.aws/adopted-from"

// AdoptedNamespacesTag is a tag beside AdoptedTag. Its value is the list, separated by spaces, of the namespaces with
// objects that had the load balancer, to which it may be given back. If the list is too long for one tag, it continues in
// tags with -2, -3 and so on at the end of the key.
const AdoptedNamespacesTag = "elbv2.k8s.aws/adopted-namespaces"

// MigratedFromTag is a tag of AWS resources of migrated objects, for users to read. The controller does not read it.
const MigratedFromTag = "gateway.k8s.aws/migrated-from"

// AdoptedTagValue returns the value of AdoptedTag for a stack.
func AdoptedTagValue(id model.StackID) string {
	return shorten(id.Kind.TagPrefix()+":"+id.String(), MaxTagValue)
}

// AdoptedTags returns AdoptedTag and AdoptedNamespacesTag for a load balancer that was made for a stack with objects in
// those namespaces.
func AdoptedTags(id model.StackID, namespaces []string) map[string]string {
	tags := map[string]string{AdoptedTag: AdoptedTagValue(id)}
	key, value := AdoptedNamespacesTag, ""
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		switch {
		case value == "":
			value = ns
		case len(value)+1+len(ns) <= MaxTagValue:
			value += " " + ns
		default:
			key, value = fmt.Sprintf("%s-%d", AdoptedNamespacesTag, len(tags)), ns
		}
		tags[key] = value
	}
	return tags
}

// IsAdoptedTag reports whether a key is one of AdoptedTags.
func IsAdoptedTag(key string) bool {
	return key == AdoptedTag || strings.HasPrefix(key, AdoptedNamespacesTag)
}

// AdoptedNamespaces returns the namespaces in AdoptedTags.
func AdoptedNamespaces(tags map[string]string) (out []string) {
	for k, v := range tags {
		if strings.HasPrefix(k, AdoptedNamespacesTag) {
			out = append(out, strings.Fields(v)...)
		}
	}
	slices.Sort(out)
	return out
}

// ParseAdoptedTag returns the stack in the value of an AdoptedTag; false if there is none, or if the name of the stack was
// too long for a tag and was shortened.
func ParseAdoptedTag(value string) (model.StackID, bool) {
	for _, k := range model.Kinds {
		rest, ok := strings.CutPrefix(value, k.TagPrefix()+":")
		if !ok {
			continue
		}
		id := model.StackID{Kind: k, Name: rest}
		if namespace, name, ok := strings.Cut(rest, "/"); ok {
			id.Namespace, id.Name = namespace, name
		}
		return id, AdoptedTagValue(id) == value
	}
	return model.StackID{}, false
}

// The kinds in the value of an AdoptAnnotation.
const (
	adoptIngressGroup = "ingress-group"
	adoptIngress      = "ingress"
	adoptService      = "service"
)

// ParseAdoptAnnotation returns the stack in the AdoptAnnotation of a Gateway. namespace is that of the Gateway.
func ParseAdoptAnnotation(namespace, value string) (model.StackID, error) {
	kind, name, ok := strings.Cut(value, "/")
	if !ok {
		return model.StackID{}, errInvalidAdopt
	}
	if kind == adoptIngressGroup {
		if name == "" || strings.Contains(name, "/") {
			return model.StackID{}, errInvalidAdopt
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
		return model.StackID{}, errInvalidAdopt
	}
	return id, nil
}

var errInvalidAdopt = errors.New("it is not ingress-group/NAME, ingress/NAME, ingress/NAMESPACE/NAME, service/NAME or service/NAMESPACE/NAME")

// AdoptAnnotationValue returns the value of an AdoptAnnotation for a stack.
func AdoptAnnotationValue(id model.StackID) string {
	switch {
	case id.Kind == model.Service:
		return adoptService + "/" + id.String()
	case id.Namespace == "":
		return adoptIngressGroup + "/" + id.Name
	}
	return adoptIngress + "/" + id.String()
}
