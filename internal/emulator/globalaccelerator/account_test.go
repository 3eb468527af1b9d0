package globalaccelerator_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestListsArePaginated(t *testing.T) {
	r := newHarness(t)
	r.configure(func(c *store.Config) {
		c.Quotas["standard-accelerators-per-account"], c.Quotas["listeners-per-accelerator"], c.Quotas["byoip-ranges-per-account"] = 30, 30, 30
	})
	var a *types.Accelerator
	for range 12 {
		a = r.createAccelerator()
	}
	var l *types.Listener
	for i := range int32(12) {
		l = r.createListener(a, 100+i, 100+i)
	}
	for i := range 12 {
		must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(fmt.Sprintf("xx-%s-1", string(rune('a'+i))))}))(t)
		must(r.ga.ProvisionByoipCidr(r.ctx, &ga.ProvisionByoipCidrInput{Cidr: aws.String(fmt.Sprintf("198.51.%d.0/24", i)), CidrAuthorizationContext: &types.CidrAuthorizationContext{Message: aws.String("m"), Signature: aws.String("s")}}))(t)
	}
	// Each function returns the identifiers of a page and the token of the next page.
	lists := map[string]func(size *int32, token *string) ([]string, *string, error){
		"accelerators": func(size *int32, token *string) (ids []string, next *string, err error) {
			out, err := r.ga.ListAccelerators(r.ctx, &ga.ListAcceleratorsInput{MaxResults: size, NextToken: token})
			if err != nil {
				return nil, nil, err
			}
			for _, x := range out.Accelerators {
				ids = append(ids, *x.AcceleratorArn)
			}
			return ids, out.NextToken, nil
		},
		"listeners": func(size *int32, token *string) (ids []string, next *string, err error) {
			out, err := r.ga.ListListeners(r.ctx, &ga.ListListenersInput{AcceleratorArn: a.AcceleratorArn, MaxResults: size, NextToken: token})
			if err != nil {
				return nil, nil, err
			}
			for _, x := range out.Listeners {
				ids = append(ids, *x.ListenerArn)
			}
			return ids, out.NextToken, nil
		},
		"endpoint groups": func(size *int32, token *string) (ids []string, next *string, err error) {
			out, err := r.ga.ListEndpointGroups(r.ctx, &ga.ListEndpointGroupsInput{ListenerArn: l.ListenerArn, MaxResults: size, NextToken: token})
			if err != nil {
				return nil, nil, err
			}
			for _, x := range out.EndpointGroups {
				ids = append(ids, *x.EndpointGroupArn)
			}
			return ids, out.NextToken, nil
		},
		"ranges": func(size *int32, token *string) (ids []string, next *string, err error) {
			out, err := r.ga.ListByoipCidrs(r.ctx, &ga.ListByoipCidrsInput{MaxResults: size, NextToken: token})
			if err != nil {
				return nil, nil, err
			}
			for _, x := range out.ByoipCidrs {
				ids = append(ids, *x.Cidr)
			}
			return ids, out.NextToken, nil
		},
	}
	pages := func(name string, size *int32) (all []string, pages int) {
		t.Helper()
		var token *string
		for {
			ids, next, err := lists[name](size, token)
			if err != nil {
				t.Fatal(err)
			}
			all, pages = append(all, ids...), pages+1
			if next == nil {
				slices.Sort(all)
				return all, pages
			}
			token = next
		}
	}
	want := map[string][]string{}
	for name := range lists {
		want[name], _ = pages(name, aws.Int32(100))
		if n := len(slices.Compact(slices.Clone(want[name]))); n != 12 || len(want[name]) != 12 {
			t.Errorf("%s: %d different items of %d, want 12", name, n, len(want[name]))
		}
	}
	for name, list := range lists {
		if all, n := pages(name, nil); !slices.Equal(all, want[name]) || n != 2 {
			t.Errorf("%s: %v in %d pages, want %v in 2", name, all, n, want[name])
		}
		if all, n := pages(name, aws.Int32(5)); !slices.Equal(all, want[name]) || n != 3 {
			t.Errorf("%s: %v in %d pages of 5, want %v in 3", name, all, n, want[name])
		}
		for other, foreign := range lists {
			_, token, _ := foreign(aws.Int32(1), nil)
			if _, _, err := list(nil, token); other != name && errorCode(err) != "InvalidNextTokenException" {
				t.Errorf("%s: the token of %s is not rejected: %v", name, other, err)
			}
		}
		for _, size := range []int32{0, 101} {
			if _, _, err := list(&size, nil); errorCode(err) != invalidArgumentError {
				t.Errorf("%s with MaxResults %d: %v", name, size, err)
			}
		}
		if _, _, err := list(nil, aws.String("token")); errorCode(err) != "InvalidNextTokenException" {
			t.Errorf("%s with an invalid token: %v", name, err)
		}
	}
	r.configure(func(c *store.Config) { c.PageSize = 2 })
	for name := range lists {
		if all, n := pages(name, aws.Int32(100)); !slices.Equal(all, want[name]) || n != 6 {
			t.Errorf("%s: %v in %d pages of 2, want %v in 6", name, all, n, want[name])
		}
	}
}

