package bindings_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// withSpecLines adds lines to the spec in the manifest of a binding.
func withSpecLines(doc string, lines ...string) string {
	return strings.Replace(doc, "  vpcID: vpc-1\n", "  vpcID: vpc-1\n  "+strings.Join(lines, "\n  ")+"\n", 1)
}

// sharedHarness returns a test harness with binding "a", in whose target group other clusters may register targets too.
func sharedHarness(t *testing.T, pods ...pod) *harness {
	t.Helper()
	return newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", pods...),
		withSpecLines(bindingDoc("a", "web", "ip", 8080), "multiClusterTargetGroup: true"))
}

// recordedTargets returns the recorded targets of a binding, as stored in the cluster; "none" if there is no record.
func (w *harness) recordedTargets(name string) string {
	w.t.Helper()
	for _, o := range w.store.All("ConfigMap") {
		if m := o.(*corev1.ConfigMap); m.Name == "aws-lbc-targets-"+name {
			return m.Data["targets"]
		}
	}
	return "none"
}

func (w *harness) setRecordedTargets(targets string) {
	w.t.Helper()
	m := &corev1.ConfigMap{Data: map[string]string{"targets": targets}}
	m.Namespace, m.Name = "ns", "aws-lbc-targets-a"
	if err := w.store.Put(m); err != nil {
		w.t.Fatal(err)
	}
}

func TestOnlyRecordedTargetsOfASharedTargetGroupAreDeregistered(t *testing.T) {
	foreign := &observed.Target{ID: "10.9.0.1", Port: 8080, State: "healthy"}
	w := sharedHarness(t, p1, p2)
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{foreign}
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080 10.9.0.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "record", "10.0.1.1:8080,10.0.2.1:8080", w.recordedTargets("a"))
	w.aws.setAllStates("arn/a", "healthy")
	w.putObjects(podDocs("web", p1))
	w.deleteObject(cluster.KindPod, p2.name)
	w.run("a")
	checkEqual(t, "targets after one went", "10.0.1.1:8080 10.9.0.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "record after one went", "10.0.1.1:8080", w.recordedTargets("a"))
	w.aws.takeLog()
	w.run("a")
	checkEqual(t, "calls without change", "", w.aws.takeLog())
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkEqual(t, "targets after the binding went", "10.9.0.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "record after the binding went", "none", w.recordedTargets("a"))
}

func TestTheFirstRunDeregistersNothingFromASharedTargetGroup(t *testing.T) {
	w := sharedHarness(t, p1)
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.0.2.1", Port: 8080, State: "healthy"}, {ID: "10.0.1.1", Port: 8080, State: "healthy"}}
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "record", "10.0.1.1:8080", w.recordedTargets("a"))
}

func TestAnUnsortedRecordOfTargetsIsAccepted(t *testing.T) {
	w := sharedHarness(t, p1, p2)
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{
		{ID: "10.0.1.1", Port: 8080, State: "healthy"}, {ID: "10.0.2.1", Port: 8080, State: "healthy"}, {ID: "10.0.1.9", Port: 8080, State: "healthy"},
	}
	w.setRecordedTargets("10.0.2.1:8080,10.0.1.1:8080")
	w.run("a")
	checkEqual(t, "record", "10.0.2.1:8080,10.0.1.1:8080", w.recordedTargets("a"))
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.1.9:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

// TestPostponedDeregistrationStaysRecorded checks that a target stays in the record until it is deregistered, so that another
// process deregisters it if this one ends while the call is postponed. A record that another client has deleted is written
// again.
func TestPostponedDeregistrationStaysRecorded(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprintf("record deleted %v", deleted), func(t *testing.T) {
			w := sharedHarness(t, p1, p2)
			b := &postponingAWS{fakeAWS: w.aws}
			w.conf.Cloud = b
			w.restart()
			w.run("a")
			w.aws.setAllStates("arn/a", "healthy")
			b.postpones = true
			w.putObjects(podDocs("web", p1))
			w.deleteObject(cluster.KindPod, p2.name)
			if deleted {
				w.deleteObject("ConfigMap", "aws-lbc-targets-a")
			}
			w.run("a")
			checkEqual(t, "record while the call is postponed", "10.0.1.1:8080,10.0.2.1:8080", w.recordedTargets("a"))
			b.postpones = false
			w.restart()
			w.run("a")
			checkEqual(t, "targets in the end", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
			checkEqual(t, "record in the end", "10.0.1.1:8080", w.recordedTargets("a"))
		})
	}
}

