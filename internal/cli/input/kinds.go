package input

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// shortNames are the short names of kinds in kubectl.
var shortNames = map[string]cluster.Kind{
	"ing": cluster.KindIngress, "svc": cluster.KindService, "gw": cluster.KindGateway, "tgb": cluster.KindBinding,
	"gc": cluster.KindGatewayClass, "ns": cluster.KindNamespace,
}

// shownKinds returns the kinds of objects that commands suggest for the command line, and whose events they show.
func shownKinds() []cluster.Kind {
	return slices.Concat([]cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindGateway, cluster.KindListenerSet},
		cluster.RouteKinds, []cluster.Kind{cluster.KindBinding, cluster.KindGlobalAccelerator})
}

// pluralName returns the name of the resource of a kind in the Kubernetes API, such as "ingresses".
func pluralName(k cluster.Kind) string {
	name := strings.ToLower(string(k))
	if strings.HasSuffix(name, "s") {
		return name + "es"
	}
	return name + "s"
}

// parseObject parses KIND/NAME. It accepts a kind in the same spellings as kubectl. The reference has no namespace.
func parseObject(arg string) (cluster.Ref, error) {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return cluster.Ref{}, fmt.Errorf("%q does not name an object; write KIND/NAME, for example ingress/web", arg)
	}
	k, err := parseKind(kind)
	return cluster.Ref{Kind: k, Name: name}, err
}

// parseKind parses the name of a kind, the plural of its resource or its short name, in any case.
func parseKind(word string) (cluster.Kind, error) {
	name, _, _ := strings.Cut(strings.ToLower(word), ".") // resources may be written with their API group
	if k, ok := shortNames[name]; ok {
		return k, nil
	}
	var known []string
	for _, t := range cluster.Types() {
		if name == strings.ToLower(string(t.Kind)) || name == pluralName(t.Kind) {
			return t.Kind, nil
		}
		known = append(known, strings.ToLower(string(t.Kind)))
	}
	return "", fmt.Errorf("kind %q is not known%s; use one of %s", word, finding.SpellingHint(name, known), strings.ToLower(JoinKinds(shownKinds())))
}

// JoinKinds joins kinds by commas.
func JoinKinds(kinds []cluster.Kind) string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return strings.Join(out, ", ")
}
