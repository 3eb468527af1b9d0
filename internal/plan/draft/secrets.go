package draft

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// SecretDiffers reports whether the hash that is recorded for the client secret of a listener or rule differs from the hash
// of the desired client secret.
func (d *Draft) SecretDiffers(arn string, want []model.Action) bool {
	desired, recorded := plan.SecretHash(arn, want), d.Have.Facts.SecretHashes[arn]
	return desired != "" && recorded != "" && desired != recorded
}

// AssumeSecret records that a listener or rule is assumed to have the desired client secret, if no hash is recorded for it.
// It is called if the other settings of the listener or rule equal the desired state.
func (d *Draft) AssumeSecret(arn string, want []model.Action) {
	desired := plan.SecretHash(arn, want)
	if desired == "" || d.Have.Facts.SecretHashes[arn] != "" {
		return
	}
	if d.Plan.AssumedSecretHashes == nil {
		d.Plan.AssumedSecretHashes = map[string]string{}
	}
	d.Plan.AssumedSecretHashes[arn] = desired
}
