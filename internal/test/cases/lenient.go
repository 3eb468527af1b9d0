package cases

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// The cases were recorded with an emulator that had fewer checks. NewHarness disables the checks that the cases would not
// pass.

// NewHarness returns a harness in which the cases can be applied. Its controller does nothing before Settle.
func NewHarness(t *testing.T, o harness.Options) *harness.Harness {
	t.Helper()
	own := o.Ingress
	o.Ingress = func(in *ingress.Options) {
		raiseConditionValues(in)
		if own != nil {
			own(in)
		}
	}
	r := harness.New(t, o)
	seedTrustStore(r)
	disableChecks(r)
	return r
}

// seedTrustStore adds the trust store that a case names by a fixed ARN. The API of AWS cannot create a resource with a given
// ARN.
func seedTrustStore(r *harness.Harness) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	const arn = "arn:aws:elasticloadbalancing:" + harness.Region + ":" + harness.Account + ":truststore/ts/0123456789abcdef"
	w.Partition(harness.Account, harness.Region).ELB.TrustStores[arn] = &store.TrustStore{ARN: arn, Name: "ts", Bucket: "bucket", Key: "ca.pem"}
}

// raiseConditionValues sets the quota of condition values in the options of the controller to the value that disableChecks
// sets in the emulator.
func raiseConditionValues(o *ingress.Options) { o.Conditions.Values = 10 }

// disableChecks disables checks that the recorded configurations would not pass: six values in the conditions of a
// rule, a comma in a tag, more load balancers than the default quota.
func disableChecks(r *harness.Harness) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	w.Config.Quotas["condition-values-per-alb-rule"] = 10
	w.Config.Quotas["application-load-balancers"] = 200 // all cases are in one account
	w.Config.ELB.AnyTagCharacters = true
	for _, value := range []string{"a,b", "x,y"} {
		r.Models.Allow(awsmodel.Exception{Service: "elasticloadbalancing", Value: value, Rule: "does not match the pattern of TagValue", Reason: "the recorded configurations have it"})
	}
}