func TestTags(t *testing.T) {
	r := newHarness(t)
	tag := func(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }
	a := r.createAccelerator(func(in *ga.CreateAcceleratorInput) { in.Tags = []types.Tag{tag("a", "1"), tag("b", "2")} })
	r.createAccelerator() // this accelerator has no tags
	l := r.createListener(a, 80, 80)
	read := func() string {
		t.Helper()
		var out []string
		for _, t := range must(r.ga.ListTagsForResource(r.ctx, &ga.ListTagsForResourceInput{ResourceArn: a.AcceleratorArn}))(t).Tags {
			out = append(out, *t.Key+"="+*t.Value)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	put := func(arn *string, tags ...types.Tag) error {
		return errorOnly(r.ga.TagResource(r.ctx, &ga.TagResourceInput{ResourceArn: arn, Tags: tags}))
	}
	remove := func(arn *string, keys ...string) error {
		return errorOnly(r.ga.UntagResource(r.ctx, &ga.UntagResourceInput{ResourceArn: arn, TagKeys: keys}))
	}
	r.checkError("", put(a.AcceleratorArn, tag("b", "3"), tag("c", "")))
	r.checkError("", remove(a.AcceleratorArn, "a", "absent"))
	if got := read(); got != "b=3 c=" {
		t.Errorf("tags %s", got)
	}
	r.checkError(invalidArgumentError, put(a.AcceleratorArn, tag("aws:x", "")))
	r.checkError(invalidArgumentError, put(a.AcceleratorArn, tag(strings.Repeat("k", 129), "")))
	r.checkError(invalidArgumentError, put(a.AcceleratorArn, tag("k", strings.Repeat("v", 257))))
	r.checkError(invalidArgumentError, put(l.ListenerArn, tag("k", "v")))
	r.checkError(invalidArgumentError, remove(a.AcceleratorArn, "aws:x"))
	r.checkError("AcceleratorNotFoundException", put(aws.String(missingAcceleratorARN), tag("k", "v")))
	r.checkError("AcceleratorNotFoundException", errorOnly(r.ga.ListTagsForResource(r.ctx, &ga.ListTagsForResourceInput{ResourceArn: aws.String(missingAcceleratorARN)})))
	r.checkError("", remove(aws.String(missingAcceleratorARN), "k"))
	var many []types.Tag
	for i := range 48 {
		many = append(many, tag(fmt.Sprint("k", i), ""))
	}
	r.checkError("", put(a.AcceleratorArn, many...))
	r.checkError(invalidArgumentError, put(a.AcceleratorArn, tag("one more", "")))
	r.checkError("", put(a.AcceleratorArn, tag("b", "again")))

	list := func(region, kind string) int {
		t.Helper()
		cfg := r.cfg.Copy()
		cfg.Region = region
		return len(must(rgt.NewFromConfig(cfg).GetResources(r.ctx, &rgt.GetResourcesInput{ResourceTypeFilters: []string{kind}}))(t).ResourceTagMappingList)
	}
	for kind, want := range map[string]int{"globalaccelerator:accelerator": 1, "globalaccelerator": 1, "globalaccelerator:listener": 0} {
		if n := list("us-west-2", kind); n != want {
			t.Errorf("%d resources of type %s, want %d", n, kind, want)
		}
	}
	if n := list(region, "globalaccelerator:accelerator"); n != 0 {
		t.Errorf("%d accelerators in %s", n, region)
	}
}

func TestQuotas(t *testing.T) {
	const limit = "LimitExceededException"
	r := newHarness(t)
	a := r.createAccelerator()
	for range 19 {
		r.createAccelerator()
	}
	r.checkError(limit, errorOnly(r.ga.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: aws.String("x")})))
	var l *types.Listener
	for i := range int32(10) {
		l = r.createListener(a, 100+i, 100+i)
	}
	r.checkError(limit, errorOnly(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: "TCP", PortRanges: portRanges(1, 1)})))
	for i := range 42 {
		must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(fmt.Sprintf("xx-%s%s-1", string(rune('a'+i/26)), string(rune('a'+i%26))))}))(t)
	}
	r.checkError(limit, errorOnly(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(region)})))

	b := must(r.ga.ListAccelerators(r.ctx, &ga.ListAcceleratorsInput{MaxResults: aws.Int32(100)}))(t).Accelerators
	other := b[slices.IndexFunc(b, func(x types.Accelerator) bool { return *x.AcceleratorArn != *a.AcceleratorArn })]
	g := r.createEndpointGroup(r.createListener(&other, 80, 90)).EndpointGroupArn
	add := func(ids ...string) error {
		return errorOnly(r.ga.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g, EndpointConfigurations: endpointConfigurations(ids...)}))
	}
	r.configure(func(c *store.Config) {
		c.Quotas["network-load-balancers-per-endpoint-group"], c.Quotas["mixed-endpoints-per-endpoint-group"], c.Quotas["port-overrides-per-endpoint-group"] = 2, 1, 1
	})
	r.checkError("", add(r.createLoadBalancer("one", asNetwork), r.createLoadBalancer("two", asNetwork)))
	r.checkError(limit, add(r.createLoadBalancer("three", asNetwork)))
	r.checkError(limit, add(r.instance))
	r.checkError(limit, errorOnly(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: g, PortOverrides: portOverrides(80, 8080, 81, 8081)})))
}

