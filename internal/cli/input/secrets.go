package input

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// objectsAndSecrets has the objects that a command has read, and reads Secrets of the cluster one by one when a translator
// gets them. Therefore the user needs no permission to list Secrets. The controller reads Secrets in the same way.
type objectsAndSecrets struct {
	*cluster.Memory
	ctx                context.Context
	cluster            client.Reader                  // nil without a cluster
	secrets            map[cluster.Ref]*corev1.Secret // the value is nil for a Secret that does not exist or was not read
	unavailableReasons map[cluster.Ref]string         // the reason why a Secret was not read
}

// Get implements cluster.Source.
func (s *objectsAndSecrets) Get(ref cluster.Ref) (cluster.Object, error) {
	obj, err := s.Memory.Get(ref)
	if err != nil || obj != nil || ref.Kind != cluster.KindSecret {
		return obj, err
	}
	if s.secrets == nil {
		s.secrets, s.unavailableReasons = map[cluster.Ref]*corev1.Secret{}, map[cluster.Ref]string{}
	}
	if _, known := s.secrets[ref]; !known {
		s.readSecret(ref)
	}
	if secret := s.secrets[ref]; secret != nil {
		return secret, nil
	}
	return nil, nil
}

// readSecret reads a Secret, or records why it cannot be read.
func (s *objectsAndSecrets) readSecret(ref cluster.Ref) {
	s.secrets[ref] = nil
	if s.cluster == nil {
		s.unavailableReasons[ref] = "it is not in the files, and no cluster is read"
		return
	}
	ctx, done := context.WithTimeout(s.ctx, durations.AnswerTimeout)
	defer done()
	secret := &corev1.Secret{}
	switch err := s.cluster.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, secret); {
	case err == nil:
		s.secrets[ref] = secret
	case !apierrors.IsNotFound(err):
		s.unavailableReasons[ref] = failure.WithoutSDKText(err)
	}
}

// correctFindings returns findings without the false statement that a Secret does not exist. If the command could not
// read the Secret, the finding reports this failure, because the controller may be able to read the Secret.
func (s *objectsAndSecrets) correctFindings(found finding.List) finding.List {
	var out finding.List
	for _, f := range found {
		for ref, why := range s.unavailableReasons {
			if f.Reason != finding.SecretNotFound || !reportsMissingSecret(f.Message, ref) {
				continue
			}
			f.Reason, f.Severity = finding.AccessDenied, finding.Warning
			f.Message = fmt.Sprintf("Secret %q was not read: %s; settings that depend on it are shown as held", ref.Namespace+"/"+ref.Name, why)
			f.Fix = "get permission to read this Secret, or give it with -f; the controller reads it with its own permissions"
			break
		}
		out.Add(f)
	}
	return out
}

// reportsMissingSecret reports whether the message of a finding begins with the statement that a Secret does not exist.
func reportsMissingSecret(message string, ref cluster.Ref) bool {
	rest, ok := strings.CutPrefix(message, finding.MissingSecretMessage(ref.Namespace, ref.Name))
	return ok && (rest == "" || rest[0] == ';')
}
