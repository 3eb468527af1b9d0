package imports

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// importStep returns a stack of namespace user that uses the Secret, and the step that imports the certificate of the Secret
// for this stack.
func importStep(user, name, secret string) (model.Stack, plan.Step) {
	by := finding.Origin{Object: finding.Ref{Kind: "Gateway", Namespace: user, Name: name}}
	s := model.Stack{ID: model.StackID{Kind: model.ALBGateway, Namespace: user, Name: name}}
	s.Certificates = []model.ManagedCertificate{{ID: "imported/" + secret, Import: &model.CertificateImport{Secret: secret, Uses: []finding.Origin{by}}}}
	return s, plan.Step{
		Address: plan.Address{Kind: plan.Certificate, ID: "imported/" + secret}, RequestedBy: []finding.Ref{by.Object}, Do: plan.ImportCertificate{Secret: secret},
	}
}

// tryImport counts an import of the certificate of a Secret, and returns true, if the budgets permit the import.
func (m *Budgets) tryImport(user, name, secret string, now time.Time) bool {
	stack, step := importStep(user, name, secret)
	if len(m.ImportPauses(stack, now)) > 0 {
		return false
	}
	m.RecordImport(stack.ID, step, now)
	return true
}

// tryRenewal is like tryImport, but for a certificate that expires soon.
func (m *Budgets) tryRenewal(user, name, secret string, now time.Time) bool {
	stack, step := importStep(user, name, secret)
	if m.ImportPauses(stack, now)["imported/"+secret].DurationIfExpiring > 0 {
		return false
	}
	m.RecordImport(stack.ID, step, now)
	return true
}

// TestRenewalsSpendNoMoreThanTheirShare checks the limits for certificates that expire soon, which ignore most budgets. Even
// if certificates expire all the time, there are not more imports than the yearly share, and other namespaces can still
// import certificates.
func TestRenewalsSpendNoMoreThanTheirShare(t *testing.T) {
	t.Parallel()
	for _, namespaces := range []int{1, 3, 10} {
		for _, secrets := range []int{1, 25} {
			m := &Budgets{}
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			total, within := 0, 0
			for minute := range 24 * 60 {
				now := begin.Add(time.Duration(minute) * time.Minute)
				for n := range namespaces {
					for i := range secrets {
						if !m.tryRenewal(fmt.Sprint("evil", n), "edge", fmt.Sprintf("evil%d/tls%d", n, i), now) {
							continue
						}
						if total++; n == 0 && i == 0 && minute < 60 {
							within++
						}
					}
				}
			}
			if total > yearlyImports+yearlyImports/100 { // a few imports become available again within a day
				t.Errorf("%d namespaces with %d Secrets: %d imports within a day", namespaces, secrets, total)
			}
			if within > importsAtOnce+12 {
				t.Errorf("%d namespaces with %d Secrets: a certificate is imported %d times within an hour", namespaces, secrets, within)
			}
			for i := range 6 {
				if !m.tryImport("shop", "edge", fmt.Sprint("shop/tls", i), begin.AddDate(0, 0, 1)) {
					t.Errorf("%d namespaces with %d Secrets: the victim has no import left", namespaces, secrets)
				}
			}
		}
	}
}

// TestNoTenantUsesUpTheImportsOfTheAccount checks that namespaces that make as many imports as they can leave enough imports
// for the certificates of another namespace, and do not exhaust ACM's yearly quota of imports for the account.
func TestNoTenantUsesUpTheImportsOfTheAccount(t *testing.T) {
	t.Parallel()
	const quota, day = 5000, 24 * time.Hour
	for _, namespaces := range []int{1, 2, 10, 40} {
		m := &Budgets{}
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		byDay := make([]int, 2*365)
		for d := range byDay {
			for hour := 0; hour < 24; hour += 6 {
				now := begin.Add(time.Duration(d)*day + time.Duration(hour)*time.Hour)
				for n := range namespaces {
					for i := range 40 { // another Gateway or another Secret each time
						name := fmt.Sprintf("g%d-%d-%d", d, hour, i)
						if !m.tryImport(fmt.Sprint("evil", n), name, fmt.Sprintf("evil%d/%s", n, name), now) {
							break
						}
						byDay[d]++
					}
				}
			}
			// Six certificates of namespace "shop" are renewed, each every 60 days.
			for i := range 6 {
				if (d+10*i)%60 == 0 {
					if !m.tryImport("shop", "edge", fmt.Sprint("shop/tls", i), begin.Add(time.Duration(d)*day+18*time.Hour)) {
						t.Fatalf("%d namespaces: on day %d certificate %d of the victim is not renewed", namespaces, d, i)
					}
					byDay[d]++
				}
			}
		}
		year, most := 0, 0
		for d, n := range byDay {
			if year += n; d >= 365 {
				year -= byDay[d-365]
			}
			most = max(most, year)
		}
		t.Logf("%d namespaces: %d imports within a year at most", namespaces, most)
		if most > quota {
			t.Errorf("%d namespaces: %d imports within a year", namespaces, most)
		}
	}
}

