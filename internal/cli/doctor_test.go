package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cli/doctor"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// emulatorState returns the state of an emulator as text.
func emulatorState(t *testing.T, em *emulator.Emulator) string {
	t.Helper()
	em.Store().Lock()
	defer em.Store().Unlock()
	data, err := em.Store().Export()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// runDoctor runs doctor with the kubeconfig at path config. It returns the exit code, and the output to standard output and
// standard error.
func runDoctor(t *testing.T, config string, flags []string, more ...string) (code int, out string) {
	t.Helper()
	code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"doctor"}, more, flags)...)
	return code, out + stderr
}

// addHealthyCluster adds the CustomResourceDefinitions of this version, and a Lease that was just renewed.
func (a *apiServer) addHealthyCluster(t *testing.T) {
	t.Helper()
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		a.addManifest(t, string(doc))
	}
	a.addManifest(t, fmt.Sprintf(`apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {namespace: kube-system, name: aws-load-balancer-controller-leader}
spec: {holderIdentity: fulcrum-0, renewTime: %q}
`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))
}

// TestDoctorReportsNoErrorForHealthyCluster checks that doctor reports no error about a healthy cluster, and changes neither
// the cluster nor AWS.
func TestDoctorReportsNoErrorForHealthyCluster(t *testing.T) {
	em, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	server.addWebhooks(t, time.Now().Add(365*24*time.Hour), true)
	before := emulatorState(t, em)
	code, out := runDoctor(t, config, flags)
	for _, want := range []string{
		"ok      kubernetes   API server v1.37.2 at http://", "ok      definitions  7 custom resource definitions are equal to those of this version\n",
		"ok      controller   \"fulcrum-0\" has the Lease kube-system/aws-load-balancer-controller-leader\n", "ok      webhooks     2 webhooks have a valid CA and ready endpoints\n",
		"ok      credentials  arn:aws:", "ok      discovery    region us-west-2, VPC vpc-", "ok      discovery    subnets for scheme internal: subnet-",
		"ok      discovery    subnets for scheme internet-facing: subnet-", "actions were tried and are granted to arn:aws:",
		"ok      quotas       application-load-balancers: 0 of 50 in use\n", "ok      orphans      every AWS resource with the tags of cluster \"rig\" belongs to an object\n",
		"0 errors, 0 warnings\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	if t.Failed() {
		t.Log(out)
	}
	if d := cmp.Diff(before, emulatorState(t, em)); d != "" {
		t.Errorf("doctor has changed AWS: %.500s", d)
	}
}

