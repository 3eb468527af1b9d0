package checkpoint

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Book holds the marks of stacks, and those of the client secrets that AWS was given for them. It is
// safe for use by several goroutines.
type Book struct {
	mu    sync.Mutex
	marks map[model.StackID]string
	given map[model.StackID]map[string]string // by a hash of the ARN
	// news reports whether the marks differ from those that were stored last.
	news bool
}

// New returns an empty book: until Begin, nothing counts as carried out.
func New() *Book {
	b := &Book{}
	b.marks, b.given, _ = parse("")
	return b
}

// Begin takes up what the process that led before has stored. It returns how many stacks that names, and how many of its
// lines cannot be read: those are left out.
func (b *Book) Begin(stored string) (stacks, leftOut int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news = false
	b.marks, b.given, leftOut = parse(stored)
	return len(b.marks), leftOut
}

// Unchanged reports whether a stack with this desired state was carried out in full.
func (b *Book) Unchanged(id model.StackID, digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return digest != "" && b.marks[id] == digest
}

// Note remembers the desired state of a stack that was carried out in full; "" forgets the stack,
// which is not complete or is gone.
func (b *Book) Note(id model.StackID, digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks[id] == digest {
		return
	}
	b.news = true
	if digest == "" {
		delete(b.marks, id)
		return
	}
	b.marks[id] = digest
}

// Given returns the mark of the client secret that a listener or rule was given, empty if none is
// known.
func (b *Book) Given(id model.StackID, arn string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.given[id][Digest(arn)]
}

// Give notes the mark of the client secret that a listener or rule was given.
func (b *Book) Give(id model.StackID, arn, mark string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.given[id] == nil {
		b.given[id] = map[string]string{}
	}
	key := Digest(arn)
	b.news = b.news || b.given[id][key] != mark
	b.given[id][key] = mark
}

// Keep forgets what all listeners and rules of a stack but these were given.
func (b *Book) Keep(id model.StackID, arns []string) {
	keys := make([]string, len(arns))
	for i, arn := range arns {
		keys[i] = Digest(arn)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.given[id] {
		if !slices.Contains(keys, key) {
			delete(b.given[id], key)
			b.news = true
		}
	}
	if len(b.given[id]) == 0 {
		delete(b.given, id)
	}
}

// Text is what is to be stored, and whether it differs from what was stored last. What does not fit
// into one object is left out altogether, the marks of stacks first.
func (b *Book) Text() (text string, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var stacks, secrets strings.Builder
	for _, id := range slices.SortedFunc(maps.Keys(b.marks), model.StackID.Compare) {
		fmt.Fprintf(&stacks, "%s %s %s\n", id.Kind, id, b.marks[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(b.given), model.StackID.Compare) {
		for _, key := range slices.Sorted(maps.Keys(b.given[id])) {
			fmt.Fprintf(&secrets, "%s %s %s %s\n", id.Kind, id, key, b.given[id][key])
		}
	}
	for _, s := range []string{stacks.String() + secrets.String(), secrets.String()} {
		if len(s) <= maxText {
			return s, b.news
		}
	}
	return "", b.news
}

// Stored notes that a text was stored.
func (b *Book) Stored(text string) {
	now, _ := b.Text()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news = now != text
}

// maxText keeps below what Kubernetes takes for one object, 1 MiB.
const maxText = 900 << 10

func parse(text string) (marks map[model.StackID]string, given map[model.StackID]map[string]string, leftOut int) {
	marks, given = map[model.StackID]string{}, map[model.StackID]map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) != 3 && len(f) != 4 {
			leftOut++
			continue
		}
		id := model.StackID{Kind: model.Kind(f[0]), Name: f[1]}
		if namespace, name, ok := strings.Cut(f[1], "/"); ok {
			id.Namespace, id.Name = namespace, name
		}
		if len(f) == 3 {
			marks[id] = f[2]
			continue
		}
		if given[id] == nil {
			given[id] = map[string]string{}
		}
		given[id][f[2]] = f[3]
	}
	return marks, given, leftOut
}
