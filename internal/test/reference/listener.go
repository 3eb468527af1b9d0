package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// listeners creates, updates and deletes the listeners of a deployment.
type listeners struct{ *deployment }

type listenerSpec struct {
	LoadBalancerARN, Protocol, SSLPolicy string
	Port                                 int32
	DefaultActions                       []elbtypes.Action
	Certificates                         []struct{ CertificateARN string }
	ALPNPolicy                           []string
	MutualAuthentication                 *elbtypes.MutualAuthenticationAttributes
	Tags                                 map[string]string
	ListenerAttributes                   []attribute
}

func (s listenerSpec) certificateARNs() (out []string) {
	for _, c := range s.Certificates {
		out = append(out, c.CertificateARN)
	}
	return out
}

// defaultCertificate returns the first certificate as the only element of a list, or nil if there is none.
func (s listenerSpec) defaultCertificate() []elbtypes.Certificate {
	if len(s.Certificates) == 0 {
		return nil
	}
	return []elbtypes.Certificate{{CertificateArn: aws.String(s.Certificates[0].CertificateARN)}}
}

// desiredListeners returns the desired listeners by port.
func (d listeners) desiredListeners() (map[int32]listenerSpec, error) {
	out := map[int32]listenerSpec{}
	for _, id := range d.desiredIDs(document.TypeListener) {
		var want listenerSpec
		if err := d.decodeSpec(document.TypeListener, id, &want); err != nil {
			return nil, err
		}
		var err error
		if want.DefaultActions, err = orderedActions(want.DefaultActions); err != nil {
			return nil, err
		}
		out[want.Port] = want
	}
	return out, nil
}

// synthesize creates, updates and deletes the listeners of the load balancers that loadBalancers has created or updated. It
// matches existing listeners with desired listeners only by port.
func (d listeners) synthesize() error {
	wants, err := d.desiredListeners()
	if err != nil {
		return err
	}
	balancers := map[string]bool{}
	for _, w := range wants {
		balancers[w.LoadBalancerARN] = true
	}
	if len(wants) == 0 {
		for _, id := range d.desiredIDs(document.TypeLoadBalancer) {
			balancers[d.references["#/resources/"+string(document.TypeLoadBalancer)+"/"+id+"/status/loadBalancerARN"]] = true
		}
	}
	for _, lb := range slices.Sorted(maps.Keys(balancers)) {
		if err := d.syncListeners(lb, wants); err != nil {
			return err
		}
	}
	return nil
}

func (d listeners) syncListeners(lb string, wants map[int32]listenerSpec) error {
	var live []elbtypes.Listener
	var arns []string
	pages := elb.NewDescribeListenersPaginator(d.elb, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(lb)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return err
		}
		live = append(live, page.Listeners...)
	}
	slices.SortFunc(live, func(a, b elbtypes.Listener) int { return cmp.Compare(aws.ToInt32(a.Port), aws.ToInt32(b.Port)) })
	by := map[int32]elbtypes.Listener{}
	for _, l := range live {
		arns = append(arns, stringValue(l.ListenerArn))
		port := aws.ToInt32(l.Port)
		if _, ok := wants[port]; ok {
			by[port] = l
			continue
		}
		d.announceChange("DeleteListener", stringValue(l.ListenerArn))
		if _, err := d.elb.DeleteListener(d.ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}); err != nil {
			return err
		}
		arns = arns[:len(arns)-1]
	}
	tags, err := d.tagsOf(arns)
	if err != nil {
		return err
	}
	for _, made := range []bool{true, false} {
		for _, port := range slices.Sorted(maps.Keys(wants)) {
			l, ok := by[port]
			if ok == made {
				continue
			}
			if err := d.deployListener(wants[port], l, tags[stringValue(l.ListenerArn)]); err != nil {
				return fmt.Errorf("listener %d: %w", port, err)
			}
		}
	}
	return nil
}

// deployListener creates a listener if the existing listener l has no ARN. Otherwise it updates the tags and settings of l.
// In both cases it updates certificates and attributes. tags are the current tags of l.
func (d listeners) deployListener(want listenerSpec, l elbtypes.Listener, tags map[string]string) error {
	id := strconv.Itoa(int(want.Port))
	own := d.desiredTags(id, want.Tags)
	made := l.ListenerArn == nil
	if made {
		d.announceChange("CreateListener", id)
		out, err := d.elb.CreateListener(d.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: aws.String(want.LoadBalancerARN), Port: aws.Int32(want.Port), Protocol: elbtypes.ProtocolEnum(want.Protocol),
			DefaultActions: want.DefaultActions, Certificates: want.defaultCertificate(), SslPolicy: nonZero(want.SSLPolicy), AlpnPolicy: want.ALPNPolicy,
			MutualAuthentication: want.MutualAuthentication, Tags: elbTags(own),
		})
		if err != nil {
			return err
		}
		l = out.Listeners[0]
	} else {
		if err := d.retag(stringValue(l.ListenerArn), own, tags); err != nil {
			return err
		}
		if err := d.updateSettings(want, l); err != nil {
			return err
		}
	}
	d.setReference(document.TypeListener, id, "listenerARN", stringValue(l.ListenerArn))
	if err := d.updateCertificates(want, l, made); err != nil {
		return err
	}
	out, err := d.elb.DescribeListenerAttributes(d.ctx, &elb.DescribeListenerAttributesInput{ListenerArn: l.ListenerArn})
	if err != nil {
		return err
	}
	change, err := changedAttributes[elbtypes.ListenerAttribute](want.ListenerAttributes, out.Attributes)
	if err != nil || len(change) == 0 {
		return err
	}
	d.announceChange("ModifyListenerAttributes", stringValue(l.ListenerArn))
	_, err = d.elb.ModifyListenerAttributes(d.ctx, &elb.ModifyListenerAttributesInput{ListenerArn: l.ListenerArn, Attributes: change})
	return err
}

