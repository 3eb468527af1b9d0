package kube

import (
	"context"
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

// Secrets reads Secrets one by one, and watches each one that was read, so that rights to all
// Secrets are never needed and no others are held. A Secret whose watch is not running (yet, or
// because rights are missing) is read from the API server each time.
type Secrets struct {
	ctx    context.Context
	client corev1client.SecretsGetter
	log    Logger

	mu        sync.Mutex
	watched   map[cluster.Ref]*oneSecret
	listeners []*watcher
}

// Logger writes entries of the log.
type Logger interface {
	// Info writes a message, and keys with values.
	Info(message string, keysAndValues ...any)
}

type oneSecret struct {
	informer toolscache.SharedIndexInformer
	stop     context.CancelFunc
	idle     bool // not read between the last two calls of Retain
	refused  bool // may not be read, which was logged
}

// NewSecrets returns a reader whose watches end with ctx.
func NewSecrets(ctx context.Context, c corev1client.SecretsGetter, log Logger) *Secrets {
	return &Secrets{ctx: ctx, client: c, log: log, watched: map[cluster.Ref]*oneSecret{}}
}

// Get reads one Secret and watches it from then on; nil if there is none, or none that may be read.
// The watch notices rights that are granted later. A name that is not valid for a Secret is never
// sent: users choose it, and the client returns an error for one with a slash.
func (s *Secrets) Get(ctx context.Context, ref cluster.Ref) (cluster.Object, error) {
	if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return nil, nil
	}
	w := s.watchOne(ref)
	// What the watch has seen before the right to read was withdrawn is not used any more, as after a restart.
	if w.informer.HasSynced() && !s.mayNotRead(w) {
		obj, ok, err := w.informer.GetStore().GetByKey(ref.Namespace + "/" + ref.Name)
		if err != nil || !ok {
			return nil, err
		}
		return obj.(*corev1.Secret), nil
	}
	obj, err := s.client.Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// A Secret that may not be read counts as missing for the one rule that needs it. An error
		// would stop the whole load balancer.
		return nil, nil
	case err != nil:
		return nil, err
	}
	return obj, nil
}

func (s *Secrets) watchOne(ref cluster.Ref) *oneSecret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.watched[ref]; ok {
		w.idle = false
		return w
	}
	ctx, stop := context.WithCancel(s.ctx)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	w := &oneSecret{stop: stop, informer: toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			list, err := s.client.Secrets(ref.Namespace).List(ctx, o)
			s.noteRefusal(ref, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			changes, err := s.client.Secrets(ref.Namespace).Watch(ctx, o)
			s.noteRefusal(ref, err)
			return changes, err
		},
	}, &corev1.Secret{}, 0, nil)}
	// These calls fail only on an informer that has been started.
	_ = w.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		if !apierrors.IsForbidden(err) { // a finding about the user of the Secret reports it
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		}
	})
	_ = w.informer.SetTransform(toolscache.TransformFunc(func(in any) (any, error) {
		if o, ok := in.(cluster.Object); ok {
			return cluster.Reduce(o, ""), nil
		}
		return in, nil
	}))
	_, _ = w.informer.AddEventHandler(handler{watcher: watcher{notify: s.notifyWatchers}})
	s.watched[ref] = w
	go w.informer.RunWithContext(ctx)
	return w
}

// noteRefusal logs that a Secret may not be read, or may be read again, when it has changed. Then those who read it are
// notified: for them it was missing meanwhile. err is the answer to listing or watching it.
func (s *Secrets) noteRefusal(ref cluster.Ref, err error) {
	refused := apierrors.IsForbidden(err)
	s.mu.Lock()
	w, ok := s.watched[ref]
	changed := ok && w.refused != refused && (refused || err == nil)
	if changed {
		w.refused = refused
	}
	s.mu.Unlock()
	switch {
	case changed && refused:
		s.log.Info("secret may not be read", "namespace", ref.Namespace, "name", ref.Name, "err", err.Error())
	case changed:
		s.log.Info("secret may be read again", "namespace", ref.Namespace, "name", ref.Name)
		if w.informer == nil {
			return
		}
		if obj, ok, err := w.informer.GetStore().GetByKey(ref.Namespace + "/" + ref.Name); err == nil && ok {
			s.notifyWatchers(Event{New: obj.(*corev1.Secret)})
		}
	}
}

func (s *Secrets) mayNotRead(w *oneSecret) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.refused
}

// Retain ends the watches of Secrets that were not read since its last call, so that one which a
// run has read a moment ago, and not reported as used yet, is not lost.
func (s *Secrets) Retain(wanted func(cluster.Ref) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, w := range s.watched {
		switch {
		case wanted(ref):
			w.idle = false
		case w.idle:
			w.stop()
			delete(s.watched, ref)
		default:
			w.idle = true
		}
	}
}

func (s *Secrets) watch(ctx context.Context, notify func(Event)) {
	l := &watcher{ctx, cluster.KindSecret, notify}
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, o := range s.listeners {
			if o == l {
				s.listeners = append(s.listeners[:i:i], s.listeners[i+1:]...)
				return
			}
		}
	})
}

func (s *Secrets) notifyWatchers(e Event) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		l.notify(e)
	}
}
