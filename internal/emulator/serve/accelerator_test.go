package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// acceleratorPort is the port of the listener of each accelerator in these tests.
const acceleratorPort = 18443

// clientAddress is the local address from which the clients of accelerators connect.
const clientAddress = "127.9.8.7"

// acceleratorHarness is a harness with an accelerator that has one listener.
type acceleratorHarness struct {
	*harness
	ga       *ga.Client
	arn      *string
	listener *string
}

// newAcceleratorHarness creates an accelerator with a listener. The addresses of the accelerator depend on the process ID,
// because test processes that run in parallel must not use the same addresses.
func newAcceleratorHarness(t *testing.T, opt serve.Options, protocol gatypes.Protocol, edit ...func(*ga.CreateAcceleratorInput)) *acceleratorHarness {
	t.Helper()
	r := &acceleratorHarness{harness: newHarness(t, opt)}
	own := func(public, local string) store.AcceleratorZone {
		part := os.Getpid() % 250
		return store.AcceleratorZone{
			Public: netip.MustParsePrefix(fmt.Sprintf("%s.%d.0/24", public, part)), Local: netip.MustParsePrefix(fmt.Sprintf("%s.%d.0/24", local, part)),
		}
	}
	r.configure(func(c *store.AcceleratorConfig) {
		c.Zones = []store.AcceleratorZone{own("75.2", "127.252"), own("99.83", "127.253")}
		c.HealthDelay, c.Home = 0, "us-west-2"
	})
	sdk := aws.Config{Region: store.AcceleratorRegion, HTTPClient: r.em.Client(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	r.ga = ga.NewFromConfig(sdk)
	in := &ga.CreateAcceleratorInput{Name: aws.String("web")}
	for _, e := range edit {
		e(in)
	}
	r.arn = must(r.ga.CreateAccelerator(r.ctx, in))(t).Accelerator.AcceleratorArn
	r.listener = must(r.ga.CreateListener(r.ctx, &ga.CreateListenerInput{
		AcceleratorArn: r.arn, Protocol: protocol, PortRanges: []gatypes.PortRange{{FromPort: aws.Int32(acceleratorPort), ToPort: aws.Int32(acceleratorPort)}},
	}))(t).Listener.ListenerArn
	return r
}

func (r *acceleratorHarness) configure(change func(*store.AcceleratorConfig)) {
	r.em.Store().Lock()
	change(&r.em.Store().Config.Accelerator)
	r.em.Store().Unlock()
	r.em.Store().WakeWaiters()
}

// createEndpointGroup creates an endpoint group. Its port override is the listener port of the load balancers.
func (r *acceleratorHarness) createEndpointGroup(region string, list ...gatypes.EndpointConfiguration) *string {
	r.t.Helper()
	return must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{
		ListenerArn: r.listener, EndpointGroupRegion: &region, EndpointConfigurations: list,
		PortOverrides: []gatypes.PortOverride{{ListenerPort: aws.Int32(acceleratorPort), EndpointPort: aws.Int32(port)}},
	}))(r.t).EndpointGroup.EndpointGroupArn
}

func endpointConfiguration(arn *string, preserve bool) gatypes.EndpointConfiguration {
	return gatypes.EndpointConfiguration{EndpointId: arn, ClientIPPreservationEnabled: &preserve}
}

func (r *acceleratorHarness) updateEndpointGroup(group *string, list ...gatypes.EndpointConfiguration) {
	r.t.Helper()
	must(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: group, EndpointConfigurations: list}))(r.t)
}

func (r *acceleratorHarness) forceHealth(group, endpoint *string, health gatypes.HealthState) {
	r.t.Helper()
	if !r.em.Store().ForceEndpointHealth(store.EndpointHealthReport{EndpointGroup: *group, Endpoint: *endpoint, Health: health}) {
		r.t.Fatalf("no endpoint %s", *endpoint)
	}
}

