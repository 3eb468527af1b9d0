// Package imports limits how often certificates of TLS Secrets are imported into ACM.
package imports

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// Budgets limits how often certificates are imported, because ACM has a quota of imports per account and year, and a TLS
// Secret can change at any rate. There is a budget for each certificate, a budget for each importOwner, and a share for each
// namespace in the imports of a year. The budgets do not depend on the existence of the stack, because a stack can be
// created again. After a restart all counts begin at zero.
type Budgets struct {
	spentBudgets map[importBudget]spentBudget
	// importsByNamespace are the decayed numbers of imports, by namespace.
	importsByNamespace map[string]namespaceImports
	// totalImports is the decayed number of imports of all namespaces.
	totalImports decayingCount
}

// importBudget is the key of a budget. Either stack and id are set, for the budget of one certificate, or owner is set, for
// the budget of an owner.
type importBudget struct {
	stack model.StackID
	id    string
	owner importOwner
}

// importOwner is a pair of namespaces that share one budget of imports. userNamespace contains the objects that use a
// Secret; its users decide how often stacks that need the Secret are created. secretNamespace contains the Secret; its users
// decide how often the Secret changes. Because the budget is for the pair, a namespace cannot use up the imports that
// another namespace makes with other Secrets or for other objects.
type importOwner struct{ userNamespace, secretNamespace string }

// spentBudget is the number of imports of a budget that were used up at a point in time. The budget is refilled after that
// time.
type spentBudget struct {
	count float64
	at    time.Time
}

// The sizes of the budgets.
const (
	importsAtOnce      = 5   // imports of one certificate
	ownerImportsAtOnce = 250 // imports of one owner
	// yearlyImports is the maximum of the decayed number of all imports. Because this number decays over a year, there are
	// at most twice as many imports in a year, which is ACM's default quota of 5,000.
	yearlyImports = 2500
)

// maxImportBudgets is the number of entries above which entries that have no effect any more are removed.
const maxImportBudgets = 10000

// namespaceImports has the decayed numbers of imports of one namespace.
type namespaceImports struct {
	// userImports counts imports for objects of the namespace. secretImports counts imports of Secrets of the namespace.
	userImports, secretImports decayingCount
	lastUsed                   time.Time // time at which an object of the namespace last used a Secret
}

// decayingCount is a number of imports that decays exponentially, with a time constant of one year.
type decayingCount struct {
	count float64
	at    time.Time
}

// countAt returns the decayed count at the time now.
func (f decayingCount) countAt(now time.Time) float64 {
	return f.count * math.Exp(-float64(now.Sub(f.at))/float64(durations.Year))
}

// addOne returns the count after one more import.
func (f decayingCount) addOne(now time.Time) decayingCount {
	return decayingCount{count: f.countAt(now) + 1, at: now}
}

// limits returns the maximum number of imports in a budget, and the time in which the budget gains one import.
func (b importBudget) limits() (atOnce float64, every time.Duration) {
	if b.owner != (importOwner{}) {
		return ownerImportsAtOnce, durations.LongestTransientBackOff
	}
	return importsAtOnce, durations.ImportInterval
}

// spentAt returns how many imports of budget b are used up at the time now, after the refill since the last import.
func (s spentBudget) spentAt(b importBudget, now time.Time) float64 {
	_, every := b.limits()
	return max(s.count-float64(now.Sub(s.at))/float64(every), 0)
}

// ownerOfImport returns the owner of an import. secret is "namespace/name", and members are the objects that use it.
// userNamespace is the namespace of the first member. If there is no member with a namespace, it is the namespace of the
// Secret.
func ownerOfImport(members []finding.Ref, secret string) importOwner {
	namespace, _, _ := strings.Cut(secret, "/")
	owner := importOwner{userNamespace: namespace, secretNamespace: namespace}
	if len(members) > 0 && members[0].Namespace != "" {
		owner.userNamespace = members[0].Namespace
	}
	return owner
}

// importBudgets returns the keys of the two budgets that count an import: the budget of the certificate and the budget of
// the owner.
func importBudgets(id model.StackID, certificate string, owner importOwner) []importBudget {
	return []importBudget{{stack: id, id: certificate}, {owner: owner}}
}

// yearlyShareDelay returns the time until an owner may have imports of its yearly share again; 0: the share is not used up.
func (m *Budgets) yearlyShareDelay(owner importOwner, now time.Time) time.Duration {
	var others []float64
	for namespace, y := range m.importsByNamespace {
		if namespace != owner.userNamespace && y.hasYearlyShare(now) {
			others = append(others, y.userImports.countAt(now))
		}
	}
	slices.Sort(others) // in a fixed order, because the sum of floating-point numbers depends on it
	// The smaller count of the two namespaces is used, so that namespaces that use each other's Secrets do not get more than
	// their shares.
	have := min(m.importsByNamespace[owner.userNamespace].userImports.countAt(now), m.importsByNamespace[owner.secretNamespace].secretImports.countAt(now))
	if model.MayUseOneMore(yearlyImports, m.totalImports.countAt(now), have, others) {
		return 0
	}
	if have < 1 {
		return time.Hour
	}
	// The decayed count decreases by about one import in this time.
	return min(time.Duration(float64(durations.Year)/have), 24*time.Hour)
}

