package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

const serviceAnnotationStart = ", service.beta.kubernetes.io/aws-load-balancer-"

// guestService returns YAML of a Service in namespace "bank" that shares load balancer "public" of namespace "shop".
// day is the day of its creation, as two digits. annotations begins with a comma or is "".
func guestService(name, day, annotations, port string) string {
	return strings.NewReplacer("namespace: shop", "namespace: bank", "load-balancer-group: public", "load-balancer-group: shop/public", "uid: 33333333", "uid: 44444444").
		Replace(sharedService(name, day, publicGroupAnnotation+annotations, servicePort(port)))
}

// allowCrossNamespace permits Services to share a load balancer of another namespace.
func allowCrossNamespace(o *services.Options) { o.CrossNamespaceGroups = true }

// sharedSettings returns the line of State with the settings of load balancer "public" of namespace "shop".
func sharedSettings(r *Harness) []string {
	var out []string
	for _, line := range r.State() {
		if strings.HasPrefix(line, "load-balancer ") && strings.Contains(line, "shop/group.public") {
			out = append(out, line)
		}
	}
	return out
}

// guestSettings are annotations of a Service in another namespace, for settings that the owner does not set. SUBNET is
// replaced by the ID of a subnet, and GROUP by the ID of a security group.
var guestSettings = map[string]string{
	"subnets":             serviceAnnotationStart + "subnets: SUBNET",
	"dual stack":          serviceAnnotationStart + "ip-address-type: dualstack",
	"deletion protection": serviceAnnotationStart + `attributes: "deletion_protection.enabled=true"`,
	"cross zone":          serviceAnnotationStart + `attributes: "load_balancing.cross_zone.enabled=true"`,
	"scheme":              serviceAnnotationStart + "scheme: internet-facing",
	"security groups":     serviceAnnotationStart + "security-groups: GROUP",
	"tags":                serviceAnnotationStart + `additional-resource-tags: "Owner=bank"`,
	"capacity":            serviceAnnotationStart + `minimum-load-balancer-capacity: "CapacityUnits=3000"`,
}

// TestGuestDecidesNoSharedSetting checks that a Service of another namespace sets no load-balancer-wide setting of a
// shared load balancer. It may be older or younger than the Service of the owner, and join at the start or later. Its
// port is served, and an event reports each setting without effect, except tags.
func TestGuestDecidesNoSharedSetting(t *testing.T) {
	t.Parallel()
	for name, annotation := range guestSettings {
		for _, day := range []string{"01", "20"} {
			t.Run(name+" "+day, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					shared := func(fromTheStart bool) *Harness {
						r := shopWith(t, Options{Service: allowCrossNamespace})
						owner := readyPods("web", podAddresses[0]) + "---\n" + sharedService("web", "10", publicGroupAnnotation, servicePort("80"))
						guest := strings.ReplaceAll(readyPods("mail", podAddresses[1]), "namespace: shop", "namespace: bank") + "---\n" +
							guestService("mail", day, strings.NewReplacer("SUBNET", r.Seeded.Private[0], "GROUP", r.Seeded.ExtraSG).Replace(annotation), "25")
						if fromTheStart {
							r.Apply(owner, guest)
							r.advanceTime(20 * time.Minute)
							return r
						}
						r.Apply(owner)
						r.advanceTime(8 * time.Minute)
						before := sharedSettings(r)
						r.Apply(guest)
						r.advanceTime(20 * time.Minute)
						if d := cmp.Diff(before, sharedSettings(r)); d != "" || len(before) != 1 {
							t.Errorf("the guest changes shared settings (-before +after): %s", d)
						}
						return r
					}
					later, start := shared(false), shared(true)
					if d := cmp.Diff(sharedSettings(later), sharedSettings(start)); d != "" {
						t.Errorf("the guest sets settings of a new load balancer (-without +with): %s", d)
					}
					for _, r := range []*Harness{later, start} {
						if !slices.ContainsFunc(r.State(), func(line string) bool { return strings.HasPrefix(line, "listener ") && strings.Contains(line, ",25,") }) {
							t.Errorf("the guest is not served:\n%s", strings.Join(r.State(), "\n"))
						}
						if n := len(recentEvents(r, "mail", " stays")); (n == 0) != (name == "tags") {
							t.Errorf("the guest has %d events", n)
						}
					}
				})
			})
		}
	}
}

// TestOwnerDecidesSharedSettings checks that the Service of the owner sets the settings of a shared load balancer, even
// if a Service of another namespace has other ones. After the owner leaves, the settings stay, and a Service of another
// namespace cannot change them.
func TestOwnerDecidesSharedSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Service: allowCrossNamespace})
		foreign := func(namespace, service, address string) string {
			return strings.ReplaceAll(readyPods(service, address), "namespace: shop", "namespace: "+namespace) + "---\n"
		}
		owner := func(annotations string) string {
			return sharedService("web", "10", publicGroupAnnotation+annotations, servicePort("80"))
		}
		r.Apply(readyPods("web", podAddresses[0])+"---\n"+owner(""), foreign("bank", "mail", podAddresses[1])+guestService("mail", "12", serviceAnnotationStart+`attributes: "load_balancing.cross_zone.enabled=false"`, "25"))
		r.advanceTime(20 * time.Minute)
		r.Apply(owner(serviceAnnotationStart + "ip-address-type: dualstack" + serviceAnnotationStart + `subnets: "` + strings.Join(r.Seeded.Private[:2], ", ") + `"` +
			serviceAnnotationStart + `attributes: "load_balancing.cross_zone.enabled=true"`))
		r.advanceTime(20 * time.Minute)
		settings := strings.Join(sharedSettings(r), "\n")
		for _, part := range []string{`"dualstack"`, r.Seeded.Private[1], `"load_balancing.cross_zone.enabled":"true"`} {
			if !strings.Contains(settings, part) {
				t.Errorf("the owner's setting %s is not applied: %s", part, settings)
			}
		}
		if strings.Contains(settings, r.Seeded.Private[2]) {
			t.Errorf("a subnet that the owner does not name is used: %s", settings)
		}
		evil := strings.NewReplacer("namespace: bank", "namespace: evil", "uid: 44444444", "uid: 55555555").
			Replace(guestService("bulk", "01", serviceAnnotationStart+"ip-address-type: ipv4"+serviceAnnotationStart+"subnets: "+r.Seeded.Private[0], "26"))
		r.Apply(foreign("evil", "bulk", podAddresses[2]) + evil)
		r.advanceTime(20 * time.Minute)
		r.deleteObject(cluster.KindService, "shop", "web")
		r.advanceTime(40 * time.Minute)
		if d := cmp.Diff(settings, strings.Join(sharedSettings(r), "\n")); d != "" {
			t.Errorf("when the owner has left (-before +after): %s", d)
		}
	})
}
