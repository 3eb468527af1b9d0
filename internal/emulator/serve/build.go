package serve

import (
	"fmt"
	"maps"
	"net/netip"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// buildResult is a configuration for the data plane, with information about its creation.
type buildResult struct {
	config                 dataplane.Config
	unusedTargetGroups     []dataplane.TargetGroup // target groups that no active load balancer uses; empty without a propagation delay
	certificatesWithoutKey []string                // ARNs of certificates that have no key yet
	errs                   []error                 // reasons for omitted parts of the state
	builtAt                time.Time               // time of the creation on the emulator's clock
	nextBuild              time.Duration           // duration until the state changes without a call, 0 for never
}

// builder adds the state of one partition to a configuration. The caller holds the state lock.
type builder struct {
	*buildResult
	s     *Server
	p     *store.Partition
	now   time.Time
	rules map[string][]*store.Rule // by listener
}

// buildConfig returns the configuration for the current state. It takes the state lock.
func (s *Server) buildConfig() buildResult {
	s.store.Lock()
	defer s.store.Unlock()
	now := s.store.Clock.Now()
	out := buildResult{builtAt: now, config: dataplane.Config{Distances: convertDistances(s.store.Config.Accelerator)}}
	for _, p := range s.store.Partitions() {
		b := builder{buildResult: &out, s: s, p: p, now: now, rules: map[string][]*store.Rule{}}
		for _, arn := range store.SortedKeys(p.ELB.Rules) {
			r := p.ELB.Rules[arn]
			b.rules[r.Listener] = append(b.rules[r.Listener], r)
		}
		b.addPartition()
		b.addAccelerators()
	}
	return out
}

// addPartition adds the active load balancers and their target groups.
func (b *builder) addPartition() {
	serving := map[string]bool{}
	for _, arn := range store.SortedKeys(b.p.ELB.LoadBalancers) {
		lb := b.p.ELB.LoadBalancers[arn]
		switch state, _ := lb.State(b.now); state {
		case elbtypes.LoadBalancerStateEnumProvisioning:
			b.scheduleRebuild(lb.Active)
			continue
		case elbtypes.LoadBalancerStateEnumFailed:
			continue
		}
		serving[arn] = true
		b.config.LoadBalancers = append(b.config.LoadBalancers, b.convertLoadBalancer(lb))
	}
	for _, arn := range store.SortedKeys(b.p.ELB.TargetGroups) {
		switch g := b.p.ELB.TargetGroups[arn]; {
		case serving[g.LoadBalancer]:
			b.config.TargetGroups = append(b.config.TargetGroups, b.convertTargetGroup(g))
		case b.s.propagation.delay > 0:
			b.unusedTargetGroups = append(b.unusedTargetGroups, b.convertTargetGroup(g))
		}
	}
}

// scheduleRebuild requests that the configuration is built again at a time.
func (b *builder) scheduleRebuild(t time.Time) {
	// A timer may fire early. The added millisecond prevents a build before the time.
	d := max(t.Sub(b.now), 0) + time.Millisecond
	if b.nextBuild == 0 || d < b.nextBuild {
		b.nextBuild = d
	}
}

// addError records why a part of the state is omitted from the configuration.
func (b *builder) addError(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *builder) convertLoadBalancer(lb *store.LoadBalancer) dataplane.LoadBalancer {
	out := dataplane.LoadBalancer{ARN: lb.ARN, Name: lb.Name, DNSName: lb.DNSName, IsNetwork: !lb.IsALB(), Attributes: maps.Clone(lb.Attributes)}
	out.Nodes = b.convertNodes(lb)
	for _, arn := range store.SortedKeys(b.p.ELB.Listeners) {
		l := b.p.ELB.Listeners[arn]
		if l.LoadBalancer != lb.ARN {
			continue
		}
		if listener, ok := b.convertListener(l); ok {
			out.Listeners = append(out.Listeners, listener)
		}
	}
	return out
}

// convertNodes returns the nodes of a load balancer. It returns none if lb is nil.
func (b *builder) convertNodes(lb *store.LoadBalancer) []dataplane.Node {
	if lb == nil {
		return nil
	}
	var out []dataplane.Node
	for _, z := range lb.Zones {
		address, err := netip.ParseAddr(z.Address)
		if err != nil {
			b.addError("load balancer %s has no address in %s", lb.Name, z.Zone)
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

// convertListener converts a listener. It returns false if the listener is omitted, because its default certificate has an
// error.
func (b *builder) convertListener(l *store.Listener) (dataplane.Listener, bool) {
	out := dataplane.Listener{
		ARN: l.ARN, Port: uint16(l.Port), Protocol: dataplane.Protocol(l.Protocol), SSLPolicy: l.SSLPolicy, Attributes: maps.Clone(l.Attributes),
	}
	if len(l.ALPN) > 0 {
		out.ALPN = l.ALPN[0]
	}
	if l.Protocol == elbtypes.ProtocolEnumHttps || l.Protocol == elbtypes.ProtocolEnumTls {
		for i, arn := range append([]string{l.Certificate}, l.SNI...) {
			cert, err := b.convertCertificate(arn)
			if err != nil {
				b.addError("listener %s: %w", l.ARN, err)
				if i == 0 {
					return out, false
				}
				continue
			}
			out.Certificates = append(out.Certificates, cert)
		}
		out.MutualTLS = b.convertMutualTLS(l)
	}
	for _, r := range b.rules[l.ARN] {
		rule, err := ConvertRule(r)
		if err != nil {
			b.addError("rule %s: %w", r.ARN, err)
			continue
		}
		if r.IsDefault() {
			out.DefaultRule = rule
		} else {
			out.Rules = append(out.Rules, rule)
		}
	}
	return out, true
}

// convertMutualTLS returns the mutual TLS settings of a listener, or nil if the listener does not request client
// certificates.
func (b *builder) convertMutualTLS(l *store.Listener) *dataplane.MutualTLS {
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
		b.addError("listener %s: trust store %s does not exist", l.ARN, *l.Mutual.TrustStoreArn)
		return out
	}
	out.CABundle = b.readObject(store.Name, store.Bucket, store.Key, store.Version)
	for _, r := range store.Revocations {
		if list := b.readObject(store.Name, r.Bucket, r.Key, r.Version); list != nil {
			out.RevocationLists = append(out.RevocationLists, list)
		}
	}
	return out
}

// readObject returns an object of S3. After an error, it records the error and returns nil.
func (b *builder) readObject(store, bucket, key, version string) []byte {
	if b.s.opt.ReadObject == nil {
		b.addError("trust store %s: cannot read s3://%s/%s because the emulator has no S3", store, bucket, key)
		return nil
	}
	text, err := b.s.opt.ReadObject(bucket, key, version)
	if err != nil {
		b.addError("trust store %s: read s3://%s/%s: %w", store, bucket, key, err)
	}
	return text
}
