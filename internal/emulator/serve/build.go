package serve

import (
	"fmt"
	"net/netip"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// built is a configuration with what was found while it was made.
type built struct {
	config  dataplane.Config
	idle    []dataplane.TargetGroup // exist, but no load balancer uses them
	unmade  []string                // ARNs of certificates that have no key yet
	trouble []error                 // what had to be omitted
	made    time.Time               // by the emulator's clock
	next    time.Duration           // until the state changes without a call, 0 for never
}

// builder makes the configuration of one partition. The emulator state is locked.
type builder struct {
	*built
	s     *Server
	p     *store.Partition
	now   time.Time
	rules map[string][]*store.Rule // by listener
}

// build reads the whole state under the state lock.
func (s *Server) build() built {
	s.w.Lock()
	defer s.w.Unlock()
	now := s.w.Clock.Now()
	out := built{made: now, config: dataplane.Config{Distances: distances(s.w.Config.Accelerator)}}
	for _, p := range s.w.Partitions() {
		b := builder{built: &out, s: s, p: p, now: now, rules: map[string][]*store.Rule{}}
		for _, arn := range store.SortedKeys(p.ELB.Rules) {
			r := p.ELB.Rules[arn]
			b.rules[r.Listener] = append(b.rules[r.Listener], r)
		}
		b.partition()
		b.accelerators()
	}
	return out
}

// partition adds the active load balancers and the target groups that they use.
func (b *builder) partition() {
	serving := map[string]bool{}
	for _, arn := range store.SortedKeys(b.p.ELB.LoadBalancers) {
		lb := b.p.ELB.LoadBalancers[arn]
		switch state, _ := lb.State(b.now); state {
		case elbtypes.LoadBalancerStateEnumProvisioning:
			b.wakeAt(lb.Active)
			continue
		case elbtypes.LoadBalancerStateEnumFailed:
			continue
		}
		serving[arn] = true
		b.config.LoadBalancers = append(b.config.LoadBalancers, b.loadBalancer(lb))
	}
	for _, arn := range store.SortedKeys(b.p.ELB.TargetGroups) {
		switch g := b.p.ELB.TargetGroups[arn]; {
		case serving[g.LoadBalancer]:
			b.config.TargetGroups = append(b.config.TargetGroups, b.targetGroup(g))
		case b.s.late.delay > 0:
			b.idle = append(b.idle, b.targetGroup(g))
		}
	}
}

// wakeAt requests another build at that time.
func (b *builder) wakeAt(t time.Time) {
	// A moment later, because the state at the instant itself is the new one
	// only if the timer is not early.
	d := max(t.Sub(b.now), 0) + time.Millisecond
	if b.next == 0 || d < b.next {
		b.next = d
	}
}

func (b *builder) complain(format string, args ...any) {
	b.trouble = append(b.trouble, fmt.Errorf(format, args...))
}

func (b *builder) loadBalancer(lb *store.LoadBalancer) dataplane.LoadBalancer {
	out := dataplane.LoadBalancer{ARN: lb.ARN, Name: lb.Name, DNSName: lb.DNSName, Network: !lb.IsALB(), Attributes: copied(lb.Attributes)}
	out.Nodes = b.nodes(lb)
	for _, arn := range store.SortedKeys(b.p.ELB.Listeners) {
		l := b.p.ELB.Listeners[arn]
		if l.LoadBalancer != lb.ARN {
			continue
		}
		if listener, ok := b.listener(l); ok {
			out.Listeners = append(out.Listeners, listener)
		}
	}
	return out
}

// nodes returns the nodes of a load balancer; none of one that does not exist.
func (b *builder) nodes(lb *store.LoadBalancer) []dataplane.Node {
	if lb == nil {
		return nil
	}
	var out []dataplane.Node
	for _, z := range lb.Zones {
		address, err := netip.ParseAddr(z.Address)
		if err != nil {
			b.complain("load balancer %s has no address in %s", lb.Name, z.Zone)
			continue
		}
		node := dataplane.Node{Zone: z.Zone, Address: address}
		if eni := b.p.NetworkInterfaces[z.ENI]; eni != nil && len(eni.IPv6) > 0 {
			node.IPv6 = eni.IPv6[0]
		}
		out = append(out, node)
	}
	return out
}

// listener returns false for one that cannot be served.
func (b *builder) listener(l *store.Listener) (dataplane.Listener, bool) {
	out := dataplane.Listener{
		ARN: l.ARN, Port: uint16(l.Port), Protocol: dataplane.Protocol(l.Protocol), SSLPolicy: l.SSLPolicy, Attributes: copied(l.Attributes),
	}
	if len(l.ALPN) > 0 {
		out.ALPN = l.ALPN[0]
	}
	if l.Protocol == elbtypes.ProtocolEnumHttps || l.Protocol == elbtypes.ProtocolEnumTls {
		for i, arn := range append([]string{l.Certificate}, l.SNI...) {
			cert, err := b.certificate(arn)
			if err != nil {
				b.complain("listener %s: %w", l.ARN, err)
				if i == 0 {
					return out, false
				}
				continue
			}
			out.Certificates = append(out.Certificates, cert)
		}
		out.MutualTLS = b.mutual(l)
	}
	for _, r := range b.rules[l.ARN] {
		rule, err := RuleOf(r)
		if err != nil {
			b.complain("rule %s: %w", r.ARN, err)
			continue
		}
		if r.IsDefault() {
			out.Default = rule
		} else {
			out.Rules = append(out.Rules, rule)
		}
	}
	return out, true
}

// mutual returns nil if client certificates are not requested.
func (b *builder) mutual(l *store.Listener) *dataplane.MutualTLS {
	if l.Mutual == nil || l.Mutual.Mode == nil || *l.Mutual.Mode == "off" {
		return nil
	}
	out := &dataplane.MutualTLS{Mode: dataplane.MutualTLSMode(*l.Mutual.Mode)}
	if l.Mutual.TrustStoreArn == nil {
		return out
	}
	out.IgnoreExpiry = l.Mutual.IgnoreClientCertificateExpiry != nil && *l.Mutual.IgnoreClientCertificateExpiry
	out.AdvertiseCANames = l.Mutual.AdvertiseTrustStoreCaNames == elbtypes.AdvertiseTrustStoreCaNamesEnumOn
	store := b.p.ELB.TrustStores[*l.Mutual.TrustStoreArn]
	if store == nil {
		b.complain("listener %s: trust store %s does not exist", l.ARN, *l.Mutual.TrustStoreArn)
		return out
	}
	out.CABundle = b.object(store.Name, store.Bucket, store.Key, store.Version)
	for _, r := range store.Revocations {
		if list := b.object(store.Name, r.Bucket, r.Key, r.Version); list != nil {
			out.RevocationLists = append(out.RevocationLists, list)
		}
	}
	return out
}

// object reads an object of S3, nil if that is not possible.
func (b *builder) object(store, bucket, key, version string) []byte {
	if b.s.opt.Objects == nil {
		b.complain("trust store %s: the emulator has no S3 to read s3://%s/%s from", store, bucket, key)
		return nil
	}
	text, err := b.s.opt.Objects(bucket, key, version)
	if err != nil {
		b.complain("trust store %s: read s3://%s/%s: %w", store, bucket, key, err)
	}
	return text
}

func copied(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
