package serve_test

import (
	"bufio"
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
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
)

// createNLB creates an NLB in both zones. It also turns off the registration delay of NLBs.
func (r *harness) createNLB(groups ...string) types.LoadBalancer {
	r.t.Helper()
	r.em.Store().Lock()
	r.em.Store().Config.ELB.RegistrationDelayNLB = 0
	r.em.Store().Unlock()
	return must(r.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("Net"), Type: "network", Subnets: r.subnets, SecurityGroups: groups,
	}))(r.t).LoadBalancers[0]
}

// createNLBListener creates a listener that forwards to a target group.
func (r *harness) createNLBListener(lb types.LoadBalancer, p types.ProtocolEnum, group types.TargetGroup) {
	r.t.Helper()
	in := &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(port), Protocol: p, DefaultActions: forwardActions(group.TargetGroupArn)}
	must(r.elb.CreateListener(r.ctx, in))(r.t)
}

// createNLBTargetGroup creates a target group of IP targets with frequent TCP health checks.
func (r *harness) createNLBTargetGroup(name string, p types.ProtocolEnum, edit ...func(*elb.CreateTargetGroupInput)) types.TargetGroup {
	r.t.Helper()
	in := &elb.CreateTargetGroupInput{
		Name: &name, Protocol: p, Port: aws.Int32(9090), VpcId: &r.vpc, TargetType: "ip",
		HealthCheckIntervalSeconds: aws.Int32(5), HealthCheckTimeoutSeconds: aws.Int32(2),
		HealthyThresholdCount: aws.Int32(2), UnhealthyThresholdCount: aws.Int32(2),
	}
	for _, e := range edit {
		e(in)
	}
	return must(r.elb.CreateTargetGroup(r.ctx, in))(r.t).TargetGroups[0]
}

func (r *harness) setAttribute(g types.TargetGroup, key, value string) {
	r.t.Helper()
	must(r.elb.ModifyTargetGroupAttributes(r.ctx, &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: g.TargetGroupArn, Attributes: []types.TargetGroupAttribute{{Key: &key, Value: &value}},
	}))(r.t)
}

// startGreeter runs a target and returns its address. For a TCP connection, the target sends one line with its address and
// the address of its peer, and then returns what it receives. It answers each UDP datagram with such a line.
func (r *harness) startGreeter(host string) string {
	r.t.Helper()
	address := r.networkPrefix + "." + host
	at := netip.AddrPortFrom(dataplane.Loopback(netip.MustParseAddr(address)), 9090).String()
	l, err := net.Listen("tcp", at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.t.Cleanup(func() { conn.Close() })
			go func() {
				fmt.Fprintf(conn, "%s %s\n", address, conn.RemoteAddr().(*net.TCPAddr).IP)
				io.Copy(conn, conn)
				conn.Close()
			}()
		}
	}()
	u, err := net.ListenPacket("udp", at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { u.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			_, from, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			fmt.Fprintf(datagramWriter{u, from}, "%s %s\n", address, from.(*net.UDPAddr).IP)
		}
	}()
	return address
}

// datagramWriter sends each write as a datagram to one address.
type datagramWriter struct {
	net.PacketConn
	address net.Addr
}

func (w datagramWriter) Write(b []byte) (int, error) { return w.WriteTo(b, w.address) }

// dial connects to a node of the load balancer. If local is not empty, it is the address of the client. The deadline of the
// connection is after the duration within.
func (r *harness) dial(network string, lb types.LoadBalancer, local string, within time.Duration) (net.Conn, *bufio.Reader, error) {
	found, ok := r.srv.Lookup(*lb.DNSName)
	if !ok || len(found) == 0 {
		return nil, nil, errors.New("no such name")
	}
	d := net.Dialer{Timeout: conditionTimeout}
	if local != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(local)}
		if network == "udp" {
			d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(local)}
		}
	}
	conn, err := d.Dial(network, netip.AddrPortFrom(found[0], port).String())
	if err != nil {
		return nil, nil, err
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn), conn.SetDeadline(time.Now().Add(within))
}

