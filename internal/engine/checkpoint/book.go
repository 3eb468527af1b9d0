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

// Book holds a mark for each stack, which is a hash of the desired state that was applied in full, and a mark for each
// client secret that was written to AWS. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	marks   map[model.StackID]string
	secrets map[model.StackID]map[string]string // by a hash of the ARN of the listener or rule
	// hasUnsavedMarks reports whether the marks differ from those that were stored last.
	hasUnsavedMarks bool
	// storedStacks are the stacks that may have a mark in the store: those of the last write, and of writes that failed
	// after it. It is nil before Begin, because nothing may be written then.
	storedStacks map[model.StackID]bool
	// storeUnavailable reports whether the store may have a mark of any stack, because it was not read in full and not
	// written since.
	storeUnavailable bool
	// lastWriteFailed reports whether the last write failed. Runs do not wait for writes then.
	lastWriteFailed bool
	// writeRequests contains a value while a write is requested.
	writeRequests chan struct{}
	// nextWriteEnded is closed when the next write has ended, whether it succeeded or not.
	nextWriteEnded chan struct{}
	// writeLock contains a value during a write, so that writes do not overtake each other.
	writeLock chan struct{}
}

// New returns an empty Book. Before Begin, no stack is regarded as applied.
func New() *Book {
	b := &Book{writeRequests: make(chan struct{}, 1), nextWriteEnded: make(chan struct{}), writeLock: make(chan struct{}, 1)}
	b.marks, b.secrets, _ = parseMarks("")
	return b
}

// Begin loads the text that the previous leader stored. It returns the number of stacks in it, and the number of lines that
// it cannot parse and leaves out.
func (b *Book) Begin(stored string) (stacks, leftOut int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begin(stored)
}

// BeginUnavailable begins without the text that the previous leader stored, which could not be read.
func (b *Book) BeginUnavailable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin("")
	b.storeUnavailable = true
}

func (b *Book) begin(stored string) (stacks, leftOut int) {
	b.hasUnsavedMarks = false
	b.marks, b.secrets, leftOut = parseMarks(stored)
	b.storedStacks, b.storeUnavailable = map[model.StackID]bool{}, leftOut > 0
	b.noteStored()
	return len(b.marks), leftOut
}

// noteStored records that the store may have the marks of all stacks.
func (b *Book) noteStored() {
	for id := range b.marks {
		b.storedStacks[id] = true
	}
}

// Unchanged reports whether the desired state of a stack with this digest was applied in full.
func (b *Book) Unchanged(id model.StackID, digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return digest != "" && b.marks[id] == digest
}

// Note records the digest of the desired state of a stack that was applied in full. An empty digest removes the mark of a stack
// that is incomplete or deleted.
func (b *Book) Note(id model.StackID, digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks[id] == digest {
		return
	}
	b.hasUnsavedMarks = true
	if digest == "" {
		delete(b.marks, id)
		return
	}
	b.marks[id] = digest
}

// Forget removes the mark of a stack that is about to be changed in AWS, and requests a write that removes it from the store.
// Otherwise, if this process ended during the change and the change was reverted, the next process would regard the stack as
// unchanged. The channel is closed once the write has ended. It is nil if there is nothing to wait for: the store has no mark
// of the stack, or the last write failed.
func (b *Book) Forget(id model.StackID) (written <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks[id] != "" || b.storeUnavailable {
		b.hasUnsavedMarks = true
		delete(b.marks, id)
	}
	if !b.storedStacks[id] && !b.storeUnavailable {
		return nil
	}
	return b.requestAwaitedWrite()
}

// requestAwaitedWrite requests a write, and returns a channel that is closed once it has ended; nil before Begin, and after
// a write that failed, because runs do not wait then.
func (b *Book) requestAwaitedWrite() <-chan struct{} {
	if b.storedStacks == nil || b.lastWriteFailed {
		return nil
	}
	b.RequestWrite()
	return b.nextWriteEnded
}

// RequestWrite requests a write from the receiver of WriteRequests.
func (b *Book) RequestWrite() {
	select {
	case b.writeRequests <- struct{}{}:
	default: // one write is enough for all
	}
}

// WriteRequests returns a channel that contains a value when a write is requested. The receiver has to call Save soon.
func (b *Book) WriteRequests() <-chan struct{} { return b.writeRequests }

// SecretMark returns the mark of the client secret of a listener or rule in AWS, empty if there is none.
func (b *Book) SecretMark(id model.StackID, arn string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if mark := b.secrets[id][Digest(arn)]; mark != "" {
		return mark
	}
	return b.secrets[id][newSecretsKey]
}

