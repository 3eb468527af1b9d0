package serving

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exemption is the match condition that exempts the controller's own writes from a webhook, so
// that it converges while no webhook answers.
const exemption = "not-by-the-controller"

// currentUser asks the API server which user the caller is.
func (k *Keeper) currentUser(ctx context.Context) (string, error) {
	out, err := k.Users.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return out.Status.UserInfo.Username, nil
}

// Exempt sets the match conditions of that name to the user of this process, whatever service
// account it runs under. Without the right to, they stay.
func (k *Keeper) Exempt(ctx context.Context) error {
	if k.Secrets == nil || k.Users == nil {
		return nil // outside a cluster, where the user is a person
	}
	user, err := k.currentUser(ctx)
	if apierrors.IsForbidden(err) {
		k.logOnce("user", "user of the controller unknown: no right to create a SelfSubjectReview; the match conditions of the webhooks stay as they are", "configuration", k.Configuration)
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask the API server for the own user: %w", err)
	}
	hooks, err := k.readHooks(ctx)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		err := k.exempt(ctx, h, user)
		if apierrors.IsForbidden(err) {
			k.logBundleOnce()
			continue
		}
		if err != nil {
			return fmt.Errorf("write the controller's user into the webhook configuration: %w", err)
		}
	}
	return nil
}

// exempt changes the conditions that name another user.
func (k *Keeper) exempt(ctx context.Context, h hook, user string) error {
	var changes []change
	for i, w := range h.webhooks {
		for j, c := range w.conditions {
			if w.usesService(k.Namespace, k.Service) && c.Name == exemption && !namesUser(c, user) {
				path := fmt.Sprintf("/webhooks/%d/matchConditions/%d/expression", i, j)
				changes = append(changes, change{"replace", path, "request.userInfo.username != " + strconv.Quote(user)})
			}
		}
	}
	return k.write(ctx, h, changes)
}

// namesUser reports whether a condition names the user, perhaps beside others.
func namesUser(c admissionv1.MatchCondition, user string) bool {
	return strings.Contains(c.Expression, strconv.Quote(user)) || strings.Contains(c.Expression, "'"+user+"'")
}
