package migrate

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// TestCommandsToCopyAreQuoted checks that names and flags in the commands that users copy are quoted for a shell.
func TestCommandsToCopyAreQuoted(t *testing.T) {
	t.Parallel()
	s := commandLines{program: "fulcrum", fulcrumFlags: []string{"--kubeconfig=/a b/it's"}}
	other := commandLines{program: "fulcrum", fulcrumFlags: []string{"--context=b"}, kubectlFlags: []string{"--context=b"}}
	for name, tc := range map[string]struct{ got, want string }{
		"a flag":             {s.fulcrumLine("plan"), `fulcrum plan '--kubeconfig=/a b/it'\''s'`},
		"a name":             {s.kubectlLine("get", "x;rm -rf $(y)"), `kubectl get 'x;rm -rf $(y)'`},
		"manifests":          {other.nextStepAfterWrite("a b", false), "next: read them, then kubectl apply -R -f 'a b' --context=b"},
		"manifests in place": {other.nextStepAfterWrite("out", true), "next: read them, then kubectl apply -R -f out --context=b; fulcrum migrate status --context=b shows what follows"},
		"beside it":          {(commandLines{program: "fulcrum"}).translateCommand(model.StackID{Kind: model.Ingress, Namespace: "a", Name: "b"}, false), "fulcrum migrate --from-cluster --namespaces=a --ingress-name=b"},
		"a group":            {s.translateCommand(model.StackID{Kind: model.Ingress, Name: "a|b"}, true), `fulcrum migrate --from-cluster --in-place '--group=a|b' '--kubeconfig=/a b/it'\''s'`},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %s, want %s", name, tc.got, tc.want)
		}
	}
}

// TestReleaseCommandDeletesOncePerNamespace checks that the release command has one "kubectl delete" per namespace.
func TestReleaseCommandDeletesOncePerNamespace(t *testing.T) {
	t.Parallel()
	out := Status{State: handover.StateAdopted, Members: []output.Object{{Kind: "Ingress", Namespace: "b", Name: "1"}, {Kind: "Ingress", Namespace: "a", Name: "2"}, {Kind: "Ingress", Namespace: "b", Name: "3"}}}
	const want = "kubectl delete ingress -n b 1 3 && kubectl delete ingress -n a 2"
	if got := (commandLines{}).releaseCommand(&out); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	out.Members = []output.Object{{Kind: "Service", Namespace: "a", Name: "x"}}
	if got := (commandLines{}).releaseCommand(&out); strings.Contains(got, "delete") || strings.Count(got, " && ") != 1 {
		t.Error(got)
	}
}
