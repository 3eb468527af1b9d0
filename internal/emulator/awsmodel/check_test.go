package awsmodel

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// recordExchanges makes successful and failing calls in each protocol, and returns the last exchange of each operation.
func recordExchanges(t *testing.T) map[string]emulator.Exchange {
	t.Helper()
	seen := map[string]emulator.Exchange{}
	em := emulator.New(emulator.Options{Observe: func(x emulator.Exchange) { seen[x.Operation] = x }})
	cfg := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	ctx := t.Context()
	lbs, network, certificates, zones := elb.NewFromConfig(cfg), ec2.NewFromConfig(cfg), acm.NewFromConfig(cfg), route53.NewFromConfig(cfg)
	vpcs := must(network.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{MaxResults: aws.Int32(5)}))(t)
	must(network.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("group"), Description: aws.String("d"), VpcId: vpcs.Vpcs[0].VpcId,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: "security-group", Tags: []ec2types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}},
	}))(t)
	must(network.CreateManagedPrefixList(ctx, &ec2.CreateManagedPrefixListInput{
		PrefixListName: aws.String("list"), MaxEntries: aws.Int32(3), AddressFamily: aws.String("IPv4"),
	}))(t)
	must(lbs.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
		Name: aws.String("group"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: vpcs.Vpcs[0].VpcId,
		HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckPath: aws.String("/a<b"),
		Tags: []elbtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}},
	}))(t)
	if _, err := lbs.DeleteRule(ctx, &elb.DeleteRuleInput{RuleArn: aws.String("arn:aws:elasticloadbalancing:us-west-2:123456789012:listener-rule/app/a/0123456789abcdef/0123456789abcdef/0123456789abcdef")}); err == nil {
		t.Fatal("a rule that does not exist was deleted")
	}
	cert := must(certificates.RequestCertificate(ctx, &acm.RequestCertificateInput{
		DomainName: aws.String("a.example.com"), ValidationMethod: acmtypes.ValidationMethodDns,
		Tags: []acmtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}))(t)
	must(certificates.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: cert.CertificateArn}))(t)
	must(certificates.ListCertificates(ctx, &acm.ListCertificatesInput{MaxItems: aws.Int32(10)}))(t)
	absent := "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-4000-8000-000000000000"
	if _, err := certificates.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &absent}); err == nil {
		t.Fatal("a certificate that does not exist was found")
	}
	zone := must(zones.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("example.com"), CallerReference: aws.String("r")}))(t)
	must(zones.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: zone.HostedZone.Id,
		ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: "CREATE", ResourceRecordSet: &route53types.ResourceRecordSet{
			Name: aws.String("a.example.com"), Type: "A", TTL: aws.Int64(60), ResourceRecords: []route53types.ResourceRecord{{Value: aws.String("192.0.2.1")}},
		}}}},
	}))(t)
	must(zones.ListHostedZones(ctx, &route53.ListHostedZonesInput{MaxItems: aws.Int32(10)}))(t)
	if _, err := zones.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: aws.String("Z0")}); err == nil {
		t.Fatal("a zone that does not exist was deleted")
	}
	return seen
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// replaceInExchange replaces from with to in one part of an exchange. side is "request" for the body of the request,
// "answer" for the body of the response, or "path" for the query of the URL. It replaces the first occurrence, but all
// occurrences if from is the end of a tag, such as "item>", because each element has two tags.
func replaceInExchange(t *testing.T, x emulator.Exchange, side, from, to string) emulator.Exchange {
	t.Helper()
	part := &x.Request.Body
	switch side {
	case "answer":
		part = &x.Answer.Body
	case "path":
		query := x.Request.Query.Encode()
		next := strings.Replace(query, from, to, 1)
		if next == query {
			t.Fatalf("%q is not in %q", from, query)
		}
		x.Request.Query = must(url.ParseQuery(next))(t)
		return x
	}
	n := 1
	if side == "answer" && strings.HasSuffix(from, ">") && !strings.HasPrefix(from, "<") {
		n = -1
	}
	next := strings.Replace(string(*part), from, to, n)
	if next == string(*part) {
		t.Fatalf("%q is not in %s", from, next)
	}
	*part = []byte(next)
	if x.Request.Form != nil {
		x.Request.Form = must(url.ParseQuery(string(x.Request.Body)))(t)
	}
	return x
}

