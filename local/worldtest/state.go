package worldtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// objectCleaner reads and deletes the objects of a cluster. With it, Pool restores the state of a cluster after a test.
type objectCleaner struct {
	w        *world.World
	metadata metadata.Interface
}

func newObjectCleaner(w *world.World) (*objectCleaner, error) {
	client, err := metadata.NewForConfig(w.RESTConfig())
	if err != nil {
		return nil, err
	}
	return &objectCleaner{w: w, metadata: client}, nil
}

// object identifies an object of a cluster, and contains the data that objectDifference and the clean-up need.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
	hasOwner        bool     // whether the object has owner references
	finalizers      []string // only finalizers of load balancer controllers
	editVersion     string   // changes when the object is edited or created again
}

func (o object) String() string {
	if o.namespace == "" {
		return o.resource.Resource + " " + o.name
	}
	return o.resource.Resource + " " + o.namespace + "/" + o.name
}

// resources returns the resources whose objects are compared: all that can be listed and deleted, except Events and
// Endpoints. Endpoints are omitted because EndpointSlices contain the same data.
func (k *objectCleaner) resources() (map[schema.GroupVersionResource]struct{}, error) {
	lists, err := k.w.KubeClient().Discovery().ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	out, err := discovery.GroupVersionResources(lists)
	maps.DeleteFunc(out, func(r schema.GroupVersionResource, _ struct{}) bool {
		return r.Resource == "events" || r.Resource == "endpoints"
	})
	return out, err
}

// isHeartbeatLease reports whether a Lease is the heartbeat of a node or of an API server, which creates the Lease again if
// it is deleted.
func isHeartbeatLease(namespace, name string) bool {
	return namespace == corev1.NamespaceNodeLease || namespace == metav1.NamespaceSystem && strings.HasPrefix(name, "apiserver-")
}

// objects returns the objects of resources, except heartbeat Leases, by object.String.
func (k *objectCleaner) objects(ctx context.Context, resources map[schema.GroupVersionResource]struct{}) (map[string]object, error) {
	nodes, err := k.nodeSpecs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]object{}
	for resource := range resources {
		list, err := k.metadata.Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // its CRD has just been deleted
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			if resource.Resource == "leases" && isHeartbeatLease(item.Namespace, item.Name) {
				continue
			}
			o := object{resource: resource, namespace: item.Namespace, name: item.Name, hasOwner: len(item.OwnerReferences) > 0}
			for _, f := range item.Finalizers {
				if strings.Contains(f, ".k8s.aws/") || strings.Contains(f, ".fulcrum.dev/") {
					o.finalizers = append(o.finalizers, f)
				}
			}
			o.editVersion = fmt.Sprint(item.UID, item.Labels, item.Finalizers, item.Generation)
			if resource.Resource == "nodes" {
				o.editVersion += nodes[item.Name]
			}
			out[o.String()] = o
		}
	}
	return out, nil
}

// nodeSpecs returns the specs of the nodes as text, by name. They are needed because the generation of a Node does not change
// with its spec.
func (k *objectCleaner) nodeSpecs(ctx context.Context) (map[string]string, error) {
	list, err := k.w.KubeClient().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, n := range list.Items {
		out[n.Name] = n.Spec.String()
	}
	return out, nil
}

// delete deletes an object without a grace period. It does not delete objects that Kubernetes deletes: objects with an
// owner, except pods, and service accounts and ConfigMaps in namespaces that are not in before.
func (k *objectCleaner) delete(ctx context.Context, o object, before map[string]object) error {
	_, namespaceRemains := before["namespaces "+o.namespace]
	isDefaultKind := o.resource.Resource == "serviceaccounts" || o.resource.Resource == "configmaps"
	if o.hasOwner && !o.isPod() || o.namespace != "" && !namespaceRemains && isDefaultKind {
		return nil
	}
	now, background := int64(0), metav1.DeletePropagationBackground
	err := k.metadata.Resource(o.resource).Namespace(o.namespace).Delete(ctx, o.name,
		metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deleteEvents deletes all Events in the namespaces in before, because the next test may create objects with the same names.
func (k *objectCleaner) deleteEvents(ctx context.Context, before map[string]object) error {
	var errs []error
	for _, o := range before {
		if o.resource.Resource == "namespaces" {
			errs = append(errs, k.w.KubeClient().CoreV1().Events(o.name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		}
	}
	return errors.Join(errs...)
}

// allObjects returns the objects of all resources, by object.String.
func (k *objectCleaner) allObjects(ctx context.Context) (map[string]object, error) {
	resources, err := k.resources()
	if err != nil {
		return nil, err
	}
	return k.objects(ctx, resources)
}

// objectDifference returns the objects that were added, removed or changed, and an error that lists them. The error is nil
// if there are none. Webhook configurations come first, because their webhooks could reject the deletion of other objects.
func objectDifference(before, now map[string]object) (objects []object, err error) {
	var texts []string
	for name, o := range now {
		switch was, ok := before[name]; {
		case !ok:
			objects = append(objects, o)
			texts = append(texts, name+" still exists")
		case was.editVersion != o.editVersion:
			objects = append(objects, o)
			texts = append(texts, fmt.Sprintf("%s was %s and is %s", name, was.editVersion, o.editVersion))
		}
	}
	for name, o := range before {
		if _, ok := now[name]; !ok {
			objects = append(objects, o)
			texts = append(texts, name+" is missing")
		}
	}
	if len(objects) == 0 {
		return nil, nil
	}
	slices.SortFunc(objects, func(a, b object) int {
		return cmp.Or(strings.Compare(a.sortKey(), b.sortKey()), strings.Compare(a.String(), b.String()))
	})
	slices.Sort(texts)
	return objects, errors.New(strings.Join(texts, "\n"))
}

func (o object) isPod() bool { return o.resource.Resource == "pods" }

func (o object) sortKey() string {
	if strings.HasSuffix(o.resource.Resource, "webhookconfigurations") {
		return "0"
	}
	return "1"
}
