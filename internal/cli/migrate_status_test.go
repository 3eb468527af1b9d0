package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cli/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

const (
	edgeGatewayPrefix    = "edge-grp-gw-"
	classicWAFAnnotation = "    alb.ingress.kubernetes.io/waf-acl-id: classic\n"
)

// inPlaceManifests returns the objects of storefrontYAML without the WAF annotation, and their translation by migrate
// --in-place.
func inPlaceManifests(t *testing.T) (ingresses, gateways string) {
	t.Helper()
	ingresses = classYAML + "---\n" + strings.ReplaceAll(storefrontYAML, classicWAFAnnotation, "")
	in := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(in, []byte(ingresses), 0o644); err != nil {
		t.Fatal(err)
	}
	code, made, report := run(t, "migrate", "-f", in, "--in-place", "--output-dir=-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, report)
	}
	return ingresses, made
}

// editGatewayAnnotations calls edit with the annotations of each Gateway, and stores the result.
func editGatewayAnnotations(t *testing.T, r *harness.Harness, edit func(annotations map[string]string)) {
	t.Helper()
	for _, obj := range r.Store.All(cluster.KindGateway) {
		gw := obj.DeepCopyObject().(cluster.Object)
		annotations := gw.GetAnnotations()
		edit(annotations)
		gw.SetAnnotations(annotations)
		if err := r.Store.Put(gw); err != nil {
			t.Fatal(err)
		}
	}
}

