package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// defaultWaitLimit is how long the script commands "await" and "curl -until", and most tests, wait for a condition.
const defaultWaitLimit = 2 * time.Minute

// brief is how long requestLoadBalancer waits for the reply to a datagram. A datagram may be lost, so callers repeat it.
const brief = 2 * time.Second

// commands returns the commands that scripts can use in addition to those of package testscript:
//
//	apply FILE…                       apply YAML; $NAME is replaced with the environment variable
//	delete FILE…                      delete the objects of the files, without waiting for finalizers
//	await [-for D] CONDITION          wait for a condition, see awaitCondition; D is 2m by default
//	! await [-for D] CONDITION        the condition does not become true within D; D is 3s by default
//	hold [-for D] CONDITION           the condition is and remains true for D; D is 3s by default
//	curl [-until RE] [-via NS/INGRESS [-front]] [-H 'K: V']… [-n N] URL
//	                                  GET; prints "STATUS pod=… app=… node=… host=… path=…" or "STATUS location=…",
//	                                  with certificate=… over TLS, then the body; -via selects the load balancer, -front its
//	                                  frontend NLB; -n sends N requests, which must all get a response, and prints no body;
//	                                  udp://HOST:PORT sends a datagram; service:NS/NAME, gateway:NS/NAME, accelerator:NS/NAME or
//	                                  record:NAME may replace NS/INGRESS
//	grpc [-until RE] NS/INGRESS|gateway:NS/NAME HOST METHOD
//	                                  call /PACKAGE.SERVICE/METHOD over TLS; prints "CODE pod=… app=… host=… path=…" and the
//	                                  message of the status
//	program NAME [ARGUMENT]…          start a third-party program that is built in ecosystem/
//	definitions PROGRAM MODULE FOLDER apply the CRDs in FOLDER of the Go module MODULE, in the version of ecosystem/PROGRAM
//	zone DOMAIN                       create a public hosted zone
//	argo promote|abort|stable NS/ROLLOUT
//	                                  end the current pause of a canary, or roll back, or wait until the rollout is healthy and
//	                                  set STABLE to the hash of its stable pods
//	ca-secret NS/NAME                 create a Secret with the CA of the local world, for an Issuer of cert-manager
//	renew NS/CERTIFICATE              make cert-manager renew a certificate now, and wait for the new one
//	shares NS/INGRESS URL RE PERCENT  wait until pods whose names match RE get PERCENT of the requests, see cmdShares
//	scale NS/DEPLOYMENT N             set the number of replicas
//	annotate [KIND] NS/NAME KEY=VALUE|KEY-
//	                                  set an annotation of a pod or of an object of another kind, or remove it; for a
//	                                  pod, LABEL=VALUE instead of NAME selects the first matching pod
//	describe KIND NS/NAME             print the addresses and conditions of an object, and the events about it
//	address NS/INGRESS VARIABLE       set a variable to the DNS name of the load balancer in the status; also service:…, gateway:…
//	crash ROLE                        kill the process of a role of the local world, see world.World.Kill
//	start ROLE                        start a role that was killed; waits until it is ready
//	rollout NS/DEPLOYMENT             replace all its pods
//	drain NODE                        cordon a node and evict its pods
//	uncordon NODE                     make a node schedulable again
//	load start [-app APP] [-keep] [-ttl D] NS/INGRESS|service:NS/NAME URL
//	                                  send requests (udp://HOST:PORT: datagrams) at a steady rate, in addition to those
//	                                  of earlier loads; -app: a response of another application than APP is a failure;
//	                                  -keep: use one connection, whose end is a failure too, or one socket;
//	                                  -ttl: read the name in the status again after D
//	load stop                         end all loads; print the number of requests and of failures, in total and for each load
//	cluster start NAME REGION [ARGUMENT]…
//	                                  start and select another cluster in a region of the same AWS; ARGUMENTs are for its controller
//	cluster use NAME|first            select the cluster of the next commands
//	accelerator NS/NAME               set ACCELERATOR and ACCELERATOR_NAME to the ARN and DNS name of a GlobalAccelerator
//	tls-secret NS/NAME HOST...        create a TLS Secret with a certificate for the hosts, or renew the certificate
//	elsewhere REGION APP              create a load balancer in another region, whose target responds like a pod of APP; set
//	                                  ELSEWHERE to its ARN
//	calls reset                       clear the log of AWS calls
//	calls [-mutating]                 print the AWS calls, or only the mutating ones, and their number
//	inventory                         print the resources in AWS
//	fulcrum [ARGUMENT]…               run a command of Fulcrum with the permissions of an administrator, and print its output
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"apply": func(ts *testscript.TestScript, neg bool, args []string) {
			checkOutcome(ts, neg, scriptClusterOf(ts).applyFiles(ts, args))
		},
		"delete": func(ts *testscript.TestScript, neg bool, args []string) {
			checkOutcome(ts, neg, scriptClusterOf(ts).deleteFiles(ts, args))
		},
		"await": cmdAwait,
		"hold":  cmdHold,
		"curl":  cmdCurl,
		"grpc":  cmdGRPC,
		"scale": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 2, "scale NS/DEPLOYMENT N")
			ns, name := splitReference(ts, args[0])
			s := scriptClusterOf(ts)
			checkOutcome(ts, neg, s.Scale(s.ctx, ns, name, parseNumber(ts, args[1])))
		},
		"annotate": func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) == 3 {
				checkOutcome(ts, neg, annotateObject(ts, args[0], args[1], args[2]))
				return
			}
			checkArgumentCount(ts, args, 2, "annotate [KIND] NS/NAME KEY=VALUE|KEY-")
			checkOutcome(ts, neg, scriptClusterOf(ts).annotateMatchingPod(ts, args[0], args[1]))
		},
		"describe": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 2, "describe KIND NS/NAME")
			text, err := describeObject(ts, args[0], args[1])
			io.WriteString(ts.Stdout(), text)
			checkOutcome(ts, neg, err)
		},
		"address": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 2, "address NS/INGRESS VARIABLE")
			s := scriptClusterOf(ts)
			name, err := s.hostname(s.ctx, args[0])
			ts.Setenv(args[1], name)
			checkOutcome(ts, neg, err)
		},
		"crash": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "crash ROLE")
			checkOutcome(ts, neg, scriptClusterOf(ts).World.Kill(args[0]))
		},
		"start": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "start ROLE")
			checkOutcome(ts, neg, scriptClusterOf(ts).startRole(args[0]))
		},
		"load":    cmdLoad,
		"cluster": cmdCluster,
		"accelerator": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "accelerator NS/NAME")
			checkOutcome(ts, neg, scriptClusterOf(ts).exportAccelerator(ts, args[0]))
		},
		"elsewhere":   cmdElsewhere,
		"program":     cmdProgram,
		"definitions": cmdDefinitions,
		"zone":        cmdZone,
		"shares":      cmdShares,
		"argo":        cmdRollouts,
		"ca-secret":   cmdCASecret,
		"renew":       cmdRenew,
		"tls-secret":  cmdTLSSecret,
		"rollout": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "rollout NS/DEPLOYMENT")
			ns, name := splitReference(ts, args[0])
			checkOutcome(ts, neg, scriptClusterOf(ts).restartDeployment(ns, name))
		},
		"drain": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "drain NODE")
			checkOutcome(ts, neg, scriptClusterOf(ts).drain(args[0]))
		},
		"uncordon": func(ts *testscript.TestScript, neg bool, args []string) {
			checkArgumentCount(ts, args, 1, "uncordon NODE")
			checkOutcome(ts, neg, scriptClusterOf(ts).setUnschedulable(args[0], false))
		},
		"calls": func(ts *testscript.TestScript, neg bool, args []string) {
			text, err := scriptClusterOf(ts).readOrResetCallLog(args)
			io.WriteString(ts.Stdout(), text)
			checkOutcome(ts, neg, err)
		},
		"fulcrum": cmdFulcrum,
		"inventory": func(ts *testscript.TestScript, neg bool, args []string) {
			s := scriptClusterOf(ts)
			lines, err := s.Inspector.Inventory(s.ctx)
			io.WriteString(ts.Stdout(), strings.Join(lines, "\n")+"\n")
			checkOutcome(ts, neg, err)
		},
	}
}

