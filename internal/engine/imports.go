package engine

import (
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// imports bounds how often certificates are imported, as ACM counts the imports of a year, and a TLS
// Secret can change at any rate. A certificate that was imported a few times gets its next turn later;
// so do the certificates of a namespace, which are told apart by names that its users choose. It outlives the
// stack, which can be made again. After a restart all counts begin at zero.
type imports struct {
	mu    sync.Mutex
	spent map[importBudget]spentImports
}

// importBudget is that of one certificate of a stack, or of the Secrets of a namespace.
type importBudget struct {
	stack     model.StackID
	id        string
	namespace string
}

type spentImports struct {
	count float64
	at    time.Time
}

// The budgets: so many at once, and one more after each such time.
const (
	importsAtOnce          = 5
	importsEvery           = 2 * time.Hour
	namespaceImportsAtOnce = 250
	namespaceImportsEvery  = 5 * time.Minute
	mostImportBudgets      = 10000
)

func (b importBudget) limits() (atOnce float64, every time.Duration) {
	if b.namespace != "" {
		return namespaceImportsAtOnce, namespaceImportsEvery
	}
	return importsAtOnce, importsEvery
}

// after is what is spent of a budget and has not come back yet.
func (s spentImports) after(b importBudget, now time.Time) float64 {
	_, every := b.limits()
	return max(s.count-float64(now.Sub(s.at))/float64(every), 0)
}

func importBudgets(id model.StackID, certificate, secret string) []importBudget {
	namespace, _, _ := strings.Cut(secret, "/")
	return []importBudget{{stack: id, id: certificate}, {namespace: namespace}}
}

// paused returns for how long certificates of a stack are not imported.
func (m *imports) paused(stack model.Stack, now time.Time) map[string]time.Duration {
	if now.IsZero() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out map[string]time.Duration
	for _, c := range stack.Certificates {
		if c.Import == nil {
			continue
		}
		for _, b := range importBudgets(stack.ID, c.ID, c.Import.Secret) {
			most, every := b.limits()
			over := m.spent[b].after(b, now) + 1 - most
			if rest := time.Duration(over * float64(every)); over > 0 && rest > out[c.ID] {
				if out == nil {
					out = map[string]time.Duration{}
				}
				out[c.ID] = rest
			}
		}
	}
	return out
}

// note counts an import.
func (m *imports) note(id model.StackID, s plan.Step, now time.Time) {
	do, ok := s.Do.(plan.ImportCertificate)
	if !ok || now.IsZero() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spent == nil || len(m.spent) > mostImportBudgets {
		kept := map[importBudget]spentImports{}
		for b, s := range m.spent {
			if s.after(b, now) > 0 {
				kept[b] = s
			}
		}
		m.spent = kept
	}
	for _, b := range importBudgets(id, s.Address.ID, do.Secret) {
		m.spent[b] = spentImports{count: m.spent[b].after(b, now) + 1, at: now}
	}
}