// TestOnlyOneRegionHasTheService checks that the service responds only in its region and at its host names. Calls in other
// regions fail, and are in the call log.
func TestOnlyOneRegionHasTheService(t *testing.T) {
	r := newHarness(t)
	list := func(region, endpoint string) error {
		cfg := r.cfg.Copy()
		cfg.Region = region
		return errorOnly(ga.NewFromConfig(cfg, func(o *ga.Options) {
			if endpoint != "" {
				o.BaseEndpoint = &endpoint
			}
		}).ListAccelerators(r.ctx, &ga.ListAcceleratorsInput{}))
	}
	for _, endpoint := range []string{"", "https://globalaccelerator.amazonaws.com", "https://globalaccelerator-fips.us-west-2.amazonaws.com", "https://globalaccelerator.us-west-2.api.aws", "http://127.0.0.1:4566"} {
		r.checkError("", list("us-west-2", endpoint))
	}
	refused := 0
	for _, c := range [][2]string{
		{"eu-west-1", ""}, {"eu-west-1", "http://127.0.0.1:4566"}, {"us-west-2", "https://globalaccelerator.eu-west-1.amazonaws.com"}, {"us-west-2", "https://globalaccelerator.eu-west-1.api.aws"},
	} {
		if err := list(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "no such host") {
			t.Errorf("%v: %v", c, err)
		}
		refused++
	}
	for _, e := range r.em.Calls().Entries() {
		if e.Fault == "no such host" && e.Operation == "ListAccelerators" && e.Status == 0 {
			refused--
		}
	}
	if refused != 0 {
		t.Errorf("%d refused calls are not in the log", refused)
	}
}

