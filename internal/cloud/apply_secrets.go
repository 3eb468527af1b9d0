package cloud

import (
	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// secretsIn are the client secrets and private keys that a step sends.
func secretsIn(do plan.Action) (out []string) {
	var actions []model.Action
	switch do := do.(type) {
	case plan.CreateRule:
		actions = do.Rule.Actions
	case plan.ModifyRule:
		actions = do.Actions
	case plan.CreateListener:
		actions = do.Settings.Default
	case plan.ModifyListener:
		actions = do.Settings.Default
	case plan.ImportCertificate:
		return certificates.KeyTexts(do.Content.Key)
	}
	for _, a := range actions {
		if a, ok := a.(model.AuthOIDC); ok {
			out = append(out, a.ClientSecret.Reveal(), a.ClientID.Reveal())
		}
	}
	return out
}