func TestRecordedCallsMatchTheModels(t *testing.T) {
	c := &Checker{}
	for _, x := range recordExchanges(t) {
		c.Observe(x)
	}
	if diff := cmp.Diff([]string(nil), c.Deviations()); diff != "" {
		t.Error(diff)
	}
}

func TestDeviationsAreFound(t *testing.T) {
	long := strings.Repeat("x", 2000)
	calls := recordExchanges(t)
	for _, c := range []struct{ operation, side, from, to, want string }{
		// Query protocol.
		{"CreateTargetGroup", "request", "Protocol=HTTP", "Protocol=GOPHER", `member "Protocol", value "GOPHER": not a value of ProtocolEnum`},
		{"CreateTargetGroup", "request", "Name=group&", "", `value "Name": a required member of CreateTargetGroupInput is missing`},
		{"CreateTargetGroup", "request", "Tags.member.1.Key=a", "Tags.member.1.Key=" + long, `member "Tags.Key", value "xxx`},
		{"CreateTargetGroup", "request", "HealthCheckIntervalSeconds=10", "HealthCheckIntervalSeconds=4", `member "HealthCheckIntervalSeconds", value "4": less than 5`},
		{"CreateTargetGroup", "request", "HealthCheckIntervalSeconds=10", "HealthCheckIntervalSeconds=301", `value "301": more than 300`},
		{"CreateTargetGroup", "request", "HealthCheckIntervalSeconds=10", "HealthCheckIntervalSeconds=often", `value "often": not a number of type integer`},
		{"CreateTargetGroup", "request", "Name=group", "Name=group&Colour=red", `value "Colour": not a member of CreateTargetGroupInput`},
		{"CreateTargetGroup", "request", "Tags.member.1.Key=a", "Tags.member.1.Key=%3C", `does not match the pattern of TagKey`},
		{"CreateTargetGroup", "request", "Tags.member.2.Key=b&Tags.member.2.Value=2", "Tags.member.3.Key=b&Tags.member.3.Value=2", `item 2 of the list is numbered "3"`},
		{"CreateTargetGroup", "request", "Tags.member.1.Key=a&Tags.member.1.Value=1&Tags.member.2.Key=b&Tags.member.2.Value=2", "Tags.1.Key=a", `member "Tags", value "1": not "member", the only member that a list has in a form`},
		{"CreateTargetGroup", "answer", "<Protocol>HTTP<", "<Protocol>http<", `CreateTargetGroup, answer, member "TargetGroups.Protocol", value "http": not a value of ProtocolEnum`},
		{"CreateTargetGroup", "answer", "<HealthCheckIntervalSeconds>10<", "<HealthCheckIntervalSeconds>1<", `value "1": less than 5`},
		{"CreateTargetGroup", "answer", "<HealthCheckPath>/a&lt;b<", "<HealthCheckPath>" + long + "<", `2000 characters, not 1 to 1024`},
		{"CreateTargetGroup", "answer", "<Protocol>HTTP</Protocol>", "<Colour/>", `member "TargetGroups", value "Colour": not a member of TargetGroup`},
		{"CreateTargetGroup", "answer", "member>", "item>", `value "item": not a list item; the items are named member`},
		{"CreateTargetGroup", "answer", "CreateTargetGroupResult>", "Result>", `the response does not consist of ResponseMetadata and "CreateTargetGroupResult"`},
		{"DeleteRule", "answer", "RuleNotFound", "TargetGroupNotFound", `member "Code", value "TargetGroupNotFound"`},
		// EC2 query protocol. Its model has almost no limits on strings, and lists no errors.
		{"CreateSecurityGroup", "request", "ResourceType=security-group", "ResourceType=club", `member "TagSpecifications.ResourceType", value "club": not a value of ResourceType`},
		{"CreateSecurityGroup", "request", "GroupDescription=d&", "", `value "Description": a required member of CreateSecurityGroupRequest is missing`},
		{"CreateSecurityGroup", "request", "GroupDescription=d", "Description=d", `value "Description": not a member of`},
		{"CreateSecurityGroup", "answer", "<groupId>", "<Colour/><groupId>", `value "Colour": not a member of CreateSecurityGroupResult`},
		{"CreateManagedPrefixList", "request", "PrefixListName=list&", "", `value "PrefixListName": a required member`},
		{"DescribeVpcs", "request", "MaxResults=5", "MaxResults=4", `member "MaxResults", value "4": less than 5`},
		{"DescribeVpcs", "answer", "<state>available<", "<state>fine<", `member "Vpcs.State", value "fine": not a value of VpcState`},
		{"DescribeVpcs", "answer", "<isDefault>true<", "<isDefault>yes<", `value "yes": not a boolean`},
		{"DescribeVpcs", "answer", "item>", "member>", `value "member": not a list item; the items are named item`},
		{"DescribeVpcs", "answer", "<requestId>", "<id></id><requestId>", `value "id": not a member`},
		// JSON.
		{"RequestCertificate", "request", `"DNS"`, `"FAX"`, `member "ValidationMethod", value "FAX": not a value of ValidationMethod`},
		{"RequestCertificate", "request", `"DomainName"`, `"domainName"`, `value "DomainName": a required member of RequestCertificateRequest is missing`},
		{"RequestCertificate", "request", `"a.example.com"`, `"` + long + `.com"`, `2004 characters, not 1 to 253`},
		{"RequestCertificate", "request", `"a.example.com"`, `"-a.example.com"`, `does not match the pattern of DomainNameString`},
		{"RequestCertificate", "request", `{`, `{"Colour":1,`, `value "Colour": not a member of RequestCertificateRequest`},
		{"RequestCertificate", "request", `"a.example.com"`, `7`, `member "DomainName", value "7": not a string`},
		{"ListCertificates", "request", `"MaxItems":10`, `"MaxItems":10000`, `member "MaxItems", value "10000": more than 1000`},
		{"ListCertificates", "answer", `"KeyAlgorithm":"RSA_2048"`, `"KeyAlgorithm":"RSA-2048"`, `not a value of KeyAlgorithm`},
		{"ListTagsForCertificate", "answer", `"Key":"k"`, `"key":"k"`, `member "Tags", value "Key": a required member of Tag is missing`},
		{"ListTagsForCertificate", "answer", `"Value":"v"`, `"Value":"` + long + `"`, `2000 characters, not 0 to 256`},
		{"ListTagsForCertificate", "answer", `"Tags":`, `"Tags":{},"tags":`, `member "Tags", value "": not a list`},
		{"DescribeCertificate", "answer", "ResourceNotFoundException", "LimitExceededException", `value "LimitExceededException"`},
		// REST-XML.
		{"ChangeResourceRecordSets", "request", "<Action>CREATE<", "<Action>MAKE<", `member "ChangeBatch.Changes.Action", value "MAKE": not a value of ChangeAction`},
		{"ChangeResourceRecordSets", "request", "<Action>CREATE</Action>", "", `value "Action": a required member of Change is missing`},
		{"ChangeResourceRecordSets", "request", "<Name>a.example.com<", "<Name>" + long + "<", `2000 characters, not at most 1024`},
		{"ChangeResourceRecordSets", "request", "<TTL>60<", "<TTL>-1<", `member "ChangeBatch.Changes.ResourceRecordSet.TTL", value "-1": less than 0`},
		{"ChangeResourceRecordSets", "request", "<TTL>", "<Colour/><TTL>", `value "Colour": not a member of ResourceRecordSet`},
		{"ListHostedZones", "path", "maxitems=10", "colour=red", `value "querystring colour": not a member of ListHostedZonesRequest`},
		{"ChangeResourceRecordSets", "answer", "<Status>PENDING<", "<Status>SOON<", `member "ChangeInfo.Status", value "SOON": not a value of ChangeStatus`},
		{"ChangeResourceRecordSets", "answer", "<Status>PENDING</Status>", "", `member "ChangeInfo", value "Status": a required member of ChangeInfo is missing`},
		{"ListHostedZones", "answer", "<CallerReference>r<", "<CallerReference>" + long + "<", `2000 characters, not 1 to 128`},
		{"ListHostedZones", "answer", "<IsTruncated>", "<Colour/><IsTruncated>", `value "Colour": not a member of ListHostedZonesResponse`},
		{"ListHostedZones", "answer", "HostedZone>", "Zone>", `value "Zone": not a list item; the items are named HostedZone`},
		{"CreateHostedZone", "answer", "<SubmittedAt>", "<SubmittedAt>~", `not a timestamp`},
		{"DeleteHostedZone", "answer", "NoSuchHostedZone", "NoSuchChange", `value "NoSuchChange"`},
	} {
		t.Run(c.operation+" "+c.side+" "+c.from, func(t *testing.T) {
			x, ok := calls[c.operation]
			if !ok {
				t.Fatalf("no call of %s was recorded", c.operation)
			}
			x = replaceInExchange(t, x, c.side, c.from, c.to)
			if c.side == "answer" && x.Code != "" {
				x.Code = c.to // the emulator itself reports this code
			}
			checker := &Checker{}
			checker.Observe(x)
			got := checker.Deviations()
			if !slices.ContainsFunc(got, func(s string) bool {
				return strings.Contains(s, c.want) && strings.HasPrefix(s, x.Service+":"+c.operation+", ")
			}) {
				t.Errorf("want %q, found %q", c.want, got)
			}
		})
	}
}