// putTargetsWithoutPods registers n healthy targets in target group "arn/a" that belong to no pod, beside that of p1, and
// records all of them.
func (w *harness) putTargetsWithoutPods(n int) {
	w.t.Helper()
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: p1.ip, Port: 8080, State: "healthy"}}
	for i := range n {
		w.aws.targetsByGroup["arn/a"] = append(w.aws.targetsByGroup["arn/a"], &observed.Target{ID: fmt.Sprintf("10.0.9.%d", i), Port: 8080, State: "healthy"})
	}
	w.setRecordedTargets(strings.ReplaceAll(w.aws.targetsOf("arn/a"), " ", ","))
}

// TestRecordHasOnlyTargetsThatAreNotDeregisteredYet checks that the record has the targets whose deregistration is postponed,
// but not those of an earlier call of the same run.
func TestRecordHasOnlyTargetsThatAreNotDeregisteredYet(t *testing.T) {
	w := sharedHarness(t, p1)
	w.conf.Cloud = &postponingAWS{fakeAWS: w.aws, postpones: true, admitted: 1}
	w.restart()
	w.putTargetsWithoutPods(bindings.MaxTargetsPerCall + 1)
	if out := w.run("a"); !out.CallPostponed {
		t.Errorf("outcome %+v", out)
	}
	if n := len(w.aws.targetsByGroup["arn/a"]); n != 2 {
		t.Errorf("%d targets", n)
	}
	checkEqual(t, "record", strings.ReplaceAll(w.aws.targetsOf("arn/a"), " ", ","), w.recordedTargets("a"))
}

// TestDeregisteredTargetLeavesTheRecordAlthoughAnotherIsRefused checks that a target leaves the record when it is
// deregistered, although AWS refuses another target. Otherwise this cluster would deregister the target of a pod of another
// cluster that gets the address.
func TestDeregisteredTargetLeavesTheRecordAlthoughAnotherIsRefused(t *testing.T) {
	w := sharedHarness(t, p1, p2, pod{name: "p3", ip: "10.0.1.3", node: "n1"})
	w.aws.refusedItems["10.0.1.3"] = failure.Invalid
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.putObjects(podDocs("web", p1, pod{name: "p3", ip: "10.0.1.3", node: "n1"}))
	w.deleteObject(cluster.KindPod, p2.name)
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "record", "10.0.1.1:8080,10.0.1.3:8080", w.recordedTargets("a"))
	w.aws.targetsByGroup["arn/a"] = append(w.aws.targetsByGroup["arn/a"], &observed.Target{ID: p2.ip, Port: 8080, State: "healthy"})
	w.now = w.now.Add(time.Hour)
	w.run("a")
	checkEqual(t, "targets with that of another cluster", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

// recordRefusingAPI is an API server that refuses the next refusals writes of ConfigMaps.
type recordRefusingAPI struct {
	kube.API
	refusals int
}

// refuse returns the error of a refused write; nil if the write is not refused.
func (a *recordRefusingAPI) refuse(obj cluster.Object) error {
	if _, ok := obj.(*corev1.ConfigMap); !ok || a.refusals == 0 {
		return nil
	}
	a.refusals--
	return errors.New("refused by the API server")
}

func (a *recordRefusingAPI) Update(ctx context.Context, obj cluster.Object) error {
	if err := a.refuse(obj); err != nil {
		return err
	}
	return a.API.Update(ctx, obj)
}

func (a *recordRefusingAPI) Delete(ctx context.Context, obj cluster.Object) error {
	if err := a.refuse(obj); err != nil {
		return err
	}
	return a.API.Delete(ctx, obj)
}

// TestFailedRecordIsNoFailedDeregistration checks that all targets are deregistered although the record cannot be written
// after the first of them, and that the failure is not reported as a refusal of AWS.
func TestFailedRecordIsNoFailedDeregistration(t *testing.T) {
	for _, c := range []struct {
		name     string
		refusals int
		deleted  bool // whether the binding is deleted
		refused  bool // whether AWS refuses to deregister a target
		fails    bool // whether the first run returns an error
		targets  string
		record   string // after the first run
		status   string // after the first run
	}{
		{name: "one write", refusals: 1, targets: "10.0.1.1:8080", record: "10.0.1.1:8080", status: "True SuccessfullyReconciled"},
		{name: "two writes", refusals: 2, targets: "10.0.1.1:8080", record: "10.0.1.1:8080", status: "True SuccessfullyReconciled"},
		{name: "all writes", refusals: 3, fails: true, targets: "10.0.1.1:8080", record: "all"},
		{name: "AWS refuses a target too", refusals: 20, refused: true, fails: true, targets: "10.0.1.1:8080 10.0.9.7:8080", record: "all", status: "False FailedReconcile"},
		{name: "the binding is deleted", refusals: 2, deleted: true, record: "none"},
		{name: "the record cannot be deleted", refusals: 3, deleted: true, fails: true, record: "all", status: "True SuccessfullyReconciled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := sharedHarness(t, p1)
			api := &recordRefusingAPI{API: kube.MemoryAPI{Store: w.store}}
			w.conf.Cluster = kube.New(w.store, api, testclock.FromVariable(&w.now))
			w.restart()
			if c.deleted {
				w.run("a")
				w.deleteObject(cluster.KindBinding, "a")
			}
			w.putTargetsWithoutPods(bindings.MaxTargetsPerCall + 1)
			if c.refused {
				w.aws.refusedItems["out 10.0.9.7"] = failure.Invalid
			}
			all := w.recordedTargets("a")
			api.refusals = c.refusals
			if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			checkEqual(t, "targets", c.targets, w.aws.targetsOf("arn/a"))
			checkEqual(t, "record", strings.ReplaceAll(c.record, "all", all), w.recordedTargets("a"))
			if b := w.binding("a"); b != nil {
				checkEqual(t, "status", c.status, w.readyStatus("a"))
			}
			for _, o := range w.store.All("Event") {
				if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && !c.refused && !strings.Contains(e.Message, "record of registered targets") {
					t.Errorf("event %s %s", e.Reason, e.Message)
				}
			}
			if c.refused {
				return
			}
			api.refusals = 0
			w.run("a")
			checkEqual(t, "record in the end", map[bool]string{false: "10.0.1.1:8080", true: "none"}[c.deleted], w.recordedTargets("a"))
			if c.deleted && w.binding("a") != nil {
				t.Error("the binding is still there")
			}
		})
	}
}

