package bindings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestTheOlderOfTwoBindingsIsServed(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), bindingDoc("a", "web", "ip", 8080))
	w.now = w.now.Add(time.Minute)
	w.putObjects(strings.ReplaceAll(bindingDoc("b", "other", "ip", 8080), "arn/b", "arn/a"))
	w.run("a")
	out := w.run("b")
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.TargetGroupShared {
		t.Errorf("findings %v", out.Findings)
	}
	w.deleteObject(cluster.KindBinding, "b")
	w.run("b")
	checkEqual(t, "targets after the younger is gone", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
}

func TestASuccessorTakesOverWithoutAGap(t *testing.T) {
	for name, order := range map[string][]string{"the first is quicker": {"a", "b"}, "the successor is quicker": {"b", "a", "b"}} {
		t.Run(name, func(t *testing.T) {
			w := ipHarness(t, p1, p2)
			w.run("a")
			w.aws.setAllStates("arn/a", "healthy")
			w.now = w.now.Add(time.Minute)
			w.putObjects(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/b", "arn/a"))
			w.run("b")
			w.deleteObject(cluster.KindBinding, "a")
			w.aws.takeLog()
			for _, n := range order {
				w.run(n)
			}
			if calls := w.aws.takeLog(); strings.Contains(calls, "register") {
				t.Errorf("targets were touched: %s", calls)
			}
			checkEqual(t, "condition", "True SuccessfullyReconciled", w.readyStatus("b"))
			w.deleteObject(cluster.KindBinding, "b")
			w.run("b")
			checkEqual(t, "targets in the end", "", w.aws.targetsOf("arn/a"))
		})
	}
}

func TestMissingARNAndTypeAreReadFromAWS(t *testing.T) {
	doc := strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "targetGroupARN: arn/a", "targetGroupName: a")
	doc = strings.ReplaceAll(doc, "  targetType: ip\n", "")
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), doc)
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
}

func TestBindingByNameConflictsWithBindingByARN(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/shop/0123456789abcdef"
	first := strings.Replace(bindingDoc("a", "web", "ip", 8080), "arn/a", arn, 1)
	byName := strings.Replace(bindingDoc("b", "other", "ip", 8080), "targetGroupARN: arn/b", "targetGroupName: shop", 1)
	for name, c := range map[string]struct {
		doc  string
		want int // number of findings
	}{
		"the same group":                {byName, 1},
		"of that name, another account": {withSpecLines(byName, "iamRoleArnToAssume: role"), 0},
		"another name":                  {strings.Replace(byName, "Name: shop", "Name: other", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), first)
			w.aws.targetsByGroup[arn], w.aws.targetsByGroup["arn/other"] = nil, nil
			if c.want == 0 {
				w.aws.targetsByGroup["arn/shop"] = nil
			}
			w.now = w.now.Add(time.Minute)
			w.putObjects(c.doc)
			w.run("a")
			if out := w.run("b"); len(out.Findings) != c.want || c.want > 0 && out.Findings[0].Reason != finding.TargetGroupShared {
				t.Errorf("findings %v", out.Findings)
			}
		})
	}
}

func TestNoPodsAreRegisteredInATargetGroupOfTypeALB(t *testing.T) {
	doc := strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "  targetType: ip\n", "")
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), doc)
	w.aws.targetType = model.ALBTargets
	out := w.run("a")
	checkEqual(t, "calls", "", w.aws.takeLog())
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.Unsupported {
		t.Errorf("findings %v", out.Findings)
	}
}

func TestAMissingTargetGroupIsReadRarely(t *testing.T) {
	w := ipHarness(t, p1)
	delete(w.aws.targetsByGroup, "arn/a")
	if out := w.run("a"); out.RetryAfter != 15*time.Second {
		t.Errorf("at first again after %s", out.RetryAfter)
	}
	w.now = w.now.Add(30 * time.Minute)
	if out := w.run("a"); out.RetryAfter != time.Minute {
		t.Errorf("then after %s", out.RetryAfter)
	}
	w.now = w.now.Add(time.Hour)
	if out := w.run("a"); out.RetryAfter != 5*time.Minute {
		t.Errorf("at last after %s", out.RetryAfter)
	}
}