// updateSettings sets all settings of listener l if one of them differs from want. If want does not set the ALPN policy or
// mutual TLS, updateSettings resets them in the stack of a Gateway and keeps them in the stack of an IngressGroup.
func (d listeners) updateSettings(want listenerSpec, l elbtypes.Listener) error {
	strict := d.stack.Kind == model.ALBGateway
	in := &elb.ModifyListenerInput{
		ListenerArn: l.ListenerArn, Port: aws.Int32(want.Port), Protocol: elbtypes.ProtocolEnum(want.Protocol), DefaultActions: want.DefaultActions,
		Certificates: want.defaultCertificate(), SslPolicy: nonZero(want.SSLPolicy), AlpnPolicy: want.ALPNPolicy, MutualAuthentication: want.MutualAuthentication,
	}
	differs := want.Protocol != string(l.Protocol) || !sameActions(want.DefaultActions, l.DefaultActions) || want.SSLPolicy != "" && want.SSLPolicy != stringValue(l.SslPolicy)
	var live []string
	for _, c := range l.Certificates {
		live = append(live, stringValue(c.CertificateArn))
	}
	var first []string
	for _, c := range want.defaultCertificate() {
		first = append(first, stringValue(c.CertificateArn))
	}
	differs = differs || !slices.Equal(first, live)
	none := []string{"None"}
	has := len(l.AlpnPolicy) > 0 && !slices.Equal(l.AlpnPolicy, none)
	switch {
	case len(want.ALPNPolicy) == 0:
		if strict && has {
			differs, in.AlpnPolicy = true, none
		}
	case slices.Equal(want.ALPNPolicy, none) && strict:
		differs = differs || has
	default:
		differs = differs || !slices.Equal(want.ALPNPolicy, l.AlpnPolicy)
	}
	mode := ""
	if l.MutualAuthentication != nil {
		mode = stringValue(l.MutualAuthentication.Mode)
	}
	checks := mode != "" && mode != "off"
	switch m := want.MutualAuthentication; {
	case m == nil:
		if strict && checks {
			differs, in.MutualAuthentication = true, &elbtypes.MutualAuthenticationAttributes{Mode: aws.String("off")}
		}
	case stringValue(m.Mode) == "off":
		differs = differs || checks
	default:
		live := elbtypes.MutualAuthenticationAttributes{}
		if l.MutualAuthentication != nil {
			live = *l.MutualAuthentication
		}
		live.TrustStoreAssociationStatus = ""
		differs = differs || canonicalText(*m) != canonicalText(live)
	}
	if !differs {
		return nil
	}
	d.announceChange("ModifyListener", stringValue(l.ListenerArn))
	_, err := d.elb.ModifyListener(d.ctx, in)
	return err
}

// updateCertificates removes certificates that are not desired, and adds missing certificates one by one, including the
// default certificate. made reports that the listener is new. Listeners without an SSL policy are not changed.
func (d listeners) updateCertificates(want listenerSpec, l elbtypes.Listener, made bool) error {
	if want.SSLPolicy == "" && l.SslPolicy == nil {
		return nil
	}
	var live []string
	if !made {
		out, err := d.elb.DescribeListenerCertificates(d.ctx, &elb.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn})
		if err != nil {
			return err
		}
		for _, c := range out.Certificates {
			if !aws.ToBool(c.IsDefault) {
				live = append(live, stringValue(c.CertificateArn))
			}
		}
	}
	slices.Sort(live)
	for _, arn := range live {
		if slices.Contains(want.certificateARNs(), arn) {
			continue
		}
		d.announceChange("RemoveListenerCertificates", stringValue(l.ListenerArn))
		if _, err := d.elb.RemoveListenerCertificates(d.ctx, &elb.RemoveListenerCertificatesInput{
			ListenerArn: l.ListenerArn, Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(arn)}},
		}); err != nil {
			return err
		}
	}
	for _, arn := range slices.Sorted(slices.Values(want.certificateARNs())) {
		if slices.Contains(live, arn) {
			continue
		}
		d.announceChange("AddListenerCertificates", stringValue(l.ListenerArn))
		if err := d.retry("ListenerNotFound", 2*time.Second, 20*time.Second, func() error {
			_, err := d.elb.AddListenerCertificates(d.ctx, &elb.AddListenerCertificatesInput{
				ListenerArn: l.ListenerArn, Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(arn)}},
			})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