func (r *acceleratorHarness) awaitHealth(group *string, want gatypes.HealthState) {
	r.t.Helper()
	r.eventually("the endpoint is "+string(want), func() error {
		out, err := r.ga.DescribeEndpointGroup(r.ctx, &ga.DescribeEndpointGroupInput{EndpointGroupArn: group})
		if err != nil {
			return err
		}
		if got := out.EndpointGroup.EndpointDescriptions[0].HealthState; got != want {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
}

// resolveAddresses returns the local addresses to which the accelerator's name resolves.
func (r *acceleratorHarness) resolveAddresses() []netip.Addr {
	r.t.Helper()
	a := must(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: r.arn}))(r.t).Accelerator
	var out []netip.Addr
	r.eventually("the name resolves", func() error {
		var ok bool
		if out, ok = r.srv.Lookup(*a.DnsName); !ok || len(out) != 2 {
			return fmt.Errorf("it has %v", out)
		}
		return nil
	})
	return out
}

// get sends an HTTP request to an address. It returns the status, the body, and the client address that the load
// balancer sees.
func (r *acceleratorHarness) get(at netip.Addr) (status int, body, seen string, err error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, netip.AddrPortFrom(at, acceleratorPort).String())
	}}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, "http://web.example.com/", nil)
	if err != nil {
		return 0, "", "", err
	}
	res, err := (&http.Client{Transport: transport, Timeout: conditionTimeout}).Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), res.Header.Get("Seen"), err
}

// awaitAnswer waits until an address responds with a status. It returns the body, and the client address that the load
// balancer sees.
func (r *acceleratorHarness) awaitAnswer(at netip.Addr, want int) (body, seen string) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s answers %d", at, want), func() (err error) {
		var status int
		if status, body, seen, err = r.get(at); err == nil && status != want {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	return body, seen
}

func (r *acceleratorHarness) awaitRefusal(at netip.Addr) {
	r.t.Helper()
	r.eventually("connections are refused", func() error {
		if _, _, _, err := r.get(at); !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("error %w", err)
		}
		return nil
	})
}

func TestAcceleratorForwardsToALB(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "TCP")
	web := r.createTargetGroup("web")
	r.createListener(forwardActions(web.TargetGroupArn))
	pod := r.startBackend("0.70", 200)
	r.registerTargets(web, pod)
	group := r.createEndpointGroup("us-west-2", endpointConfiguration(r.lb.LoadBalancerArn, true))
	r.awaitHealth(group, "HEALTHY")
	for _, at := range r.resolveAddresses() {
		if body, seen := r.awaitAnswer(at, 200); body != pod || seen != clientAddress {
			t.Errorf("at %s: target %s answered, and saw client %s", at, body, seen)
		}
	}
	// Without client IP preservation, the load balancer sees an address of the accelerator.
	r.updateEndpointGroup(group, endpointConfiguration(r.lb.LoadBalancerArn, false))
	static := must(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: r.arn}))(t).Accelerator.IpSets[0].IpAddresses
	for i, at := range r.resolveAddresses() {
		r.eventually("the client is an address of the accelerator", func() error {
			if _, _, seen, err := r.get(at); err != nil || seen != static[i] {
				return fmt.Errorf("seen is %s, %w", seen, err)
			}
			return nil
		})
	}
	at := r.resolveAddresses()[0]
	must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: r.arn, Enabled: aws.Bool(false)}))(t)
	r.awaitRefusal(at)
	must(r.ga.UpdateAccelerator(r.ctx, &ga.UpdateAcceleratorInput{AcceleratorArn: r.arn, Enabled: aws.Bool(true)}))(t)
	r.awaitAnswer(at, 200)
	must(r.ga.DeleteEndpointGroup(r.ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: group}))(t)
	must(r.ga.DeleteListener(r.ctx, &ga.DeleteListenerInput{ListenerArn: r.listener}))(t)
	r.awaitRefusal(at)
}

// TestALBSeesClientOrAcceleratorAddress checks which address source-ip conditions and security groups of the load balancer
// match: the address of the client, or without client IP preservation, an address of the accelerator.
func TestALBSeesClientOrAcceleratorAddress(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{EnforceSecurityGroups: true}, "TCP")
	l := r.createListener(fixedResponseActions("403"))
	must(r.elb.CreateRule(r.ctx, &elb.CreateRuleInput{
		ListenerArn: l.ListenerArn, Priority: aws.Int32(1), Actions: fixedResponseActions("200"),
		Conditions: []types.RuleCondition{{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{clientAddress + "/32"}}}},
	}))(t)
	for _, cidr := range []string{clientAddress + "/32", "75.2.0.0/16"} {
		must(r.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &r.securityGroupID, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port), IpRanges: []ec2types.IpRange{{CidrIp: &cidr}},
		}}}))(t)
	}
	group := r.createEndpointGroup("us-west-2", endpointConfiguration(r.lb.LoadBalancerArn, true))
	first, second := r.resolveAddresses()[0], r.resolveAddresses()[1]
	r.awaitAnswer(first, 200)
	r.awaitAnswer(second, 200)
	r.updateEndpointGroup(group, endpointConfiguration(r.lb.LoadBalancerArn, false))
	r.awaitAnswer(first, 403) // a security group rule admits the addresses of the first zone
	conn, err := net.Dial("tcp", netip.AddrPortFrom(second, acceleratorPort).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	conn.SetDeadline(time.Now().Add(brief))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("want no answer for the addresses of the other zone, got %v", err)
	}
}