// awaitNLBGreeting connects until a connection receives the wanted greeting. It returns this connection with its reader.
func (r *harness) awaitNLBGreeting(network string, lb types.LoadBalancer, local, want string) (net.Conn, *bufio.Reader) {
	r.t.Helper()
	var conn net.Conn
	var in *bufio.Reader
	wait := brief
	r.eventually("greeted with "+want, func() (err error) {
		wait *= 2 // on a busy machine, the reply may take longer than the last wait
		if conn, in, err = r.dial(network, lb, local, wait); err != nil {
			return err
		}
		if network == "udp" {
			if _, err := io.WriteString(conn, "hello"); err != nil {
				return err
			}
		}
		text, err := in.ReadString('\n')
		if err == nil && strings.TrimSpace(text) != want {
			err = fmt.Errorf("it is %q", text)
		}
		return err
	})
	conn.SetDeadline(time.Now().Add(conditionTimeout))
	return conn, in
}

func TestNetworkLoadBalancerServesItsConfiguration(t *testing.T) {
	r := newHarness(t, serve.Options{})
	lb := r.createNLB()
	g := r.createNLBTargetGroup("tcp", "TCP")
	r.createNLBListener(lb, "TCP", g)
	r.eventually("without targets, connections are reset", func() error {
		_, in, err := r.dial("tcp", lb, "", conditionTimeout)
		if err == nil {
			_, err = in.ReadByte()
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("it is %w", err)
		}
		return nil
	})
	r.setAttribute(g, "load_balancing.cross_zone.enabled", "true")
	first := r.startGreeter("0.60")
	r.registerTargets(g, first)
	r.awaitState(g, first, "healthy")
	found, _ := r.srv.Lookup(*lb.DNSName)
	conn, in := r.awaitNLBGreeting("tcp", lb, "", first+" "+found[0].String())
	r.setAttribute(g, "preserve_client_ip.enabled", "true")
	r.awaitNLBGreeting("tcp", lb, "127.9.8.7", first+" 127.9.8.7")

	second := r.startGreeter("0.61")
	r.registerTargets(g, second)
	r.awaitState(g, second, "healthy")
	must(r.elb.DeregisterTargets(r.ctx, &elb.DeregisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{{Id: &first}}}))(t)
	r.awaitState(g, first, "draining Target.DeregistrationInProgress")
	for range 5 {
		r.awaitNLBGreeting("tcp", lb, "127.9.8.7", second+" 127.9.8.7")
	}
	fmt.Fprintln(conn, "still here")
	if text, err := in.ReadString('\n'); err != nil || text != "still here\n" {
		t.Errorf("a connection to a draining target gives %q, %v", text, err)
	}
	must(r.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))(t)
	if _, err := in.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection of a deleted load balancer gives %v", err)
	}
}

func TestUDPListenerServesItsConfiguration(t *testing.T) {
	r := newHarness(t, serve.Options{})
	lb, g := r.createNLB(), r.createNLBTargetGroup("udp", "UDP")
	r.createNLBListener(lb, "UDP", g)
	target := r.startGreeter("0.62")
	r.registerTargets(g, target)
	r.awaitState(g, target, "healthy")
	r.awaitNLBGreeting("udp", lb, "127.9.8.7", target+" 127.9.8.7")
}

