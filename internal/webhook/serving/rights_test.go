package serving

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/fulcrum-lb/fulcrum/config/rights"
)

// TestMissingPermissionsAreReported checks, for each verb in the webhook roles, that the log or an error reports the missing
// permission if the API server denies the verb, and that a certificate is still served.
func TestMissingPermissionsAreReported(t *testing.T) {
	for _, role := range rights.KubernetesRoles {
		if role.File != "webhook.yaml" || role.Name == "fulcrum-target-control" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					t.Run(role.Name+"/"+resource+"/"+verb, func(t *testing.T) {
						a := newFakeAPIServer(t)
						a.deniedVerb = resource + " " + verb
						a.createConfigurations(nil)
						at, now := newTestClock()
						k := a.newKeeper(now)
						var reported strings.Builder
						k.Log = funcr.New(func(_, args string) { reported.WriteString(args) }, funcr.Options{})
						note := func(err error) {
							if err != nil {
								reported.WriteString(err.Error())
							}
						}
						for month := range 24 { // the certificate is renewed in this time
							*at = startTime.Add(time.Duration(month) * 30 * 24 * time.Hour)
							note(k.Sync(t.Context()))
						}
						for range 2 {
							_, err := WorkerNumbers{a.coreClient().ConfigMaps(WorkerNamespace), constantRandom(7)}.Claim(t.Context())
							note(err)
						}
						if !a.deniedVerbUsed {
							t.Error("the verb is not used")
						}
						if !strings.Contains(reported.String(), "no permission to") && !strings.Contains(reported.String(), "Forbidden") {
							t.Errorf("nothing says what is missing: %s", reported.String())
						}
						if k.Certificate() == nil {
							t.Error("there is no certificate")
						}
					})
				}
			}
		}
	}
}
