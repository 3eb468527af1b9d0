package cases

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
	"github.com/fulcrum-lb/fulcrum/internal/rig"
)

// seedTrustStore makes the trust store that a case names by a fixed ARN, which the API would not
// give.
func seedTrustStore(r *rig.Rig) {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	const arn = "arn:aws:elasticloadbalancing:" + rig.Region + ":" + rig.Account + ":truststore/ts/0123456789abcdef"
	w.Partition(rig.Account, rig.Region).ELB.TrustStores[arn] = &world.TrustStore{ARN: arn, Name: "ts", Bucket: "bucket", Key: "ca.pem"}
}
