package serving

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// createExemption creates webhook configurations whose webhooks have a match condition exemptionCondition with the given
// expression.
func (a *fakeAPIServer) createExemption(expression string) {
	webhook := func(service string) map[string]any {
		return map[string]any{
			"name":         service + ".test",
			"clientConfig": map[string]any{"service": map[string]any{"name": service, "namespace": "ns"}},
			"matchConditions": []any{
				map[string]any{"name": "changes-the-spec", "expression": "true"},
				map[string]any{"name": exemptionCondition, "expression": expression},
			},
		}
	}
	for _, path := range []string{mutatingPath, validatingPath} {
		a.put(path, map[string]any{"metadata": map[string]any{"name": "hooks"}, "webhooks": []any{webhook("svc"), webhook("other")}})
	}
}

func (a *fakeAPIServer) matchExpression(path string, webhook, i int) string {
	w := a.get(path)["webhooks"].([]any)[webhook].(map[string]any)
	return w["matchConditions"].([]any)[i].(map[string]any)["expression"].(string)
}

func TestExemptionNamesTheCurrentServiceAccount(t *testing.T) {
	const shipped = "request.userInfo.username != 'system:serviceaccount:kube-system:fulcrum'"
	for name, c := range map[string]struct{ user, before, after string }{
		"the shipped account": {"system:serviceaccount:kube-system:fulcrum", shipped, shipped},
		"another account":     {"system:serviceaccount:lb:lbc", shipped, `request.userInfo.username != "system:serviceaccount:lb:lbc"`},
		"named beside others": {
			"system:serviceaccount:lb:lbc",
			"!(request.userInfo.username in ['system:serviceaccount:lb:lbc', 'robot'])", "!(request.userInfo.username in ['system:serviceaccount:lb:lbc', 'robot'])",
		},
		"a part of the name is another name": {
			"system:serviceaccount:lb:lbc", "request.userInfo.username != 'system:serviceaccount:lb:lbc-2'",
			`request.userInfo.username != "system:serviceaccount:lb:lbc"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newFakeAPIServer(t)
			a.createExemption(c.before)
			_, now := newTestClock()
			k := a.newKeeper(now)
			k.SelfSubjectReviews = fixedUser{user: c.user}
			for range 2 {
				a.mustSync(k)
			}
			for _, path := range []string{mutatingPath, validatingPath} {
				got := []string{a.matchExpression(path, 0, 0), a.matchExpression(path, 0, 1), a.matchExpression(path, 1, 1)}
				if diff := cmp.Diff([]string{"true", c.after, c.before}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
				if !isTrusted(a.bundle(path, 0), k.Certificate(), startTime) {
					t.Errorf("%s does not trust the certificate", path)
				}
			}
			version := a.version
			a.mustSync(k)
			if a.version != version {
				t.Error("something is written though nothing has changed")
			}
		})
	}
}

func TestExemptionStaysIfTheUserIsUnknown(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectreviews"}, "", errors.New("no"))
	for name, c := range map[string]struct {
		err      error
		rights   string // missing permissions
		reported bool
	}{
		"no right to ask":   {err: forbidden},
		"no answer":         {err: errors.New("no answer"), reported: true},
		"no right to write": {rights: "webhookconfigurations"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newFakeAPIServer(t)
			a.createExemption("shipped")
			a.forbiddenPath = c.rights
			_, now := newTestClock()
			k := a.newKeeper(now)
			k.SelfSubjectReviews = fixedUser{user: "robot", err: c.err}
			if err := k.Sync(t.Context()); (err != nil) != c.reported {
				t.Errorf("got %v", err)
			}
			if k.Certificate() == nil {
				t.Error("there is no certificate")
			}
			if got := a.matchExpression(mutatingPath, 0, 1); got != "shipped" {
				t.Errorf("the condition has become %s", got)
			}
		})
	}
}

// fixedUser returns a fixed user name or an error.
type fixedUser struct {
	authenticationclient.SelfSubjectReviewInterface
	user string
	err  error
}

// Create implements authenticationclient.SelfSubjectReviewInterface.
func (s fixedUser) Create(context.Context, *authenticationv1.SelfSubjectReview, metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error) {
	out := &authenticationv1.SelfSubjectReview{}
	out.Status.UserInfo.Username = s.user
	return out, s.err
}
