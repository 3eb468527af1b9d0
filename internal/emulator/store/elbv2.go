package store

import (
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// ELBState is the state of Elastic Load Balancing v2 in one account and region. The keys of all maps are ARNs.
type ELBState struct {
	LoadBalancers map[string]*LoadBalancer
	Listeners     map[string]*Listener
	Rules         map[string]*Rule
	TargetGroups  map[string]*TargetGroup
	TrustStores   map[string]*TrustStore

	region string
	// rulesByListener maps the ARN of a listener to its rules by ARN. It is nil before the first call of RulesOfListener.
	rulesByListener map[string]map[string]*Rule
}

// RulesOfListener returns the rules of a listener, including the default rule, by ARN. Callers must not change the map.
func (s *ELBState) RulesOfListener(listener string) map[string]*Rule {
	if s.rulesByListener == nil {
		s.rulesByListener = map[string]map[string]*Rule{}
		for _, r := range s.Rules {
			s.indexRule(r)
		}
	}
	return s.rulesByListener[listener]
}

func (s *ELBState) indexRule(r *Rule) {
	if s.rulesByListener[r.Listener] == nil {
		s.rulesByListener[r.Listener] = map[string]*Rule{}
	}
	s.rulesByListener[r.Listener][r.ARN] = r
}

// AddRule adds a rule. The caller must then call UpdateTargetGroupUse for the load balancer.
func (s *ELBState) AddRule(r *Rule) {
	s.Rules[r.ARN] = r
	if s.rulesByListener != nil {
		s.indexRule(r)
	}
}

// RemoveRule removes a rule. The caller must then call UpdateTargetGroupUse for the load balancer.
func (s *ELBState) RemoveRule(r *Rule) {
	delete(s.Rules, r.ARN)
	delete(s.rulesByListener[r.Listener], r.ARN)
	if len(s.rulesByListener[r.Listener]) == 0 {
		delete(s.rulesByListener, r.Listener)
	}
}

// EachRuleOfLoadBalancer calls visit for each rule of a load balancer, including default rules.
func (s *ELBState) EachRuleOfLoadBalancer(loadBalancer string, visit func(*Rule)) {
	for arn, l := range s.Listeners {
		if l.LoadBalancer == loadBalancer {
			for _, r := range s.RulesOfListener(arn) {
				visit(r)
			}
		}
	}
}

// Region returns the region of the state. The ARNs of all its resources are in this region.
func (s *ELBState) Region() string { return s.region }

func newELBState() *ELBState {
	return &ELBState{
		LoadBalancers: map[string]*LoadBalancer{},
		Listeners:     map[string]*Listener{},
		Rules:         map[string]*Rule{},
		TargetGroups:  map[string]*TargetGroup{},
		TrustStores:   map[string]*TrustStore{},
	}
}

// LoadBalancer is an ALB or NLB.
type LoadBalancer struct {
	ARN        string
	Name       string // in the case of the request
	ID         string // the 16 hex digits at the end of the ARN
	DNSName    string
	HostedZone string
	Type       elbtypes.LoadBalancerTypeEnum
	Scheme     elbtypes.LoadBalancerSchemeEnum
	Addressing elbtypes.IpAddressType
	VPC        string
	Zones      []LoadBalancerZone // one per subnet, ordered by zone

	SecurityGroups []string
	// CreatedWithSecurityGroups is set for an NLB that was created with security groups. Only these NLBs can have security
	// groups later.
	CreatedWithSecurityGroups bool
	// EnforcePrivateLink is "on" or "off" for an NLB with security groups. For other load balancers it is "".
	EnforcePrivateLink string
	// PrefixForSourceNAT is "on" or "off" for an NLB. For an ALB it is "".
	PrefixForSourceNAT elbtypes.EnablePrefixForIpv6SourceNatEnum

	IPAMPool     string // only for ALBs: IPAM pool of public IPv4 addresses
	CustomerPool string // only for ALBs on an Outpost: CoIP pool

	Created time.Time
	Active  time.Time // when provisioning ends
	// ForcedState overrides the state if it is not empty.
	ForcedState  elbtypes.LoadBalancerStateEnum
	ForcedReason string

	Capacity   CapacityReservation
	Attributes map[string]string // all attributes of the type
	Tags       map[string]string
}

// LoadBalancerZone is an enabled zone of a load balancer, with the load balancer node in this zone.
type LoadBalancerZone struct {
	Zone   string
	Subnet string
	ENI    string // ENI of the node
	// Address is the node's private IPv4 address.
	Address string

	Allocation          string // only for NLBs: allocation ID of the Elastic IP address
	PublicIP            string // only for NLBs: the Elastic IP address
	PrivateIPv4         string // only for internal NLBs: the requested private address
	IPv6                string
	SourceNATIPv6Prefix string // only for NLBs: requested prefix
	// NATPrefix is the prefix for source NAT in this zone, or "" if the load balancer does not use such prefixes.
	NATPrefix string
}

// CapacityReservation is the reserved minimum of load balancer capacity units (LCUs).
type CapacityReservation struct {
	Units        int32 // 0 for no reservation
	Changed      time.Time
	Ready        time.Time // time at which the state pending ends
	DecreasesDay string    // the day to which Decreases refers, in the format 2006-01-02
	Decreases    int32
}

// State returns the state of the load balancer at a time. For a forced state, it also returns the reason.
func (lb *LoadBalancer) State(now time.Time) (elbtypes.LoadBalancerStateEnum, string) {
	if lb.ForcedState != "" {
		return lb.ForcedState, lb.ForcedReason
	}
	if now.Before(lb.Active) {
		return elbtypes.LoadBalancerStateEnumProvisioning, ""
	}
	return elbtypes.LoadBalancerStateEnumActive, ""
}

// IsALB reports whether the load balancer is an ALB. All others are NLBs.
func (lb *LoadBalancer) IsALB() bool {
	return lb.Type == elbtypes.LoadBalancerTypeEnumApplication
}

// IsZoneEnabled reports whether a zone is enabled for the load balancer.
func (lb *LoadBalancer) IsZoneEnabled(zone string) bool {
	for _, z := range lb.Zones {
		if z.Zone == zone {
			return true
		}
	}
	return false
}

// Listener is a listener of a load balancer. Its default actions are the actions of its default rule.
type Listener struct {
	ARN          string
	ID           string // hexadecimal digits at the end of the ARN
	LoadBalancer string // ARN
	Port         int32
	Protocol     elbtypes.ProtocolEnum
	SSLPolicy    string
	ALPN         []string // one policy, or none
	Certificate  string   // ARN of the default certificate, "" if there is none
	SNI          []string // ARNs of the other certificates, in the order in which they were added
	Mutual       *elbtypes.MutualAuthenticationAttributes
	DefaultRule  string // ARN
	Attributes   map[string]string
	Tags         map[string]string
}

// Rule is a listener rule. Conditions, actions and transforms have the same form as in the API. The actions include client
// secrets, which the answers of DescribeRules omit.
type Rule struct {
	ARN        string
	Listener   string // ARN
	Priority   int32  // 0 for the default rule
	Conditions []elbtypes.RuleCondition
	Actions    []elbtypes.Action
	Transforms []elbtypes.RuleTransform
	Tags       map[string]string
}

// IsDefault reports whether the rule is the listener's default rule.
func (r *Rule) IsDefault() bool { return r.Priority == 0 }

// TargetGroup is a target group with its targets.
type TargetGroup struct {
	ARN             string
	Name            string
	ID              string // hexadecimal digits at the end of the ARN
	Protocol        elbtypes.ProtocolEnum
	ProtocolVersion string
	Port            int32
	ControlPort     int32
	VPC             string
	Type            elbtypes.TargetTypeEnum
	Addressing      elbtypes.TargetGroupIpAddressTypeEnum
	Check           HealthCheck
	Attributes      map[string]string
	Tags            map[string]string
	Targets         []*Target // in the order of registration

	// LoadBalancer is the ARN of the load balancer that uses the target group, or "" if there is none. Attached is the
	// time at which a load balancer last started to use the target group, and Detached the time at which a load balancer
	// last stopped using it. ELBState.Reattach sets all three fields.
	LoadBalancer string
	Attached     time.Time
	Detached     time.Time
}

// HealthCheck has the health check settings of a target group.
type HealthCheck struct {
	Enabled            bool
	Protocol           elbtypes.ProtocolEnum
	Port               string // a number, or "traffic-port"
	Path               string
	IntervalSeconds    int32
	TimeoutSeconds     int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
	HTTPCodes          string
	GRPCCodes          string
}

// TrustStore is a trust store for mutual TLS. Its bundle of CA certificates is an object in S3.
type TrustStore struct {
	ARN            string
	Name           string
	Bucket         string
	Key            string
	Version        string
	Active         time.Time // time at which the status CREATING ends
	Revocations    []TrustStoreRevocation
	NextRevocation int64
	Tags           map[string]string
}

// TrustStoreRevocation is one revocation list of a trust store. It is an object in S3.
type TrustStoreRevocation struct {
	ID      int64
	Bucket  string
	Key     string
	Version string
	Entries int64
}