func TestCallsWithoutModelAreDeviations(t *testing.T) {
	x := recordExchanges(t)["DescribeVpcs"]
	x.Operation = "DescribeMoons"
	c := &Checker{}
	c.Observe(x)
	x.Service = "moon"
	c.Observe(x)
	want := []string{
		`ec2:DescribeMoons, request, member "", value "DescribeMoons": no model of the operation`,
		`moon:DescribeMoons, request, member "", value "moon": no model of the service`,
	}
	if diff := cmp.Diff(want, c.Deviations()); diff != "" {
		t.Error(diff)
	}
}

// TestInvalidValuesInRefusedRequestsAreAccepted checks that an invalid value in a request that the emulator refuses is not a
// deviation, because users can set such values. An unknown member is a deviation even then.
func TestInvalidValuesInRefusedRequestsAreAccepted(t *testing.T) {
	x := recordExchanges(t)["CreateTargetGroup"]
	x = replaceInExchange(t, x, "request", "Protocol=HTTP", "Protocol=GOPHER&Colour=red")
	x.Answer.Status, x.Code = 400, "ValidationError"
	x.Answer.Body = []byte(`<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>`)
	c := &Checker{}
	c.Observe(x)
	want := []string{`elasticloadbalancing:CreateTargetGroup, request, member "", value "Colour": not a member of CreateTargetGroupInput`}
	if diff := cmp.Diff(want, c.Deviations()); diff != "" {
		t.Error(diff)
	}
}

