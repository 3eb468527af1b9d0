package naming

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Annotations for the take-over of an existing load balancer by a Gateway.
const (
	// AdoptAnnotation is an annotation of a Gateway. It names the IngressGroup, Ingress or Service whose load balancer the
	// Gateway takes over.
	AdoptAnnotation = "fulcrum.dev/adopt"
	// AdoptedByAnnotation is an annotation of an Ingress or a Service. It names the Gateway that may take over its load
	// balancer: "namespace/name", or the name of a Gateway in the same namespace.
	AdoptedByAnnotation = "fulcrum.dev/adopted-by"
	// DryRunAnnotation is an annotation of a Gateway. With the value "true", the plan for the Gateway is reported but not
	// carried out. A load balancer that the Gateway has taken over is given back.
	DryRunAnnotation = "gateway.k8s.aws/dry-run"
)

// AdoptedTag is the key of a tag of a load balancer that was taken over and can be given back. Its value is AdoptedTagValue
// of the stack for which the load balancer was created.
const AdoptedTag = "elbv2.k8s.aws/adopted-from"

// AdoptedNamespacesTag is the key of a tag of a load balancer with AdoptedTag. Its value has the namespaces of the objects
// that the load balancer served, separated by spaces. The load balancer may be given back to objects in these namespaces. If
// the namespaces are too long for one tag, further tags have keys that end in -2, -3 and so on.
const AdoptedNamespacesTag = "elbv2.k8s.aws/adopted-namespaces"

// MigratedFromTag is the key of a tag of AWS resources of migrated objects. It informs users; the controller does not read
// it.
const MigratedFromTag = "gateway.k8s.aws/migrated-from"

// AdoptedTagValue returns the value of AdoptedTag for a stack, shortened to MaxTagValue.
func AdoptedTagValue(id model.StackID) string {
	return shorten(id.Kind.TagPrefix()+":"+id.String(), MaxTagValue)
}

// AdoptedTags returns the tags AdoptedTag and AdoptedNamespacesTag of a load balancer. id is the stack for which it was
// created, and namespaces are those of the objects that it served.
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

// AdoptedNamespaces returns the namespaces in tags that AdoptedTags has returned, in ascending order.
func AdoptedNamespaces(tags map[string]string) (out []string) {
	for k, v := range tags {
		if strings.HasPrefix(k, AdoptedNamespacesTag) {
			out = append(out, strings.Fields(v)...)
		}
	}
	slices.Sort(out)
	return out
}

// ParseAdoptedTag returns the stack that the value of an AdoptedTag names; false if it names none, or if it was shortened.
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

// Beginnings of the value of AdoptAnnotation, which name the kind of the object.
const (
	adoptIngressGroup = "ingress-group"
	adoptIngress      = "ingress"
	adoptService      = "service"
)

// ParseAdoptAnnotation returns the stack that the AdoptAnnotation of a Gateway names. namespace is the namespace of the
// Gateway, value the value of the annotation.
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

var errInvalidAdopt = errors.New("the value must be ingress-group/NAME, ingress/NAME, ingress/NAMESPACE/NAME, service/NAME or service/NAMESPACE/NAME")

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
