package emulator

import (
	"fmt"
	"net/http"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// forceRequest is the body of adminForce. It names a load balancer, a target or an endpoint of an accelerator, and the state
// to force. An empty State ends the override, so that the emulator determines the state again.
type forceRequest struct {
	LoadBalancer string // ARN
	TargetGroup  string // ARN
	Target       string
	Port         int32
	// EndpointGroup is the ARN of an endpoint group of Global Accelerator. Endpoint is the ID of an endpoint in it.
	EndpointGroup string
	Endpoint      string
	State         string
	Reason        string
	Description   string
}

// adminForce serves the path "force": POST overrides the state of a load balancer (such as "failed" or "active_impaired"),
// or the health of a target or of an endpoint.
func (em *Emulator) adminForce(r *http.Request, body []byte) (any, error) {
	if r.Method != http.MethodPost {
		return nil, errMethodNotSupported
	}
	var in forceRequest
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	if in.EndpointGroup != "" {
		r := store.EndpointHealthReport{EndpointGroup: in.EndpointGroup, Endpoint: in.Endpoint, Health: gatypes.HealthState(in.State)}
		if !em.store.ForceEndpointHealth(r) {
			return nil, fmt.Errorf("no endpoint %q in endpoint group %q", in.Endpoint, in.EndpointGroup)
		}
		return okResponse, nil
	}
	if in.TargetGroup != "" {
		r := store.HealthReport{TargetGroup: in.TargetGroup, Target: in.Target, Port: in.Port, Verdict: store.TargetHealthResult{
			State: elbtypes.TargetHealthStateEnum(in.State), Reason: elbtypes.TargetHealthReasonEnum(in.Reason), Description: in.Description,
		}}
		if !em.store.ForceTargetHealth(r) {
			return nil, fmt.Errorf("no target %q with port %d in target group %q", in.Target, in.Port, in.TargetGroup)
		}
		return okResponse, nil
	}
	em.store.Lock()
	defer em.store.Unlock()
	for _, p := range em.store.Partitions() {
		if lb := p.ELB.LoadBalancers[in.LoadBalancer]; lb != nil {
			lb.ForcedState, lb.ForcedReason = elbtypes.LoadBalancerStateEnum(in.State), in.Reason
			em.store.WakeWaiters()
			return okResponse, nil
		}
	}
	return nil, fmt.Errorf("no load balancer %q", in.LoadBalancer)
}
