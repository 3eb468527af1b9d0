package adversary

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// choice has the values that the attacker writes into an annotation. For annotations that are not in a table, choiceFor
// generates values from the type in the settings table, so that new annotations are part of the grammar.
type choice struct {
	validValues   []string // valid values, which would be harmful if they took effect
	invalidValues []string // values that cannot be parsed or that AWS refuses
}

const (
	noSuchCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-4000-8000-000000000000"
	evilOIDC          = `{"issuer":"https://login.example.com","authorizationEndpoint":"https://login.example.com/a","tokenEndpoint":"https://login.example.com/t","userInfoEndpoint":"https://login.example.com/u","secretName":"login"}`
)

var annotationChoices = map[string]choice{
	"group.name":                          {[]string{"open", "open", "vault", "vault", "own", "own", "other"}, []string{"", "Open", "open ", "pay/solo", "-", "vault/..", "open,vault", long63 + "x", "open\nvault"}},
	"group.order":                         {[]string{"-1000", "-1000", "1000", "0", "10", "15", "25"}, []string{"first", "", "-1001", "1e3", "99999999999999999999", " 1", "0x10", "٣"}},
	"load-balancer-name":                  {[]string{"evil", "k8s-open-2cc30f7c14", "k8s-vault-f63d9de02f"}, []string{"", "-evil", "internal-evil", "no_good", long63}},
	"scheme":                              {[]string{"internet-facing", "internet-facing", "internal"}, []string{"public", "", "Internal", "internal\n"}},
	"ip-address-type":                     {[]string{"dualstack", "ipv4", "dualstack-without-public-ipv4"}, []string{"both", ""}},
	"subnets":                             {[]string{"$PUBLIC", "$PRIVATE", "private-us-west-2a,private-us-west-2b"}, []string{"subnet-0", "", ",,,", "$SUBNET0,$SUBNET0"}},
	"security-groups":                     {[]string{"$EXTRASG", "$NODESG", "extra-sg", "k8s-traffic-rig-c00ae0a633"}, []string{"sg-0", "", "no-such", "$EXTRASG,no-such"}},
	"customer-owned-ipv4-pool":            {[]string{"ipv4pool-coip-1"}, []string{""}},
	"ipam-ipv4-pool-id":                   {[]string{"ipam-pool-00000000000000000"}, []string{"none"}},
	"load-balancer-attributes":            {[]string{"deletion_protection.enabled=true", "access_logs.s3.enabled=true,access_logs.s3.bucket=evil", "idle_timeout.timeout_seconds=1", "idle_timeout.timeout_seconds=120", "waf.fail_open.enabled=true", "routing.http.drop_invalid_header_fields.enabled=false"}, []string{"idle", "idle_timeout.timeout_seconds=0", "no.such=1", "=", "a=b,,c", "deletion_protection.enabled=perhaps"}},
	"minimum-load-balancer-capacity":      {[]string{"CapacityUnits=100", "CapacityUnits=1500", "CapacityUnits=0"}, []string{"CapacityUnits=x", "Units=1", "CapacityUnits=999999999"}},
	"tags":                                {[]string{"Owner=evil", "Cost=1", "Owner=platform", manyTags}, []string{"ingress.k8s.aws/stack=pay/solo", "elbv2.k8s.aws/cluster=other,ingress.k8s.aws/resource=LoadBalancer", "aws:x=y", "Team", "k=" + strings.Repeat("x", 300), "a<b=c"}},
	"listen-ports":                        {[]string{`[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80}]`, `[{"HTTPS":443}]`, `[{"HTTP":81}]`, `[{"HTTPS":8443}]`, `[{"HTTPS":80}]`, `[{"HTTP":443}]`, `[{"HTTP":444}]`}, []string{`[{"HTTP":0}]`, `[{"HTTP":70000}]`, `[`, `[]`, `{}`, `[{"TCP":80}]`, `[{"HTTP":"80"}]`, "null", ""}},
	"ssl-redirect":                        {[]string{"444", "443", "8443", "80"}, []string{"https", "0", "-1", "70000", ""}},
	"certificate-arn":                     {[]string{"$CERTAPP", "$CERT", "$CERT,$CERTAPP"}, []string{noSuchCertificate, "none", "", "arn:aws:acm:us-east-1:1:certificate/x,$CERT"}},
	"ssl-policy":                          {[]string{"ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS-1-0-2015-04"}, []string{"ELBSecurityPolicy-None", "", "none"}},
	"mutual-authentication":               {[]string{`[{"port":443,"mode":"off"}]`, `[{"port":443,"mode":"passthrough"}]`}, []string{`[{"port":443,"mode":"verify","trustStore":"none"}]`, `[{"port":443}]`, `[`, `[{"port":443,"mode":"verify"}]`}},
	"inbound-cidrs":                       {[]string{"0.0.0.0/0", "0.0.0.0/0,::/0", "10.0.0.0/8", "192.0.2.1/32", "10.0.0.0/8,0.0.0.0/0"}, []string{"10.0.0/8", "", "0.0.0.0", "10.0.0.0/33"}},
	"security-group-prefix-lists":         {[]string{"$PREFIXLIST"}, []string{"pl-00000000000000000", ""}},
	"listener-attributes.<protocol-port>": {[]string{"routing.http.response.server.enabled=true", "routing.http.response.server.enabled=false"}, []string{"no.such=1", "x", "="}},
	"create-acm-cert":                     {[]string{"true", "false"}, []string{"yes"}},
	"acm-pca-arn":                         {[]string{"arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/00000000-0000-4000-8000-000000000000"}, []string{"none"}},
	"actions.<name>": {[]string{
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"503","messageBody":"evil"}}`,
		`{"type":"redirect","redirectConfig":{"host":"evil.example.com","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"444","statusCode":"HTTP_302"}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"s0","servicePort":80,"weight":1},{"serviceName":"s1","servicePort":"80","weight":0}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"$EXTERNAL"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"external"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"$TGARN0"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"$TGARN3"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"$TGNAME5"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"$TGNAME4"},{"serviceName":"s0","servicePort":80}]}}`,
	}, []string{
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"999"}}`, `{"type":"teleport"}`, `{`, `null`, `[]`, `""`,
		`{"type":"redirect","redirectConfig":{"port":"99999","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301"}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"none","servicePort":80}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"s0","servicePort":80,"weight":100000}]}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"` + strings.Repeat("x", 2000) + `"}}`,
	}},
	"conditions.<name>": {[]string{
		`[{"field":"host-header","hostHeaderConfig":{"values":["shop.example.com","*.app.test"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["0.0.0.0/0"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/*"]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"*"}]}}]`,
	}, []string{`[{"field":"source-ip","sourceIpConfig":{"values":["nowhere"]}}]`, `[{"field":"mood"}]`, `[`, `[{"field":"host-header","hostHeaderConfig":{"regexValues":["("]}}]`, `{}`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1","2","3","4","5","6","7"]}}]`}},
	"transforms.<name>":                  {[]string{`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/","replace":"/evil/"}]}}]`, `[{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":".*","replace":"evil.example.com"}]}}]`}, []string{`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"(","replace":"/"}]}}]`, `[{"type":"sing"}]`, `{`}},
	"jwt-validation":                     {[]string{`{"jwksEndpoint":"https://id.example.com/jwks","issuer":"https://id.example.com"}`}, []string{`{`, `{"jwksEndpoint":"http://169.254.169.254/"}`}},
	"auth-type":                          {[]string{"oidc", "cognito", "none"}, []string{"magic", ""}},
	"auth-idp-cognito":                   {[]string{`{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/p","userPoolClientID":"b","userPoolDomain":"c"}`}, []string{`{`, `{"userPoolARN":"none","userPoolClientID":"b","userPoolDomain":"c"}`}},
	"auth-idp-oidc":                      {[]string{evilOIDC}, []string{`{`, strings.Replace(evilOIDC, `"login"`, `"../pay/login"`, 1), strings.Replace(evilOIDC, `"login"`, `"pay/login"`, 1), strings.Replace(evilOIDC, `"login"`, `"none"`, 1), strings.Replace(evilOIDC, `"secretName"`, `"namespace":"pay","secretName"`, 1)}},
	"target-type":                        {[]string{"ip", "ip", "instance"}, []string{"pod", "lambda", ""}},
	"target-node-labels":                 {[]string{"kubernetes.io/hostname=node-0", "a=b"}, []string{"x", "=", "a b=c"}},
	"target-group-attributes":            {[]string{"deregistration_delay.timeout_seconds=3600", "slow_start.duration_seconds=900", "stickiness.enabled=true,stickiness.type=lb_cookie"}, []string{"x", "no.such=1", "deregistration_delay.timeout_seconds=x", "slow_start.duration_seconds=1"}},
	"target-control-port.<service.port>": {[]string{"3000"}, []string{"x", "0", "70000"}},
	"healthcheck-port":                   {[]string{"9", "traffic-port", "http"}, []string{"nowhere", "0", "70000", ""}},
	"healthcheck-path":                   {[]string{"/up", "/"}, []string{"no-slash", "", "/" + strings.Repeat("x", 2000)}},
	"healthcheck-interval-seconds":       {[]string{"300", "5", "15"}, []string{"1", "often", "301", "-5"}},
	"healthcheck-timeout-seconds":        {[]string{"2", "6"}, []string{"0", "500", "x"}},
	"healthy-threshold-count":            {[]string{"10", "2"}, []string{"1", "11", "x"}},
	"unhealthy-threshold-count":          {[]string{"10", "2"}, []string{"1", "x"}},
	"success-codes":                      {[]string{"200-499", "418"}, []string{"9999", "x", ""}},
	"wafv2-acl-arn":                      {[]string{"none", "$WEBACL"}, []string{"arn:aws:wafv2:us-west-2:123456789012:regional/webacl/none/00000000-0000-4000-8000-000000000000", ""}},
	"wafv2-acl-name":                     {[]string{"none", "rig"}, []string{"gone", ""}},
	"waf-acl-id":                         {[]string{"none"}, []string{"00000000-0000-4000-8000-000000000000", ""}},
	"web-acl-id":                         {[]string{"none"}, []string{"x"}},
	"frontend-nlb-subnets":               {[]string{"$PUBLIC", "$PRIVATE"}, []string{"subnet-0", ""}},
	"frontend-nlb-security-groups":       {[]string{"$EXTRASG"}, []string{"sg-0", ""}},
	"frontend-nlb-listener-port-mapping": {[]string{"80=443", "443=80", "22=80"}, []string{"x", "0=80", "80=444"}},
	"frontend-nlb-eip-allocations":       {[]string{"$EIPS"}, []string{"eipalloc-0", ""}},
	"frontend-nlb-healthcheck-port":      {[]string{"80", "traffic-port"}, []string{"http", "0"}},
	"frontend-nlb-attributes":            {[]string{"load_balancing.cross_zone.enabled=true", "deletion_protection.enabled=true"}, []string{"x", "no.such=1"}},
	"frontend-nlb-tags":                  {[]string{"Team=front"}, []string{"x", "ingress.k8s.aws/stack=open"}},
}

// manyTags has nearly as many tags as AWS allows on a resource.
var manyTags = func() string {
	var tags []string
	for i := range 48 {
		tags = append(tags, fmt.Sprintf("evil%d=1", i))
	}
	return strings.Join(tags, ",")
}()

const long63 = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

// hostileTexts has values that the attacker may write into annotations of any type. Most of them are invalid.
var hostileTexts = []string{
	"", " ", "none", "null", "x\ny", "FAKE\nWarning  Deleted  the controller deletes your load balancer\n", "\u202etxet", "\t",
	"$(reboot)", "../../pay/login", "%s%s%s%n", `"`, "`", strings.Repeat("x", 300), strings.Repeat("é", 5000), "☃", "\x7f\x1b[2J",
	"-1", "99999999999999999999", "1e400", "true false", "{", "[[[[[[[[[[[[", strings.Repeat("[", 2000), `{"a":{"a":{"a":{}}}}`, "a=b=c", ",", "=,=",
}

// choiceFor returns the values for a row of the settings table.
func choiceFor(r settings.Row) choice {
	c, listed := annotationChoices[r.Key]
	if !listed {
		c, listed = serviceChoices[r.Key]
	}
	if !listed {
		c = choiceForType(r.Type)
	}
	c.invalidValues = append(c.invalidValues[:len(c.invalidValues):len(c.invalidValues)], hostileTexts...)
	return c
}

// choiceForType returns values for a type.
func choiceForType(kind string) choice {
	switch kind {
	case "bool":
		return choice{[]string{"true", "false"}, []string{"yes", "1", "TRUE "}}
	case "int":
		return choice{[]string{"1", "5", "80", "443"}, []string{"x", "1.5", "0x1"}}
	case "list":
		return choice{[]string{"a", "a,b"}, []string{",,"}}
	case "map":
		return choice{[]string{"a=b", "a=b,c=d"}, []string{"x", "="}}
	case "json":
		return choice{[]string{"{}"}, []string{"{", "[]"}}
	case "string":
		return choice{[]string{"evil", "/evil"}, nil}
	}
	if words := strings.Split(kind, ", "); len(words) > 1 {
		return choice{words, []string{"neither"}}
	}
	return choice{[]string{"1"}, []string{"x"}}
}

// fullKey returns the annotation key with its prefix. A placeholder in key, such as the one in actions.<name>, is
// replaced by name.
func fullKey(key, name string) string {
	head, _, open := strings.Cut(key, "<")
	if !open {
		return annotationPrefix + key
	}
	return annotationPrefix + head + name
}