// addStackTags adds the tags of stack id to the first load balancer in AWS. The load balancer then has the tags of two
// stacks, as during a handover.
func addStackTags(t *testing.T, em *emulator.Emulator, id model.StackID) {
	t.Helper()
	client := elb.NewFromConfig(harness.AWSConfig(em))
	lbs, err := client.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	stack, resource := naming.StackTag(id.Kind), naming.ResourceTag(id.Kind)
	value, is := naming.StackTagValue(id), model.LoadBalancerID
	if _, err := client.AddTags(t.Context(), &elb.AddTagsInput{
		ResourceArns: []string{*lbs.LoadBalancers[0].LoadBalancerArn},
		Tags:         []types.Tag{{Key: &stack, Value: &value}, {Key: &resource, Value: &is}},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateStatusShowsEachStateOfHandover checks that "migrate status" shows each state of a handover, with obstacles and
// the command for the next step. If the state cannot be determined, it shows the reason.
func TestMigrateStatusShowsEachStateOfHandover(t *testing.T) {
	ingresses, gateways := inPlaceManifests(t)
	settle := func(t *testing.T, r *harness.Harness) { r.Settle(10 * time.Minute) }
	shadow := func(t *testing.T, r *harness.Harness) {
		r.Apply(ingresses)
		settle(t, r)
		r.Apply(gateways)
		settle(t, r)
	}
	adopt := func(t *testing.T, r *harness.Harness) {
		shadow(t, r)
		editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.DryRunAnnotation) })
		settle(t, r)
	}
	again := func(a map[string]string) { a[naming.DryRunAnnotation] = "true" }
	remove := func(t *testing.T, r *harness.Harness) {
		for _, name := range []string{"web", "nginx"} {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		through func(*testing.T, *harness.Harness)
		server  func(*apiServer)
		flags   []string // additional flags
		aws     func(flags []string) []string
		rows    int // number of rows; zero means one
		state   handover.State
		code    int
		shows   []string
	}{
		"no Gateway": {through: func(t *testing.T, r *harness.Harness) { r.Apply(ingresses); settle(t, r) }, state: handover.StateNotRequested,
			shows: []string{"fulcrum migrate --from-cluster --in-place --group=edge --kubeconfig=", "--cluster-name="}},
		"no Gateway, with a frontend NLB": {through: func(t *testing.T, r *harness.Harness) {
			r.Apply(strings.Replace(ingresses, "group.name: edge\n", "group.name: edge\n    alb.ingress.kubernetes.io/enable-frontend-nlb: \"true\"\n", 1))
			settle(t, r)
		}, state: handover.StateNotRequested, shows: []string{"it has a frontend NLB, which a Gateway cannot take over", "fulcrum migrate --from-cluster --group=edge --kubeconfig="}},
		"shadow": {through: shadow, state: handover.StateShadow, code: 2, shows: []string{"there is no obstacle", "kubectl annotate gateway " + edgeGatewayPrefix, "-n shop --overwrite gateway.k8s.aws/dry-run- --kubeconfig="}},
		"shadow, with a difference": {through: func(t *testing.T, r *harness.Harness) {
			shadow(t, r)
			r.Apply(strings.Replace(ingresses, "path: /,", "path: /elsewhere,", 1))
			settle(t, r)
		}, state: handover.StateShadow, code: 2, shows: []string{"obstacle: ", "GET http://shop.example.com:80/", "--in-place --group=edge"}},
		"refused, with a difference": {through: func(t *testing.T, r *harness.Harness) {
			shadow(t, r)
			r.Apply(strings.Replace(ingresses, "path: /,", "path: /elsewhere,", 1))
			editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.DryRunAnnotation) })
			settle(t, r)
		}, state: handover.StateRefused, code: 2, shows: []string{"obstacle: ", "--check"}},
		"refused, as it is mistyped": {through: func(t *testing.T, r *harness.Harness) {
			shadow(t, r)
			editGatewayAnnotations(t, r, func(a map[string]string) {
				delete(a, naming.DryRunAnnotation)
				a[naming.AdoptAnnotation] = "edge"
			})
			settle(t, r)
		}, rows: 2, state: handover.StateRefused, code: 2, shows: []string{`"edge" is not a load balancer that can be taken over`}},
		"not begun yet": {through: func(t *testing.T, r *harness.Harness) {
			shadow(t, r)
			editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.DryRunAnnotation) })
		}, state: handover.StateAdopting, code: 2, shows: []string{"fulcrum plan gateway/" + edgeGatewayPrefix, "gateway.k8s.aws/dry-run=true"}},
		"adopting": {through: func(t *testing.T, r *harness.Harness) {
			adopt(t, r)
			addStackTags(t, r.Emulator, model.StackID{Kind: model.Ingress, Name: "edge"})
		}, state: handover.StateAdopting, code: 2, shows: []string{"wait until the controller"}},
		"adopted": {through: adopt, state: handover.StateAdopted, code: 2, shows: []string{"kubectl delete ingress -n shop web --kubeconfig=", "to give it back:", "gateway.k8s.aws/dry-run=true"}},
		"giving back": {through: func(t *testing.T, r *harness.Harness) { adopt(t, r); editGatewayAnnotations(t, r, again) }, state: handover.StateGivingBack, code: 2,
			shows: []string{"wait until the load balancer is given back", "fulcrum plan ingress/web -n shop"}},
		"the annotation is removed": {through: func(t *testing.T, r *harness.Harness) {
			adopt(t, r)
			editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.AdoptAnnotation) })
		}, state: handover.StateGivingBack, code: 2, shows: []string{"IngressGroup edge"}},
		"given back": {through: func(t *testing.T, r *harness.Harness) { adopt(t, r); editGatewayAnnotations(t, r, again); settle(t, r) }, state: handover.StateShadow, code: 2},
		"released": {through: func(t *testing.T, r *harness.Harness) { adopt(t, r); remove(t, r); settle(t, r) }, state: handover.StateReleased, code: 2,
			shows: []string{"fulcrum.dev/adopt- --kubeconfig="}},
		"the API server has no Gateway": {through: func(t *testing.T, r *harness.Harness) { r.Apply(ingresses); settle(t, r) }, state: handover.StateNotRequested,
			server: func(a *apiServer) { a.removeKind("Gateway") }, shows: []string{"the cluster does not serve kind Gateway"}},
		"adopted, and kind Gateway is gone": {through: adopt, state: handover.StateIndeterminate, code: 1,
			server: func(a *apiServer) { a.removeKind("Gateway") }, shows: []string{"the cluster does not serve kind Gateway, and the load balancer has the tags of Gateway shop/" + edgeGatewayPrefix}},
		"routes may not be listed": {through: shadow, state: handover.StateIndeterminate, code: 1, flags: []string{"-n", "shop"},
			server: func(a *apiServer) { a.forbiddenResources = map[string]bool{"httproutes": true} }, shows: []string{"not known: you have no permission to list HTTPRoute; bind the rules"}},
		"of one namespace": {through: adopt, state: handover.StateIndeterminate, code: 1, flags: []string{"-n", "shop"},
			server: func(a *apiServer) { a.onlyNamespace = "shop" }, shows: []string{"you have no permission to list "}},
		"another cluster name": {through: adopt, state: handover.StateIndeterminate, code: 1, flags: []string{"--cluster-name=other"},
			shows: []string{`shows the load balancer "`, `AWS has none with the tags of cluster "other" for IngressGroup edge`}},
		"no Gateway, another cluster name": {through: func(t *testing.T, r *harness.Harness) { r.Apply(ingresses); settle(t, r) }, state: handover.StateIndeterminate, code: 1,
			flags: []string{"--cluster-name=other"}, shows: []string{"check --cluster-name"}},
		"taken out of management": {through: func(t *testing.T, r *harness.Harness) {
			adopt(t, r)
			r.Apply(strings.Replace(ingresses, "ingressClassName: alb", "ingressClassName: nginx", 1))
		}, state: handover.StateIndeterminate, code: 1, shows: []string{"Ingress shop/web has the finalizer of the controller"}},
		"adopted, and its configuration is missing": {through: func(t *testing.T, r *harness.Harness) {
			adopt(t, r)
			r.Apply(strings.Replace(gateways, "    parametersRef:\n      group: gateway.k8s.aws\n      kind: LoadBalancerConfiguration\n      name: ", "    parametersRef:\n      group: gateway.k8s.aws\n      kind: LoadBalancerConfiguration\n      name: not-", 1))
			editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.DryRunAnnotation) })
			settle(t, r)
		}, state: handover.StateAdopted, code: 2, shows: []string{`LoadBalancerConfiguration "shop/not-`, "before you delete anything", "is not given back either"}},
		"the gate is off": {through: adopt, state: handover.StateIndeterminate, code: 1, flags: []string{"--feature-gates=ALBGatewayAPI=false"},
			shows: []string{"feature gate ALBGatewayAPI is off"}},
		"an outage": {through: adopt, state: handover.StateIndeterminate, code: 1,
			aws: func(flags []string) []string {
				out := slices.Clone(flags)
				for i, f := range out {
					if rest, ok := strings.CutPrefix(f, "--aws-api-endpoints="); ok {
						at, _, _ := strings.Cut(rest[strings.Index(rest, "http://")+len("http://"):], ",")
						out[i] = strings.ReplaceAll(f, at, unusedAddress(t))
					}
				}
				return append(out, "--aws-max-retries=1")
			}, shows: []string{"not known: "}},
	} {
		t.Run(name, func(t *testing.T) {
			w := runScenario(t, tc.through)
			server, config := serveCluster(t, w.objects)
			if tc.server != nil {
				tc.server(server)
			}
			flags := emulatorFlags(t, w.em, w.vpc)
			if tc.aws != nil {
				flags = tc.aws(flags)
			}
			args := slices.Concat([]string{"migrate", "status", "--kubeconfig=" + config, "--flags-from=none"}, flags, tc.flags)
			code, text, notes := run(t, args...)
			for _, want := range append([]string{string(tc.state)}, tc.shows...) {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not shown", want)
				}
			}
			if code != tc.code || strings.Contains(text, "PRIVATE") {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			_, out, _ := run(t, append(args, "-o", "json")...)
			var doc migrate.StatusDocument
			if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.LoadBalancers) != max(tc.rows, 1) || doc.LoadBalancers[0].State != tc.state {
				t.Errorf("%v: %s", err, out)
			}
			if t.Failed() {
				t.Log(text, notes)
			}
		})
	}
}

// TestMigrateStatusRefusesFiles checks that "migrate status" refuses --filename, because it needs the cluster and AWS.
func TestMigrateStatusRefusesFiles(t *testing.T) {
	t.Parallel()
	if code, _, stderr := run(t, "migrate", "status", "-f", "a.yaml"); code != 1 || !strings.Contains(stderr, "status does not support --filename") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
