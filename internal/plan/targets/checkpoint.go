package targets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Annotations that record which state of a binding was reconciled completely: a checkpoint with hashes, and its time. The
// AWS Load Balancer Controller uses the same format, so that no checkpoint changes when one controller replaces the other.
const (
	CheckpointAnnotation     = "elbv2.k8s.aws/checkpoint"
	CheckpointTimeAnnotation = "elbv2.k8s.aws/checkpoint-timestamp" // Unix seconds
)

// OnlyCheckpointDiffers reports whether two states of a binding differ at most in their checkpoints.
func OnlyCheckpointDiffers(a, b *elbv2.TargetGroupBinding) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		slices.Equal(a.Finalizers, b.Finalizers) && maps.Equal(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && hasAnnotationsOf(a, b) && hasAnnotationsOf(b, a) &&
		equality.Semantic.DeepEqual(a.Status, b.Status) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// hasAnnotationsOf reports whether a has all annotations of b, except the checkpoint.
func hasAnnotationsOf(a, b *elbv2.TargetGroupBinding) bool {
	for k, v := range b.Annotations {
		if got, ok := a.Annotations[k]; (!ok || got != v) && k != CheckpointAnnotation && k != CheckpointTimeAnnotation {
			return false
		}
	}
	return true
}

// Checkpoint returns the checkpoint of a binding: a hash of its endpoints and a hash of its spec.
func Checkpoint(endpoints []Endpoint, spec elbv2.TargetGroupBindingSpec) (string, error) {
	identities := make([]string, len(endpoints))
	for i, e := range endpoints {
		identities[i] = e.identityWithTime()
	}
	slices.Sort(identities)
	return joinDigests(digest([]byte(strings.Join(identities, ","))), spec)
}

// joinDigests returns the checkpoint of a binding from the hash of its endpoints and from its spec.
func joinDigests(endpoints string, spec elbv2.TargetGroupBindingSpec) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("hash the spec: %w", err)
	}
	return endpoints + "/" + digest(text), nil
}

// digest returns the hash of a text, in the form that checkpoints contain.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