// NoteSecretMark records the mark of the client secret of a listener or rule in AWS.
func (b *Book) NoteSecretMark(id model.StackID, arn, mark string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteSecretMark(id, Digest(arn), mark)
}

func (b *Book) noteSecretMark(id model.StackID, key, mark string) {
	if b.secrets[id] == nil {
		b.secrets[id] = map[string]string{}
	}
	b.hasUnsavedMarks = b.hasUnsavedMarks || b.secrets[id][key] != mark
	b.secrets[id][key] = mark
}

// unknownSecretMark is the mark of a listener or rule whose client secret in AWS is not known. No secret has this mark.
const unknownSecretMark = "-"

// newSecretsKey is the key of the mark of listeners and rules of a stack that have no mark of their own, because they have just
// been created. Without this mark, they are assumed to have the right client secret. RetainSecretMarks forgets it.
var newSecretsKey = Digest("")

// ForgetSecretMark marks the client secret of a listener or rule as unknown before AWS gets another one, and requests a write
// of that. Otherwise, if this process ended during the call and the old secret was restored, the next process would assume
// that AWS has the old secret. An empty ARN refers to all listeners and rules that are about to be created: if this process
// ended after it created one, the next process would assume that AWS has the secret that exists then. The channel is like the
// channel that Forget returns.
func (b *Book) ForgetSecretMark(id model.StackID, arn string) (written <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := Digest(arn)
	if mark := b.secrets[id][key]; mark == unknownSecretMark || mark == "" && key != newSecretsKey {
		return nil
	}
	b.noteSecretMark(id, key, unknownSecretMark)
	return b.requestAwaitedWrite()
}

// RetainSecretMarks removes the marks of client secrets of a stack, except those of the given listeners and rules.
func (b *Book) RetainSecretMarks(id model.StackID, arns []string) {
	keys := make([]string, len(arns))
	for i, arn := range arns {
		keys[i] = Digest(arn)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.secrets[id] {
		if !slices.Contains(keys, key) {
			delete(b.secrets[id], key)
			b.hasUnsavedMarks = true
		}
	}
	if len(b.secrets[id]) == 0 {
		delete(b.secrets, id)
	}
}

// Text returns the text to store, and whether it differs from the text that was stored last. If it does not fit into one
// Secret, it leaves out the marks of all stacks, and if necessary those of all client secrets too.
func (b *Book) Text() (text string, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text(), b.hasUnsavedMarks
}

// text returns the text to store. The caller holds the lock.
func (b *Book) text() string {
	var stacks, secrets strings.Builder
	for _, id := range slices.SortedFunc(maps.Keys(b.marks), model.StackID.Compare) {
		fmt.Fprintf(&stacks, "%s %s %s\n", id.Kind, id, b.marks[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(b.secrets), model.StackID.Compare) {
		for _, key := range slices.Sorted(maps.Keys(b.secrets[id])) {
			fmt.Fprintf(&secrets, "%s %s %s %s\n", id.Kind, id, key, b.secrets[id][key])
		}
	}
	for _, s := range []string{stacks.String() + secrets.String(), secrets.String()} {
		if len(s) <= maxText {
			return s
		}
	}
	return ""
}

// Save calls write with the text to store, if it differs from the text that was stored last. Calls of write do not overlap.
func (b *Book) Save(write func(text string) error) error {
	b.writeLock <- struct{}{}
	defer func() { <-b.writeLock }()
	b.mu.Lock()
	ended, changed := b.nextWriteEnded, b.hasUnsavedMarks
	b.nextWriteEnded = make(chan struct{})
	defer close(ended)
	if !changed {
		b.mu.Unlock()
		return nil
	}
	text := b.text()
	b.noteStored()
	b.mu.Unlock()
	err := write(text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lastWriteFailed = err != nil; b.lastWriteFailed {
		return err
	}
	b.hasUnsavedMarks = b.text() != text
	marks, _, _ := parseMarks(text)
	b.storeUnavailable = false
	b.storedStacks = make(map[model.StackID]bool, len(marks))
	for id := range marks {
		b.storedStacks[id] = true
	}
	return nil
}

// maxText is the maximum length of the text in bytes. It is less than the limit of Kubernetes for one Secret, 1 MiB.
const maxText = 900 << 10

// parseMarks returns the marks of stacks and client secrets in a text, and the number of lines that it leaves out.
func parseMarks(text string) (marks map[model.StackID]string, secrets map[model.StackID]map[string]string, leftOut int) {
	marks, secrets = map[model.StackID]string{}, map[model.StackID]map[string]string{}
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
		if secrets[id] == nil {
			secrets[id] = map[string]string{}
		}
		secrets[id][f[2]] = f[3]
	}
	return marks, secrets, leftOut
}
