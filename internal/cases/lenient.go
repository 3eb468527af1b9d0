package cases

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/rig"
)

// The cases were recorded against an AWS that knew less than ours. This is what they need of it.

// SeedTrustStore makes the trust store that a case names by a fixed ARN, which the API would not
// give.
func SeedTrustStore(r *rig.Rig) {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	const arn = "arn:aws:elasticloadbalancing:" + rig.Region + ":" + rig.Account + ":truststore/ts/0123456789abcdef"
	w.Partition(rig.Account, rig.Region).ELB.TrustStores[arn] = &world.TrustStore{ARN: arn, Name: "ts", Bucket: "bucket", Key: "ca.pem"}
}

// raised tells the controller of the quota that lenient raises.
func raised(o *ingress.Options) { o.ConditionValues = 10 }

// Lenient switches off checks of AWS that the recorded configurations would not pass: six values in
// the conditions of a rule, a comma in a tag.
func Lenient(r *rig.Rig) {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	w.Config.Quotas["condition-values-per-alb-rule"] = 10
	w.Config.ELB.AnyTagCharacters = true
}
