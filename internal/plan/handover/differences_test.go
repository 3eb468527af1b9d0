package handover

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// TestAdoptionIsReadyOnlyIfAllIsCompared checks that, in dry run, a take-over by a Gateway is reported as ready only if all
// distinct requests for the rules were compared.
func TestAdoptionIsReadyOnlyIfAllIsCompared(t *testing.T) {
	t.Parallel()
	for headers, want := range map[int]finding.Reason{1: finding.AdoptionReady, 6: finding.AdoptionDiffers} {
		var conditions []model.Condition
		for i := range headers {
			conditions = append(conditions, model.HTTPHeader{Name: fmt.Sprint("h", i), Values: []string{"1"}})
		}
		with := func(s model.Stack) model.Stack {
			s.LoadBalancer = &model.LoadBalancer{Listeners: []model.Listener{{
				Port: 80, Default: []model.Action{model.FixedResponse{Status: "404"}},
				Rules: []model.Rule{{Conditions: conditions, Actions: []model.Action{model.FixedResponse{Status: "200"}}}},
			}}}
			return s
		}
		found := Differences(with(adoptingGateway(true, false)), with(stackOf(ingressGroup, true)), observed.Stack{}, nil)
		if len(found) != 1 || found[0].Reason != want {
			t.Errorf("%d headers: %v", headers, found)
		}
	}
}

// TestSettingsOfManyRulesAreCompared checks that settings are compared, and reported first, also if there are too many rules
// to compare their requests.
func TestSettingsOfManyRulesAreCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rules          int
		dryRun, accept bool
		alpn           string
		want           []string
	}{
		{1, false, false, "HTTP2Only", nil},
		{1, false, false, equal.NoALPN, []string{"error port 443: ALPN policy: Ingress HTTP2Only, Gateway None"}},
		{550, false, false, "HTTP2Only", []string{"error requests for 1100 rules are not compared"}},
		{550, false, false, equal.NoALPN, []string{"error port 443: ALPN policy: Ingress HTTP2Only, Gateway None", "error requests for 1100 rules are not compared"}},
		{550, true, true, equal.NoALPN, []string{"warning port 443: ALPN policy: Ingress HTTP2Only, Gateway None", "warning requests for 1100 rules are not compared", "warning can be taken over; 1 difference, to which its objects consent"}},
		{550, true, true, "HTTP2Only", []string{"warning requests for 1100 rules are not compared", "warning can be taken over; listeners, target groups and settings are the same, but requests were not compared"}},
	} {
		from, want := stackOf(ingressGroup, true), adoptingGateway(tt.dryRun, false)
		if tt.accept {
			from.Members[0].Adopter = want.ID
		}
		for _, s := range []*model.Stack{&from, &want} {
			l := model.Listener{Port: 443, TLS: &model.TLS{}, Rules: make([]model.Rule, tt.rules)}
			s.LoadBalancer = &model.LoadBalancer{Listeners: []model.Listener{l}}
		}
		want.LoadBalancer.Listeners[0].TLS.ALPN = tt.alpn
		live := observed.LoadBalancer{ResourceID: model.LoadBalancerID, Listeners: []observed.Listener{{Port: 443, ALPN: "HTTP2Only"}}}
		found := Differences(want, from, observed.Stack{LoadBalancers: []observed.LoadBalancer{live}}, nil)
		matches := func(f finding.Finding, want string) bool {
			severity, text, _ := strings.Cut(want, " ")
			return f.Severity.String() == severity && strings.Contains(f.Message, text)
		}
		if !slices.EqualFunc(found, tt.want, matches) {
			t.Errorf("%+v: %v", tt, found)
		}
	}
}

