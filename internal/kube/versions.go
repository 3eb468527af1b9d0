package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Versions returns the version of the Gateway API that the CRD of each kind is of, by the name of the CRD; empty where
// it names none. CRDs that are not installed are left out.
func Versions(ctx context.Context, c metadata.Interface, kinds []cluster.Kind) (map[string]string, error) {
	out := map[string]string{}
	for _, k := range kinds {
		typ, ok := cluster.TypeOf(k)
		if !ok {
			return nil, fmt.Errorf("kind %s cannot be read", k)
		}
		plural, _ := meta.UnsafeGuessKindToResource(typ.GVK)
		name := plural.Resource + "." + plural.Group
		crd, err := c.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
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