// acceleratorPolicy is an IAM policy for a controller that manages accelerators. "%s" is replaced by further actions of the
// statement "Write".
const acceleratorPolicy = `{"Version": "2012-10-17", "Statement": [
	{"Sid": "Role", "Effect": "Allow", "Action": "iam:CreateServiceLinkedRole", "Resource": "*", "Condition": {"StringEquals": {"iam:AWSServiceName": "globalaccelerator.amazonaws.com"}}},
	{"Sid": "List", "Effect": "Allow", "Action": ["globalaccelerator:ListAccelerators", "globalaccelerator:ListListeners", "globalaccelerator:ListEndpointGroups", "globalaccelerator:ListTagsForResource"], "Resource": "*"},
	{"Sid": "Read", "Effect": "Allow", "Action": ["globalaccelerator:DescribeAccelerator", "globalaccelerator:DescribeListener", "globalaccelerator:DescribeEndpointGroup"], "Resource": "arn:aws:globalaccelerator::*:accelerator/*",
	 "Condition": {"Null": {"aws:ResourceTag/elbv2.k8s.aws/cluster": "false"}}},
	{"Sid": "Create", "Effect": "Allow", "Action": "globalaccelerator:CreateAccelerator", "Resource": "*", "Condition": {"Null": {"aws:RequestTag/elbv2.k8s.aws/cluster": "false"}}},
	{"Sid": "Write", "Effect": "Allow", "Action": ["globalaccelerator:UpdateAccelerator", "globalaccelerator:DeleteAccelerator", "globalaccelerator:CreateListener", "globalaccelerator:CreateEndpointGroup", "globalaccelerator:AddEndpoints"%s],
	 "Resource": "arn:aws:globalaccelerator::*:accelerator/*", "Condition": {"Null": {"aws:ResourceTag/elbv2.k8s.aws/cluster": "false"}}},
	{"Sid": "Tag", "Effect": "Allow", "Action": ["globalaccelerator:TagResource", "globalaccelerator:UntagResource"], "Resource": "arn:aws:globalaccelerator::*:accelerator/*",
	 "Condition": {"Null": {"aws:RequestTag/elbv2.k8s.aws/cluster": "true", "aws:ResourceTag/elbv2.k8s.aws/cluster": "false"}}},
	{"Sid": "TagNew", "Effect": "Allow", "Action": "globalaccelerator:TagResource", "Resource": "arn:aws:globalaccelerator::*:accelerator/*", "Condition": {"Null": {"aws:RequestTag/elbv2.k8s.aws/cluster": "false"}}}
]}`

