package plan

import "github.com/fulcrum-lb/fulcrum/internal/model"

// AWS never returns the client secret of an action that authenticates by OpenID Connect. So it is
// remembered which one each listener and rule was given, as a mark; where nothing is remembered, as
// after another controller, the live secret is taken to be the desired one.

// SecretMark is the mark of the client secret among the actions of a listener or rule with the ARN;
// empty if there is none, or if the one that is live is meant.
func SecretMark(arn string, actions []model.Action) string {
	for _, a := range actions {
		if oidc, ok := a.(model.AuthOIDC); ok {
			return oidc.ClientSecret.Mark(arn)
		}
	}
	return ""
}

// otherSecret reports whether a live listener or rule was given another client secret than the desired one.
func (d *draft) otherSecret(arn string, want []model.Action) bool {
	mark, given := SecretMark(arn, want), d.have.Facts.Secrets[arn]
	return mark != "" && given != "" && mark != given
}

// assumeSecret notes what a live listener or rule that equals the desired state is taken to have.
func (d *draft) assumeSecret(arn string, want []model.Action) {
	mark := SecretMark(arn, want)
	if mark == "" || d.have.Facts.Secrets[arn] != "" {
		return
	}
	if d.plan.Secrets == nil {
		d.plan.Secrets = map[string]string{}
	}
	d.plan.Secrets[arn] = mark
}
