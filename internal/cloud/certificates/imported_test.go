package certificates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestImportedCertificatesAreCountedPerOwner(t *testing.T) {
	c := &Certificates{}
	c.certs.foreign = 7
	for _, x := range []struct {
		stack  model.StackID
		secret string
	}{
		{model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "shop/a"},
		{model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}, "vault/a"},
		{model.StackID{Kind: model.NLBGateway, Namespace: "shop", Name: "tls"}, "shop/a"},
		{model.StackID{Kind: model.Ingress, Namespace: "team", Name: "web"}, "team/a"},
		{model.StackID{Kind: model.ALBGateway, Namespace: "team", Name: "edge"}, "shop/a"},
		{model.StackID{Kind: model.Ingress, Name: "group"}, "shop/b"},
	} {
		tags := naming.ResourceTags("c", x.stack, "imported/"+x.secret, nil)
		c.certs.own = append(c.certs.own, ownCertificate{OwnCertificate: observed.OwnCertificate{Imported: &model.CertificateIdentity{}}, tags: tags})
	}
	requested := naming.ResourceTags("c", model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "certificate/x", nil)
	c.certs.own = append(c.certs.own, ownCertificate{tags: requested})

	got := c.Imports(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"})
	want := observed.Imports{All: 13, Of: map[string]int{"shop": 2, "vault": 1}, Others: []int{1, 2}} // IngressGroup, namespace team
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := c.Imports(model.StackID{Kind: model.Ingress, Name: "group"}); got.Of["shop"] != 1 || len(got.Others) != 2 {
		t.Errorf("of the IngressGroup: %+v", got)
	}
}
