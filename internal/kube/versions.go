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

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Versions returns the version of the Gateway API that the CRD of each kind is of, by the name of the CRD; empty where
// it names none. CRDs that are not installed are left out.
func Versions(ctx context.Context, c metadata.Interface, kinds []cluster.Kind) (map[string]string, error) {
	ctx, done := context.WithTimeout(ctx, durations.Request)
	defer done()
	out := map[string]string{}
	for _, k := range kinds {
		typ, ok := cluster.TypeOf(k)
		if !ok {
			return nil, fmt.Errorf("kind %s cannot be read", k)
		}
		name := definitionOf(typ.GVK)
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

// definitionOf returns the name of the CRD of a kind of the Gateway API. The API machinery's guess for Gateway is
// "gatewaies".
func definitionOf(of schema.GroupVersionKind) string {
	plural := strings.ToLower(of.Kind) + "s"
	if strings.HasSuffix(of.Kind, "s") {
		plural = strings.ToLower(of.Kind) + "es"
	}
	return plural + "." + of.Group
}
