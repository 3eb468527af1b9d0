package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/await"
)

// awaitCondition returns a function that checks the condition in args, for the script commands "await" and "hold". The
// function returns nil if the condition is true. The conditions are:
//
//	await hostname NS/INGRESS [NAME]    the status has a load balancer (with the DNS name NAME); also service:NS/NAME, gateway:NS/NAME, accelerator:NS/NAME
//	await condition KIND NS/NAME TYPE=STATUS [REASON]
//	                                    a Gateway API object has the condition; a route has it for each parent in its status
//	await targets NS/SERVICE N          exactly N targets are healthy, and all others are draining
//	await pods NS/LABEL=VALUE N         exactly N pods are ready
//	await event NS/OBJECT REASON [RE]   there is an event about an object of that name, and its message matches RE
//	await rollout NS/DEPLOYMENT         all pods are new and available, and the old ones are deleted
//	await gone KIND NS/NAME             an object is deleted: Ingress, Service, Namespace (-/NAME), Gateway, HTTPRoute,
//	                                    TCPRoute or GlobalAccelerator
//	await released KIND NS/NAME         an object has no finalizer, and no load balancer in its status
//	await accelerator NS/NAME RE…       each RE matches a different line of the state in AWS, and no line is left over. Lines
//	                                    are "TCP:80 REGION dial=N" and "TCP:80 REGION NAME weight=N HEALTHY"
//	await aws empty                     AWS has the same resources as at the start of the script
//	await lbs N                         exactly N load balancers exist
//	await groups N                      exactly N target groups exist
//	await record NAME NS/INGRESS        the target of the alias record is the load balancer in the status; also service:…, gateway:…;
//	                                    - instead of NS/INGRESS: there is no such record
//	await call OPERATION                AWS has received a call of OPERATION, without an error, since the last "calls reset"
func (s *scriptCluster) awaitCondition(ts *testscript.TestScript, args []string) (func(context.Context) error, error) {
	usage := errors.New("usage: await [-for D] hostname|condition|targets|pods|event|rollout|gone|released|accelerator|aws|lbs|groups|record|call …, see awaitCondition")
	if len(args) == 0 {
		return nil, usage
	}
	what, args := args[0], args[1:]
	switch {
	case what == "hostname" && (len(args) == 1 || len(args) == 2):
		return func(ctx context.Context) error {
			name, err := s.hostname(ctx, args[0])
			if err == nil && len(args) == 2 && name != args[1] {
				err = fmt.Errorf("the status of %s has load balancer %s, want %s", args[0], name, args[1])
			}
			return err
		}, nil
	case what == "condition" && (len(args) == 3 || len(args) == 4):
		ns, name := splitReference(ts, args[1])
		kind, state := args[0], args[2]
		if len(args) == 4 {
			state += " " + args[3]
		}
		return func(ctx context.Context) error { return s.CheckCondition(ctx, kind, ns, name, state) }, nil
	case what == "targets" && len(args) == 2:
		ns, name := splitReference(ts, args[0])
		n := parseNumber(ts, args[1])
		return func(ctx context.Context) error { return s.CheckHealthyTargets(ctx, ns, name, n) }, nil
	case what == "pods" && len(args) == 2:
		ns, selector := splitReference(ts, args[0])
		n := parseNumber(ts, args[1])
		return func(ctx context.Context) error {
			_, err := s.ReadyPods(ctx, ns, selector, n)
			return err
		}, nil
	case what == "event" && (len(args) == 2 || len(args) == 3):
		ns, name := splitReference(ts, args[0])
		pattern := ""
		if len(args) == 3 {
			pattern = args[2]
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return s.checkEvent(ctx, ns, name, args[1], re) }, nil
	case what == "rollout" && len(args) == 1:
		ns, name := splitReference(ts, args[0])
		return func(ctx context.Context) error { return s.checkRolledOut(ctx, ns, name) }, nil
	case what == "gone" && len(args) == 2:
		ns, name := splitReference(ts, args[1])
		return func(ctx context.Context) error { return s.checkDeleted(ctx, args[0], ns, name) }, nil
	case what == "released" && len(args) == 2:
		ns, name := splitReference(ts, args[1])
		return func(ctx context.Context) error { return checkReleased(ctx, s, args[0], ns, name) }, nil
	case what == "accelerator" && len(args) > 1:
		return s.checkAcceleratorState(ts, args[0], args[1:]), nil
	case what == "aws" && len(args) == 1 && args[0] == "empty":
		return s.checkAWSEmpty, nil
	case what == "lbs" && len(args) == 1:
		n := parseNumber(ts, args[0])
		return func(ctx context.Context) error {
			lbs, err := s.World.LoadBalancers(ctx)
			if err == nil && len(lbs) != n {
				err = fmt.Errorf("%d load balancers exist", len(lbs))
			}
			return err
		}, nil
	case what == "groups" && len(args) == 1:
		n := parseNumber(ts, args[0])
		return func(ctx context.Context) error { return s.checkTargetGroupCount(ctx, n) }, nil
	case what == "record" && len(args) == 2:
		return func(ctx context.Context) error { return checkAliasRecord(ctx, s, args[0], args[1]) }, nil
	case what == "call" && len(args) == 1:
		return func(context.Context) error {
			lines, err := s.readOrResetCallLog(nil)
			if err == nil && !strings.Contains(lines, " "+args[0]+" \n") {
				err = fmt.Errorf("%s has not been called", args[0])
			}
			return err
		}, nil
	}
	return nil, usage
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	limit := defaultWaitLimit
	if neg {
		limit = 3 * time.Second
	}
	f := flag.NewFlagSet("await", flag.ContinueOnError)
	f.DurationVar(&limit, "for", limit, "time limit")
	if err := f.Parse(args); err != nil {
		ts.Fatalf("%v", err)
	}
	check, err := s.awaitCondition(ts, f.Args())
	if err != nil {
		ts.Fatalf("%v", err)
	}
	checkOutcome(ts, neg, await.Success(s.ctx, limit, check))
}

