package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// checkParser checks the results of a parser for several texts. A nil result means that the parser must reject the text.
func checkParser[T any](t *testing.T, parse func(string) (T, error), cases map[string]*T) {
	t.Helper()
	for raw, want := range cases {
		t.Run(raw, func(t *testing.T) {
			got, err := parse(raw)
			if want == nil {
				if err == nil {
					t.Errorf("accepted as %+v", got)
				}
				return
			}
			if diff := cmp.Diff(*want, got); err != nil || diff != "" {
				t.Errorf("%v -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestListenPorts(t *testing.T) {
	checkParser(t, ParseListenPorts, map[string]*[]ListenPort{
		`[{"HTTP":80},{"HTTPS":443}]`:   {{Port: 80}, {Port: 443, TLS: true}},
		`[{"HTTPS":443,"HTTP":80}]`:     {{Port: 80}, {Port: 443, TLS: true}},
		`[{"HTTP":80},{"HTTP":80}]`:     {{Port: 80}},
		`[{"HTTP":80},{"HTTPS":80}]`:    nil,
		`[{"HTTP":80,"HTTPS":80}]`:      nil,
		`[]`:                            nil,
		`[{}]`:                          nil,
		`null`:                          nil,
		`[{"http":80}]`:                 nil,
		`[{"TCP":80}]`:                  nil,
		`[{"HTTP":"80"}]`:               nil,
		`[{"HTTP":80.5}]`:               nil,
		`[{"HTTP":0}]`:                  nil,
		`[{"HTTP":65536}]`:              nil,
		`[{"HTTP":80}`:                  nil,
		`[{"HTTP":80}] [{"HTTPS":443}]`: nil,
	})
}

func TestMutualAuth(t *testing.T) {
	type ports = map[int32]model.MutualAuth
	checkParser(t, ParseMutualAuth, map[string]*ports{
		`[{"port":443,"mode":"verify","trustStore":"ts"}]`:              {443: {Mode: "verify", TrustStore: "ts", IgnoreExpiry: new(false), AdvertiseCA: "off"}},
		`[{"port":443,"mode":"passthrough"},{"port":443,"mode":"off"}]`: {443: {Mode: "off"}},
		`[]`:                             nil,
		`[{"port":0,"mode":"off"}]`:      nil,
		`[{"port":443}]`:                 nil,
		`[{"port":443,"mode":"maybe"}]`:  nil,
		`[{"port":443,"mode":"verify"}]`: nil,
		`[{"port":443,"mode":"off","trustStore":"ts"}]`:                                       nil,
		`[{"port":443,"mode":"passthrough","ignoreClientCertificateExpiry":true}]`:            nil,
		`[{"port":443,"mode":"off","advertiseTrustStoreCaNames":"on"}]`:                       nil,
		`[{"port":443,"mode":"verify","trustStore":"ts","advertiseTrustStoreCaNames":"yes"}]`: nil,
	})
}

func TestActions(t *testing.T) {
	checkParser(t, parseAction, map[string]*Action{
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"hi"}}`: {
			Direct: model.FixedResponse{Status: "200", ContentType: "text/plain", Body: "hi"}},
		`{"Type":"redirect","RedirectConfig":{"Port":"443","Protocol":"HTTPS","StatusCode":"HTTP_301"}}`: {
			Direct: model.Redirect{Port: "443", Protocol: "HTTPS", Status: "HTTP_301"}},
		`{"type":"redirect","redirectConfig":{"path":"/b","query":"","statusCode":"HTTP_302"}}`: {
			Direct: model.Redirect{Path: "/b", DropQuery: true, Status: "HTTP_302"}},
		`{"type":"forward","targetGroupARN":"arn"}`: {Targets: []ActionTarget{{ARN: "arn"}}},
		`{"type":"forward","targetGroupName":"n"}`:  {Targets: []ActionTarget{{Name: "n"}}},
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"v1","servicePort":"80","weight":90},{"serviceName":"v2","servicePort":80,"weight":10}],"TargetGroupStickinessConfig":{"Enabled":true,"DurationSeconds":120}}}`: {
			Targets: []ActionTarget{
				{Service: "v1", Port: intstr.FromInt32(80), Weight: new(int32(90))},
				{Service: "v2", Port: intstr.FromInt32(80), Weight: new(int32(10))},
			},
			Stickiness: &model.TargetGroupStickiness{Enabled: new(true), Duration: new(int32(120))},
		},
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"a","targetGroupName":"n"}]}}`: {Targets: []ActionTarget{{ARN: "a"}}},
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":200}}`:                                 nil,
		`{"type":"fixed-response"}`:                         nil,
		`{"type":"redirect","redirectConfig":{"host":"x"}}`: nil,
		`{"type":"forward"}`:                                nil,
		`{"type":"forward","targetGroupARN":"a","forwardConfig":{"targetGroups":[{"targetGroupARN":"b"}]}}`:              nil,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"weight":1}]}}`:                                             nil,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"s"}]}}`:                                      nil,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"s","servicePort":1,"targetGroupARN":"a"}]}}`: nil,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"a","weight":1},{"targetGroupARN":"b"}]}}`: nil,
		`{"type":"teapot"}`: nil,
		`not json`:          nil,
	})
}

