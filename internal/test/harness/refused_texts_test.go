package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// refusedTexts are the expected warnings for values of refusedAnnotationValues on an Ingress, by annotation. The first
// text is for an existing load balancer, and the second for a new one. A missing text is not checked.
var refusedTexts = map[string][2]string{
	"healthcheck-path": {
		`RejectedByAWS: healthcheck-path: AWS refuses "no-slash": it must begin with a "/" character; the health check stays unchanged; change the value`,
		`RejectedByAWS: healthcheck-path: AWS refuses "no-slash": it must begin with a "/" character; its rules are held: requests that no existing rule serves get 503; change the value`,
	},
	"healthcheck-interval-seconds": {
		`RejectedByAWS: healthcheck-interval-seconds: AWS refuses "1": it must have value greater than or equal to 5; the health check stays unchanged; change the value`,
		`RejectedByAWS: healthcheck-interval-seconds: AWS refuses "1": it must have value greater than or equal to 5; its rules are held: requests that no existing rule serves get 503; change the value`,
	},
	"success-codes": {
		`RejectedByAWS: success-codes: AWS refuses "9999": it must be within "200-499" inclusive; the health check stays unchanged; change the value`,
		`RejectedByAWS: success-codes: AWS refuses "9999": it must be within "200-499" inclusive; its rules are held: requests that no existing rule serves get 503; change the value`,
	},
	"load-balancer-attributes": {
		`RejectedByAWS: load-balancer-attributes: AWS refuses "idle_timeout.timeout_seconds=0": it must be between "1-4000" inclusive; the attribute stays unchanged in AWS, and the others are set; change the value`,
	},
	"target-group-attributes": {
		`RejectedByAWS: target-group-attributes: AWS refuses "deregistration_delay.timeout_seconds=x": it must be between "0-3600" inclusive; the attribute stays unchanged in AWS, and the others are set; change the value`,
	},
	"ssl-policy": {
		`RejectedByAWS: ssl-policy: AWS refuses "ELBSecurityPolicy-None": it is not found; what exists in AWS stays unchanged; change the value`,
		`RejectedByAWS: ssl-policy: AWS refuses "ELBSecurityPolicy-None": it is not found; port 443 is not opened with this value; change the value`,
	},
	"security-group-prefix-lists": {
		`RejectedByAWS: security-group-prefix-lists: AWS refuses "pl-00000000000000000": it does not exist; the sources that are admitted already stay, and the other new sources are added; change the value`,
	},
	"tags": {
		`RejectedByAWS: tags: AWS refuses "Team=a<b": it must satisfy regular expression pattern: ^([\p{L}\p{Z}\p{N}_.:/=+\-@]*)$; the other tags are set; change the value`,
	},
	"auth-idp-cognito": {
		`RejectedByAWS: spec.rules[0].http.paths[0]: AWS refuses "none" for the rule on port 443, host "a.example.com", path "/": the user pool ARN "none" is not valid; the rule is held: it stays unchanged; change the value`,
		`RejectedByAWS: spec.rules[0].http.paths[0]: AWS refuses "none" for the rule on port 443, host "a.example.com", path "/": the user pool ARN "none" is not valid; the rule is held: requests for it get 503; change the value`,
	},
}

// TestRejectedValueIsReportedReadably checks the warnings about rejected values. They are the texts in refusedTexts,
// which name the setting, the value, the reason, the effect and the solution. No warning has a text of the AWS SDK.
func TestRejectedValueIsReportedReadably(t *testing.T) {
	t.Parallel()
	for n, key := range slices.Sorted(maps.Keys(refusedAnnotationValues)) {
		for i, name := range []string{"live", "fresh"} {
			if n%2 != i && !seeds.Long() {
				continue // TestRejectedValueBlocksNoOtherMember tests the other case of this annotation
			}
			t.Run(key+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
					good := map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn": r.Seeded.Certs["example.com"], "target-type": "ip",
						"actions.act": `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}`}
					if strings.HasPrefix(key, "auth") {
						good["auth-type"], good["auth-idp-cognito"] = "cognito", `{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/p","userPoolClientID":"b","userPoolDomain":"c"}`
					}
					if strings.HasPrefix(key, "frontend") {
						good["enable-frontend-nlb"], good["frontend-nlb-scheme"] = "true", "internet-facing"
					}
					if name == "live" {
						r.Apply(withDefaultBackend(firstMember("alb", good)), secondMember(r))
						settleWithoutErrors(t, r)
					}
					good[key] = refusedAnnotationValues[key]
					r.Apply(withDefaultBackend(firstMember("alb", good)), secondMember(r))
					r.Settle(20 * time.Minute)
					reported := warningsByObject(r)["first"]
					if want := refusedTexts[key][i]; len(reported) == 0 || want != "" && !slices.Contains(reported, want) {
						t.Errorf("want %s\ngot %s", want, strings.Join(reported, "\n"))
					}
					for _, w := range slices.Concat(reported, warningsByObject(r)["second"]) {
						for _, sdk := range []string{"RequestID", "operation error", "api error", "StatusCode", "ValidationError"} {
							if strings.Contains(w, sdk) {
								t.Errorf("the warning has text of the SDK: %s", w)
							}
						}
					}
				})
			})
		}
	}
}

// TestDeniedCallIsReportedWithItsPermission checks that a warning about a denied call names the missing permission.
// This can be the permission of another operation, which the error of AWS names.
func TestDeniedCallIsReportedWithItsPermission(t *testing.T) {
	t.Parallel()
	for operation, denial := range map[string]struct{ message, want string }{
		"CreateRule":                  {"", "add elasticloadbalancing:CreateRule to the controller's IAM policy"},
		"CreateLoadBalancer":          {"", "add elasticloadbalancing:CreateLoadBalancer to the controller's IAM policy"},
		"CreateTargetGroup":           {"User: arn:aws:sts::123456789012:assumed-role/fulcrum/i is not authorized to perform: elasticloadbalancing:AddTags on resource: arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/*/*", "add elasticloadbalancing:AddTags to the controller's IAM policy"},
		"CreateSecurityGroup":         {"You are not authorized to perform this operation. Encoded authorization failure message: " + strings.Repeat("x", 2000), "add ec2:CreateSecurityGroup to the controller's IAM policy"},
		"RegisterTargets":             {"", "add elasticloadbalancing:RegisterTargets to the controller's IAM policy"},
		"ModifyTargetGroupAttributes": {"", "add elasticloadbalancing:ModifyTargetGroupAttributes to the controller's IAM policy"},
	} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Emulator.Faults().Add(fault.Rule{Operation: operation, Action: fault.Action{Error: &store.Error{Code: "AccessDenied", Message: denial.message, Status: 403}}})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("target-group-attributes", "deregistration_delay.timeout_seconds=30"), "/=web"))
				r.Settle(10 * time.Minute)
				all := strings.Join(slices.Concat(slices.Collect(maps.Values(warningsByObject(r)))...), "\n")
				if !strings.Contains(all, denial.want) || strings.Contains(all, "RequestID") || strings.Contains(all, "Encoded") {
					t.Errorf("want %q in:\n%s", denial.want, all)
				}
			})
		})
	}
}