// TestDoctorReportsAnOutage checks that doctor reports that AWS does not answer if connections are refused, hang, or return
// status 503. It does not advise changing credentials, permissions or flags.
func TestDoctorReportsAnOutage(t *testing.T) {
	const brief = 50 * time.Millisecond // short, because no call is answered within any timeout
	for name, outage := range map[string]fault.Action{
		"refused": {Reset: true},
		"hangs":   {Hang: true},
		"fails":   {Error: store.Errorf(store.EmulatorSource, "ServiceUnavailable", "unavailable").WithStatus(503)},
	} {
		t.Run(name, func(t *testing.T) {
			em, flags := startEmulator(t)
			_, config := serveCluster(t, classYAML)
			em.Faults().SetHook(func(fault.Call) fault.Action { return outage })
			var text bytes.Buffer
			code := Run(t.Context(), output.Environment{
				Args: append([]string{"doctor"}, flags...), Stdin: strings.NewReader(""), Stdout: &text, Stderr: &text,
				Getenv: func(k string) string { return map[string]string{"KUBECONFIG": config}[k] }, AttemptTimeout: brief,
			})
			out := text.String()
			if code == 0 || !strings.Contains(out, "AWS does not answer") || !strings.Contains(out, "wait until AWS answers") {
				t.Errorf("exit %d", code)
			}
			for _, advice := range []string{"AWS_PROFILE", "grant it to the role", "grant ec2:", "--aws-vpc-id"} {
				if strings.Contains(out, advice) {
					t.Errorf("it advises %q", advice)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestDoctorReportsFaults checks that doctor reports each problem of a cluster and its permissions with a fix, and that text
// and JSON have the same number of errors.
func TestDoctorReportsFaults(t *testing.T) {
	em, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		text := string(doc)
		switch {
		case strings.Contains(text, "name: targetgroupbindings.elbv2.k8s.aws"):
			continue
		case strings.Contains(text, "name: ingressclassparams.elbv2.k8s.aws"):
			text = strings.Replace(text, "              ipamConfiguration:", "              otherConfiguration:", 1)
		}
		server.addManifest(t, text)
	}
	server.addWebhooks(t, time.Now().Add(-time.Hour), false)
	em.Faults().Add(fault.Rule{Operation: "DescribeRules", Action: fault.Action{Deny: true}})
	em.Faults().Add(fault.Rule{Operation: "CreateSecurityGroup", Action: fault.Action{Deny: true}})
	code, out := runDoctor(t, config, flags)
	for _, want := range []string{
		"error   definitions  targetgroupbindings.elbv2.k8s.aws is not installed; run \"kubectl apply -f config/crd\"\n",
		"warning definitions  ingressclassparams.elbv2.k8s.aws is older than this version: it lacks v1beta1.spec.ipamConfiguration; run",
		"warning controller   the Lease kube-system/aws-load-balancer-controller-leader does not exist; start the controller",
		"error   webhooks     webhook vingress.elbv2.k8s.aws: its CA expired at ",
		"may not call elasticloadbalancing:DescribeRules, which is needed to compare listener rules; grant it to the role, see config/iam/policy.json\n",
		"may not call ec2:CreateSecurityGroup, which is needed to create the security groups of load balancers; grant it",
		"4 errors",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	_, asJSON, _ := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"doctor", "-o=json"}, flags)...)
	var doc doctor.Document
	if err := json.Unmarshal([]byte(asJSON), &doc); err != nil || doc.Errors != 4 || len(doc.Checks) < 10 {
		t.Errorf("%v, %d errors", err, doc.Errors)
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestDoctorReportsMissingPermissionOnce checks that doctor reports each missing permission once with its fix. Other checks
// that need the same permission only refer to that area.
func TestDoctorReportsMissingPermissionOnce(t *testing.T) {
	em, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	server.addWebhooks(t, time.Now().Add(365*24*time.Hour), true)
	server.forbiddenResources = map[string]bool{"customresourcedefinitions": true, "endpointslices": true}
	em.Faults().Add(fault.Rule{Operation: "DescribeLoadBalancers", Action: fault.Action{Deny: true}})
	_, out := runDoctor(t, config, flags)
	server.forbiddenResources = nil
	_, more := runDoctor(t, config, flags)
	const balancers = "as the right to call \"Elastic Load Balancing v2 DescribeLoadBalancers\" is missing, see \"permissions\"\n"
	for _, want := range []string{
		"customresourcedefinitions is forbidden; grant the right to read custom resource definitions\n",
		"warning webhooks     webhook mpod.elbv2.k8s.aws: endpointslices is forbidden; grant the right to list EndpointSlices\n",
		"warning kubernetes   objects cannot be read, so classes and orphans were not checked: not checked in full, as the right to read endpointslices.discovery.k8s.io is missing, see \"webhooks\"\n",
		"may not call elasticloadbalancing:DescribeLoadBalancers, which is needed to find and compare load balancers; grant it to the role, see config/iam/policy.json\n",
		"warning discovery    not checked in full, " + balancers,
	} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(out, want))
		}
	}
	if want := "warning orphans      not checked in full, " + balancers; strings.Count(more, want) != 1 {
		t.Errorf("%q is not there once in\n%s", want, more)
	}
	for _, text := range []string{"AWS refuses the call", "--files-only"} {
		if strings.Contains(out, text) {
			t.Errorf("%q is there", text)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestDoctorReportsFailedSubnetCallOnce checks that doctor reports a failed DescribeSubnets call once, although it needs
// subnets for two schemes.
func TestDoctorReportsFailedSubnetCallOnce(t *testing.T) {
	em, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	server.addWebhooks(t, time.Now().Add(365*24*time.Hour), true)
	em.Faults().Add(fault.Rule{Operation: "DescribeSubnets", Action: fault.Action{Error: &store.Error{Code: "InvalidRequest", Message: "not today", Status: 400}}})
	_, out := runDoctor(t, config, flags)
	if n := strings.Count(out, "not today"); n != 1 {
		t.Errorf("it is reported %d times:\n%s", n, out)
	}
}

// TestDoctorReportsUnreachableAPIServerAndAWS checks that doctor reports both if neither the API server nor AWS answers.
func TestDoctorReportsUnreachableAPIServerAndAWS(t *testing.T) {
	_, flags := startEmulator(t)
	config := filepath.Join(writeTempFiles(t, map[string]string{"config": kubeconfigOf(unusedAddress(t))}), "config")
	flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--aws-api-endpoints") })
	t.Setenv("AWS_ENDPOINT_URL", "http://"+unusedAddress(t))
	t.Setenv("AWS_REGION", os.Getenv("AWS_REGION"))
	code, out := runDoctor(t, config, flags, "--aws-max-retries=1")
	if code != 1 || !strings.Contains(out, "error   kubernetes   the API server at ") || !strings.Contains(out, "error   discovery    AWS does not answer at ") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// restrictCredentials replaces the permissions of access key harness.AccessKey with the given IAM policies.
func restrictCredentials(t *testing.T, em *emulator.Emulator, policies ...[]byte) {
	t.Helper()
	var who store.Principal
	for _, document := range policies {
		p, err := emulated.Parse(document)
		if err != nil {
			t.Fatal(err)
		}
		who.Policies = append(who.Policies, p)
	}
	em.Store().Lock()
	defer em.Store().Unlock()
	em.Store().PutPrincipal(harness.AccessKey, who)
}

// TestDoctorSimulatesPolicies checks that doctor simulates the actions that change AWS if its user may simulate policies.
// The number of calls to IAM is limited.
func TestDoctorSimulatesPolicies(t *testing.T) {
	const simulation = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:SimulatePrincipalPolicy","Resource":"*"}]}`
	for name, c := range map[string]struct {
		policies [][]byte
		want     []string
		calls    int
	}{
		"all is granted": {[][]byte{rights.Policy("aws"), rights.OptionalPolicy()},
			[]string{"53 of 53 actions that change AWS are allowed in a simulation of the policies of arn:aws:iam::"}, 22},
		"one is missing": {[][]byte{rights.PolicyWithoutAction("aws", "ListenersAndRules", "elasticloadbalancing:ModifyRule"), []byte(simulation)},
			[]string{"warning permissions  arn:aws:iam::", "may not call elasticloadbalancing:ModifyRule in a simulation of its policies; it is needed to change listener rules; grant it to the role",
				"52 of 53 actions that change AWS are allowed"}, 22},
		"one is missing with the tag of the cluster": {[][]byte{rights.PolicyWithoutAction("aws", "TagOwn", "elasticloadbalancing:AddTags"), []byte(simulation)},
			[]string{"may not call elasticloadbalancing:AddTags in a simulation of its policies", "needed to change tags of load balancers and target groups"}, 22},
		"simulation is not granted": {[][]byte{rights.Policy("aws")},
			[]string{"53 actions change AWS and were not simulated: ", "; grant iam:SimulatePrincipalPolicy to the caller, so that doctor can simulate them"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			em, flags := startEmulator(t)
			restrictCredentials(t, em, c.policies...)
			server, config := serveCluster(t, classYAML)
			server.addHealthyCluster(t)
			_, out := runDoctor(t, config, flags)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if n := em.Calls().Count("SimulatePrincipalPolicy"); n > c.calls {
				t.Errorf("%d calls", n)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// privateSubnetIDs returns the IDs of the private subnets of an emulator.
func privateSubnetIDs(t *testing.T, em *emulator.Emulator) (out []string) {
	t.Helper()
	list, err := ec2.NewFromConfig(harness.AWSConfig(em)).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: new("tag-key"), Values: []string{"kubernetes.io/role/internal-elb"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Subnets {
		out = append(out, *s.SubnetId)
	}
	return out
}

// TestDoctorShowsQuotas checks that doctor prints one line for each quota, with the resource that uses most of it. The line
// is an error if the quota is used up.
func TestDoctorShowsQuotas(t *testing.T) {
	em, flags := startEmulator(t)
	em.Store().Lock()
	em.Store().Config.Quotas = map[string]int{"rules-per-application-load-balancer": 2, "listeners-per-application-load-balancer": 1}
	em.Store().Unlock()
	api := elb.NewFromConfig(harness.AWSConfig(em))
	tag := []elbtypes.Tag{{Key: new("elbv2.k8s.aws/cluster"), Value: new(harness.ClusterName)}}
	subnets := privateSubnetIDs(t, em)
	made, err := api.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: new("full"), Subnets: subnets[:2], Tags: tag, Scheme: elbtypes.LoadBalancerSchemeEnumInternal})
	if err != nil {
		t.Fatal(err)
	}
	fixed := []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: new("404")}}}
	listener, err := api.CreateListener(t.Context(), &elb.CreateListenerInput{LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Port: new(int32(80)), Protocol: elbtypes.ProtocolEnumHttp, DefaultActions: fixed})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		_, err := api.CreateRule(t.Context(), &elb.CreateRuleInput{ListenerArn: listener.Listeners[0].ListenerArn, Priority: new(i + 1), Actions: fixed,
			Conditions: []elbtypes.RuleCondition{{Field: new("path-pattern"), PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: []string{fmt.Sprintf("/%d", i)}}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	_, out := runDoctor(t, config, flags)
	for _, want := range []string{
		"error   quotas       rules-per-application-load-balancer: 2 of 2 in use by full, which uses most; request a higher quota in Service Quotas, or delete",
		"error   quotas       listeners-per-application-load-balancer: 1 of 1 in use by full, which uses most; ",
		"ok      quotas       certificates-per-application-load-balancer: 0 of 25 in use by full",
		"ok      quotas       application-load-balancers: 1 of 50 in use\n",
		"of 60 (the default of AWS) in use by sg-",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestDoctorShowsQuotasWhileResourcesAreDeleted checks that doctor shows quotas even if load balancers and target groups are
// deleted while doctor reads them.
func TestDoctorShowsQuotasWhileResourcesAreDeleted(t *testing.T) {
	em, flags := startEmulator(t)
	api := elb.NewFromConfig(harness.AWSConfig(em))
	tag := []elbtypes.Tag{{Key: new("elbv2.k8s.aws/cluster"), Value: new(harness.ClusterName)}}
	subnets, vpc := privateSubnetIDs(t, em), ""
	for _, f := range flags {
		if id, ok := strings.CutPrefix(f, "--aws-vpc-id="); ok {
			vpc = id
		}
	}
	for _, name := range []string{"one", "two"} {
		if _, err := api.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: &name, Subnets: subnets[:2], Tags: tag, Scheme: elbtypes.LoadBalancerSchemeEnumInternal}); err != nil {
			t.Fatal(err)
		}
		if _, err := api.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{Name: &name, Protocol: elbtypes.ProtocolEnumHttp, Port: new(int32(80)), VpcId: &vpc, Tags: tag}); err != nil {
			t.Fatal(err)
		}
	}
	for operation, code := range map[string]string{"DescribeTargetHealth": "TargetGroupNotFound", "DescribeListeners": "LoadBalancerNotFound"} {
		em.Faults().Add(fault.Rule{Operation: operation, Skip: 1, Count: 1, Action: fault.Action{Error: &store.Error{Code: code, Message: "gone", Status: 400}}})
	}
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	_, out := runDoctor(t, config, flags)
	for _, want := range []string{"targets-per-target-group: 0 of", "listeners-per-application-load-balancer: 0 of"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestDoctorReportsUnservedIngresses checks that doctor reports Ingresses whose class does not exist or has a mistyped
// controller name. It limits how many Ingresses it names.
func TestDoctorReportsUnservedIngresses(t *testing.T) {
	_, flags := startEmulator(t)
	docs := []string{classYAML, strings.NewReplacer("{name: alb}", "{name: near}", "ingress.k8s.aws/alb", "ingress.k8s.aws/abl").Replace(classYAML), ingressYAML,
		strings.NewReplacer("name: web", "name: theirs", "ingressClassName: alb", "ingressClassName: nginx").Replace(ingressYAML), `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
`}
	for n := range 12 {
		for _, class := range []string{"none", "near"} {
			docs = append(docs, strings.NewReplacer("name: web", fmt.Sprintf("name: %s-%02d", class, n), "ingressClassName: alb", "ingressClassName: "+class).Replace(ingressYAML))
		}
	}
	server, config := serveCluster(t, strings.Join(docs, "---\n"))
	server.addHealthyCluster(t)
	_, out := runDoctor(t, config, flags)
	for _, want := range []string{
		"warning classes      these Ingresses name classes that do not exist; their resources in AWS stay, and no new ones are created: Ingress shop/none-00 (none), Ingress shop/none-01 (none)",
		"Ingress shop/none-09 (none) and 2 more; create the class, or correct spec.ingressClassName\n",
		`warning classes      Ingress shop/near-00 spec.ingressClassName: IngressClass near: controller "ingress.k8s.aws/abl" is unknown to this controller (did you mean "ingress.k8s.aws/alb"?); nothing is created; correct the class, or name another one` + "\n",
		"warning classes      3 more objects have findings of this kind; see their events, or \"fulcrum explain\" about one of them\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "shop/theirs") || strings.Contains(out, "shop/web ") {
		t.Errorf("what is served is reported:\n%s", out)
	}
}

// TestDoctorReportsMissingClasses checks that doctor warns about a Gateway whose class does not exist, and if no
// IngressClass has the controller name of this controller.
func TestDoctorReportsMissingClasses(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: web}
spec: {gatewayClassName: alb, listeners: [{name: http, port: 80, protocol: HTTP}]}
`)
	server.addHealthyCluster(t)
	_, out := runDoctor(t, config, flags)
	for _, want := range []string{
		"warning classes      no IngressClass has spec.controller ingress.k8s.aws/alb, so Ingresses cannot name a class of this controller; create an IngressClass with this spec.controller\n",
		"warning classes      these Gateways name classes that do not exist, so no controller serves them: Gateway shop/web (alb); create the class, or correct spec.gatewayClassName\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestDoctorIgnoresLeaseWithoutLeaderElection checks that doctor does not check the Lease if leader election is off.
func TestDoctorIgnoresLeaseWithoutLeaderElection(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	_, out := runDoctor(t, config, append(slices.Clone(flags), "--enable-leader-election=false"))
	if want := "ok      controller   the controller has no Lease, because --enable-leader-election=false is set\n"; !strings.Contains(out, want) {
		t.Errorf("%q is not in\n%s", want, out)
	}
}
