package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

type webACLSpec struct {
	ARN      string `json:"webACLARN"`
	Resource token  `json:"resourceARN"`
}

type classicACLSpec struct {
	ID       string `json:"webACLID"`
	Resource token  `json:"resourceARN"`
}

type protectionSpec struct {
	Enabled  bool  `json:"enabled"`
	Resource token `json:"resourceARN"`
}

type requestSpec struct {
	Type       string            `json:"type"`
	CA         string            `json:"certificateAuthorityARN,omitempty"`
	Domain     string            `json:"domainName"`
	Hosts      []string          `json:"subjectAlternativeNames,omitempty"`
	Validation string            `json:"validationMethod"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// addOns describes what the load balancer is tied to. What nobody asks for, or what cannot be found,
// is left as it is and so left out.
func (d *describer) addOns() {
	lb := loadBalancerToken(model.LoadBalancerID)
	if d.builder.addOns.webACL != nil {
		d.put(TypeWebACL, model.LoadBalancerID, webACLSpec{*d.builder.addOns.webACL, lb})
	}
	if w := d.want.LoadBalancer.AddOns.ClassicACL; w != nil {
		d.put(TypeClassicACL, model.LoadBalancerID, classicACLSpec{w.ID, lb})
	}
	if w := d.want.LoadBalancer.AddOns.Shield; w != nil {
		d.put(TypeProtection, model.LoadBalancerID, protectionSpec{w.On, lb})
	}
}

// assumeCertificates lets listeners have the certificates that the stack requests, as if all were
// issued: what serves until then is on its way out.
func (d *describer) assumeCertificates() {
	if !d.opt.ManageCertificates {
		return
	}
	d.managed.own, d.issued = map[string]string{}, map[string]string{}
	for _, w := range d.want.Certificates {
		arn := Address{Kind: Certificate, ID: w.ID}.String()
		d.managed.own[w.ID], d.issued[arn] = arn, w.ID
		for _, c := range d.have.Facts.OwnCertificates {
			if c.ResourceID == w.ID {
				d.issued[c.ARN] = w.ID
			}
		}
	}
}

// requested describes the certificates that the stack requests from ACM.
func (d *describer) requested() {
	if !d.opt.ManageCertificates {
		return
	}
	for _, w := range d.want.Certificates {
		kind := "AMAZON_ISSUED"
		if w.CA != "" {
			kind = "PRIVATE"
		}
		d.put(TypeCertificate, w.ID, requestSpec{
			Type: kind, CA: w.CA, Domain: w.Domain, Hosts: w.Hosts, Validation: "DNS", Tags: w.Tags,
		})
	}
}
