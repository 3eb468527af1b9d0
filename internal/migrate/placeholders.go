package migrate

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// firstNodePort and lastNodePort are the range of placeholders for node ports, which the API server would assign. The range
// is below the default range of node ports in Kubernetes, 30000 to 32767.
const firstNodePort, lastNodePort = 1, 1023

// addPlaceholders adds values and objects to a store that the translation needs, but whose content does not affect the
// result. It adds node ports and labels of Namespaces, which the API server would set. It also adds Secrets of OIDC clients,
// so that the real Secrets need not be read. labels are the labels of these Secrets.
func addPlaceholders(store *cluster.Memory, labels map[string]string) error {
	number := int32(firstNodePort)
	namespaces := map[string]bool{}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService} {
		for _, obj := range store.All(kind) {
			namespaces[obj.GetNamespace()] = true
			if err := addOIDCSecret(store, obj, labels); err != nil {
				return err
			}
			svc, ok := obj.(*corev1.Service)
			if !ok || svc.Spec.Type != corev1.ServiceTypeNodePort && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
				continue
			}
			svc = svc.DeepCopy()
			for i := range svc.Spec.Ports {
				if p := &svc.Spec.Ports[i]; p.NodePort == 0 {
					p.NodePort = number
					number = min(number+1, lastNodePort)
				}
			}
			if err := store.Put(svc); err != nil {
				return err
			}
		}
	}
	for name := range namespaces {
		obj, err := store.Get(cluster.Ref{Kind: cluster.KindNamespace, Name: name})
		ns, ok := obj.(*corev1.Namespace)
		switch {
		case err != nil:
			return err
		case !ok:
			ns = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		case ns.Labels[corev1.LabelMetadataName] == name:
			continue
		}
		ns = ns.DeepCopy()
		if ns.Labels == nil {
			ns.Labels = map[string]string{}
		}
		ns.Labels[corev1.LabelMetadataName] = name
		if err := store.Put(ns); err != nil {
			return err
		}
	}
	return nil
}

// addMissingClasses adds the IngressClasses that Ingresses name and that the store lacks. It returns the Ingresses whose
// class was missing.
func addMissingClasses(store *cluster.Memory) (ingresses []finding.Ref, err error) {
	missing := map[string]bool{}
	for _, obj := range store.All(cluster.KindIngress) {
		ing := obj.(*networkingv1.Ingress)
		name := ing.Spec.IngressClassName
		if name == nil || ing.Annotations[cluster.ClassAnnotation] != "" {
			continue
		}
		have, err := store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: *name})
		if err != nil {
			return nil, err
		}
		if have != nil && !missing[*name] {
			continue
		}
		ingresses, missing[*name] = append(ingresses, cluster.RefOf(obj)), true
		if have == nil {
			err = store.Put(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: *name}, Spec: networkingv1.IngressClassSpec{Controller: cluster.IngressControllerName}})
		}
		if err != nil {
			return nil, err
		}
	}
	return ingresses, nil
}

// addOIDCSecret adds a placeholder for the Secret of the OIDC client that an Ingress or Service names, if the store lacks
// the Secret.
func addOIDCSecret(store *cluster.Memory, obj cluster.Object, labels map[string]string) error {
	idp := settings.ParseService(obj.GetAnnotations(), cluster.RefOf(obj)).Auth.OIDC
	if !idp.Set {
		return nil
	}
	if have, err := store.Get(cluster.Ref{Kind: cluster.KindSecret, Namespace: obj.GetNamespace(), Name: idp.Value.SecretName}); err != nil || have != nil {
		return err
	}
	return store.Put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: idp.Value.SecretName, Labels: labels},
		Data:       map[string][]byte{"clientID": []byte("-"), "clientSecret": []byte("-")},
	})
}