// TestImportsOfASharedSecretCountForTheirCause checks two cases. A namespace that imports the Secret of another namespace as
// often as it can does not use up the imports of that other namespace. A Secret that changes all the time does not use up
// the imports of the namespaces that use it.
func TestImportsOfASharedSecretCountForTheirCause(t *testing.T) {
	t.Parallel()
	m := &Budgets{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 400 {
		m.tryImport("evil", fmt.Sprint("g", i), "vault/tls", now)
		m.tryImport("shop", fmt.Sprint("g", i), "evil/tls", now)
	}
	for _, c := range [][2]string{{"vault", "vault/tls"}, {"shop", "vault/tls"}, {"shop", "shop/tls"}} {
		if !m.tryImport(c[0], "edge", c[1], now) {
			t.Errorf("%s has no imports left of Secret %s", c[0], c[1])
		}
	}
	if m.tryImport("evil", "more", "vault/tls", now) {
		t.Error("the one who has spent its imports has more")
	}
}

// The yearly imports are shared so that at least fewImports imports are left for each of up to namespacesWithFew namespaces
// that need no more than that.
const (
	fewImports        = 10
	namespacesWithFew = 50
)

// TestManyTenantsLeaveTheShareOfAnother checks that namespaces that make as many imports of a year as they can, also with
// each other's Secrets, leave imports for another namespace. If the budgets knew all namespaces before, that namespace gets
// half of an equal share, and otherwise fewImports.
func TestManyTenantsLeaveTheShareOfAnother(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, namespaces := range []int{1, 2, 8, 20, namespacesWithFew - 1} {
		half := min(yearlyImports/2/(namespaces+2), ownerImportsAtOnce)
		if namespaces > 20 {
			half = fewImports // with so many namespaces, the reserved fewImports of each use up most of the shares
		}
		for name, c := range map[string]struct {
			secretsOfOthers, victimKnown, allKnown bool
			want                                   int
		}{
			"the victim comes later":              {want: fewImports},
			"it comes later, and they share":      {secretsOfOthers: true, want: fewImports},
			"the victim was there":                {victimKnown: true, want: fewImports},
			"all were there":                      {victimKnown: true, allKnown: true, want: half},
			"all were there, and share Secrets":   {victimKnown: true, allKnown: true, secretsOfOthers: true, want: fewImports},
			"they were there, not yet the victim": {allKnown: true, want: fewImports},
		} {
			m := &Budgets{}
			known := func(user string) { // the namespace already uses a certificate
				stack, _ := importStep(user, "edge", user+"/tls")
				m.ImportPauses(stack, now)
			}
			if c.victimKnown {
				known("shop")
			}
			for n := range namespaces {
				if c.allKnown {
					known(fmt.Sprint("evil", n))
				}
			}
			for n := range namespaces {
				for i := range 3 * ownerImportsAtOnce {
					user := fmt.Sprint("evil", n)
					secret := fmt.Sprint(user, "/tls", i)
					if c.secretsOfOthers {
						secret = fmt.Sprintf("evil%d/tls%d-%d", i%namespaces, n, i)
					}
					m.tryImport(user, fmt.Sprint("g", i), secret, now)
				}
			}
			spent, had := m.totalImports.countAt(now), 0
			for had < c.want && m.tryImport("shop", fmt.Sprint("g", had), fmt.Sprint("shop/tls", had), now) {
				had++
			}
			if had < c.want {
				t.Errorf("%s: %d namespaces spend %.0f imports, and the victim has %d, want %d", name, namespaces, spent, had, c.want)
			}
		}
	}
}

// TestOneNamespaceMayUseUnneededImports checks that a namespace that needs many imports may use the imports that other
// namespaces do not need.
func TestOneNamespaceMayUseUnneededImports(t *testing.T) {
	t.Parallel()
	m := &Budgets{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 20 {
		for i := range 4 {
			m.tryImport(fmt.Sprint("team", n), "edge", fmt.Sprintf("team%d/tls%d", n, i), now)
		}
	}
	had := 0
	for day := range 30 {
		for i := range 40 {
			if m.tryImport("platform", fmt.Sprint("g", day), fmt.Sprintf("platform/tls%d-%d", day, i), now.AddDate(0, 0, day)) {
				had++
			}
		}
	}
	if had < 900 {
		t.Errorf("it has %d imports within a month, want 900", had)
	}
}

// TestRefilledImportsGoToNamespacesWithFew checks that imports that become available during a year go first to namespaces
// that have made few imports.
func TestRefilledImportsGoToNamespacesWithFew(t *testing.T) {
	t.Parallel()
	m := &Budgets{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range namespacesWithFew + 10 {
		for i := range ownerImportsAtOnce {
			m.tryImport(fmt.Sprint("evil", n), fmt.Sprint("g", i), fmt.Sprintf("evil%d/tls%d", n, i), now)
		}
	}
	had := 0
	for hour := range 30 * 24 {
		now = now.Add(time.Hour)
		for n := range namespacesWithFew + 10 {
			if m.importsByNamespace[fmt.Sprint("evil", n)].userImports.countAt(now) > fewImports {
				m.tryImport(fmt.Sprint("evil", n), fmt.Sprint("later", hour), fmt.Sprintf("evil%d/later%d", n, hour), now)
			}
		}
		if had < fewImports && m.tryImport("shop", fmt.Sprint("g", hour), fmt.Sprint("shop/tls", hour), now) {
			had++
		}
	}
	if had < fewImports {
		t.Errorf("within 30 days the victim has %d imports, want %d", had, fewImports)
	}
}