// TestUnsetSettingsAreComparedWithAWS checks that a setting that the objects of a load balancer do not set, and that they
// therefore keep, is compared with its value in AWS.
func TestUnsetSettingsAreComparedWithAWS(t *testing.T) {
	t.Parallel()
	type (
		settings = model.LoadBalancer
		inAWS    = observed.LoadBalancer
	)
	groups := []string{"sg-1"}
	tls := func(t model.TLS) settings { return settings{Listeners: []model.Listener{{Port: 443, TLS: &t}}} }
	listener := func(l observed.Listener) inAWS {
		l.Port = 443
		return inAWS{Listeners: []observed.Listener{l}}
	}
	attributes := func(of ...string) settings {
		return settings{Attributes: map[string]string{"a": of[0]}, Listeners: []model.Listener{{Port: 443, Attributes: map[string]string{"b": of[1]}}}}
	}
	liveAttributes := inAWS{Attributes: map[string]string{"a": "1", "x": "1"}, Listeners: []observed.Listener{{Port: 443, Attributes: map[string]string{"b": "1", "x": "1"}}}}
	off, verify := &model.MutualAuth{Mode: equal.SettingOff}, &model.MutualAuth{Mode: equal.MutualAuthVerify, TrustStore: "arn:x:truststore/ts/1"}
	verifyBy := func(store string) settings {
		return tls(model.TLS{MutualAuth: &model.MutualAuth{Mode: equal.MutualAuthVerify, TrustStore: store}})
	}
	facts := observed.Facts{TrustStores: map[string]string{"searched": verify.TrustStore, "other": "arn:x:truststore/other/2", "missing": ""}}
	for name, c := range map[string]struct {
		from    settings
		live    inAWS
		gateway settings
		want    string // "" for no difference
	}{
		"PrivateLink is switched on":            {settings{}, inAWS{PrivateLinkRules: "off", SecurityGroups: groups}, settings{PrivateLinkRules: "on"}, "rules for AWS PrivateLink: Ingress off, Gateway on"},
		"PrivateLink is switched off":           {settings{}, inAWS{PrivateLinkRules: "on", SecurityGroups: groups}, settings{PrivateLinkRules: "off"}, "rules for AWS PrivateLink: Ingress on, Gateway off"},
		"the default of PrivateLink is changed": {settings{}, inAWS{SecurityGroups: groups}, settings{PrivateLinkRules: "off"}, "rules for AWS PrivateLink: Ingress on, Gateway off"},
		"PrivateLink stays off":                 {settings{}, inAWS{PrivateLinkRules: "off", SecurityGroups: groups}, settings{PrivateLinkRules: "off"}, ""},
		"PrivateLink is not set":                {settings{}, inAWS{PrivateLinkRules: "off", SecurityGroups: groups}, settings{}, ""},
		"PrivateLink is no longer set":          {settings{PrivateLinkRules: "off"}, inAWS{PrivateLinkRules: "off", SecurityGroups: groups}, settings{}, ""},
		"another value of PrivateLink is set":   {settings{PrivateLinkRules: "on"}, inAWS{PrivateLinkRules: "off", SecurityGroups: groups}, settings{PrivateLinkRules: "off"}, "rules for AWS PrivateLink: Ingress on, Gateway off"},
		"PrivateLink without security groups":   {settings{}, inAWS{}, settings{PrivateLinkRules: "off"}, ""},
		"client certificates are switched off":  {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), tls(model.TLS{}), "client certificates: Ingress verify arn:x:truststore/ts/1"},
		"and explicitly":                        {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), tls(model.TLS{MutualAuth: off}), "client certificates: Ingress verify arn:x:truststore/ts/1"},
		"client certificates are switched on":   {tls(model.TLS{}), listener(observed.Listener{MutualAuth: off}), tls(model.TLS{MutualAuth: verify}), "client certificates: Ingress none, Gateway verify arn:x:truststore/ts/1"},
		"client certificates stay":              {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), tls(model.TLS{MutualAuth: verify}), ""},
		"a trust store in AWS is named":         {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), verifyBy("searched"), ""},
		"a trust store by ARN is named":         {verifyBy(verify.TrustStore), listener(observed.Listener{MutualAuth: verify}), verifyBy("searched"), ""},
		"a named trust store is given by ARN":   {verifyBy("ts"), listener(observed.Listener{MutualAuth: verify}), verifyBy(verify.TrustStore), ""},
		"a trust store is named twice":          {verifyBy("searched"), inAWS{}, verifyBy("searched"), ""},
		"another trust store is named":          {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), verifyBy("other"), "client certificates: Ingress verify arn:x:truststore/ts/1, expired certificates are accepted: false, names of certificate authorities are sent: false, Gateway verify arn:x:truststore/other/2"},
		"an unknown trust store is named":       {tls(model.TLS{}), listener(observed.Listener{MutualAuth: verify}), verifyBy("missing"), "Gateway verify missing"},
		"no client certificates":                {tls(model.TLS{}), listener(observed.Listener{MutualAuth: off}), tls(model.TLS{}), ""},
		"the ALPN policy is switched off":       {tls(model.TLS{}), listener(observed.Listener{ALPN: "HTTP2Only"}), tls(model.TLS{ALPN: equal.NoALPN}), "ALPN policy: Ingress HTTP2Only, Gateway None"},
		"the ALPN policy stays":                 {tls(model.TLS{}), listener(observed.Listener{ALPN: "HTTP2Only"}), tls(model.TLS{ALPN: "HTTP2Only"}), ""},
		"no ALPN policy":                        {tls(model.TLS{}), listener(observed.Listener{ALPN: equal.NoALPN}), tls(model.TLS{ALPN: equal.NoALPN}), ""},
		"a new listener":                        {tls(model.TLS{}), inAWS{}, tls(model.TLS{ALPN: equal.NoALPN}), ""},
		"the scheme stays":                      {settings{Scheme: model.Internal}, inAWS{Scheme: model.InternetFacing}, settings{Scheme: model.InternetFacing}, ""},
		"attributes stay":                       {settings{Listeners: []model.Listener{{Port: 443}}}, liveAttributes, attributes("1", "1"), ""},
		"an attribute changes":                  {settings{Listeners: []model.Listener{{Port: 443}}}, liveAttributes, attributes("2", "1"), "attributes: Ingress a=1, Gateway a=2"},
		"an attribute of a listener changes":    {settings{Listeners: []model.Listener{{Port: 443}}}, liveAttributes, attributes("1", "2"), "port 443: attributes: Ingress b=1, Gateway b=2"},
	} {
		from, want := stackOf(ingressGroup, true), adoptingGateway(true, false)
		from.LoadBalancer, want.LoadBalancer = &c.from, &c.gateway
		c.live.ResourceID = model.LoadBalancerID
		expectDifference(t, name, Differences(want, from, observed.Stack{LoadBalancers: []observed.LoadBalancer{c.live}, Facts: facts}, nil), c.want)
	}
}