// cmdHold checks a condition of awaitCondition repeatedly, and fails the script as soon as the condition is false.
func cmdHold(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	f := flag.NewFlagSet("hold", flag.ContinueOnError)
	limit := f.Duration("for", 3*time.Second, "how long the condition must remain true")
	if err := f.Parse(args); err != nil || neg {
		ts.Fatalf("usage: hold [-for D] CONDITION")
	}
	check, err := s.awaitCondition(ts, f.Args())
	if err != nil {
		ts.Fatalf("%v", err)
	}
	began := time.Now()
	err = await.Consistently(s.ctx, *limit, check)
	if err != nil {
		err = fmt.Errorf("after %s: %w", time.Since(began).Round(time.Millisecond), err)
	}
	checkOutcome(ts, false, err)
}

func (s *scriptCluster) checkEvent(ctx context.Context, namespace, name, reason string, message *regexp.Regexp) error {
	list, err := s.World.KubeClient().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var seen []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name != name {
			continue
		}
		if e.Reason == reason && message.MatchString(e.Message) {
			return nil
		}
		seen = append(seen, e.Reason+": "+e.Message)
	}
	return fmt.Errorf("no event %s about %s/%s; seen: %s", reason, namespace, name, strings.Join(seen, "; "))
}

func (s *scriptCluster) checkTargetGroupCount(ctx context.Context, n int) error {
	lines, err := s.Inspector.Inventory(ctx)
	if err != nil {
		return err
	}
	var groups []string
	for _, l := range lines {
		if strings.HasPrefix(l, "target group ") {
			groups = append(groups, l)
		}
	}
	if len(groups) != n {
		return fmt.Errorf("%d target groups exist: %s", len(groups), strings.Join(groups, "; "))
	}
	return nil
}

func (s *scriptCluster) checkDeleted(ctx context.Context, kind, namespace, name string) error {
	var err error
	switch get := (metav1.GetOptions{}); kind {
	case "Ingress":
		_, err = s.World.KubeClient().NetworkingV1().Ingresses(namespace).Get(ctx, name, get)
	case "Service":
		_, err = s.World.KubeClient().CoreV1().Services(namespace).Get(ctx, name, get)
	case "Namespace":
		_, err = s.World.KubeClient().CoreV1().Namespaces().Get(ctx, name, get)
	case "GlobalAccelerator":
		_, err = s.Accelerator(ctx, namespace, name)
	case "Gateway", "HTTPRoute", "TCPRoute":
		_, err = s.GatewayObject(ctx, kind, namespace, name)
	default:
		return fmt.Errorf("await gone does not support kind %s", kind)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s %s/%s still exists", kind, namespace, name)
	}
	return err
}

func (s *scriptCluster) checkAWSEmpty(ctx context.Context) error {
	now, err := s.Inspector.Inventory(ctx)
	if err != nil {
		return err
	}
	if left := now.Minus(s.initialInventory); len(left) > 0 {
		return fmt.Errorf("left in AWS: %s", strings.Join(left, "; "))
	}
	if lost := s.initialInventory.Minus(now); len(lost) > 0 {
		return fmt.Errorf("missing in AWS: %s", strings.Join(lost, "; "))
	}
	return nil
}
