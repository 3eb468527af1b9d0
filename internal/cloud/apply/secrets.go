package apply

import (
	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// SecretsIn returns the secret values that an action sends to AWS: the OIDC client IDs and client secrets of listener rules,
// and a private key in all forms of certificates.PrivateKeyForms.
func SecretsIn(do plan.Action) (out []string) {
	if do, ok := do.(plan.ImportCertificate); ok {
		return certificates.PrivateKeyForms(do.Content.Key)
	}
	for _, a := range plan.RuleActionsOf(do) {
		if a, ok := a.(model.AuthOIDC); ok {
			out = append(out, a.ClientSecret.Reveal(), a.ClientID.Reveal())
		}
	}
	return out
}
