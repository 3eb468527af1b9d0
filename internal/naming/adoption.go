package naming

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Annotations with which a Gateway takes over a live load balancer.
const (
	// AdoptAnnotation of a Gateway names the IngressGroup, Ingress or Service whose load balancer the Gateway takes over.
	AdoptAnnotation = "fulcrum.dev/adopt"
	// AdoptedByAnnotation of an Ingress or a Service names the Gateway that may take over its load balancer:
	// "namespace/name", or the name of a Gateway in the same namespace.
	AdoptedByAnnotation = "fulcrum.dev/adopted-by"
	// DryRunAnnotation of a Gateway, with the value "true", limits the Gateway to a plan that is not carried out. A load
	// balancer that the Gateway has taken over is given back.
	DryRunAnnotation = "gateway.k8s.aws/dry-run"
)

// AdoptedTag is the key of a tag of a load balancer that was taken over and can be given back. Its value is AdoptedTagValue
// of the stack for which the load balancer was created.
const AdoptedTag = "elbv2.k8s.aws/adopted-from"

// AdoptedNamespacesTag is the key of a tag beside AdoptedTag. Its value is the list, separated by spaces, of the namespaces
// of the objects that the load balancer served, and to which it may be given back. If the list is too long for one tag, it
// continues in tags with keys that end in -2, -3 and so on.
const AdoptedNamespacesTag = "elbv2.k8s.aws/adopted-namespaces"

// MigratedFromTag is a tag of AWS resources of migrated objects. It informs users; the controller does not read it.
const MigratedFromTag = "gateway.k8s.aws/migrated-from"

// AdoptedTagValue returns the value of AdoptedTag for a stack.
func AdoptedTagValue(id model.StackID) string {
	return shorten(id.Kind.TagPrefix()+":"+id.String(), MaxTagValue)
}

// AdoptedTags returns the tags AdoptedTag and AdoptedNamespacesTag for a load balancer that was created for a stack with
// objects in the namespaces.
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

// IsAdoptedTag reports whether key is the key of a tag that AdoptedTags returns.
func IsAdoptedTag(key string) bool {
	return key == AdoptedTag || strings.HasPrefix(key, AdoptedNamespacesTag)
}

// AdoptedNamespaces returns the namespaces in the tags that AdoptedTags made.
func AdoptedNamespaces(tags map[string]string) (out []string) {
	for k, v := range tags {
		if strings.HasPrefix(k, AdoptedNamespacesTag) {
			out = append(out, strings.Fields(v)...)
		}
	}
	slices.Sort(out)
	return out
}

// ParseAdoptedTag returns the stack that the value of an AdoptedTag names; false if it names none, or if its name was too
// long for a tag and was shortened.
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

// Kinds of objects at the beginning of the value of an AdoptAnnotation.
const (
	adoptIngressGroup = "ingress-group"
	adoptIngress      = "ingress"
	adoptService      = "service"
)

// ParseAdoptAnnotation returns the stack that the AdoptAnnotation of a Gateway names. namespace is the namespace of the
// Gateway.
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

// AdoptAnnotationValue returns the value of AdoptAnnotation that names a stack.
func AdoptAnnotationValue(id model.StackID) string {
	switch {
	case id.Kind == model.Service:
		return adoptService + "/" + id.String()
	case id.Namespace == "":
		return adoptIngressGroup + "/" + id.Name
	}
	return adoptIngress + "/" + id.String()
}