// checkOutcome fails the script if err is not nil. If neg is true, it fails the script if err is nil, and prints err
// otherwise.
func checkOutcome(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case err == nil && neg:
		ts.Fatalf("succeeded, but should have failed")
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	case err != nil:
		fmt.Fprintln(ts.Stderr(), err)
	}
}

func checkArgumentCount(ts *testscript.TestScript, args []string, n int, usage string) {
	if len(args) != n {
		ts.Fatalf("usage: %s", usage)
	}
}

func splitReference(ts *testscript.TestScript, s string) (namespace, name string) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		ts.Fatalf("%q is not NAMESPACE/NAME", s)
	}
	return namespace, name
}

func parseNumber(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

var variablePattern = regexp.MustCompile(`\$[A-Z][A-Za-z0-9_.]*`)

// parseObjects parses YAML files of the script. It replaces $NAME with the environment variable NAME.
func parseObjects(ts *testscript.TestScript, files []string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, f := range files {
		text := variablePattern.ReplaceAllStringFunc(ts.ReadFile(f), func(v string) string { return ts.Getenv(v[1:]) })
		parsed, err := manifest.Parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		out = append(out, parsed...)
	}
	return out, nil
}

func (s *scriptCluster) applyFiles(ts *testscript.TestScript, files []string) error {
	o, err := parseObjects(ts, files)
	if err != nil {
		return err
	}
	return s.applier.Apply(s.ctx, o)
}

func (s *scriptCluster) deleteFiles(ts *testscript.TestScript, files []string) error {
	o, err := parseObjects(ts, files)
	if err != nil {
		return err
	}
	return s.applier.Delete(s.ctx, o)
}

// annotateMatchingPod sets an annotation of a pod; pair is KEY=VALUE. pod is NS/NAME, or NS/LABEL=VALUE for the first
// matching pod that is not being deleted.
func (s *scriptCluster) annotateMatchingPod(ts *testscript.TestScript, pod, pair string) error {
	ns, name := splitReference(ts, pod)
	pods := s.World.KubeClient().CoreV1().Pods(ns)
	if strings.Contains(name, "=") {
		list, err := pods.List(s.ctx, metav1.ListOptions{LabelSelector: name})
		if err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if len(list.Items) == 0 {
			return fmt.Errorf("no pod has the label %s", name)
		}
		name = list.Items[0].Name
	}
	key, value, _ := strings.Cut(pair, "=")
	return annotatePod(s.ctx, s.Scenario, ns, name, key, value)
}

func annotatePod(ctx context.Context, s *scenario.Scenario, namespace, name, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		return err
	}
	_, err = s.World.KubeClient().CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (s *scriptCluster) startRole(role string) error {
	ctx, cancel := context.WithTimeout(s.ctx, world.StartTimeout)
	defer cancel()
	if role != world.RoleController {
		return s.World.StartRole(ctx, role)
	}
	if err := s.World.StartController(s.controller, s.arguments...); err != nil {
		return err
	}
	return s.World.AwaitControllerReady(ctx)
}

func cmdCurl(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	var until, via string
	var n int
	var front bool
	header := http.Header{}
	f := flag.NewFlagSet("curl", flag.ContinueOnError)
	f.StringVar(&until, "until", "", "wait until the output matches this regular expression")
	f.StringVar(&via, "via", "", "object whose load balancer gets the request, such as NAMESPACE/INGRESS")
	f.IntVar(&n, "n", 1, "number of requests")
	f.BoolVar(&front, "front", false, "send the request to the frontend NLB")
	f.Func("H", "header", func(v string) error {
		k, v, ok := strings.Cut(v, ":")
		if !ok {
			return fmt.Errorf("%q is not KEY: VALUE", v)
		}
		header.Add(k, strings.TrimSpace(v))
		return nil
	})
	if err := f.Parse(args); err != nil || f.NArg() != 1 {
		ts.Fatalf("usage: curl [-until RE] [-via NS/INGRESS [-front]] [-H 'K: V'] [-n N] URL")
	}
	pattern := regexp.MustCompile("(?m)" + until)
	var text string
	once := func(ctx context.Context) error {
		host := ""
		if via != "" {
			var err error
			if host, err = s.hostname(ctx, via); front {
				ns, name := splitReference(ts, via)
				host, err = s.FrontendNLBHostname(ctx, ns, name)
			}
			if err != nil {
				return err
			}
		}
		text = ""
		for range n {
			r, err := s.requestLoadBalancer(ctx, host, f.Arg(0), header)
			if err != nil {
				return err
			}
			text += replyLine(r) + "\n"
			if n == 1 {
				text += r.Body
			}
		}
		if !pattern.MatchString(text) {
			return fmt.Errorf("the response does not match %q:\n%s", until, text)
		}
		return nil
	}
	var err error
	if until != "" {
		err = await.Success(s.ctx, defaultWaitLimit, once)
	} else {
		err = once(s.ctx)
	}
	io.WriteString(ts.Stdout(), text)
	checkOutcome(ts, neg, err)
}

// requestLoadBalancer sends a GET request for the URL address, or a datagram if its scheme is udp. host is the DNS name of
// the load balancer; if it is empty, the host in address is used.
func (s *scriptCluster) requestLoadBalancer(ctx context.Context, host, address string, header http.Header) (scenario.Reply, error) {
	to, isDatagram := strings.CutPrefix(address, "udp://")
	if !isDatagram {
		return scenario.Get(ctx, s.World.HTTPClient(host), address, header)
	}
	conn, err := s.World.Dialer(host)(ctx, "udp", to)
	if err != nil {
		return scenario.Reply{}, err
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, brief)
	defer stop()
	return scenario.SendDatagram(ctx, conn, "GET")
}

// replyLine returns the status of a reply, the pod that responded and other data as one line, which scripts match with
// regular expressions.
func replyLine(r scenario.Reply) string {
	text := strconv.Itoa(r.Status)
	if l := r.Header.Get("Location"); l != "" {
		text += " location=" + l
	}
	if r.Pod != nil {
		text += fmt.Sprintf(" pod=%s app=%s node=%s host=%s path=%s", r.Pod.Pod, r.Pod.App, r.Pod.Node, r.Pod.Host, r.Pod.Path)
	}
	if r.Certificate != "" {
		text += " certificate=" + r.Certificate
	}
	return text
}

// readOrResetCallLog clears the emulator's log of calls if args is "reset". Otherwise it returns the lines of callLines,
// with "-mutating" only for mutating calls.
func (s *scriptCluster) readOrResetCallLog(args []string) (string, error) {
	url := s.World.AWSEndpoint() + "/_fulcrum/calls"
	switch strings.Join(args, " ") {
	case "reset":
		req, err := http.NewRequestWithContext(s.ctx, http.MethodDelete, url, nil)
		if err != nil {
			return "", err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		return "", res.Body.Close()
	case "-mutating":
		return s.callLines(url + "?mutating=true")
	case "":
		return s.callLines(url)
	}
	return "", fmt.Errorf("usage: calls [reset | -mutating]")
}

// callLines returns a line "SERVICE OPERATION ERROR" for each call in the log at url, and a last line "sum N". ERROR is
// empty for a call without an error. It omits the EC2 calls with which the agent of the local world assigns addresses to
// pods.
func (s *scriptCluster) callLines(url string) (string, error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var log struct {
		Calls []struct{ Service, Operation, Error string }
	}
	if err := json.NewDecoder(res.Body).Decode(&log); err != nil {
		return "", err
	}
	var b strings.Builder
	sum := 0
	for _, c := range log.Calls {
		if strings.HasSuffix(c.Operation, "PrivateIpAddresses") {
			continue
		}
		sum++
		fmt.Fprintf(&b, "%s %s %s\n", c.Service, c.Operation, c.Error)
	}
	fmt.Fprintf(&b, "sum %d\n", sum)
	return b.String(), nil
}
