package serve_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/docs"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// routeRowPattern matches a row of a table in docs/emulator.md. examplePattern matches a command.
var (
	routeRowPattern = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([A-Z]+) \\|")
	examplePattern  = regexp.MustCompile(`(?m)^curl (?:-o (\S+) )?(?:-X ([A-Z]+) )?"?\$AWS_ENDPOINT_URL(/[^\s"]+)"?(?: -d '(.*)'| --data-binary @(\S+))?$`)
)

// documentedEmulator is an emulator with the resources that the examples of docs/emulator.md need.
type documentedEmulator struct {
	client          *http.Client
	loadBalancerARN string
	// endpointGroupARN is the ARN of an endpoint group that has the load balancer as its endpoint.
	endpointGroupARN string
}

func newDocumentedEmulator(t *testing.T) documentedEmulator {
	t.Helper()
	clock := store.NewManualClock(time.Unix(1700000000, 0))
	em := emulator.New(emulator.Options{Seed: 1, Clock: clock})
	srv, err := serve.Start(t.Context(), em, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	sdk := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	subnets, err := ec2.NewFromConfig(sdk).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	in := &elb.CreateLoadBalancerInput{Name: aws.String("page")}
	for _, s := range subnets.Subnets[:2] {
		in.Subnets = append(in.Subnets, *s.SubnetId)
	}
	out, err := elb.NewFromConfig(sdk).CreateLoadBalancer(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	d := documentedEmulator{client: em.Client(), loadBalancerARN: *out.LoadBalancers[0].LoadBalancerArn}
	accelerators := ga.NewFromConfig(sdk)
	a := must(accelerators.CreateAccelerator(t.Context(), &ga.CreateAcceleratorInput{Name: aws.String("page"), Enabled: aws.Bool(false)}))(t)
	l := must(accelerators.CreateListener(t.Context(), &ga.CreateListenerInput{
		AcceleratorArn: a.Accelerator.AcceleratorArn, Protocol: "TCP", PortRanges: []gatypes.PortRange{{FromPort: aws.Int32(80), ToPort: aws.Int32(80)}},
	}))(t)
	d.endpointGroupARN = *must(accelerators.CreateEndpointGroup(t.Context(), &ga.CreateEndpointGroupInput{
		ListenerArn: l.Listener.ListenerArn, EndpointGroupRegion: aws.String("us-west-2"), EndpointConfigurations: []gatypes.EndpointConfiguration{{EndpointId: &d.loadBalancerARN}},
	}))(t).EndpointGroup.EndpointGroupArn
	return d
}

func (d documentedEmulator) send(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://aws.local"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestEmulatorPageListsTheRoutes checks that docs/emulator.md lists exactly the routes of the admin API, with existing
// methods.
func TestEmulatorPageListsTheRoutes(t *testing.T) {
	d := newDocumentedEmulator(t)
	listed := map[string]bool{}
	for _, row := range routeRowPattern.FindAllStringSubmatch(docs.Emulator, -1) {
		listed[row[1]] = true
		if _, answer := d.send(t, row[2], "/_fulcrum/"+row[1], ""); strings.Contains(answer, "does not support the method") {
			t.Errorf("the route %s has no method %s", row[1], row[2])
		}
	}
	var there struct{ Paths []string }
	_, answer := d.send(t, "GET", "/_fulcrum/", "")
	if err := json.Unmarshal([]byte(answer), &there); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if diff := cmp.Diff(there.Paths, slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("docs/emulator.md does not list exactly the existing routes (-exist +page):\n%s", diff)
	}
}

// TestExamplesOfEmulatorPageWork checks that the commands of docs/emulator.md succeed.
func TestExamplesOfEmulatorPageWork(t *testing.T) {
	d := newDocumentedEmulator(t)
	page := docs.Emulator
	examples := examplePattern.FindAllStringSubmatch(page, -1)
	if n := len(regexp.MustCompile(`(?m)^curl `).FindAllString(page, -1)); n != len(examples) || n == 0 {
		t.Errorf("the test can parse only %d of %d commands", len(examples), n)
	}
	files := map[string]string{}
	for _, e := range examples {
		command, to, method, path, body, from := e[0], e[1], e[2], e[3], e[4], e[5]
		if method == "" {
			method = http.MethodGet
		}
		if from != "" {
			body = files[from]
		}
		status, answer := d.send(t, method, path, strings.NewReplacer(`"ARN"`, `"`+d.loadBalancerARN+`"`, `"ENDPOINT"`, `"`+d.loadBalancerARN+`"`, `"ENDPOINT-GROUP"`, `"`+d.endpointGroupARN+`"`).Replace(body))
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", command, status, answer)
		}
		files[to] = answer
	}
}
