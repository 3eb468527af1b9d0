package kube

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Installation records which kinds an API server serves at the version that the controller reads.
type Installation struct {
	// ServedKinds are the served kinds that this process has the permission to list.
	ServedKinds map[cluster.Kind]bool
	// DeniedKinds has, for each served kind that this process has no permission to list, the error of the API server.
	DeniedKinds map[cluster.Kind]error
}

// ReadInstallation reads from an API server which of the kinds it serves at the version that the controller reads, and which
// of these kinds this process may list in namespace ("" for all namespaces). An informer without the permission to list
// would never sync.
func ReadInstallation(ctx context.Context, d discovery.ServerResourcesInterface, c client.Reader, namespace string, kinds []cluster.Kind) (Installation, error) {
	out := Installation{ServedKinds: map[cluster.Kind]bool{}, DeniedKinds: map[cluster.Kind]error{}}
	kindsByVersion := map[schema.GroupVersion]map[string]bool{}
	for _, k := range kinds {
		typ, ok := cluster.TypeOf(k)
		if !ok {
			return out, fmt.Errorf("kind %q is not in the table of kinds that the controller reads", k)
		}
		gv := typ.GVK.GroupVersion()
		if kindsByVersion[gv] == nil {
			found, err := servedKinds(d, gv)
			if err != nil {
				return out, err
			}
			kindsByVersion[gv] = found
		}
		if !kindsByVersion[gv][typ.GVK.Kind] {
			continue
		}
		opts := &client.ListOptions{Limit: 1}
		if typ.Namespaced {
			opts.Namespace = namespace
		}
		switch err := c.List(ctx, typ.NewList(), opts); {
		case err == nil:
			out.ServedKinds[k] = true
		case apierrors.IsForbidden(err):
			out.DeniedKinds[k] = err
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err): // the CRD was deleted after the kinds were read
		default:
			return out, fmt.Errorf("list %s: %w", k, err)
		}
	}
	return out, nil
}

// CheckServed returns an error if one of the kinds is not installed, or if the permission to list it is missing.
func (i Installation) CheckServed(kinds []cluster.Kind) error {
	var missing []string
	for _, k := range kinds {
		if err := i.DeniedKinds[k]; err != nil {
			return fmt.Errorf("no permission to list kind %s; apply config/rbac: %w", k, err)
		}
		if typ, _ := cluster.TypeOf(k); !i.ServedKinds[k] {
			missing = append(missing, fmt.Sprintf("%s of %s", k, typ.GVK.GroupVersion()))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not installed: %s", strings.Join(missing, ", "))
}

// servedKinds returns the kinds that an API server serves in a group and version; an empty map if it does not serve that
// version.
func servedKinds(d discovery.ServerResourcesInterface, gv schema.GroupVersion) (map[string]bool, error) {
	out := map[string]bool{}
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kinds of API group %s: %w", gv, err)
	}
	for _, r := range list.APIResources {
		out[r.Kind] = true
	}
	return out, nil
}
