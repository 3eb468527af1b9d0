package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// TranslatedAnnotation is an annotation with the kind and field to which it is translated. If To is empty, the annotation is
// not translated, and a note gives the reason.
type TranslatedAnnotation struct {
	Object finding.Ref
	Key    string
	To     string
}

// listAnnotations appends the known annotations of the members, and of the Services to which they forward, to Annotations.
func (g *generator) listAnnotations() {
	annotations := map[finding.Ref]map[string]string{}
	for _, m := range g.Members {
		annotations[m] = g.ingresses[m].Annotations
	}
	for service, uses := range g.targetUses {
		obj, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, service.Namespace, service.Name)
		if ok && slices.ContainsFunc(uses, func(u targetUse) bool { return u.generator == g }) {
			annotations[service] = obj.Annotations
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(annotations), finding.Ref.Compare) {
		for _, key := range slices.Sorted(maps.Keys(annotations[ref])) {
			row, known := settings.IngressAnnotations.Row(key)
			if known && (row.Service || ref.Kind == "Ingress") {
				to := row.Counterpart
				if isFrontendAnnotation(row.Key) {
					to = g.frontendCounterpart(row)
				}
				g.Annotations = append(g.Annotations, TranslatedAnnotation{ref, key, to})
			}
		}
	}
}

// untranslatedAnnotations maps each annotation without a counterpart to the advice for users. The keys are without
// settings.Prefix. All these annotations request certificates from ACM.
var untranslatedAnnotations = map[string]string{
	"create-acm-cert": "set the ARN of the requested certificate in the LoadBalancerConfiguration and in certificate-arn of the Ingress, and remove create-acm-cert before the Ingress is deleted",
	"acm-pca-arn":     "set the ARN of the requested certificate in the LoadBalancerConfiguration",
}

// toolPrefixes are the prefixes of annotations that tools such as kubectl and Helm write for themselves, and of the
// annotation with the class.
var toolPrefixes = []string{"kubectl.kubernetes.io/", "meta.helm.sh/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "deployment.kubernetes.io/", cluster.ClassAnnotation}

// otherAnnotations returns the keys of annotations for other programs, such as external-dns and cert-manager. If there are
// more than ten, the last element of the result is the number of the others, as text.
func otherAnnotations(annotations map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, settings.Prefix) || slices.ContainsFunc(toolPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		out = append(out, key)
	}
	const maxNamed = 10
	if more := len(out) - maxNamed; more > 0 {
		out = append(out[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return out
}

// addUntranslatedNotes adds notes about annotations of members that have no counterpart or belong to other programs, and
// about TLS Secrets whose certificates are not imported for Gateways.
func (g *generator) addUntranslatedNotes() {
	for _, m := range g.Members {
		ing := g.ingresses[m]
		requestsCertificate := slices.ContainsFunc(g.IngressStack.Certificates, func(c model.ManagedCertificate) bool { return c.Import == nil && c.Member == m })
		for key, fix := range untranslatedAnnotations {
			if value, ok := ing.Annotations[settings.Prefix+key]; ok && value != "false" && requestsCertificate {
				g.addNote(Lost, m, settings.Prefix+key, "the controller requests no certificates from ACM for Gateways", fix)
			}
		}
		if others := otherAnnotations(ing.Annotations); len(others) > 0 {
			g.addNote(Differs, m, "metadata.annotations", "annotations of other programs are not copied: "+strings.Join(others, ", "),
				"add annotations that are still needed to the Gateway or to the routes, as the documentation of these programs describes")
		}
		for i, t := range ing.Spec.TLS {
			if t.SecretName != "" && g.opt.ImportSecrets && !g.opt.ImportForGateways {
				g.addNote(Lost, m, fmt.Sprintf("spec.tls[%d].secretName", i), "the controller imports certificates of TLS Secrets for Ingresses, but not for Gateways", "add gateway to --import-tls-secrets")
			}
		}
	}
}
