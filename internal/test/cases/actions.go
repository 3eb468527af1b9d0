package cases

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// withSecrets returns the actions of a rule with their OIDC client secrets, which the API of AWS does not return.
func (rd *reader) withSecrets(r elbtypes.Rule) []elbtypes.Action {
	w := rd.harness.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	kept := w.Partition(harness.Account, harness.Region).ELB.Rules[aws.ToString(r.RuleArn)]
	if kept == nil || len(kept.Actions) != len(r.Actions) {
		return r.Actions
	}
	out := append([]elbtypes.Action(nil), r.Actions...)
	for i := range out {
		if c := out[i].AuthenticateOidcConfig; c != nil && kept.Actions[i].AuthenticateOidcConfig != nil {
			c.ClientSecret = kept.Actions[i].AuthenticateOidcConfig.ClientSecret
			c.UseExistingClientSecret = nil
		}
	}
	return out
}

// actions returns actions as a record contains them, in the order in which they are performed.
func (rd *reader) actions(list []elbtypes.Action) []any {
	rd.t.Helper()
	var out []any
	for _, a := range list {
		out = append(out, renameAll(toPlain(rd.t, a), rd.names.replacer()))
	}
	return out
}

// redirectDefaults are the default values of a redirect. Each of them is a placeholder for a part of the request.
var redirectDefaults = map[string]any{
	"Protocol": "#{protocol}", "Port": "#{port}", "Host": "#{host}", "Path": "/#{path}", "Query": "#{query}",
}

// Normalise changes a record to the form in which records are compared: values that are equivalent in AWS become
// equal. The messages of events are not compared, only type and reason.
func Normalise(r Record) {
	for _, e := range r[eventsSection] {
		if m, ok := e.(map[string]any); ok {
			delete(m, "message")
		}
	}
	for _, section := range r {
		// The messages of conditions that are not true are not compared.
		walkMaps(map[string]any(section), func(m map[string]any) {
			if _, condition := m["observedGeneration"]; condition && m["status"] != nil && m["status"] != "True" {
				delete(m, "message")
			}
		})
		walkMaps(map[string]any(section), func(m map[string]any) {
			normaliseAction(m)
			normaliseCondition(m)
			if list, ok := m["Conditions"].([]any); ok {
				m["Conditions"] = sortByJSON(list)
			}
			for _, unordered := range []string{"Certificates", "from", "ports", "conditions", "supportedKinds", "parents", "listeners"} {
				if list, ok := m[unordered].([]any); ok {
					m[unordered] = sortByJSON(list)
				}
			}
		})
	}
}

func normaliseAction(m map[string]any) {
	kind, _ := m["Type"].(string)
	switch kind {
	case "forward", "redirect", "fixed-response", "authenticate-oidc", "authenticate-cognito", "jwt-validation":
		delete(m, "Order")
	}
	if arn, ok := m["TargetGroupArn"]; ok && kind == "forward" {
		delete(m, "TargetGroupArn")
		if m["ForwardConfig"] == nil {
			m["ForwardConfig"] = map[string]any{"TargetGroups": []any{map[string]any{"TargetGroupArn": arn}}}
		}
	}
	if f, ok := m["ForwardConfig"].(map[string]any); ok {
		if s, ok := f["TargetGroupStickinessConfig"].(map[string]any); ok && s["Enabled"] != true {
			delete(f, "TargetGroupStickinessConfig")
		}
		if list, ok := f["TargetGroups"].([]any); ok {
			if only, ok := list[0].(map[string]any); ok && len(list) == 1 {
				delete(only, "Weight")
			}
			f["TargetGroups"] = sortByJSON(list)
		}
	}
	if r, ok := m["RedirectConfig"].(map[string]any); ok {
		maps.DeleteFunc(r, func(k string, v any) bool { return redirectDefaults[k] == v })
	}
}

// normaliseCondition removes the legacy field of a condition if the condition also has the newer field, and sorts its
// values.
func normaliseCondition(m map[string]any) {
	if _, ok := m["Field"]; !ok {
		return
	}
	for k, v := range m {
		config, ok := v.(map[string]any)
		if !ok || !strings.HasSuffix(k, "Config") {
			continue
		}
		delete(m, "Values")
		delete(m, "RegexValues")
		for _, values := range []string{"Values", "RegexValues"} {
			if list, ok := config[values].([]any); ok {
				config[values] = sortByJSON(list)
			}
		}
	}
}
