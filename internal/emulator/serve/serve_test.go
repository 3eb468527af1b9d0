package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// port is the port of all load balancer listeners in these tests. It is not a privileged port.
const port = 18080

// harness is an emulator whose load balancers listen on sockets of this machine.
type harness struct {
	t   *testing.T
	ctx context.Context
	em  *emulator.Emulator
	srv *serve.Server
	elb *elb.Client
	ec2 *ec2.Client
	acm *acm.Client

	vpc, securityGroupID string
	subnets              []string
	networkPrefix        string // first two octets of the VPC's addresses
	lb                   types.LoadBalancer
}

// newHarness creates a VPC, and an ALB in two zones. The addresses of the VPC depend on the process ID, because test
// processes that run in parallel must not use the same addresses.
func newHarness(t *testing.T, opt serve.Options) *harness {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.ELB.ProvisioningDelay, cfg.ELB.RegistrationDelayALB, cfg.ACM.ValidationDelay, cfg.ACM.AssumeRecords = 0, 0, 0, true
	em := emulator.New(emulator.Options{Seed: 3, Config: &cfg})
	srv, err := serve.Start(t.Context(), em, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	sdk := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	r := &harness{
		t: t, ctx: t.Context(), em: em, srv: srv, elb: elb.NewFromConfig(sdk), ec2: ec2.NewFromConfig(sdk), acm: acm.NewFromConfig(sdk),
		networkPrefix: fmt.Sprintf("10.%d", 128+os.Getpid()%100),
	}
	r.vpc = *must(r.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(r.networkPrefix + ".0.0/16")}))(t).Vpc.VpcId
	igw := must(r.ec2.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{}))(t)
	must(r.ec2.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: &r.vpc}))(t)
	for i, zone := range []string{"us-west-2a", "us-west-2b"} {
		s := must(r.ec2.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: aws.String(fmt.Sprintf("%s.%d.0/24", r.networkPrefix, i)), AvailabilityZone: &zone}))(t)
		r.subnets = append(r.subnets, *s.Subnet.SubnetId)
	}
	r.securityGroupID = *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("lb"), Description: aws.String("lb"), VpcId: &r.vpc}))(t).GroupId
	r.lb = must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{Name: aws.String("Web"), Subnets: r.subnets, SecurityGroups: []string{r.securityGroupID}}))(t).LoadBalancers[0]
	return r
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const (
	// conditionTimeout is how long a test waits until a condition is true. It is so long that only a test that hangs exceeds
	// it.
	conditionTimeout = 2 * time.Minute
	// brief is how long a test waits for a response if none is expected, or if the request is then repeated.
	brief = 200 * time.Millisecond
)

// eventually calls holds until it returns no error. The test fails after conditionTimeout.
func (r *harness) eventually(what string, holds func() error) {
	r.t.Helper()
	deadline := time.NewTimer(conditionTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (r *harness) createListener(actions []types.Action, edit ...func(*elb.CreateListenerInput)) types.Listener {
	r.t.Helper()
	in := &elb.CreateListenerInput{LoadBalancerArn: r.lb.LoadBalancerArn, Port: aws.Int32(port), Protocol: "HTTP", DefaultActions: actions}
	for _, e := range edit {
		e(in)
	}
	return must(r.elb.CreateListener(r.ctx, in))(r.t).Listeners[0]
}

func fixedResponseActions(status string) []types.Action {
	return []types.Action{{Type: "fixed-response", FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: &status}}}
}

func forwardActions(arn *string) []types.Action {
	return []types.Action{{Type: "forward", TargetGroupArn: arn}}
}

// createTargetGroup creates a target group for IP targets with frequent health checks.
func (r *harness) createTargetGroup(name string) types.TargetGroup {
	r.t.Helper()
	return must(r.elb.CreateTargetGroup(r.ctx, &elb.CreateTargetGroupInput{
		Name: &name, Protocol: "HTTP", Port: aws.Int32(9090), VpcId: &r.vpc, TargetType: "ip", HealthCheckPath: aws.String("/ready"),
		HealthCheckIntervalSeconds: aws.Int32(5), HealthCheckTimeoutSeconds: aws.Int32(2), UnhealthyThresholdCount: aws.Int32(2),
	}))(r.t).TargetGroups[0]
}

// startBackend runs an HTTP target. It returns the target's address, which is also the body of responses. Health checks get
// the status.
func (r *harness) startBackend(host string, status int) string {
	r.t.Helper()
	address := r.networkPrefix + "." + host
	l, err := net.Listen("tcp", netip.AddrPortFrom(dataplane.Loopback(netip.MustParseAddr(address)), 9090).String())
	if err != nil {
		r.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ready" {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Seen", req.Header.Get("X-Forwarded-For"))
		fmt.Fprint(w, address)
	})}
	go server.Serve(l)
	r.t.Cleanup(func() { server.Close() })
	return address
}

