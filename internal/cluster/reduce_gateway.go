package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// isRelevantGatewayAnnotation reports whether the controller reads an annotation of a Gateway, or compares its value before
// it writes the annotation.
func isRelevantGatewayAnnotation(key string) bool {
	return key == naming.DryRunAnnotation || key == naming.AdoptAnnotation || key == GatewayPlanAnnotation || strings.HasPrefix(key, AddonAnnotationPrefix)
}

// reduceOptionalKind is Reduce for the optional kinds (Type.Optional). It returns false and changes nothing if the kind of
// obj is not optional. It removes all labels, and retains only annotations that the controller shares with users or with
// other controllers. It retains the status, because the controller compares the status before it writes it.
func reduceOptionalKind(obj Object) bool {
	kind, _ := KindOf(obj)
	if typ, ok := TypeOf(kind); !ok || !typ.Optional() {
		return false
	}
	var kept map[string]string
	for key, v := range obj.GetAnnotations() {
		var read bool
		switch obj.(type) {
		case *gwv1.Gateway:
			read = isRelevantGatewayAnnotation(key) || len(v) > largeAnnotationBytes && key != corev1.LastAppliedConfigAnnotation
		case *aga.GlobalAccelerator:
			read = strings.HasPrefix(key, fulcrumAnnotationPrefix)
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
