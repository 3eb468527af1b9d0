package kube

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// crdResource is the API resource of CRDs.
var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// BundleVersions returns the versions of the Gateway API to which the CRDs of kinds belong, by the name of the CRD. The
// version is empty if the CRD has no annotation with its version. CRDs that are not installed are missing in the result.
func BundleVersions(ctx context.Context, c metadata.Interface, kinds []cluster.Kind) (map[string]string, error) {
	ctx, done := context.WithTimeout(ctx, durations.RequestTimeout)
	defer done()
	out := map[string]string{}
	for _, k := range kinds {
		typ, ok := cluster.TypeOf(k)
		if !ok {
			return nil, fmt.Errorf("kind %q is not in the table of kinds that the controller reads", k)
		}
		name := crdName(typ.GVK)
		crd, err := c.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read CRD %s: %w", name, err)
		default:
			out[name] = crd.Annotations[consts.BundleVersionAnnotation]
		}
	}
	return out, nil
}

// crdName returns the name of the CRD of a kind. It does not use meta.UnsafeGuessKindToResource, which returns "gatewaies"
// for Gateway.
func crdName(gvk schema.GroupVersionKind) string {
	plural := strings.ToLower(gvk.Kind) + "s"
	if strings.HasSuffix(gvk.Kind, "s") {
		plural = strings.ToLower(gvk.Kind) + "es"
	}
	return plural + "." + gvk.Group
}
