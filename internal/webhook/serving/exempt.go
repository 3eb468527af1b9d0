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

	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// exemptionCondition is the name of the match condition that exempts writes of the controller from a webhook, so that the
// controller can write while no webhook answers.
const exemptionCondition = "not-by-the-controller"

// currentUser returns the user name with which the API server authenticates this process.
func (k *CertificateKeeper) currentUser(ctx context.Context) (string, error) {
	out, err := k.SelfSubjectReviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return out.Status.UserInfo.Username, nil
}

// ExemptController writes the user of this process into the match conditions with the name exemptionCondition. Without
// permission to write webhook configurations, it leaves the match conditions unchanged.
func (k *CertificateKeeper) ExemptController(ctx context.Context) error {
	if k.Secrets == nil || k.SelfSubjectReviews == nil {
		return nil // outside a cluster, the user of this process is usually a person
	}
	user, err := k.currentUser(ctx)
	if apierrors.IsForbidden(err) {
		k.logOnce("user", "user of the controller unknown: no permission to create a SelfSubjectReview; the match conditions of the webhooks are not changed", "configuration", k.Configuration)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the user of this process from the API server: %w", err)
	}
	configurations, err := k.readConfigurations(ctx)
	if err != nil {
		return err
	}
	for _, configuration := range configurations {
		err := k.exemptControllerIn(ctx, configuration, user)
		if apierrors.IsForbidden(err) {
			k.logMissingRightOnce()
			continue
		}
		if err != nil {
			return fmt.Errorf("write the controller's user into the webhook configuration: %w", err)
		}
	}
	return nil
}

// exemptControllerIn writes the user into the match conditions of one webhook configuration, unless they already name the
// user.
func (k *CertificateKeeper) exemptControllerIn(ctx context.Context, configuration webhookConfiguration, user string) error {
	var changes []webhook.PatchOperation
	for i, w := range configuration.webhooks {
		for j, c := range w.conditions {
			if w.usesService(k.Namespace, k.Service) && c.Name == exemptionCondition && !containsUser(c, user) {
				path := fmt.Sprintf("/webhooks/%d/matchConditions/%d/expression", i, j)
				changes = append(changes, webhook.PatchOperation{Op: "replace", Path: path, Value: "request.userInfo.username != " + strconv.Quote(user)})
			}
		}
	}
	return k.patch(ctx, configuration, changes)
}

// containsUser reports whether a condition contains the user name.
func containsUser(c admissionv1.MatchCondition, user string) bool {
	return strings.Contains(c.Expression, strconv.Quote(user)) || strings.Contains(c.Expression, "'"+user+"'")
}
