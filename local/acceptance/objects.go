package acceptance

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"strings"
	"text/template"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

//go:embed objects/*.yaml
var objectTemplates embed.FS

// templateValues are the values in the templates of objects.
type templateValues struct {
	Run, Class, Image, Scheme, Subnets string
	SubnetList                         []string
}

// apply applies the objects of the template objects/FILE.yaml, with the run's label. scheme is the scheme of the load
// balancer; "" if the template has none.
func (r *run) apply(ctx context.Context, file, scheme string) error {
	v := templateValues{Run: r.state.Run, Class: loadBalancerClass(r.state.Run), Image: r.Image, Scheme: scheme, Subnets: strings.Join(r.site.publicSubnets, ","), SubnetList: r.site.publicSubnets}
	t, err := template.ParseFS(objectTemplates, "objects/"+file+".yaml")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, v); err != nil {
		return err
	}
	list, err := manifest.Parse(text.Bytes())
	if err != nil {
		return err
	}
	for _, u := range list {
		u.SetLabels(map[string]string{runTag: r.state.Run})
	}
	return r.applier.Apply(ctx, list)
}

// installMissingCRDs installs the required CRDs that do not exist in the cluster. First it records them in the state.
func (r *run) installMissingCRDs(ctx context.Context) error {
	list, err := requiredCRDs()
	if err != nil {
		return err
	}
	var missing []*unstructured.Unstructured
	for _, u := range list {
		_, err := r.applier.Get(ctx, u)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, u)
			r.state.Definitions = append(r.state.Definitions, u.GetName())
		case err != nil:
			return fmt.Errorf("look for %s: %w", manifest.KindAndName(u), err)
		}
	}
	if err := r.saveState(); err != nil {
		return err
	}
	for _, u := range missing {
		u.SetLabels(map[string]string{runTag: r.state.Run})
	}
	return r.applier.Apply(ctx, missing)
}

// requiredCRDs returns the CRDs of Fulcrum and of the standard channel of Gateway API.
func requiredCRDs() ([]*unstructured.Unstructured, error) {
	out, err := world.GatewayAPICRDs("standard")
	if err != nil {
		return nil, err
	}
	documents, err := crd.Documents()
	if err != nil {
		return nil, err
	}
	ours, err := manifest.ParseAll(documents)
	return append(out, ours...), err
}

// prepare creates the objects that all parts use, and starts the controller.
func (r *run) prepare(ctx context.Context) error {
	r.proxy.setPart("prepare")
	r.printf("\nprepare: CRDs, namespace, pods, the controller")
	r.state.TaggedSecurityGroups = r.site.securityGroups
	if err := r.installMissingCRDs(ctx); err != nil {
		return err
	}
	if err := taggedResourcesOf(r).addClusterTag(ctx, r.state.TaggedSecurityGroups); err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": r.state.Run, "labels": map[string]any{runTag: r.state.Run}},
	}}
	if err := r.applier.Apply(ctx, []*unstructured.Unstructured{namespace}); err != nil {
		return err
	}
	if err := r.apply(ctx, "app", ""); err != nil {
		return err
	}
	if err := r.startController(ctx); err != nil {
		return err
	}
	return r.awaitSuccess(ctx, "two pods are ready", func(ctx context.Context) error {
		d, err := r.kube.AppsV1().Deployments(r.state.Run).Get(ctx, "echo", metav1.GetOptions{})
		if err == nil && (d.Status.ReadyReplicas != 2 || d.Status.UpdatedReplicas != 2) {
			err = fmt.Errorf("%d of 2 pods of %s are ready", d.Status.ReadyReplicas, r.Image)
		}
		return err
	})
}