func TestAMissingVPCIsReported(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), strings.Replace(bindingDoc("a", "web", "ip", 8080), "vpc-1", "vpc-unseen", 1))
	out := w.run("a")
	if len(out.Findings) != 1 || out.Findings[0].Field != "spec.vpcID" || out.RetryAfter != 5*time.Minute {
		t.Errorf("outcome %+v", out)
	}
}

func TestInvalidBindingsAreNotCarriedOut(t *testing.T) {
	for name, line := range map[string]string{
		"instances of another account": "  iamRoleArnToAssume: arn:aws:iam::1:role/r\n",
		"instances for QUIC":           "  targetGroupProtocol: QUIC\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc := strings.ReplaceAll(bindingDoc("a", "web", "instance", 30080), "  vpcID: vpc-1\n", "  vpcID: vpc-1\n"+line)
			w := newHarness(t, serviceDoc("web", "NodePort"), doc)
			out := w.run("a")
			checkEqual(t, "calls", "", w.aws.takeLog())
			if len(out.Findings) != 1 || out.Findings[0].Reason != finding.Unsupported {
				t.Errorf("findings %v", out.Findings)
			}
		})
	}
}

func TestEmptyFieldsOfABindingAreCompleted(t *testing.T) {
	for name, edit := range map[string]*strings.Replacer{
		"name only":        strings.NewReplacer("targetGroupARN: arn/a", "targetGroupName: a", "  targetType: ip\n", "", "  vpcID: vpc-1\n", ""),
		"ARN without type": strings.NewReplacer("  targetType: ip\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), edit.Replace(bindingDoc("a", "web", "ip", 8080)))
			w.run("a")
			s := w.binding("a").Spec
			if s.TargetGroupARN != "arn/a" || *s.TargetType != "ip" || *s.IPAddressType != "ipv4" || s.VpcID != "vpc-1" || *s.TargetGroupProtocol != "HTTP" {
				t.Errorf("spec %+v", s)
			}
			w.aws.setAllStates("arn/a", "healthy")
			w.run("a")
			version := w.binding("a").ResourceVersion
			if out := w.run("a"); !out.Deferred || w.binding("a").ResourceVersion != version {
				t.Errorf("not settled: %+v", out)
			}
		})
	}
}

func TestACompleteBindingIsNotChanged(t *testing.T) {
	w := ipHarness(t, p1)
	w.run("a")
	if s := w.binding("a").Spec; s.IPAddressType != nil || s.TargetGroupProtocol != nil {
		t.Errorf("spec %+v", s)
	}
}

func TestANewBindingOfAnIPv6TargetGroupIsCompleted(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), bindingDoc("a", "web", "ip", 8080))
	w.aws.addressType = "ipv6"
	w.run("a")
	if a := w.binding("a").Spec.IPAddressType; a == nil || *a != "ipv6" {
		t.Errorf("address type %v", a)
	}
}

func TestABindingThatContradictsItsTargetGroupIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		old, line, field string
		served           bool
	}{
		"address type": {"vpcID: vpc-1", "vpcID: vpc-1\n  ipAddressType: ipv6", "spec.ipAddressType", false},
		"VPC":          {"vpcID: vpc-1", "vpcID: vpc-2", "spec.vpcID", false},
		"target type":  {"targetType: ip", "targetType: instance", "spec.targetType", false},
		"protocol":     {"vpcID: vpc-1", "vpcID: vpc-1\n  targetGroupProtocol: HTTPS", "spec.targetGroupProtocol", true},
		"selector":     {"vpcID: vpc-1", "vpcID: vpc-1\n  nodeSelector: {matchLabels: {a: b}}", "spec.nodeSelector", true},
	} {
		t.Run(name, func(t *testing.T) {
			doc := strings.Replace(bindingDoc("a", "web", "ip", 8080), c.old, c.line, 1)
			w := newHarness(t, serviceDoc("web", "NodePort"), podDocs("web", p1), doc)
			w.aws.targetType = model.IPTargets
			out := w.run("a")
			if len(out.Findings) != 1 || out.Findings[0].Field != c.field {
				t.Fatalf("findings %v", out.Findings)
			}
			if served := w.aws.targetsOf("arn/a") != ""; served != c.served {
				t.Errorf("served: %v", served)
			}
		})
	}
}
