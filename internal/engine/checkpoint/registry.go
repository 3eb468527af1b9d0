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

// Registry has the checkpoint of each stack, which is a digest of the desired state that was applied completely. It also has
// a hash of each client secret that was written to AWS. It is safe for concurrent use.
type Registry struct {
	mu           sync.Mutex
	stackDigests map[model.StackID]string            // the digests of the desired states
	secretHashes map[model.StackID]map[string]string // the hashes of client secrets, by the digest of the ARN of the listener or rule
	// hasUnsavedChanges reports whether the checkpoints and hashes differ from the text that was stored last.
	hasUnsavedChanges bool
	// storedStacks are the stacks that may have a checkpoint in the store: the stacks in the last successful write, and the
	// stacks in later writes that failed. It is nil before Begin, because nothing may be written then.
	storedStacks map[model.StackID]bool
	// storeUnavailable reports whether the store may have a checkpoint of any stack, because it was not read completely and
	// has not been written since.
	storeUnavailable bool
	// lastWriteFailed reports whether the last write failed. While it is true, runs do not wait for writes.
	lastWriteFailed bool
	// writeRequests contains a value while a write is requested.
	writeRequests chan struct{}
	// nextWriteEnded is closed when the next write has succeeded or failed.
	nextWriteEnded chan struct{}
	// writeLock contains a value during a write, so that only one write runs at a time.
	writeLock chan struct{}
}

// New returns an empty Registry. Before Begin is called, Unchanged returns false for every stack.
func New() *Registry {
	b := &Registry{writeRequests: make(chan struct{}, 1), nextWriteEnded: make(chan struct{}), writeLock: make(chan struct{}, 1)}
	b.stackDigests, b.secretHashes, _ = parseText("")
	return b
}

// Load loads the text that the previous leader stored. It returns the number of stacks in the text, and the number of lines
// that it could not parse.
func (b *Registry) Load(stored string) (stacks, leftOut int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.load(stored)
}

// MarkStoreUnavailable is called instead of Begin if the text that the previous leader stored could not be read.
func (b *Registry) MarkStoreUnavailable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load("")
	b.storeUnavailable = true
}

func (b *Registry) load(stored string) (stacks, leftOut int) {
	b.hasUnsavedChanges = false
	b.stackDigests, b.secretHashes, leftOut = parseText(stored)
	b.storedStacks, b.storeUnavailable = map[model.StackID]bool{}, leftOut > 0
	b.addStoredStacks()
	return len(b.stackDigests), leftOut
}

// addStoredStacks adds all stacks that have a checkpoint to storedStacks.
func (b *Registry) addStoredStacks() {
	for id := range b.stackDigests {
		b.storedStacks[id] = true
	}
}

// IsUnchanged reports whether the desired state with this digest was applied completely to the stack.
func (b *Registry) IsUnchanged(id model.StackID, digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return digest != "" && b.stackDigests[id] == digest
}

// SetDigest records the digest of a desired state that was applied completely to a stack. An empty digest removes the
// checkpoint of the stack.
func (b *Registry) SetDigest(id model.StackID, digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stackDigests[id] == digest {
		return
	}
	b.hasUnsavedChanges = true
	if digest == "" {
		delete(b.stackDigests, id)
		return
	}
	b.stackDigests[id] = digest
}

// Forget removes the checkpoint of a stack that is about to be changed in AWS, and requests a write that removes it from the
// store. Without this write, the following could happen: this process ends during the change, a user restores the previous
// desired state, and the next process regards the stack as unchanged. The channel is closed when the write has ended. It is
// nil if there is nothing to wait for, because the store has no checkpoint of the stack or the last write failed.
func (b *Registry) Forget(id model.StackID) (written <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stackDigests[id] != "" || b.storeUnavailable {
		b.hasUnsavedChanges = true
		delete(b.stackDigests, id)
	}
	if !b.storedStacks[id] && !b.storeUnavailable {
		return nil
	}
	return b.requestAwaitedWrite()
}

// requestAwaitedWrite requests a write, and returns a channel that is closed when the write has ended. It returns nil before
// Begin and after a failed write. The caller then does not wait.
func (b *Registry) requestAwaitedWrite() <-chan struct{} {
	if b.storedStacks == nil || b.lastWriteFailed {
		return nil
	}
	b.RequestWrite()
	return b.nextWriteEnded
}

// RequestWrite sends a value on the channel WriteRequests, unless the channel already contains one.
func (b *Registry) RequestWrite() {
	select {
	case b.writeRequests <- struct{}{}:
	default: // a write is already requested, and it will include this change
	}
}

// WriteRequests returns a channel that contains a value when a write is requested. The receiver must call Save soon after.
func (b *Registry) WriteRequests() <-chan struct{} { return b.writeRequests }

// SecretHash returns the hash of the client secret that the listener or rule with this ARN has in AWS; "" if none is known.
func (b *Registry) SecretHash(id model.StackID, arn string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if secretHash := b.secretHashes[id][Digest(arn)]; secretHash != "" {
		return secretHash
	}
	return b.secretHashes[id][newSecretsKey]
}