// TestEachCheckerReportsDeviations checks that the cache of checked messages hides no deviation: each checker reports the
// deviations of an exchange, even if another checker has checked the same or a similar exchange before.
func TestEachCheckerReportsDeviations(t *testing.T) {
	taken := replaceInExchange(t, recordExchanges(t)["CreateTargetGroup"], "request", "Protocol=HTTP", "Protocol=GOPHER")
	refused := taken
	refused.Answer.Status, refused.Code = 400, "ValidationError"
	refused.Answer.Body = []byte(`<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>`)
	unlisted := refused
	unlisted.Code = "Nonsense"
	unlisted.Answer.Body = []byte(`<ErrorResponse><Error><Code>Nonsense</Code></Error></ErrorResponse>`)
	own := unlisted
	own.IsEmulatorError = true
	for _, x := range []emulator.Exchange{refused, own} {
		c := &Checker{}
		c.Observe(x)
		if got := c.Deviations(); len(got) > 0 {
			t.Error(got)
		}
	}
	for range 2 {
		for _, x := range []emulator.Exchange{taken, unlisted} {
			c := &Checker{}
			c.Observe(x)
			if got := c.Deviations(); len(got) != 1 {
				t.Errorf("one departs in the call with code %q: %q", x.Code, got)
			}
		}
	}
	// The request of this exchange has not been checked before.
	unseen := replaceInExchange(t, recordExchanges(t)["CreateTargetGroup"], "request", "Name=group", "Name=unseen&Colour=red")
	answers := &Checker{answersOnly: true}
	answers.Observe(unseen)
	c := &Checker{}
	c.Observe(unseen)
	if len(answers.Deviations()) != 0 || len(c.Deviations()) != 1 {
		t.Errorf("answers: %q, both: %q", answers.Deviations(), c.Deviations())
	}
}

