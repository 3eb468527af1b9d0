package wire_test

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

var (
	query        = wire.AWSQuery("urn:x")
	ec2Query     = wire.EC2Query("urn:x")
	awsJSONCodec = wire.JSON()
	restXMLCodec = wire.RESTXML("urn:x", []wire.Route{
		{Operation: "ChangeResourceRecordSets", Method: "POST", Path: "/v/zone/{HostedZoneId}/rrset"},
		{Operation: "ListHostedZones", Method: "GET", Path: "/v/zone", Query: map[string]string{"maxitems": "MaxItems"}},
	})
)

func errorCode(err error) string {
	if e, ok := errors.AsType[*store.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestDecodeRefusals(t *testing.T) {
	cases := map[string]struct {
		codec wire.Codec
		body  string
		in    any
		code  string
		names string // text that the message must contain
	}{
		"query: unknown member":        {query, "Colour=red", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Colour"},
		"query: unknown inner member":  {query, "Actions.member.1.Colour=red", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Actions.member.1.Colour"},
		"query: list without member":   {query, "Actions.1.Type=forward", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Actions.1"},
		"query: index zero":            {query, "Actions.member.0.Type=forward", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Actions.member.0"},
		"query: index with zeros":      {query, "Actions.member.01.Type=forward", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Actions.member.01"},
		"query: not a number":          {query, "Priority=first", new(elb.CreateRuleInput), wire.CodeMalformedParameter, "Priority"},
		"query: number too large":      {query, "Priority=99999999999", new(elb.CreateRuleInput), wire.CodeMalformedParameter, "Priority"},
		"query: members of a scalar":   {query, "Priority.member.1=1", new(elb.CreateRuleInput), wire.CodeUnknownParameter, "Priority.member"},
		"query: value for a structure": {query, "MutualAuthentication=on", new(elb.CreateListenerInput), wire.CodeMalformedParameter, "MutualAuthentication"},
		"query: bad form":              {query, "a=%zz", new(elb.CreateRuleInput), "MalformedQueryString", ""},
		"ec2: the SDK's plural":        {ec2Query, "Filters.1.Name=x", new(ec2.DescribeVpcsInput), wire.CodeUnknownParameter, "Filters"},
		"ec2: not a boolean":           {ec2Query, "DryRun=maybe", new(ec2.DescribeVpcsInput), wire.CodeMalformedParameter, "DryRun"},
		"json: unknown member":         {awsJSONCodec, `{"Colour": 1}`, new(acm.ListCertificatesInput), wire.CodeUnknownParameter, "Colour"},
		"json: unknown inner member":   {awsJSONCodec, `{"Includes": {"Colour": 1}}`, new(acm.ListCertificatesInput), wire.CodeUnknownParameter, "Includes.Colour"},
		"json: wrong type":             {awsJSONCodec, `{"MaxItems": "many"}`, new(acm.ListCertificatesInput), wire.CodeMalformedParameter, "MaxItems"},
		"json: not a list":             {awsJSONCodec, `{"CertificateStatuses": "ISSUED"}`, new(acm.ListCertificatesInput), wire.CodeMalformedParameter, "CertificateStatuses"},
		"json: not base64":             {awsJSONCodec, `{"Certificate": "%"}`, new(acm.ImportCertificateInput), wire.CodeMalformedParameter, "Certificate"},
		"json: broken":                 {awsJSONCodec, `{`, new(acm.ListCertificatesInput), "SerializationException", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.codec.Decode(wire.Request{Body: []byte(c.body)}, c.in)
			if errorCode(err) != c.code || !strings.Contains(err.Error(), c.names) {
				t.Errorf("want %s naming %q, got %v", c.code, c.names, err)
			}
		})
	}
}

func TestRESTXMLIsDecoded(t *testing.T) {
	const change = "<Change><Action>CREATE</Action><ResourceRecordSet><Name>a &amp; b</Name><TTL>60</TTL></ResourceRecordSet></Change>"
	body := func(inner string) string {
		return `<ChangeResourceRecordSetsRequest xmlns="urn:y">` + inner + `</ChangeResourceRecordSetsRequest>`
	}
	set := new(route53.ChangeResourceRecordSetsInput)
	good := wire.Request{Method: "POST", Path: "/v/zone/Z1/rrset/", Body: []byte(body("<ChangeBatch><Changes>" + change + change + "</Changes></ChangeBatch>"))}
	if err := restXMLCodec.Decode(good, set); err != nil {
		t.Fatal(err)
	}
	if n := len(set.ChangeBatch.Changes); n != 2 || *set.HostedZoneId != "Z1" || *set.ChangeBatch.Changes[1].ResourceRecordSet.Name != "a & b" || *set.ChangeBatch.Changes[0].ResourceRecordSet.TTL != 60 {
		t.Errorf("decoded %+v", set)
	}
	for name, c := range map[string]struct {
		query url.Values
		body  string
		code  string
		names string
	}{
		"unknown query":         {query: url.Values{"colour": {"red"}}, code: wire.CodeUnknownParameter, names: "colour"},
		"query twice":           {query: url.Values{"maxitems": {"1", "2"}}, code: wire.CodeUnknownParameter, names: "maxitems"},
		"not a number":          {query: url.Values{"maxitems": {"many"}}, code: wire.CodeMalformedParameter, names: "MaxItems"},
		"unknown element":       {body: body("<Colour/>"), code: wire.CodeUnknownParameter, names: "Colour"},
		"unknown inner element": {body: body("<ChangeBatch><Changes><Change><Colour/></Change></Changes></ChangeBatch>"), code: wire.CodeUnknownParameter, names: "ChangeBatch.Changes.Change.Colour"},
		"unknown item":          {body: body("<ChangeBatch><Changes><member/></Changes></ChangeBatch>"), code: wire.CodeUnknownParameter, names: "ChangeBatch.Changes.member"},
		"element twice":         {body: body("<ChangeBatch><Comment>a</Comment><Comment>b</Comment></ChangeBatch>"), code: wire.CodeMalformedParameter, names: "ChangeBatch.Comment"},
		"structure in a scalar": {body: body("<ChangeBatch><Comment><A/></Comment></ChangeBatch>"), code: wire.CodeUnknownParameter, names: "ChangeBatch.Comment.A"},
		"another root":          {body: "<Other/>", code: wire.CodeUnknownParameter, names: "Other"},
		"broken":                {body: "<ChangeResourceRecordSetsRequest>", code: "InvalidInput"},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := wire.Request{Method: "POST", Path: "/v/zone/Z1/rrset", Body: []byte(c.body)}, any(new(route53.ChangeResourceRecordSetsInput))
			if c.query != nil {
				r, in = wire.Request{Method: "GET", Path: "/v/zone", Query: c.query}, new(route53.ListHostedZonesInput)
			}
			err := restXMLCodec.Decode(r, in)
			if errorCode(err) != c.code || !strings.Contains(err.Error(), c.names) {
				t.Errorf("want %s naming %q, got %v", c.code, c.names, err)
			}
		})
	}
}

func TestRoutesFindOperations(t *testing.T) {
	router := restXMLCodec.(wire.Router)
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/v/zone", "ListHostedZones"},
		{"GET", "/v/zone/", "ListHostedZones"},
		{"POST", "/v/zone", ""},
		{"POST", "/v/zone/Z1/rrset", "ChangeResourceRecordSets"},
		{"POST", "/v/zone//rrset", ""},
		{"POST", "/v/zone/Z1/other", ""},
	} {
		if got, ok := router.Route(c.method, c.path); got != c.want || ok != (c.want != "") {
			t.Errorf("%s %s: want %q, got %q", c.method, c.path, c.want, got)
		}
	}
}

func TestEmptyListIsPresent(t *testing.T) {
	in := new(elb.CreateLoadBalancerInput)
	if err := query.Decode(wire.Request{Body: []byte("Name=a&SecurityGroups=")}, in); err != nil {
		t.Fatal(err)
	}
	if in.SecurityGroups == nil || len(in.SecurityGroups) != 0 {
		t.Errorf("want present and empty, got %#v", in.SecurityGroups)
	}
	if in.Subnets != nil {
		t.Errorf("want absent, got %#v", in.Subnets)
	}
}

func TestListItemsAreOrderedByIndex(t *testing.T) {
	in := new(elb.DescribeTagsInput)
	if err := query.Decode(wire.Request{Body: []byte("ResourceArns.member.10=c&ResourceArns.member.2=b&ResourceArns.member.1=a")}, in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, in.ResourceArns); diff != "" {
		t.Error(diff)
	}
}

func TestMapsAreDecoded(t *testing.T) {
	in := new(elb.CreateRuleInput)
	body := "Actions.member.1.AuthenticateOidcConfig.AuthenticationRequestExtraParams.entry.1.key=prompt&" +
		"Actions.member.1.AuthenticateOidcConfig.AuthenticationRequestExtraParams.entry.1.value=login"
	if err := query.Decode(wire.Request{Body: []byte(body)}, in); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"prompt": "login"}
	if diff := cmp.Diff(want, in.Actions[0].AuthenticateOidcConfig.AuthenticationRequestExtraParams); diff != "" {
		t.Error(diff)
	}
}

func TestResponsesAreEncoded(t *testing.T) {
	at := time.Date(2016, 3, 25, 21, 26, 12, 920e6, time.UTC)
	cases := map[string]struct {
		codec wire.Codec
		op    string
		out   any
		want  string
	}{
		"query": {query, "CreateLoadBalancer", &elb.CreateLoadBalancerOutput{LoadBalancers: []elbtypes.LoadBalancer{{
			CreatedTime: &at, LoadBalancerName: aws.String("a<b"), SecurityGroups: []string{},
		}}}, `<CreateLoadBalancerResponse xmlns="urn:x"><CreateLoadBalancerResult><LoadBalancers><member>` +
			`<CreatedTime>2016-03-25T21:26:12.920Z</CreatedTime><LoadBalancerName>a&lt;b</LoadBalancerName><SecurityGroups></SecurityGroups>` +
			`</member></LoadBalancers></CreateLoadBalancerResult><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></CreateLoadBalancerResponse>`},
		"query, empty answer": {query, "DeleteRule", &elb.DeleteRuleOutput{},
			`<DeleteRuleResponse xmlns="urn:x"><DeleteRuleResult></DeleteRuleResult><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></DeleteRuleResponse>`},
		"ec2, empty answer": {ec2Query, "CreateTags", &ec2.CreateTagsOutput{},
			`<CreateTagsResponse xmlns="urn:x"><requestId>id</requestId><return>true</return></CreateTagsResponse>`},
		"ec2, EC2 member names": {ec2Query, "DescribeVpcs", &ec2.DescribeVpcsOutput{NextToken: aws.String("n")},
			`<DescribeVpcsResponse xmlns="urn:x"><requestId>id</requestId><nextToken>n</nextToken></DescribeVpcsResponse>`},
		"json, empty answer": {awsJSONCodec, "DeleteCertificate", &acm.DeleteCertificateOutput{}, `{}`},
		"json":               {awsJSONCodec, "ListCertificates", &acm.ListCertificatesOutput{NextToken: aws.String("n")}, `{"NextToken":"n"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			resp, err := c.codec.Encode(c.op, c.out, "id")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(resp.Body)); diff != "" {
				t.Error(diff)
			}
			if resp.Status != 200 || resp.Header.Get("X-Amzn-Requestid") != "id" {
				t.Errorf("status %d, header %v", resp.Status, resp.Header)
			}
		})
	}
}

func TestErrorsAreEncoded(t *testing.T) {
	plain := &store.Error{Code: "PriorityInUse", Message: "a < b"}
	cases := map[string]struct {
		codec  wire.Codec
		err    *store.Error
		status int
		want   string
	}{
		"query": {query, plain, 400,
			`<ErrorResponse xmlns="urn:x"><Error><Type>Sender</Type><Code>PriorityInUse</Code><Message>a &lt; b</Message></Error><RequestId>id</RequestId></ErrorResponse>`},
		"query, server error": {query, &store.Error{Code: "InternalFailure", Status: 500}, 500,
			`<ErrorResponse xmlns="urn:x"><Error><Type>Receiver</Type><Code>InternalFailure</Code><Message></Message></Error><RequestId>id</RequestId></ErrorResponse>`},
		"ec2":  {ec2Query, plain, 400, `<Response><Errors><Error><Code>PriorityInUse</Code><Message>a &lt; b</Message></Error></Errors><RequestID>id</RequestID></Response>`},
		"json": {awsJSONCodec, plain, 400, `{"__type":"PriorityInUse","message":"a \u003c b"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			resp := c.codec.EncodeError(c.err, "id")
			if resp.Status != c.status {
				t.Errorf("status %d", resp.Status)
			}
			if diff := cmp.Diff(c.want, string(resp.Body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnhandledMembersAreFound(t *testing.T) {
	in := &elb.CreateRuleInput{
		ListenerArn: aws.String("x"),
		Actions:     []elbtypes.Action{{Type: "forward", Order: aws.Int32(1)}, {RedirectConfig: &elbtypes.RedirectActionConfig{Host: aws.String("h")}}},
	}
	cases := map[string]struct {
		members wire.Members
		want    string
	}{
		"all":                    {wire.HandledMembers("ListenerArn", "Actions"), ""},
		"none":                   {wire.HandledMembers(), "Actions"},
		"a part":                 {wire.HandledMembers("ListenerArn", "Actions.Type"), "Actions.Order"},
		"two parts":              {wire.HandledMembers("ListenerArn", "Actions.Type", "Actions.Order"), "Actions.RedirectConfig"},
		"a part of the part":     {wire.HandledMembers("ListenerArn", "Actions.Type", "Actions.Order", "Actions.RedirectConfig.Port"), "Actions.RedirectConfig.Host"},
		"more than is there too": {wire.HandledMembers("ListenerArn", "Actions", "Tags"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := wire.FirstUnhandledMember(in, c.members); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestOpPanicsForUnknownMembers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Op accepted a member that does not exist")
		}
	}()
	wire.NewOperation("DeleteRule", func(*store.Call, *elb.DeleteRuleInput) (*elb.DeleteRuleOutput, error) { return nil, nil }, wire.HandledMembers("RuleARN"))
}

// FuzzDecode checks that no body makes a codec panic, and that decoding a body twice gives the same input and error code.
func FuzzDecode(f *testing.F) {
	f.Add("Actions.member.1.Type=forward&Priority=1")
	f.Add("Filter.1.Name=a&Filter.1.Value.1=b")
	f.Add(`{"Includes": {"keyTypes": ["RSA_2048"]}, "MaxItems": 1}`)
	f.Fuzz(func(t *testing.T, body string) {
		for codec, newInput := range map[wire.Codec]func() any{
			query:        func() any { return new(elb.CreateRuleInput) },
			ec2Query:     func() any { return new(ec2.RunInstancesInput) },
			awsJSONCodec: func() any { return new(acm.RequestCertificateInput) },
		} {
			first, second := newInput(), newInput()
			once, twice := codec.Decode(wire.Request{Body: []byte(body)}, first), codec.Decode(wire.Request{Body: []byte(body)}, second)
			if errorCode(once) != errorCode(twice) || once == nil && !reflect.DeepEqual(first, second) {
				t.Errorf("decoded twice: %v, %+v; %v, %+v", once, first, twice, second)
			}
		}
	})
}