// TestUnsetAddOnsAreComparedWithAWS checks that add-ons and a capacity that the objects of a load balancer do not set, and that
// they therefore keep, are compared with AWS. While the state in AWS is not known, they count as different.
func TestUnsetAddOnsAreComparedWithAWS(t *testing.T) {
	t.Parallel()
	type addOns = model.AddOns
	const arn = "arn:x:regional/webacl/acl/1"
	acl := func(arn, name string) addOns { return addOns{WebACL: &model.WebACL{ARN: arn, Name: name}} }
	shield := func(on bool) addOns { return addOns{Shield: &model.Shield{On: on}} }
	classic := func(id string) addOns { return addOns{ClassicACL: &model.ClassicACL{ID: id}} }
	type facts = map[model.AddOn]observed.AddOn
	attached, none := facts{model.WAFv2: {ID: arn}}, facts{model.WAFv2: {}, model.WAFClassic: {}, model.ShieldAdvanced: {}}
	protected := func(by string) facts { return facts{model.ShieldAdvanced: {ID: "1", Name: by}} }
	const unknown = ": Ingress not set, and its value in AWS is not known, Gateway none"
	for name, c := range map[string]struct {
		from    addOns
		live    facts
		gateway addOns
		want    string // "" for no difference
	}{
		"a web ACL is removed":                {addOns{}, attached, acl("", ""), "web ACL: Ingress " + arn + ", Gateway none"},
		"a web ACL is replaced":               {addOns{}, attached, acl("other", ""), "web ACL: Ingress " + arn + ", Gateway other"},
		"a web ACL is added":                  {addOns{}, none, acl(arn, ""), "web ACL: Ingress none, Gateway " + arn},
		"a web ACL stays":                     {addOns{}, attached, acl(arn, ""), ""},
		"a web ACL by name stays":             {acl("", "acl"), attached, acl(arn, ""), ""},
		"a web ACL by name on both":           {acl("", "acl"), attached, acl("", "acl"), ""},
		"a web ACL by another name":           {acl("", "cl"), attached, acl(arn, ""), "web ACL: Ingress cl, Gateway " + arn},
		"no web ACL":                          {addOns{}, none, acl("", ""), ""},
		"a web ACL is not managed":            {addOns{}, attached, addOns{}, ""},
		"a web ACL is not managed any more":   {acl(arn, ""), attached, addOns{}, "web ACL: Ingress " + arn + ", Gateway none"},
		"neither has a web ACL":               {acl("", ""), facts{}, acl("", ""), ""},
		"web ACL not known":                   {addOns{}, facts{}, acl("", ""), "web ACL" + unknown},
		"web ACL not readable":                {addOns{}, facts{model.WAFv2: {Fault: &observed.Fault{}}}, acl("", ""), "web ACL" + unknown},
		"a protection is removed":             {addOns{}, protected(plan.ProtectionName), shield(false), "Shield Advanced: Ingress true, Gateway none"},
		"a legacy protection is removed":      {addOns{}, protected(plan.LegacyProtectionName), shield(false), "Shield Advanced: Ingress true, Gateway none"},
		"a protection of another stays":       {addOns{}, protected("mine"), shield(false), ""},
		"a protection stays":                  {addOns{}, protected("mine"), shield(true), ""},
		"a protection is added":               {addOns{}, none, shield(true), "Shield Advanced: Ingress none, Gateway true"},
		"no protection":                       {addOns{}, none, shield(false), ""},
		"protection not known":                {addOns{}, facts{}, shield(false), "Shield Advanced" + unknown},
		"a web ACL of WAF Classic is removed": {addOns{}, facts{model.WAFClassic: {ID: "1"}}, classic(""), "web ACL of WAF Classic: Ingress 1, Gateway none"},
		"no web ACL of WAF Classic":           {addOns{}, none, classic(""), ""},
	} {
		from, want, have := stackOf(ingressGroup, true), adoptingGateway(false, false), loadBalancerOf(false, ingressGroup)
		from.LoadBalancer.AddOns, want.LoadBalancer.AddOns = c.from, c.gateway
		have.Facts.AddOns = map[string]observed.AddOn{}
		for of, v := range c.live {
			have.Facts.AddOns[model.AskAddOn{Of: of, ARN: have.LoadBalancers[0].ARN}.Key()] = v
		}
		expectDifference(t, name, Differences(want, from, have, nil), c.want)
	}
	for name, c := range map[string]struct {
		live, gateway *int32
		want          string
	}{
		"capacity is reduced": {new(int32(500)), new(int32(0)), "capacity: Ingress 500, Gateway none"},
		"capacity stays":      {new(int32(500)), new(int32(500)), ""},
		"no capacity":         {new(int32(0)), new(int32(0)), ""},
		"capacity is not set": {new(int32(500)), nil, ""},
		"capacity not known":  {nil, new(int32(0)), "capacity" + unknown},
	} {
		from, want, have := stackOf(ingressGroup, true), adoptingGateway(false, false), loadBalancerOf(false, ingressGroup)
		have.LoadBalancers[0].Capacity, want.LoadBalancer.Capacity = c.live, c.gateway
		expectDifference(t, name, Differences(want, from, have, nil), c.want)
	}
}

// expectDifference checks that a single difference with the given text was found, or none if the text is "".
func expectDifference(t *testing.T, name string, found finding.List, want string) {
	t.Helper()
	found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Reason != finding.AdoptionDiffers })
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("%s: %v", name, found)
	case want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, want)):
		t.Errorf("%s: %v, want %q", name, found, want)
	}
}