func (r *harness) registerTargets(g types.TargetGroup, ids ...string) {
	r.t.Helper()
	in := &elb.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn}
	for _, id := range ids {
		in.Targets = append(in.Targets, types.TargetDescription{Id: &id})
	}
	must(r.elb.RegisterTargets(r.ctx, in))(r.t)
}

// awaitState waits until a target has the health want, which is a state, followed by the reason if there is one.
func (r *harness) awaitState(g types.TargetGroup, id, want string) {
	r.t.Helper()
	r.eventually("target "+id+" is "+want, func() error {
		out, err := r.elb.DescribeTargetHealth(r.ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{{Id: &id}}})
		if err != nil {
			return err
		}
		h := out.TargetHealthDescriptions[0].TargetHealth
		if got := strings.TrimSpace(fmt.Sprint(h.State, " ", h.Reason)); got != want {
			return errors.New("it is " + got)
		}
		return nil
	})
}

// newClient returns an HTTP client that resolves names with the server and does not follow redirects.
func (r *harness) newClient(roots *tls.Config) *http.Client {
	return &http.Client{
		Timeout: conditionTimeout,
		Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: roots,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				host, p, err := net.SplitHostPort(addr)
				if err != nil {
					return nil, err
				}
				found, ok := r.srv.Lookup(host)
				if !ok || len(found) == 0 {
					return nil, fmt.Errorf("no such name %s", host)
				}
				return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(found[0].String(), p))
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// awaitResponse repeats a request until the response has the status. It returns this response and its body.
func (r *harness) awaitResponse(path string, want int) (*http.Response, string) {
	r.t.Helper()
	var resp *http.Response
	var body []byte
	r.eventually(fmt.Sprintf("GET %s gives %d", path, want), func() error {
		req, err := http.NewRequestWithContext(r.ctx, "GET", fmt.Sprintf("http://%s:%d%s", *r.lb.DNSName, port, path), nil)
		if err != nil {
			return err
		}
		if resp, err = r.newClient(nil).Do(req); err != nil {
			return err
		}
		defer resp.Body.Close()
		if body, err = io.ReadAll(resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != want {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
	return resp, string(body)
}

func TestALBServesItsConfiguration(t *testing.T) {
	r := newHarness(t, serve.Options{})
	web := r.createTargetGroup("web")
	l := r.createListener(forwardActions(web.TargetGroupArn))
	r.awaitResponse("/", 503) // no targets
	good, bad := r.startBackend("0.50", 200), r.startBackend("1.50", 500)
	r.registerTargets(web, bad)
	r.awaitState(web, bad, "unhealthy Target.ResponseCodeMismatch")
	if _, body := r.awaitResponse("/", 200); body != bad {
		t.Errorf("with unhealthy targets only, %s answered", body)
	}
	r.registerTargets(web, good)
	r.awaitState(web, good, "healthy")
	if _, body := r.awaitResponse("/", 200); body != good {
		t.Errorf("%s answered", body)
	}
	must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Actions: fixedResponseActions("410"),
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/gone*"}}},
	}))(t)
	r.awaitResponse("/gone/by", 410)
	must(r.elb.DeregisterTargets(r.ctx, &elb.DeregisterTargetsInput{TargetGroupArn: web.TargetGroupArn, Targets: []types.TargetDescription{{Id: &good}}}))(t)
	r.awaitState(web, good, "draining Target.DeregistrationInProgress")
	r.eventually("the other target serves", func() error {
		if _, body := r.awaitResponse("/", 200); body != bad {
			return fmt.Errorf("%s answered", body)
		}
		return nil
	})
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: r.lb.LoadBalancerArn}))(t)
	r.eventually("the listeners are closed", func() error {
		if n := len(r.srv.Endpoints()); n > 0 {
			return fmt.Errorf("%d are open", n)
		}
		return nil
	})
	if _, ok := r.srv.Lookup(*r.lb.DNSName); ok {
		t.Error("the name of a deleted load balancer resolves")
	}
}