// readGreeting connects to an address and reads the greeting of a target. within limits the time for reading it.
func (r *acceleratorHarness) readGreeting(network string, at netip.AddrPort, within time.Duration) (net.Conn, *bufio.Reader, string, error) {
	d := net.Dialer{Timeout: conditionTimeout}
	if at.Addr().Is4() {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(clientAddress)}
		if network == "udp" {
			d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(clientAddress)}
		}
	}
	conn, err := d.Dial(network, at.String())
	if err != nil {
		return nil, nil, "", err
	}
	r.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(within))
	if network == "udp" {
		if _, err := io.WriteString(conn, "hello"); err != nil {
			return nil, nil, "", err
		}
	}
	in := bufio.NewReader(conn)
	text, err := in.ReadString('\n')
	conn.SetDeadline(time.Now().Add(conditionTimeout))
	return conn, in, strings.TrimSpace(text), err
}

// awaitGreeting connects until an address responds with the wanted greeting. It returns this connection with its reader.
func (r *acceleratorHarness) awaitGreeting(network string, at netip.AddrPort, want string) (net.Conn, *bufio.Reader) {
	r.t.Helper()
	var conn net.Conn
	var in *bufio.Reader
	wait := brief
	r.eventually("greeted with "+want, func() (err error) {
		wait *= 2 // on a busy machine, the reply may take longer than the last wait
		var text string
		if conn, in, text, err = r.readGreeting(network, at, wait); err == nil && text != want {
			err = fmt.Errorf("it is %q", text)
		}
		return err
	})
	return conn, in
}

func TestAcceleratorForwardsToNLB(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "TCP")
	lb := r.createNLB(r.securityGroupID)
	g := r.createNLBTargetGroup("tcp", "TCP")
	r.createNLBListener(lb, "TCP", g)
	r.setAttribute(g, "preserve_client_ip.enabled", "true")
	target := r.startGreeter("0.71")
	r.registerTargets(g, target)
	r.awaitState(g, target, "healthy")
	group := r.createEndpointGroup("us-west-2", endpointConfiguration(lb.LoadBalancerArn, true))
	at := netip.AddrPortFrom(r.resolveAddresses()[0], acceleratorPort)
	conn, in := r.awaitGreeting("tcp", at, target+" "+clientAddress)
	// A removed endpoint keeps its connections but gets no new ones.
	must(r.ga.RemoveEndpoints(r.ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: group, EndpointIdentifiers: []gatypes.EndpointIdentifier{{EndpointId: lb.LoadBalancerArn}}}))(t)
	r.eventually("new connections are reset", func() error {
		if _, _, text, err := r.readGreeting("tcp", at, conditionTimeout); !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("greeted with %q, %w", text, err)
		}
		return nil
	})
	must(r.ga.DeleteEndpointGroup(r.ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: group}))(t)
	must(r.ga.DeleteListener(r.ctx, &ga.DeleteListenerInput{ListenerArn: r.listener}))(t)
	r.awaitRefusal(at.Addr())
	fmt.Fprintln(conn, "still here")
	if text, err := in.ReadString('\n'); err != nil || text != "still here\n" {
		t.Errorf("a connection to a removed endpoint gives %q, %v", text, err)
	}
}

func TestAcceleratorForwardsUDP(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "UDP")
	lb, g := r.createNLB(r.securityGroupID), r.createNLBTargetGroup("udp", "UDP")
	r.createNLBListener(lb, "UDP", g)
	target := r.startGreeter("0.72")
	r.registerTargets(g, target)
	r.awaitState(g, target, "healthy")
	r.createEndpointGroup("us-west-2", endpointConfiguration(lb.LoadBalancerArn, true))
	for _, at := range r.resolveAddresses() {
		conn, in := r.awaitGreeting("udp", netip.AddrPortFrom(at, acceleratorPort), target+" "+clientAddress)
		fmt.Fprint(conn, "again") // a datagram of the same flow
		if text, err := in.ReadString('\n'); err != nil || text != target+" "+clientAddress+"\n" {
			t.Errorf("the second datagram is answered with %q, %v", text, err)
		}
	}
}