// TestTargetsAreRecordedBeforeRegistration checks that targets are recorded before they are registered in a shared target
// group. If the process ends before the call returns, the next process finds them in the record.
func TestTargetsAreRecordedBeforeRegistration(t *testing.T) {
	w := sharedHarness(t, p1)
	w.aws.refusedItems["10.0.1.1"] = 0
	if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil {
		t.Fatal("no error")
	}
	checkEqual(t, "record", "10.0.1.1:8080", w.recordedTargets("a"))
}

func TestBindingsShareATargetGroupIfBothAllowIt(t *testing.T) {
	second := strings.ReplaceAll(bindingDoc("b", "other", "ip", 8080), "arn/b", "arn/a")
	for name, c := range map[string]struct {
		doc, targets string
		findings     int
	}{
		"both":     {withSpecLines(second, "multiClusterTargetGroup: true"), "10.0.1.1:8080 10.0.2.2:8080", 0},
		"only one": {second, "10.0.1.1:8080", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := sharedHarness(t, p1)
			other := pod{name: "o1", ip: "10.0.2.2", node: "n2"}
			w.now = w.now.Add(1e9)
			w.putObjects(serviceDoc("other", "ClusterIP"), podDocs("other", other), c.doc)
			w.run("a")
			out := w.run("b")
			w.run("a")
			checkEqual(t, "targets", c.targets, w.aws.targetsOf("arn/a"))
			if len(out.Findings) != c.findings || c.findings > 0 && out.Findings[0].Reason != finding.TargetGroupShared {
				t.Errorf("findings %v", out.Findings)
			}
		})
	}
}

func TestAssumedRoleIsUsedForEveryCall(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), strings.Replace(
		withSpecLines(bindingDoc("a", "web", "ip", 8080), "iamRoleArnToAssume: role", "assumeRoleExternalId: word"), "vpc-1", "vpc-unseen", 1))
	w.run("a")
	checkEqual(t, "calls", "as role word; as role word; as role word; list a; as role word; authorize sg-node tcp 8080-8080 sg-b; as role word; register a 10.0.1.1:8080all", w.aws.takeLog())
}

func TestZonesAreSentOnceAWSRequiresThem(t *testing.T) {
	outside := pod{name: "q1", ip: "100.64.0.1", node: "n2"}
	w := ipHarness(t, p1, outside)
	w.aws.zonesRequired = true
	w.putObjects(strings.Replace(nodesDoc, "metadata: {name: n2,", "metadata: {name: n2, labels: {topology.kubernetes.io/zone: zone-b},", 1))
	w.run("a")
	checkEqual(t, "calls", "list a; authorize sg-node tcp 8080-8080 sg-b; refuse 100.64.0.1 all; register a 10.0.1.1:8080; register a 100.64.0.1:8080zone-b", w.aws.takeLog())
	w.putObjects(podDocs("web", p1, outside, pod{name: "q2", ip: "100.64.0.2", node: "n2"}))
	w.run("a")
	checkEqual(t, "calls while that is remembered", "list a; register a 100.64.0.2:8080zone-b", w.aws.takeLog())
}