func TestRedirectKeepsThePort(t *testing.T) {
	r := newHarness(t, serve.Options{})
	r.createListener([]types.Action{{Type: "redirect", RedirectConfig: &types.RedirectActionConfig{
		Protocol: aws.String("HTTPS"), Port: aws.String("443"), StatusCode: "HTTP_301",
	}}})
	resp, _ := r.awaitResponse("/a?b=1", 301)
	if want, got := "https://"+*r.lb.DNSName+":443/a?b=1", resp.Header.Get("Location"); got != want {
		t.Errorf("location %q, want %q", got, want)
	}
}

func TestHTTPSWithRequestedCertificate(t *testing.T) {
	r := newHarness(t, serve.Options{})
	cert := must(r.acm.RequestCertificate(r.ctx, &acm.RequestCertificateInput{
		DomainName: aws.String("*.example.com"), ValidationMethod: acmtypes.ValidationMethodDns, KeyAlgorithm: acmtypes.KeyAlgorithmEcPrime256v1,
	}))(t)
	r.createListener(fixedResponseActions("204"), func(in *elb.CreateListenerInput) {
		in.Protocol, in.Certificates = "HTTPS", []types.Certificate{{CertificateArn: cert.CertificateArn}}
	})
	client := r.newClient(&tls.Config{InsecureSkipVerify: true, ServerName: "a.example.com"})
	r.eventually("HTTPS answers", func() error {
		resp, err := client.Get(fmt.Sprintf("https://%s:%d/", *r.lb.DNSName, port))
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != 204 || resp.TLS.PeerCertificates[0].DNSNames[0] != "*.example.com" {
			return fmt.Errorf("status %d, certificate for %v", resp.StatusCode, resp.TLS.PeerCertificates[0].DNSNames)
		}
		return nil
	})
}

func TestDNSNamesOfLoadBalancersResolve(t *testing.T) {
	r := newHarness(t, serve.Options{Resolver: "127.0.0.1:0"})
	r.createListener(fixedResponseActions("200"))
	r.awaitResponse("/", 200)
	conn, err := net.Dial("udp", r.srv.Resolver().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(*r.lb.DNSName + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	raw := must(ask.Pack())(t)
	if err := conn.SetDeadline(time.Now().Add(conditionTimeout)); err != nil {
		t.Fatal(err)
	}
	must(conn.Write(raw))(t)
	buf := make([]byte, 1500)
	n := must(conn.Read(buf))(t)
	var answer dnsmessage.Message
	if err := answer.Unpack(buf[:n]); err != nil {
		t.Fatal(err)
	}
	if len(answer.Answers) != 2 {
		t.Errorf("%d answers, want one per zone", len(answer.Answers))
	}
}

func TestSecurityGroupsAreEnforced(t *testing.T) {
	r := newHarness(t, serve.Options{EnforceSecurityGroups: true})
	r.createListener(fixedResponseActions("200"))
	r.eventually("the listeners are open", func() error {
		if len(r.srv.Endpoints()) != 2 {
			return errors.New("not yet")
		}
		return nil
	})
	client := r.newClient(nil)
	client.Timeout = brief
	if resp, err := client.Get(fmt.Sprintf("http://%s:%d/", *r.lb.DNSName, port)); err == nil {
		resp.Body.Close()
		t.Error("a security group without rules admitted a request")
	}
	must(r.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &r.securityGroupID, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}},
	}}}))(t)
	r.awaitResponse("/", 200)
}
