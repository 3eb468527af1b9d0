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

// addOns describes what the load balancer is tied to. What no member asks for, or what cannot be found,
// is left as it is and so left out.
func (d *describer) addOns() {
	lb := loadBalancerToken(model.LoadBalancerID)
	if d.webACL != nil {
		d.put(TypeWebACL, model.LoadBalancerID, webACLSpec{*d.webACL, lb})
	}
	if w := d.want.LoadBalancer.AddOns.ClassicACL; w != nil {
		d.put(TypeClassicACL, model.LoadBalancerID, classicACLSpec{w.ID, lb})
	}
	if w := d.want.LoadBalancer.AddOns.Shield; w != nil {
		d.put(TypeProtection, model.LoadBalancerID, protectionSpec{w.On, lb})
	}
}

// assumeIssued lets listeners have the certificates that the stack requests, as if all were issued: what
// serves until then is on its way out. It returns the ids of these and of those that they take the place
// of, by ARN.
func (m *managedCertificates) assumeIssued() map[string]string {
	if !m.opt.managesCertificates() {
		return nil
	}
	issued := map[string]string{}
	m.own = map[string]string{}
	for _, w := range m.want.Certificates {
		arn := Address{Kind: Certificate, ID: w.ID}.String()
		m.own[w.ID], issued[arn] = arn, w.ID
		for _, c := range m.have.Facts.OwnCertificates {
			if c.ResourceID == w.ID {
				issued[c.ARN] = w.ID
			}
		}
	}
	return issued
}

// importSpec has no certificate, as it would be of little use without its key, which is never shown.
type importSpec struct {
	Type   string            `json:"type"`
	Secret string            `json:"secret"`
	Names  []string          `json:"subjectAlternativeNames,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
}

// managed describes the certificates that the stack requests from ACM or imports into it.
func (d *describer) managed() {
	if !d.opt.managesCertificates() {
		return
	}
	for _, w := range d.want.Certificates {
		if i := w.Import; i != nil {
			spec := importSpec{Type: "IMPORTED", Secret: i.Secret, Tags: w.Tags}
			if i.Content != nil {
				spec.Names = i.Content.Is.Names
			}
			d.put(TypeCertificate, w.ID, spec)
			continue
		}
		kind := "AMAZON_ISSUED"
		if w.CA != "" {
			kind = "PRIVATE"
		}
		d.put(TypeCertificate, w.ID, requestSpec{
			Type: kind, CA: w.CA, Domain: w.Domain, Hosts: w.Hosts, Validation: "DNS", Tags: w.Tags,
		})
	}
}