func TestSecretsAreNotShown(t *testing.T) {
	a := bindings.Account{Role: "role", ExternalID: "word"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(format, a); strings.Contains(got, "word") || strings.Contains(got, "776f7264") {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// quicDocs adds QUIC server IDs (ids, by pod name) to the pods in a manifest.
func quicDocs(doc string, ids map[string]string) string {
	for name, id := range ids {
		doc = strings.Replace(doc, "name: "+name+", uid", "name: "+name+
			", annotations: {service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers: c}, uid", 1)
		at := strings.Index(doc, "uid-"+name)
		doc = doc[:at] + strings.Replace(doc[at:], "image: i,", "image: i, env: [{name: AWS_LBC_QUIC_SERVER_ID, value: "+id+"}],", 1)
	}
	return doc
}

// serverIDCounter is a bindings.Recorder that counts the endpoints without a QUIC server ID.
type serverIDCounter struct {
	bindings.NoRecorder
	missing int
}

// RecordMissingServerIDs implements bindings.Recorder.
func (l *serverIDCounter) RecordMissingServerIDs(_ bindings.Key, n int) { l.missing += n }

func TestQUICTargetsHaveServerIDs(t *testing.T) {
	docs := podDocs("web", p1, p2)
	w := newHarness(t, serviceDoc("web", "ClusterIP"), quicDocs(docs, map[string]string{p1.name: "HHF+gAAAFQU="}),
		withSpecLines(bindingDoc("a", "web", "ip", 8080), "targetGroupProtocol: TCP_QUIC"))
	lacking := new(serverIDCounter)
	w.conf.Recorder = lacking
	w.restart()
	out := w.run("a")
	checkEqual(t, "calls", "list a; authorize sg-node tcp 8080-8080 sg-b; register a 10.0.1.1:80800x1c717e8000001505", w.aws.takeLog())
	if len(out.Findings) != 1 || lacking.missing != 1 {
		t.Errorf("%d endpoints are reported, findings %v", lacking.missing, out.Findings)
	}
	// A pod with the same address and another server ID is another target; the old target is deregistered first.
	w.putObjects(quicDocs(docs, map[string]string{p1.name: "HHF+gAAAFQY=", p2.name: "HHF+gAAAFQc="}))
	w.run("a")
	checkEqual(t, "calls after the ids changed", "list a; deregister a 10.0.1.1:8080; register a 10.0.1.1:80800x1c717e8000001506; register a 10.0.2.1:80800x1c717e8000001507", w.aws.takeLog())
	w.aws.setAllStates("arn/a", "healthy")
	w.run("a")
	w.aws.takeLog()
	w.run("a")
	checkEqual(t, "calls without change", "", w.aws.takeLog())
}

func TestEndpointsObjectsAreReadWithoutEndpointSlices(t *testing.T) {
	object := func(ready, notReady string) string {
		at := func(ip, name string) string {
			return fmt.Sprintf("[{ip: %s, targetRef: {kind: Pod, namespace: ns, name: %s}}]", ip, name)
		}
		return fmt.Sprintf(`
apiVersion: v1
kind: Endpoints
metadata: {namespace: ns, name: web}
subsets: [{ports: [{name: http, port: 8080}, {name: other, port: 9090}], addresses: %s, notReadyAddresses: %s}]
`, at("10.0.1.1", ready), at("10.0.2.1", notReady))
	}
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1, p2, p3), bindingDoc("a", "web", "ip", 8080))
	w.conf.Targets.UseEndpointsObjects = true
	w.restart()
	out := w.run("a")
	checkEqual(t, "targets without the object", "", w.aws.targetsOf("arn/a"))
	if len(out.Findings) == 0 && out.RetryAfter == 0 {
		t.Errorf("outcome %+v", out)
	}
	w.putObjects(object(p1.name, p2.name))
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

func TestTargetsOfAnotherBindingAreNotDeregistered(t *testing.T) {
	second := withSpecLines(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/b", "arn/a"), "multiClusterTargetGroup: true")
	w := sharedHarness(t, p1, p2)
	w.putObjects(second)
	w.run("a")
	w.run("b")
	w.aws.setAllStates("arn/a", "healthy")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkEqual(t, "targets after one of two went", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	w.putObjects(podDocs("web", p1))
	w.deleteObject(cluster.KindPod, p2.name)
	w.run("b")
	checkEqual(t, "targets after a pod went", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
	w.deleteObject(cluster.KindBinding, "b")
	w.run("b")
	checkEqual(t, "targets after both went", "", w.aws.targetsOf("arn/a"))
}
