package document

import "github.com/fulcrum-lb/fulcrum/internal/model"

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

// AddOns describes what the load balancer is tied to. What no member asks for, or what cannot be found,
// is left as it is and so left out.
func (d *Describer) AddOns() {
	lb := loadBalancerToken(model.LoadBalancerID)
	if d.WebACL != nil {
		d.put(TypeWebACL, model.LoadBalancerID, webACLSpec{*d.WebACL, lb})
	}
	if w := d.Want.LoadBalancer.AddOns.ClassicACL; w != nil {
		d.put(TypeClassicACL, model.LoadBalancerID, classicACLSpec{w.ID, lb})
	}
	if w := d.Want.LoadBalancer.AddOns.Shield; w != nil {
		d.put(TypeProtection, model.LoadBalancerID, protectionSpec{w.On, lb})
	}
}

// importSpec has no certificate, as it would be of little use without its key, which is never shown.
type importSpec struct {
	Type   string            `json:"type"`
	Secret string            `json:"secret"`
	Names  []string          `json:"subjectAlternativeNames,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
}

// Managed describes the certificates that the stack requests from ACM or imports into it.
func (d *Describer) Managed() {
	if !d.Opt.ManagesCertificates() {
		return
	}
	for _, w := range d.Want.Certificates {
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
