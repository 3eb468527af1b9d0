package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownFieldsSuggestTheNearest(t *testing.T) {
	for key, tests := range map[string]map[string][]string{
		"actions.web": {
			`{"type":"fixed-response","fixedResponseConf":{"statusCode":"200"}}`:                                                 {`fixedResponseConf (did you mean "fixedResponseConfig"?)`},
			`{"type":"fixed-response","fixedResponseConfig":{"statusCodee":"200"}}`:                                              {`fixedResponseConfig.statusCodee (did you mean "statusCode"?)`},
			`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"a","servicePort":{"x":1}},{"wieght":1}]}}`:       {`forwardConfig.targetGroups[0].servicePort.x`, `forwardConfig.targetGroups[1].wieght (did you mean "weight"?)`},
			`{"Type":"fixed-response","FixedResponseConfig":{"STATUSCODE":"200"}}`:                                               nil,
			`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301","querry":"a"}}`:                                        {`redirectConfig.querry (did you mean "query"?)`},
			`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupArn":"a"}],"targetGroupStickinessConfig":{"x":1}}}`: {`forwardConfig.targetGroupStickinessConfig.x`},
			`not JSON`: nil,
			`[]`:       nil,
		},
		"conditions.web": {
			`[{"field":"source-ip","sourceIPConfig":{"values":["10.0.0.0/8"]}},{"hostheadrConfig":{}}]`: {`[1].hostheadrConfig (did you mean "hostHeaderConfig"?)`},
			`[{"field":"path-pattern","pathConfig":{"values":["/"]}}]`:                                  {`[0].pathConfig`},
		},
		"transforms.web":        {`[{"type":"url-rewrite","urlRewriteConfig":{"rewrite":[]}}]`: {`[0].urlRewriteConfig.rewrite (did you mean "rewrites"?)`}},
		"mutual-authentication": {`[{"port":443,"mode":"verify","truststor":"x"}]`: {`[0].truststor (did you mean "trustStore"?)`}},
		"jwt-validation":        {`{"jwksEndpoints":"x","additionalClaims":[{"names":"n"}]}`: {`additionalClaims[0].names (did you mean "name"?)`, `jwksEndpoints (did you mean "jwksEndpoint"?)`}},
		"auth-idp-oidc":         {`{"issuer":"x","userinfoEndpoint":"y","secret":"z","authenticationRequestExtraParams":{"any":"thing"}}`: {`secret`}},
		"auth-idp-cognito":      {`{"userPoolArn":"a","userPoolClientId":"b","userPoolDomian":"c"}`: {`userPoolDomian (did you mean "userPoolDomain"?)`}},
		"listen-ports":          {`[{"HTPP":80}]`: nil}, // reported by another check
		"unknown":               {`{"type":"x"}`: nil},
	} {
		for raw, want := range tests {
			t.Run(key+raw, func(t *testing.T) {
				var got []string
				for _, f := range IngressAnnotations.unknownFields(map[string]string{Prefix + key: raw, "other/actions.x": `{"a":1}`}) {
					if f.Annotation != Prefix+key {
						t.Error(f.Annotation)
					}
					got = append(got, f.Field+f.Suggestion)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestEveryJSONAnnotationHasAType checks that each annotation that is parsed as JSON has a type in jsonTypes, or is listed
// here as having no named fields.
func TestEveryJSONAnnotationHasAType(t *testing.T) {
	for _, r := range ingressTable {
		if _, ok := jsonTypes[r.Key]; r.Type == "json" && !ok && r.Key != "listen-ports" && r.Key != "dry-run-plan" {
			t.Errorf("%s has no shape", r.Key)
		}
	}
}

// TestUnknownFieldsAreBounded checks that the number and length of reported unknown fields are limited, although users can
// write very many and very long fields.
func TestUnknownFieldsAreBounded(t *testing.T) {
	var fields []string
	for i := range 5000 {
		fields = append(fields, fmt.Sprintf("%q:1", strings.Repeat("x", i%500)+fmt.Sprint(i)))
	}
	got := IngressAnnotations.unknownFields(map[string]string{Prefix + "actions.a": "{" + strings.Join(fields, ",") + "}"})
	if len(got) != maxUnknownFields {
		t.Errorf("%d fields", len(got))
	}
	for _, f := range got {
		if len(f.Field) > 80 {
			t.Errorf("%d characters", len(f.Field))
		}
	}
}

func TestJSONErrorsAreReadable(t *testing.T) {
	action := func(s string) error { _, err := parseAction(s); return err }
	ports := func(s string) error { _, err := ParseListenPorts(s); return err }
	conditions := func(s string) error { _, err := ParseConditions(s); return err }
	tests := []struct {
		parse func(string) error
		raw   string
		want  string
	}{
		{action, `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200",}}`, "not the expected JSON: unexpected character '}' after `...ig\":{\"statusCode\":\"200\",`; write it like "},
		{action, `type: fixed-response`, `not the expected JSON: the JSON does not begin with { or [; write it like {"type":`},
		{action, ``, "not the expected JSON: the value is empty; "},
		{action, `{"type":"forward"`, "not the expected JSON: the JSON ends too early after `{\"type\":\"forward\"`; "},
		{action, `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":"http","weight":"10"}]}}`, "forwardConfig.targetGroups[0].weight must be a whole number without quotes, not a string after "},
		{action, `{"type":"fixed-response","fixedResponseConfig":{"statusCode":200}}`, "fixedResponseConfig.statusCode must be a string in quotes, not a number"},
		{action, `[]`, "a value must be an object in { }, not an array"},
		{action, `{"type":"fixed-respons"}`, `type "fixed-respons" is not one of forward, redirect, fixed-response (did you mean "fixed-response"?)`},
		{ports, `80,443`, "a value must be a list in [ ], not a number"},
		{ports, `[{"HTTP":"80"}]`, "must be a whole number without quotes, not a string"},
		{ports, `{"HTTP":80}`, "a value must be a list in [ ], not an object"},
		{ports, `[{"HTPP":80}]`, `protocol "HTPP" is neither HTTP nor HTTPS (did you mean "HTTP"?)`},
		{conditions, `[{"field":"hostheader"}]`, `condition 0 (hostheader) has an unknown field (did you mean "host-header"?)`},
	}
	for _, tc := range tests {
		err := tc.parse(tc.raw)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "Go value") {
			t.Errorf("%s\n got %v\nwant %s", tc.raw, err, tc.want)
		}
	}
	if got := invalidValueError(`{"a":1}`, fmt.Errorf("x")).Error(); got != "`{\"a\":1}`: x" {
		t.Error(got)
	}
	if got := invalidValueError("a\n\"b\"", fmt.Errorf("x")).Error(); got != `"a\n\"b\"": x` {
		t.Error(got)
	}
}