func TestPoliciesWithTagConditions(t *testing.T) {
	const denied = "AccessDeniedException"
	r := newHarness(t)
	allow := func(more string) {
		t.Helper()
		p, err := iam.Parse(fmt.Appendf(nil, acceleratorPolicy, more))
		if err != nil {
			t.Fatal(err)
		}
		r.em.Store().Lock()
		defer r.em.Store().Unlock()
		r.em.Store().PutPrincipal("AKIA123456789012LIMITED", store.Principal{Policies: []iam.Policy{p}})
	}
	allow("")
	cfg := r.cfg.Copy()
	cfg.Credentials = credentials.NewStaticCredentialsProvider("AKIA123456789012LIMITED", "secret", "")
	c := ga.NewFromConfig(cfg)
	mine := types.Tag{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String("c")}
	other := types.Tag{Key: aws.String("team"), Value: aws.String("x")}
	create := func(tags ...types.Tag) (*ga.CreateAcceleratorOutput, error) {
		return c.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: aws.String("x"), Tags: tags})
	}
	r.checkError(denied, errorOnly(create()))
	r.checkError(denied, errorOnly(create(other)))
	a := must(create(mine, other))(t).Accelerator.AcceleratorArn
	foreign := r.createAccelerator().AcceleratorArn
	r.checkError("", errorOnly(c.ListAccelerators(r.ctx, &ga.ListAcceleratorsInput{})))
	r.checkError("", errorOnly(c.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: a})))
	for _, arn := range []*string{foreign, aws.String(missingAcceleratorARN)} {
		r.checkError(denied, errorOnly(c.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: arn})))
		r.checkError(denied, errorOnly(c.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: arn})))
		r.checkError("", errorOnly(c.ListListeners(r.ctx, &ga.ListListenersInput{AcceleratorArn: foreign})))
	}
	// Permissions for listeners and endpoint groups depend on the tags of their accelerator.
	l := must(c.CreateListener(r.ctx, &ga.CreateListenerInput{AcceleratorArn: a, Protocol: "TCP", PortRanges: portRanges(80, 80)}))(t).Listener
	g := must(c.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: l.ListenerArn, EndpointGroupRegion: aws.String(region)}))(t).EndpointGroup
	theirs := r.createListener(&types.Accelerator{AcceleratorArn: foreign}, 80, 80)
	r.checkError(denied, errorOnly(c.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{ListenerArn: theirs.ListenerArn, EndpointGroupRegion: aws.String(region)})))
	// AddEndpoints also needs the permission to update the endpoint group.
	add := func() error {
		return errorOnly(c.AddEndpoints(r.ctx, &ga.AddEndpointsInput{EndpointGroupArn: g.EndpointGroupArn, EndpointConfigurations: endpointConfigurations(r.instance)}))
	}
	if err := add(); errorCode(err) != denied || !strings.Contains(err.Error(), "globalaccelerator:UpdateEndpointGroup") {
		t.Errorf("AddEndpoints without permission for UpdateEndpointGroup: %v", err)
	}
	allow(`, "globalaccelerator:UpdateEndpointGroup"`)
	r.checkError("", add())
	put := func(arn *string, tags ...types.Tag) error {
		return errorOnly(c.TagResource(r.ctx, &ga.TagResourceInput{ResourceArn: arn, Tags: tags}))
	}
	r.checkError("", put(a, other))
	r.checkError(denied, put(foreign, other))
	r.checkError("", put(foreign, mine)) // the policy allows this tag for all accelerators
	r.checkError(denied, errorOnly(c.UntagResource(r.ctx, &ga.UntagResourceInput{ResourceArn: a, TagKeys: []string{*mine.Key}})))
	r.checkError("", errorOnly(c.UntagResource(r.ctx, &ga.UntagResourceInput{ResourceArn: a, TagKeys: []string{*other.Key}})))
	if n := r.em.Permissions()[authz.UsedPermission{Sid: "Role", Action: "iam:CreateServiceLinkedRole"}]; n != 1 {
		t.Errorf("iam:CreateServiceLinkedRole was used %d times, want 1", n)
	}
}