func TestDualStackAcceleratorServesIPv6(t *testing.T) {
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6:", err)
	} else {
		ln.Close()
	}
	r := newAcceleratorHarness(t, serve.Options{}, "TCP", func(in *ga.CreateAcceleratorInput) { in.IpAddressType = "DUAL_STACK" })
	must(r.ec2.AssociateVpcCidrBlock(r.ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: &r.vpc, AmazonProvidedIpv6CidrBlock: aws.Bool(true)}))(t)
	block := *must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(t).Vpcs[0].Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	for i, s := range r.subnets {
		part := strings.Replace(block, "00::/56", fmt.Sprintf("0%d::/64", i), 1)
		must(r.ec2.AssociateSubnetCidrBlock(r.ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &s, Ipv6CidrBlock: &part}))(t)
	}
	must(r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: r.lb.LoadBalancerArn, IpAddressType: "dualstack"}))(t)
	web := r.createTargetGroup("web")
	r.createListener(forwardActions(web.TargetGroupArn))
	r.registerTargets(web, r.startBackend("0.73", 200))
	r.awaitHealth(r.createEndpointGroup("us-west-2", endpointConfiguration(r.lb.LoadBalancerArn, true)), "HEALTHY")
	r.resolveAddresses()
	var six []dataplane.AcceleratorSocket
	for _, e := range r.srv.AcceleratorSockets() {
		if e.Static.Addr().Is6() {
			six = append(six, e)
		}
	}
	if len(six) != 2 || len(r.srv.AcceleratorSockets()) != 4 {
		t.Fatalf("sockets %+v", r.srv.AcceleratorSockets())
	}
	for _, e := range six {
		r.eventually("the ALB answers over IPv6", func() error {
			res, err := http.Get("http://" + e.Real.String() + "/")
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if seen := res.Header.Get("Seen"); res.StatusCode != 200 || seen != "::1" {
				return fmt.Errorf("status %d, client %s", res.StatusCode, seen)
			}
			return nil
		})
	}
	a := must(r.ga.DescribeAccelerator(r.ctx, &ga.DescribeAcceleratorInput{AcceleratorArn: r.arn}))(t).Accelerator
	if found, ok := r.srv.Lookup(strings.ToUpper(*a.DualStackDnsName)); !ok || len(found) != 2 {
		t.Errorf("the dual-stack name has %v", found)
	}
}

// TestAcceleratorFailsOver checks that an endpoint of another region gets the requests if the nearest region has no healthy
// endpoint.
func TestAcceleratorFailsOver(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "TCP")
	r.createListener(fixedResponseActions("201"))
	near := r.createEndpointGroup("us-west-2", endpointConfiguration(r.lb.LoadBalancerArn, true))
	elsewhere := r.createALBInRegion("eu-west-1", "202")
	far := r.createEndpointGroup("eu-west-1", endpointConfiguration(elsewhere, true))
	r.forceHealth(near, r.lb.LoadBalancerArn, "HEALTHY")
	r.forceHealth(far, elsewhere, "HEALTHY")
	at := r.resolveAddresses()[0]
	r.awaitAnswer(at, 201)
	r.forceHealth(near, r.lb.LoadBalancerArn, "UNHEALTHY")
	r.awaitAnswer(at, 202)
	r.forceHealth(far, elsewhere, "UNHEALTHY")
	r.awaitAnswer(at, 201) // no endpoint is healthy: fail open
	r.forceHealth(far, elsewhere, "HEALTHY")
	r.awaitAnswer(at, 202)
	r.forceHealth(near, r.lb.LoadBalancerArn, "HEALTHY")
	r.awaitAnswer(at, 201)
	r.configure(func(c *store.AcceleratorConfig) {
		c.Nearest = []store.ClientRange{{Clients: netip.MustParsePrefix(clientAddress + "/32"), Regions: []string{"eu-west-1"}}}
	})
	r.awaitAnswer(at, 202)
	must(r.ga.UpdateEndpointGroup(r.ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: far, TrafficDialPercentage: aws.Float32(0)}))(t)
	r.awaitAnswer(at, 201)
}