// TestInjectedFaultsAreNoDeviations checks that injected errors and distorted responses are not deviations.
func TestInjectedFaultsAreNoDeviations(t *testing.T) {
	var o emulator.Options
	c := Watch(t, &o)
	em := emulator.New(o)
	cfg := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	em.Faults().Add(fault.Rule{Operation: "DescribeVpcs", Count: 1, Action: fault.Action{Distort: []fault.Distortion{{Member: "Vpcs.State", Kind: fault.SwapCase}}}})
	em.Faults().Add(fault.Rule{Service: "elasticloadbalancing", Action: fault.Action{Error: &store.Error{Code: "Nonsense"}}})
	must(ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}))(t)
	if _, err := elb.NewFromConfig(cfg).DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{}); err == nil {
		t.Error("the fault was not injected")
	}
	if got := c.Deviations(); len(got) > 0 {
		t.Error(got)
	}
}

// TestModelsHaveExactlyTheOperationsOfTheEmulator checks that the models contain all operations of the emulator and no
// others.
func TestModelsHaveExactlyTheOperationsOfTheEmulator(t *testing.T) {
	got := map[string][]string{}
	for name, s := range models() {
		got[name] = store.SortedKeys(s.operations)
	}
	if diff := cmp.Diff(emulator.New(emulator.Options{}).Operations(), got); diff != "" {
		t.Errorf("run go generate (-emulator +models):\n%s", diff)
	}
}

func TestExceptionsHaveReasons(t *testing.T) {
	for _, e := range exceptions {
		if e.Service == "" || e.Operation == "" || e.Side == "" || e.Reason == "" || e.Value == "" && e.Rule == "" {
			t.Errorf("too wide, or without a reason: %+v", e)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	x := emulator.Exchange{}
	em := emulator.New(emulator.Options{Observe: func(seen emulator.Exchange) { x = seen }})
	cfg := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	if _, err := ec2.NewFromConfig(cfg).DescribeSubnets(b.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		b.Fatal(err)
	}
	b.Run("new", func(b *testing.B) {
		s := models()[x.Service]
		b.ReportAllocs()
		for b.Loop() {
			s.checkAnswer(s.operations[x.Operation], x, func(_, _, rule string) { b.Fatal(rule) })
		}
	})
	b.Run("seen", func(b *testing.B) {
		c := &Checker{}
		b.ReportAllocs()
		for b.Loop() {
			c.Observe(x)
		}
	})
}
