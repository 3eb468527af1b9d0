package document

import "github.com/fulcrum-lb/fulcrum/internal/model"

type webACLSpec struct {
	ARN      string          `json:"webACLARN"`
	Resource textOrReference `json:"resourceARN"`
}

type classicWebACLSpec struct {
	ID       string          `json:"webACLID"`
	Resource textOrReference `json:"resourceARN"`
}

type shieldProtectionSpec struct {
	Enabled  bool            `json:"enabled"`
	Resource textOrReference `json:"resourceARN"`
}

type certificateRequestSpec struct {
	Type       string            `json:"type"`
	CA         string            `json:"certificateAuthorityARN,omitempty"`
	Domain     string            `json:"domainName"`
	Hosts      []string          `json:"subjectAlternativeNames,omitempty"`
	Validation string            `json:"validationMethod"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// describeAddOns adds the web ACLs and the Shield Advanced protection of the load balancer to the document. It omits add-ons
// that no member sets, and web ACLs that were not found, because the plan does not change these add-ons.
func (d *Describer) describeAddOns() {
	lb := loadBalancerARNReference(model.LoadBalancerID)
	if d.WebACL != nil {
		d.addResource(TypeWebACL, model.LoadBalancerID, webACLSpec{*d.WebACL, lb})
	}
	if w := d.Want.LoadBalancer.AddOns.ClassicACL; w != nil {
		d.addResource(TypeClassicWebACL, model.LoadBalancerID, classicWebACLSpec{w.ID, lb})
	}
	if w := d.Want.LoadBalancer.AddOns.Shield; w != nil {
		d.addResource(TypeShieldProtection, model.LoadBalancerID, shieldProtectionSpec{w.On, lb})
	}
}

// certificateImportSpec is an imported certificate in a document, without its private key.
type certificateImportSpec struct {
	Type   string            `json:"type"`
	Secret string            `json:"secret"`
	Names  []string          `json:"subjectAlternativeNames,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
}

// describeManagedCertificates adds the certificates that the stack requests from ACM or imports into it to the document.
func (d *Describer) describeManagedCertificates() {
	if !d.Opt.ManagesCertificates() {
		return
	}
	for _, w := range d.Want.Certificates {
		if i := w.Import; i != nil {
			spec := certificateImportSpec{Type: "IMPORTED", Secret: i.Secret, Tags: w.Tags}
			if i.Content != nil {
				spec.Names = i.Content.Is.Names
			}
			d.addResource(TypeCertificate, w.ID, spec)
			continue
		}
		kind := "AMAZON_ISSUED"
		if w.CA != "" {
			kind = "PRIVATE"
		}
		d.addResource(TypeCertificate, w.ID, certificateRequestSpec{
			Type: kind, CA: w.CA, Domain: w.Domain, Hosts: w.Hosts, Validation: "DNS", Tags: w.Tags,
		})
	}
}