// createALBInRegion creates an ALB with a fixed response in a VPC of another region.
func (r *acceleratorHarness) createALBInRegion(region, status string) *string {
	r.t.Helper()
	sdk := aws.Config{Region: region, HTTPClient: r.em.Client(), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", "")}
	network, balancers := ec2.NewFromConfig(sdk), elb.NewFromConfig(sdk)
	// Use the second half of the VPC's address range, because each address exists only once on this machine.
	vpc := must(network.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(r.networkPrefix + ".128.0/17")}))(r.t).Vpc.VpcId
	igw := must(network.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{}))(r.t)
	must(network.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: igw.InternetGateway.InternetGatewayId, VpcId: vpc}))(r.t)
	in := &elb.CreateLoadBalancerInput{Name: aws.String("far")}
	for i, zone := range []string{"a", "b"} {
		s := must(network.CreateSubnet(r.ctx, &ec2.CreateSubnetInput{VpcId: vpc, CidrBlock: aws.String(fmt.Sprintf("%s.%d.0/24", r.networkPrefix, 200+i)), AvailabilityZone: aws.String(region + zone)}))(r.t)
		in.Subnets = append(in.Subnets, *s.Subnet.SubnetId)
	}
	lb := must(balancers.CreateLoadBalancer(r.ctx, in))(r.t).LoadBalancers[0].LoadBalancerArn
	must(balancers.CreateListener(r.ctx, &elb.CreateListenerInput{LoadBalancerArn: lb, Port: aws.Int32(port), Protocol: "HTTP", DefaultActions: fixedResponseActions(status)}))(r.t)
	return lb
}

// TestAcceleratorChecksInstances checks that health checks of an instance use the listener port, not the endpoint port of a
// port override.
func TestAcceleratorChecksInstances(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "TCP")
	run := must(r.ec2.RunInstances(r.ctx, &ec2.RunInstancesInput{ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &r.subnets[0]}))(t).Instances[0]
	group := must(r.ga.CreateEndpointGroup(r.ctx, &ga.CreateEndpointGroupInput{
		ListenerArn: r.listener, EndpointGroupRegion: aws.String("us-west-2"), ThresholdCount: aws.Int32(1), HealthCheckIntervalSeconds: aws.Int32(10),
		EndpointConfigurations: []gatypes.EndpointConfiguration{{EndpointId: run.InstanceId}},
		PortOverrides:          []gatypes.PortOverride{{ListenerPort: aws.Int32(acceleratorPort), EndpointPort: aws.Int32(9090)}},
	}))(t).EndpointGroup.EndpointGroupArn
	host := strings.TrimPrefix(*run.PrivateIpAddress, r.networkPrefix+".")
	r.startGreeter(host)
	r.awaitHealth(group, "UNHEALTHY") // nothing listens on the listener's port
	// The instance gets traffic although it is unhealthy, because it is the only endpoint, and it sees the client's
	// address.
	r.awaitGreeting("tcp", netip.AddrPortFrom(r.resolveAddresses()[0], acceleratorPort), *run.PrivateIpAddress+" "+clientAddress)
	checked, err := net.Listen("tcp", netip.AddrPortFrom(dataplane.Loopback(netip.MustParseAddr(*run.PrivateIpAddress)), acceleratorPort).String())
	if err != nil {
		t.Fatal(err)
	}
	defer checked.Close()
	r.awaitHealth(group, "HEALTHY")
}

// TestAcceleratorForwardsToElasticIP checks that traffic for an Elastic IP address reaches the load balancer with this
// address. The target sees an address of the accelerator, not that of the client.
func TestAcceleratorForwardsToElasticIP(t *testing.T) {
	r := newAcceleratorHarness(t, serve.Options{}, "TCP")
	allocation := must(r.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{}))(t).AllocationId
	lb := must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("static"), Type: "network", SubnetMappings: []types.SubnetMapping{{SubnetId: &r.subnets[0], AllocationId: allocation}},
	}))(t).LoadBalancers[0]
	g := r.createNLBTargetGroup("tcp", "TCP")
	r.createNLBListener(lb, "TCP", g)
	r.setAttribute(g, "preserve_client_ip.enabled", "true")
	target := r.startGreeter("0.74")
	r.registerTargets(g, target)
	r.awaitState(g, target, "healthy")
	r.createEndpointGroup("us-west-2", endpointConfiguration(allocation, true))
	for _, at := range r.resolveAddresses() {
		r.awaitGreeting("tcp", netip.AddrPortFrom(at, acceleratorPort), target+" "+r.resolveAddresses()[0].String())
	}
}
