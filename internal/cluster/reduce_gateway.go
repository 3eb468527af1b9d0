package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// gatewayAnnotation reports whether an annotation of a Gateway is read: the controller's own, and what may be a
// mistyped one.
func gatewayAnnotation(key string) bool {
	return key == naming.DryRunAnnotation || key == naming.AdoptAnnotation || key == GatewayPlanAnnotation || strings.HasPrefix(key, AddonAnnotationPrefix)
}

// reduceOptional is Reduce for the optional kinds, and reports whether an object is of one. Their labels are never read,
// and of their annotations only those that the controller shares with users or with other controllers. Status stays: others
// read it, and what is to be written depends on it.
func reduceOptional(obj Object) bool {
	kind, _ := KindOf(obj)
	if typ, ok := TypeOf(kind); !ok || !typ.Optional() {
		return false
	}
	var kept map[string]string
	for key, v := range obj.GetAnnotations() {
		var read bool
		switch obj.(type) {
		case *gwv1.Gateway:
			read = gatewayAnnotation(key) || len(v) > largeAnnotation && key != corev1.LastAppliedConfigAnnotation
		case *aga.GlobalAccelerator:
			read = strings.HasPrefix(key, ownPrefix)
		case *gwv1.GatewayClass:
			read = key == ProcessedConfigAnnotation || key == ProcessedConfigAtAnnotation
		}
		if !read {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = v
	}
	obj.SetAnnotations(kept)
	obj.SetLabels(nil)
	obj.SetOwnerReferences(nil)
	obj.SetSelfLink("")
	obj.SetGenerateName("")
	return true
}