// hasYearlyShare reports whether a namespace has a share in the imports of a year, because it used a Secret within a
// week or made imports.
func (y namespaceImports) hasYearlyShare(now time.Time) bool {
	const week = durations.Year / 52
	return now.Sub(y.lastUsed) < week || y.userImports.countAt(now) >= 0.5
}

// recordSecretUse records that an object of the owner's user namespace uses a Secret now.
func (m *Budgets) recordSecretUse(owner importOwner, now time.Time) {
	y, known := m.importsByNamespace[owner.userNamespace]
	if !known {
		m.removeUnneededEntries(now)
	}
	y.lastUsed = now
	m.importsByNamespace[owner.userNamespace] = y
}

// ImportPauses returns the time until the certificates of a stack may be imported again, by certificate ID. For a
// certificate that expires soon (ImportPause.DurationIfExpiring), only two limits apply: the share in the imports of a year,
// because of ACM's quota, and a minimum interval between two imports. A certificate that may be imported now has no entry.
func (m *Budgets) ImportPauses(stack model.Stack, now time.Time) map[string]plan.ImportPause {
	if now.IsZero() {
		return nil
	}
	var out map[string]plan.ImportPause
	for _, c := range stack.Certificates {
		if c.Import == nil {
			continue
		}
		owner := ownerOfImport(c.Import.Members(), c.Import.Secret)
		m.recordSecretUse(owner, now)
		share := m.yearlyShareDelay(owner, now)
		pause := plan.ImportPause{UsualDuration: share, DurationIfExpiring: share}
		for _, b := range importBudgets(stack.ID, c.ID, owner) {
			most, every := b.limits()
			spent := m.spentBudgets[b]
			over := spent.spentAt(b, now) + 1 - most
			pause.UsualDuration = max(pause.UsualDuration, time.Duration(over*float64(every)))
			if b.owner == (importOwner{}) && !spent.at.IsZero() {
				pause.DurationIfExpiring = max(pause.DurationIfExpiring, durations.LongestTransientBackOff-now.Sub(spent.at))
			}
		}
		if pause.UsualDuration > 0 {
			if out == nil {
				out = map[string]plan.ImportPause{}
			}
			out[c.ID] = pause
		}
	}
	return out
}

// RecordImport counts step s in the budgets if it imported a certificate. It ignores all other steps.
func (m *Budgets) RecordImport(id model.StackID, s plan.Step, now time.Time) {
	do, ok := s.Do.(plan.ImportCertificate)
	if !ok || now.IsZero() {
		return
	}
	m.removeUnneededEntries(now)
	owner := ownerOfImport(s.RequestedBy, do.Secret)
	for _, b := range importBudgets(id, s.Address.ID, owner) {
		m.spentBudgets[b] = spentBudget{count: m.spentBudgets[b].spentAt(b, now) + 1, at: now}
	}
	user := m.importsByNamespace[owner.userNamespace]
	user.userImports, user.lastUsed = user.userImports.addOne(now), now
	m.importsByNamespace[owner.userNamespace] = user
	secret := m.importsByNamespace[owner.secretNamespace]
	secret.secretImports = secret.secretImports.addOne(now)
	m.importsByNamespace[owner.secretNamespace] = secret
	m.totalImports = m.totalImports.addOne(now)
}

// removeUnneededEntries removes entries that have no effect any more, if there are too many: budgets that are refilled, and
// namespaces that have no share and whose decayed counts are below half an import. The number of the other namespaces is
// limited, because the sum of their counts is limited.
func (m *Budgets) removeUnneededEntries(now time.Time) {
	if m.spentBudgets == nil || len(m.spentBudgets) > maxImportBudgets {
		kept := map[importBudget]spentBudget{}
		for b, s := range m.spentBudgets {
			if s.spentAt(b, now) > 0 {
				kept[b] = s
			}
		}
		m.spentBudgets = kept
	}
	if m.importsByNamespace == nil || len(m.importsByNamespace) > maxImportBudgets {
		kept := map[string]namespaceImports{}
		for n, y := range m.importsByNamespace {
			if y.hasYearlyShare(now) || y.secretImports.countAt(now) >= 0.5 {
				kept[n] = y
			}
		}
		m.importsByNamespace = kept
	}
}