// RecordSecretHash records the hash of the client secret that the listener or rule with this ARN has in AWS.
func (b *Registry) RecordSecretHash(id model.StackID, arn, secretHash string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recordSecretHash(id, Digest(arn), secretHash)
}

func (b *Registry) recordSecretHash(id model.StackID, key, secretHash string) {
	if b.secretHashes[id] == nil {
		b.secretHashes[id] = map[string]string{}
	}
	b.hasUnsavedChanges = b.hasUnsavedChanges || b.secretHashes[id][key] != secretHash
	b.secretHashes[id][key] = secretHash
}

// unknownSecretHash is recorded instead of a hash if the client secret in AWS is not known. It is not the hash of any
// secret.
const unknownSecretHash = "-"

// newSecretsKey is the key of the hash that applies to all listeners and rules of a stack without a recorded hash, because
// they have just been created. Without this entry, they are assumed to have the desired client secret. RetainSecretHashes
// removes the entry.
var newSecretsKey = Digest("")

// ForgetSecretHash records, before another client secret is written to a listener or rule, that its secret in AWS is
// unknown, and requests a write of this entry to the store. Without this write, the following could happen: this process
// ends during the call, a user restores the previous secret, and the next process assumes that AWS has it. An empty ARN
// means all listeners and rules that are about to be created, because this process may end after it has created one of them.
// The channel is closed when the write has ended, or is nil (Forget).
func (b *Registry) ForgetSecretHash(id model.StackID, arn string) (written <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := Digest(arn)
	if secretHash := b.secretHashes[id][key]; secretHash == unknownSecretHash || secretHash == "" && key != newSecretsKey {
		return nil
	}
	b.recordSecretHash(id, key, unknownSecretHash)
	return b.requestAwaitedWrite()
}

// RetainSecretHashes removes the hashes of all client secrets of a stack, except the hashes of the listeners and rules with
// these ARNs.
func (b *Registry) RetainSecretHashes(id model.StackID, arns []string) {
	keys := make([]string, len(arns))
	for i, arn := range arns {
		keys[i] = Digest(arn)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.secretHashes[id] {
		if !slices.Contains(keys, key) {
			delete(b.secretHashes[id], key)
			b.hasUnsavedChanges = true
		}
	}
	if len(b.secretHashes[id]) == 0 {
		delete(b.secretHashes, id)
	}
}

// text returns the text to store. If the text is too long for one Secret, the checkpoints of all stacks are left out. If the
// text is still too long, the result is empty. The caller holds the lock.
func (b *Registry) text() string {
	var stacks, secrets strings.Builder
	for _, id := range slices.SortedFunc(maps.Keys(b.stackDigests), model.StackID.Compare) {
		fmt.Fprintf(&stacks, "%s %s %s\n", id.Kind, id, b.stackDigests[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(b.secretHashes), model.StackID.Compare) {
		for _, key := range slices.Sorted(maps.Keys(b.secretHashes[id])) {
			fmt.Fprintf(&secrets, "%s %s %s %s\n", id.Kind, id, key, b.secretHashes[id][key])
		}
	}
	for _, s := range []string{stacks.String() + secrets.String(), secrets.String()} {
		if len(s) <= maxText {
			return s
		}
	}
	return ""
}

// Save calls write with the text to store if the text differs from the one that was stored last. Only one call of write runs
// at a time.
func (b *Registry) Save(write func(text string) error) error {
	b.writeLock <- struct{}{}
	defer func() { <-b.writeLock }()
	b.mu.Lock()
	ended, changed := b.nextWriteEnded, b.hasUnsavedChanges
	b.nextWriteEnded = make(chan struct{})
	defer close(ended)
	if !changed {
		b.mu.Unlock()
		return nil
	}
	text := b.text()
	b.addStoredStacks()
	b.mu.Unlock()
	err := write(text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lastWriteFailed = err != nil; b.lastWriteFailed {
		return err
	}
	b.hasUnsavedChanges = b.text() != text
	digests, _, _ := parseText(text)
	b.storeUnavailable = false
	b.storedStacks = make(map[model.StackID]bool, len(digests))
	for id := range digests {
		b.storedStacks[id] = true
	}
	return nil
}

// maxText is the maximum length of the text in bytes. Kubernetes permits 1 MiB for one Secret.
const maxText = 900 << 10

// parseText returns the digests of stacks and the hashes of client secrets in a text, and the number of lines that it could
// not parse.
func parseText(text string) (digests map[model.StackID]string, secrets map[model.StackID]map[string]string, leftOut int) {
	digests, secrets = map[model.StackID]string{}, map[model.StackID]map[string]string{}
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
			digests[id] = f[2]
			continue
		}
		if secrets[id] == nil {
			secrets[id] = map[string]string{}
		}
		secrets[id][f[2]] = f[3]
	}
	return digests, secrets, leftOut
}
