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

// kubernetesState reads what a cluster has, for one test to leave it as the next one expects it.
type kubernetesState struct {
	w        *world.World
	metadata metadata.Interface
}

func newKubernetesState(w *world.World) (*kubernetesState, error) {
	client, err := metadata.NewForConfig(w.RESTConfig())
	if err != nil {
		return nil, err
	}
	return &kubernetesState{w: w, metadata: client}, nil
}

// object is an object of a cluster, without its content.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
	owned           bool     // goes with another one
	finalizers      []string // without those of Kubernetes
	form            string   // what differs after an edit
}

func (o object) String() string {
	if o.namespace == "" {
		return o.resource.Resource + " " + o.name
	}
	return o.resource.Resource + " " + o.namespace + "/" + o.name
}

// resources are those whose objects are the state of a cluster. Events are not, and Endpoints say what EndpointSlices do.
func (k *kubernetesState) resources() (map[schema.GroupVersionResource]struct{}, error) {
	lists, err := k.w.Kube().Discovery().ServerPreferredResources()
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

// sign reports whether a lease shows that a node or an API server lives. A restart makes it again.
func sign(namespace, name string) bool {
	return namespace == corev1.NamespaceNodeLease || namespace == metav1.NamespaceSystem && strings.HasPrefix(name, "apiserver-")
}

// objects lists the objects of resources, but for the leases that are signs of life.
func (k *kubernetesState) objects(ctx context.Context, resources map[schema.GroupVersionResource]struct{}) (map[string]object, error) {
	nodes, err := k.nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]object{}
	for resource := range resources {
		list, err := k.metadata.Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // its definition has just been deleted
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			if resource.Resource == "leases" && sign(item.Namespace, item.Name) {
				continue
			}
			o := object{resource: resource, namespace: item.Namespace, name: item.Name, owned: len(item.OwnerReferences) > 0}
			for _, f := range item.Finalizers {
				if strings.Contains(f, ".k8s.aws/") || strings.Contains(f, ".fulcrum.dev/") {
					o.finalizers = append(o.finalizers, f)
				}
			}
			o.form = fmt.Sprint(item.UID, item.Labels, item.Finalizers, item.Generation)
			if resource.Resource == "nodes" {
				o.form += nodes[item.Name]
			}
			out[o.String()] = o
		}
	}
	return out, nil
}

// nodes are the specifications of nodes, whose generation does not count their edits.
func (k *kubernetesState) nodes(ctx context.Context) (map[string]string, error) {
	list, err := k.w.Kube().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, n := range list.Items {
		out[n.Name] = n.Spec.String()
	}
	return out, nil
}

// delete removes an object at once. One with an owner goes with it, and what Kubernetes makes in each namespace with that.
func (k *kubernetesState) delete(ctx context.Context, o object, before map[string]object) error {
	_, kept := before["namespaces "+o.namespace]
	made := o.resource.Resource == "serviceaccounts" || o.resource.Resource == "configmaps"
	if o.owned && !o.isPod() || o.namespace != "" && !kept && made {
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

// deleteEvents forgets what was reported about objects whose names the next test may use, too.
func (k *kubernetesState) deleteEvents(ctx context.Context, before map[string]object) error {
	var errs []error
	for _, o := range before {
		if o.resource.Resource == "namespaces" {
			errs = append(errs, k.w.Kube().CoreV1().Events(o.name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		}
	}
	return errors.Join(errs...)
}

// all lists the objects of all resources.
func (k *kubernetesState) all(ctx context.Context) (map[string]object, error) {
	resources, err := k.resources()
	if err != nil {
		return nil, err
	}
	return k.objects(ctx, resources)
}

// difference lists what is there and was not before, what was and is not, and what is another one. Webhooks are the
// first, as they could refuse that the others are deleted.
func difference(before, now map[string]object) (objects []object, err error) {
	var texts []string
	for name, o := range now {
		switch was, ok := before[name]; {
		case !ok:
			objects = append(objects, o)
			texts = append(texts, name+" is left")
		case was.form != o.form:
			objects = append(objects, o)
			texts = append(texts, fmt.Sprintf("%s was %s and is %s", name, was.form, o.form))
		}
	}
	for name, o := range before {
		if _, ok := now[name]; !ok {
			objects = append(objects, o)
			texts = append(texts, name+" is gone")
		}
	}
	if len(objects) == 0 {
		return nil, nil
	}
	slices.SortFunc(objects, func(a, b object) int {
		return cmp.Or(strings.Compare(a.rank(), b.rank()), strings.Compare(a.String(), b.String()))
	})
	slices.Sort(texts)
	return objects, errors.New(strings.Join(texts, "\n"))
}

func (o object) isPod() bool { return o.resource.Resource == "pods" }

func (o object) rank() string {
	if strings.HasSuffix(o.resource.Resource, "webhookconfigurations") {
		return "0"
	}
	return "1"
}
