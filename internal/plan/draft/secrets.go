package draft

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// SecretDiffers reports whether a live listener or rule has a recorded client secret that differs from the desired one.
func (d *Draft) SecretDiffers(arn string, want []model.Action) bool {
	mark, given := plan.SecretMark(arn, want), d.Have.Facts.SecretHashes[arn]
	return mark != "" && given != "" && mark != given
}

// AssumeSecret records that a live listener or rule that equals the desired state is assumed to have the desired client
// secret, unless the secret that was written to it is known.
func (d *Draft) AssumeSecret(arn string, want []model.Action) {
	mark := plan.SecretMark(arn, want)
	if mark == "" || d.Have.Facts.SecretHashes[arn] != "" {
		return
	}
	if d.Plan.AssumedSecrets == nil {
		d.Plan.AssumedSecrets = map[string]string{}
	}
	d.Plan.AssumedSecrets[arn] = mark
}
