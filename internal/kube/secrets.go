package kube

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Secrets reads single Secrets and watches each Secret that was read. Therefore the controller needs no permission to list
// all Secrets, and caches only Secrets that it has read. While the watch of a Secret does not run, each call of Get reads
// the Secret from the API server.
type Secrets struct {
	ctx    context.Context
	client corev1client.SecretsGetter
	log    Logger

	mu       sync.Mutex
	watched  map[cluster.Ref]*watchedSecret
	watchers []*watcher
}

// Logger writes log entries at the info level.
type Logger interface {
	// Info writes a message with key-value pairs.
	Info(message string, keysAndValues ...any)
}

// watchedSecret is the watch of one Secret.
type watchedSecret struct {
	informer           toolscache.SharedIndexInformer
	stop               context.CancelFunc
	notReadSinceRetain bool // set by Retain if wanted returns false for the Secret; reset by a read
	forbidden          bool // whether the permission to read the Secret is missing
}

// NewSecrets returns a reader of Secrets whose watches end with ctx.
func NewSecrets(ctx context.Context, c corev1client.SecretsGetter, log Logger) *Secrets {
	return &Secrets{ctx: ctx, client: c, log: log, watched: map[cluster.Ref]*watchedSecret{}}
}

// Get returns one Secret, and starts a watch of this Secret. It returns nil if the Secret does not exist or if the
// permission to read it is missing. The watch detects a permission that is granted later. Get never sends a name that is not
// valid for a Secret, because users choose the names, and the client returns an error for a name with a slash.
func (s *Secrets) Get(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return nil, nil
	}
	w := s.watchSecret(ref)
	// If the permission to read was revoked, the cached Secret is not used, because it would also not be available after a
	// restart.
	if w.informer.HasSynced() && !s.isForbidden(w) {
		obj, ok, err := w.informer.GetStore().GetByKey(ref.Namespace + "/" + ref.Name)
		if err != nil || !ok {
			return nil, err
		}
		return obj.(*corev1.Secret), nil
	}
	obj, err := s.client.Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// A Secret that the controller has no permission to read is treated as missing, which affects one rule. An error
		// would stop the whole stack.
		return nil, nil
	case err != nil:
		return nil, err
	}
	return obj, nil
}

// watchSecret returns the watch of a Secret, and starts the watch if it is not running.
func (s *Secrets) watchSecret(ref cluster.Ref) *watchedSecret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.watched[ref]; ok {
		w.notReadSinceRetain = false
		return w
	}
	ctx, stop := context.WithCancel(s.ctx)
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	w := &watchedSecret{stop: stop, informer: toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = byName
			list, err := s.client.Secrets(ref.Namespace).List(ctx, o)
			s.logPermissionChange(ref, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = byName
			changes, err := s.client.Secrets(ref.Namespace).Watch(ctx, o)
			s.logPermissionChange(ref, err)
			return changes, err
		},
	}, &corev1.Secret{}, 0, nil)}
	// These calls fail only on an informer that has been started.
	_ = w.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		if !apierrors.IsForbidden(err) { // a finding about the object that references the Secret reports this
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		}
	})
	_ = w.informer.SetTransform(toolscache.TransformFunc(func(in any) (any, error) {
		if o, ok := in.(cluster.Object); ok {
			return cluster.Reduce(o, ""), nil
		}
		return in, nil
	}))
	_, _ = w.informer.AddEventHandler(informerHandler{watcher: watcher{notify: s.notifyWatchers}})
	s.watched[ref] = w
	go w.informer.RunWithContext(ctx)
	return w
}

// logPermissionChange logs when the permission to read a Secret is withdrawn or granted again. err is the result of listing or
// watching the Secret. When the permission is granted again, watchers are notified, because the Secret was missing for them
// before.
func (s *Secrets) logPermissionChange(ref cluster.Ref, err error) {
	forbidden := apierrors.IsForbidden(err)
	s.mu.Lock()
	w, ok := s.watched[ref]
	changed := ok && w.forbidden != forbidden && (forbidden || err == nil)
	if changed {
		w.forbidden = forbidden
	}
	s.mu.Unlock()
	switch {
	case changed && forbidden:
		s.log.Info("not allowed to read secret", "namespace", ref.Namespace, "name", ref.Name, "err", err.Error())
	case changed:
		s.log.Info("allowed to read secret again", "namespace", ref.Namespace, "name", ref.Name)
		if w.informer == nil {
			return
		}
		if obj, ok, err := w.informer.GetStore().GetByKey(ref.Namespace + "/" + ref.Name); err == nil && ok {
			s.notifyWatchers(Event{New: obj.(*corev1.Secret)})
		}
	}
}

// isForbidden reports whether the permission to read a watched Secret is missing.
func (s *Secrets) isForbidden(w *watchedSecret) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.forbidden
}

// Retain ends the watch of each Secret for which wanted returns false, if wanted also returned false in the previous call of
// Retain, and the Secret was not read between the two calls. The last condition retains Secrets that a current run has read
// and not yet recorded.
func (s *Secrets) Retain(wanted func(cluster.Ref) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, w := range s.watched {
		switch {
		case wanted(ref):
			w.notReadSinceRetain = false
		case w.notReadSinceRetain:
			w.stop()
			delete(s.watched, ref)
		default:
			w.notReadSinceRetain = true
		}
	}
}

// watch calls notify for the events of all watched Secrets until ctx ends.
func (s *Secrets) watch(ctx context.Context, notify func(Event)) {
	l := &watcher{ctx, cluster.KindSecret, notify}
	s.mu.Lock()
	s.watchers = append(s.watchers, l)
	s.mu.Unlock()
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		// notifyWatchers may be reading the old list, so a copy is changed.
		s.watchers = slices.DeleteFunc(slices.Clone(s.watchers), func(o *watcher) bool { return o == l })
	})
}

func (s *Secrets) notifyWatchers(e Event) {
	s.mu.Lock()
	listeners := s.watchers
	s.mu.Unlock()
	for _, l := range listeners {
		l.notify(e)
	}
}