func TestApplicationLoadBalancerAsTarget(t *testing.T) {
	r := newHarness(t, serve.Options{})
	r.createListener(fixedResponseActions("200"))
	lb := r.createNLB()
	g := r.createNLBTargetGroup("behind", "TCP", func(in *elb.CreateTargetGroupInput) { in.TargetType, in.Port = "alb", aws.Int32(port) })
	r.createNLBListener(lb, "TCP", g)
	must(r.elb.RegisterTargets(r.ctx, &elb.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: []types.TargetDescription{{Id: r.lb.LoadBalancerArn}}}))(t)
	r.awaitState(g, *r.lb.LoadBalancerArn, "healthy")
	r.eventually("the ALB answers", func() error {
		resp, err := r.newClient(nil).Get(fmt.Sprintf("http://%s:%d/", *lb.DNSName, port))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

func TestSecurityGroupsOfNLBAndTargetsAreEnforced(t *testing.T) {
	r := newHarness(t, serve.Options{EnforceSecurityGroups: true})
	lb, g := r.createNLB(r.securityGroupID), r.createNLBTargetGroup("tcp", "TCP")
	r.createNLBListener(lb, "TCP", g)
	r.setAttribute(g, "preserve_client_ip.enabled", "true")
	// The target has an ENI, and the ENI's security group admits traffic from the load balancer's security group.
	address := r.startGreeter("0.63")
	own := *must(r.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("pods"), Description: aws.String("pods"), VpcId: &r.vpc}))(t).GroupId
	must(r.ec2.CreateNetworkInterface(r.ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &r.subnets[0], PrivateIpAddress: &address, Groups: []string{own}}))(t)
	must(r.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &own, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(9090), ToPort: aws.Int32(9090), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &r.securityGroupID}},
	}}}))(t)
	r.registerTargets(g, address)
	r.awaitState(g, address, "healthy")
	_, in, err := r.dial("tcp", lb, "127.9.8.7", brief)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); err == nil || errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("want no answer through a security group without rules, got %v", err)
	}
	must(r.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &r.securityGroupID, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("127.9.8.7/32")}},
	}}}))(t)
	r.awaitNLBGreeting("tcp", lb, "127.9.8.7", address+" 127.9.8.7")
}

func TestDualStackNLBServesItsConfiguration(t *testing.T) {
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6:", err)
	} else {
		ln.Close()
	}
	r := newHarness(t, serve.Options{EnforceSecurityGroups: true})
	must(r.ec2.AssociateVpcCidrBlock(r.ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: &r.vpc, AmazonProvidedIpv6CidrBlock: aws.Bool(true)}))(t)
	vpc := must(r.ec2.DescribeVpcs(r.ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.vpc}}))(t).Vpcs[0]
	block := *vpc.Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock
	for i, s := range r.subnets {
		part := strings.Replace(block, "00::/56", fmt.Sprintf("0%d::/64", i), 1)
		must(r.ec2.AssociateSubnetCidrBlock(r.ctx, &ec2.AssociateSubnetCidrBlockInput{SubnetId: &s, Ipv6CidrBlock: &part}))(t)
	}
	lb, g := r.createNLB(r.securityGroupID), r.createNLBTargetGroup("tcp", "TCP")
	r.createNLBListener(lb, "TCP", g)
	must(r.elb.SetIpAddressType(r.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: lb.LoadBalancerArn, IpAddressType: "dualstack"}))(t)
	target := r.startGreeter("0.64")
	r.registerTargets(g, target)
	r.awaitState(g, target, "healthy")
	wait := brief
	dial := func() (string, error) {
		for _, e := range r.srv.Endpoints() {
			if e.LoadBalancer == *lb.LoadBalancerArn && e.NodeAddress.Addr().Is6() {
				conn, err := net.DialTimeout("tcp", e.LocalAddress.String(), conditionTimeout)
				if err != nil {
					return "", err
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(wait))
				wait *= 2 // on a busy machine, the reply may take longer than the last wait
				return bufio.NewReader(conn).ReadString('\n')
			}
		}
		return "", errors.New("no node listens with IPv6")
	}
	r.eventually("a node listens with IPv6", func() error {
		if text, err := dial(); text != "" || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("answer %q, %w", text, err)
		}
		return nil
	})
	must(r.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &r.securityGroupID, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port), Ipv6Ranges: []ec2types.Ipv6Range{{CidrIpv6: aws.String("::/0")}},
	}}}))(t)
	r.eventually("an IPv6 client is admitted", func() error {
		text, err := dial()
		if err == nil && !strings.HasPrefix(text, target+" ") {
			err = fmt.Errorf("it is %q", text)
		}
		return err
	})
}