func TestConditions(t *testing.T) {
	checkParser(t, ParseConditions, map[string]*[]model.Condition{
		`[{"field":"host-header","hostHeaderConfig":{"values":["a.x"]}},{"field":"http-request-method","httpRequestMethodConfig":{"Values":["GET"]}}]`: {
			model.HostHeader{Values: []string{"a.x"}}, model.RequestMethod{Values: []string{"GET"}}},
		`[{"field":"path-pattern","pathPatternConfig":{"regexValues":["^/a"]}}]`:                            {model.PathPattern{Regex: []string{"^/a"}}},
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"H","values":["v"]}}]`:                {model.HTTPHeader{Name: "H", Values: []string{"v"}}},
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"k","value":"v"},{"value":"w"}]}}]`: {model.QueryString{Pairs: []model.QueryPair{{Key: "k", Value: "v"}, {Value: "w"}}}},
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`:                                {model.SourceIP{CIDRs: []string{"10.0.0.0/8"}}},
		`[{"field":"host-header"}]`: nil,
		`[{"field":"host-header","hostHeaderConfig":{"values":["a"],"regexValues":["b"]}}]`:  nil,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"H"}}]`:                nil,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"k","value":""}]}}]`: nil,
		`[{"field":"source-ip","sourceIPConfig":{"values":[]}}]`:                             nil,
		`[{"field":"cookie"}]`:  nil,
		`{"field":"source-ip"}`: nil,
	})
}

func TestTransforms(t *testing.T) {
	checkParser(t, ParseTransforms, map[string]*[]model.Transform{
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a","replace":"/b"}]}}]`: {
			{Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "^/a", Replace: "/b"}}}},
		`[{"type":"host-header-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"a","replace":"b"}]}}]`: nil,
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[]}}]`:                                    nil,
		`[{"type":"other"}]`: nil,
	})
}

func TestJWT(t *testing.T) {
	checkParser(t, ParseJWT, map[string]*model.ValidateJWT{
		`{"jwksEndpoint":"j","issuer":"i","additionalClaims":[{"format":"single-string","name":"n","values":["v"]}]}`: {
			JWKSEndpoint: "j", Issuer: "i", Claims: []model.JWTClaim{{Format: "single-string", Name: "n", Values: []string{"v"}}}},
		`{"issuer":"i"}`: nil,
		`{"jwksEndpoint":"j","issuer":"i","additionalClaims":[{"name":"n","values":["v"]}]}`: nil,
		`{"jwksEndpoint":"j","issuer":"i","additionalClaims":[{"format":"f","name":"n"}]}`:   nil,
	})
}