func TestFaultsOfAccelerators(t *testing.T) {
	r := newHarness(t)
	only := func(operation string, action fault.Action) {
		r.em.Faults().ClearRules()
		r.em.Faults().Add(fault.Rule{Service: "globalaccelerator", Operation: operation, Count: 1, Action: action})
	}
	list := func() int {
		t.Helper()
		return len(must(r.ga.ListAccelerators(r.ctx, &ga.ListAcceleratorsInput{}))(t).Accelerators)
	}
	create := func() error {
		return errorOnly(r.ga.CreateAccelerator(r.ctx, &ga.CreateAcceleratorInput{Name: aws.String("web"), IdempotencyToken: aws.String("t")}))
	}
	only("CreateAccelerator", fault.Action{Lose: true})
	if err := create(); err == nil {
		t.Error("CreateAccelerator got a response, want a lost response")
	}
	if n := list(); n != 1 {
		t.Errorf("%d accelerators after a lost response, want 1", n)
	}
	r.checkError("", create())
	if n := list(); n != 1 {
		t.Errorf("%d accelerators after a repeated creation", n)
	}
	only("CreateAccelerator", fault.Action{Throttle: true})
	err := create()
	r.checkError("ThrottlingException", err)
	if !strings.Contains(err.Error(), "Rate exceeded") {
		t.Error(err)
	}
	only("*", fault.Action{Error: store.Errorf(store.UnprovenSource, "TransactionInProgressException", "busy")})
	r.checkError("TransactionInProgressException", create())
	only("*", fault.Action{Error: store.Errorf(store.UnprovenSource, "InternalServiceErrorException", "no").WithStatus(500)})
	r.checkError("InternalServiceErrorException", create())
	only("*", fault.Action{Deny: true})
	r.checkError("AccessDeniedException", create())

	// The next list call returns the state of 5 seconds ago. DescribeAccelerator returns the current state.
	only("List*", fault.Action{Stale: 5 * time.Second})
	r.clock.Advance(time.Minute)
	a := r.createAccelerator()
	if n := list(); n != 1 {
		t.Errorf("a stale list has %d accelerators, want 1", n)
	}
	r.checkError("", errorOnly(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: a.AcceleratorArn})))
	if n := list(); n != 2 {
		t.Errorf("%d accelerators, want 2", n)
	}
	// The deployment delay can be several hours.
	r.configure(func(c *store.Config) { c.Accelerator.DeploymentDelay = 5 * time.Hour })
	must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: a.AcceleratorArn}))(t)
	r.clock.Advance(4 * time.Hour)
	if got := r.acceleratorStatus(a.AcceleratorArn); got != "IN_PROGRESS" {
		t.Error(got)
	}
}

// TestStateIsExportedAndRestored checks that a reset deletes accelerators, and that the restored export of a state contains
// them.
func TestStateIsExportedAndRestored(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	g := r.createEndpointGroup(r.createListener(a, 80, 80), r.instance)
	w := r.em.Store()
	w.Lock()
	state, err := w.Export()
	w.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	r.em.Reset()
	r.checkError("AcceleratorNotFoundException", errorOnly(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: a.AcceleratorArn})))
	w.Lock()
	err = w.Restore(state)
	w.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	got := must(r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: g.EndpointGroupArn}))(t).EndpointGroup
	if len(got.EndpointDescriptions) != 1 || *got.EndpointDescriptions[0].EndpointId != r.instance {
		t.Errorf("restored: %+v", got)
	}
}

// TestRequiredMembers checks that the service rejects requests in which a required member is missing. The SDK does not send
// such requests, but other clients may.
func TestRequiredMembers(t *testing.T) {
	r := newHarness(t)
	a := r.createAccelerator()
	for _, c := range [][2]string{
		{"CreateAccelerator", `{"IdempotencyToken": "t"}`},
		{"DescribeAccelerator", `{}`},
		{"CreateListener", `{"IdempotencyToken": "t", "PortRanges": [{"FromPort": 80, "ToPort": 80}]}`},
		{"CreateListener", `{"AcceleratorArn": "ARN", "IdempotencyToken": "t"}`},
		{"DescribeListener", `{}`},
		{"UpdateEndpointGroup", `{}`},
		{"TagResource", `{"Tags": []}`},
		{"TagResource", `{"ResourceArn": "ARN"}`},
		{"UntagResource", `{"ResourceArn": "ARN"}`},
		{"UntagResource", `{"TagKeys": []}`},
		{"ProvisionByoipCidr", `{"Cidr": "198.51.100.0/24"}`},
		{"AdvertiseByoipCidr", `{}`},
	} {
		operation, body := c[0], strings.ReplaceAll(c[1], `"ARN"`, `"`+*a.AcceleratorArn+`"`)
		req, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "https://globalaccelerator.us-west-2.amazonaws.com/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "GlobalAccelerator_V20180706."+operation)
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA123456789012/20260102/us-west-2/globalaccelerator/aws4_request, SignedHeaders=host, Signature=0")
		res := must(r.em.Client().Do(req))(t)
		text := must(io.ReadAll(res.Body))(t)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), invalidArgumentError) {
			t.Errorf("%s %s: status %d, %s", operation, body, res.StatusCode, text)
		}
	}
}
