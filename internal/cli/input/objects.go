package input

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// Objects returns what to plan for: what the cluster has, with the objects of the files in place of
// those of the same name, as if they had been applied. Files alone do without a cluster.
func (d *Source) Objects(ctx context.Context, stdin io.Reader, notes io.Writer) (*cluster.Memory, error) {
	if d.Offline && len(d.Files) == 0 {
		return nil, errors.New("--offline needs the objects of files; name them with -f")
	}
	d.FilesOnly = d.FilesOnly || d.Offline
	files, err := d.readFiles(stdin, notes)
	if err != nil {
		return nil, err
	}
	store, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		return nil, err
	}
	if err := d.readCluster(ctx, store, notes); err != nil {
		return nil, err
	}
	if files, err = watched(d.Config.Kubernetes.WatchNamespace).inWatchedNamespaces(files, notes); err != nil {
		return nil, err
	}
	touched, err := apply(store, files, notes)
	if err != nil {
		return nil, err
	}
	if d.Offline {
		if err := d.assume(store); err != nil {
			return nil, err
		}
	}
	if len(d.unreadable) > 0 {
		facts, err := assumeObjects(store)
		if err != nil {
			return nil, err
		}
		(&assumed{Facts: facts}).show(notes)
	}
	if d.Live {
		d.touched = touched // without a cluster there is nothing else
	}
	for _, ref := range d.Named {
		if off := acceleratorsOff(d.Config); ref.Kind == cluster.KindGlobalAccelerator && d.Live && off != "" {
			return nil, errors.New(off)
		}
	}
	return store, d.exists(store)
}

// fromFile is an object and the file that it was read from.
type fromFile struct {
	cluster.Object
	file string
}

func (d *Source) readFiles(stdin io.Reader, notes io.Writer) ([]fromFile, error) {
	var out []fromFile
	for _, arg := range d.Files {
		names, err := filesOf(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := readFile(name, stdin)
			if err != nil {
				return nil, err
			}
			l, err := cluster.LoadYAML(data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, s := range l.Skipped {
				fmt.Fprintf(notes, "# %s: %s is not used%s\n", name, s, probableKind(s))
			}
			if len(l.Objects)+len(l.Skipped) == 0 {
				fmt.Fprintf(notes, "# %s holds no object\n", name)
			}
			for _, o := range l.Objects {
				out = append(out, fromFile{o, name})
			}
		}
	}
	if len(d.Files) > 0 && len(out) == 0 {
		return nil, fmt.Errorf("--filename %s has no object of a kind that is read; nothing is shown; give files with one of %s, or what these refer to",
			output.JoinFirst(d.Files), strings.ToLower(joinKinds(shownKinds())))
	}
	return out, nil
}

// probableKind returns which kind was probably meant by "apiVersion Kind name" of a document that is not read.
func probableKind(skipped string) string {
	var kinds []string
	version, rest, _ := strings.Cut(skipped, " ")
	kind, _, _ := strings.Cut(rest, " ")
	for _, typ := range cluster.Types() {
		known, name := typ.GVK.ToAPIVersionAndKind()
		if name == kind && known != version {
			return fmt.Sprintf("; kind %s is read with apiVersion %q", kind, known)
		}
		kinds = append(kinds, name)
	}
	return finding.DidYouMean(kind, kinds)
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// filesOf returns the files that an argument names: itself, or the manifests of a directory, by name and
// without those of directories in it.
func filesOf(arg string) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	entries, err := os.ReadDir(arg)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			out = append(out, filepath.Join(arg, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("directory %q has no file that ends in .yaml, .yml or .json", arg)
	}
	return out, nil
}

// readCluster copies what translators read from a live cluster. Secrets are read one by one later. Without a
// cluster there is nothing to copy, which is an error unless files are given.
func (d *Source) readCluster(ctx context.Context, store *cluster.Memory, notes io.Writer) error {
	if d.FilesOnly && len(d.Files) > 0 {
		return nil
	}
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	switch {
	case errors.Is(err, errNoCluster) && len(d.Files) > 0:
		return nil
	case errors.Is(err, errNoCluster):
		return fmt.Errorf("%w; give objects with -f or a cluster with --kubeconfig or KUBECONFIG", err)
	case err != nil:
		return err
	}
	if err := Reachable(ctx, rc); err != nil {
		if len(d.Files) > 0 {
			return fmt.Errorf("%w; check --kubeconfig and KUBECONFIG, or plan without the cluster by --files-only", err)
		}
		return fmt.Errorf("%w; check --kubeconfig and KUBECONFIG", err)
	}
	if err := d.TakeFlags(ctx, rc, d.Env.Stderr); err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard()) // a client without a logger prints a stack trace after 30 seconds
	c, err := client.New(rc, client.Options{Scheme: store.Scheme()})
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	from := &lister{Reader: c, watched: d.Config.Kubernetes.WatchNamespace, own: d.subject()}
	for _, typ := range cluster.Types() {
		if typ.Kind == cluster.KindSecret || typ.Kind == cluster.KindGlobalAccelerator && !d.Config.Gates.On(config.GlobalAcceleratorController) {
			continue
		}
		list := typ.NewList()
		err := from.list(ctx, typ, list)
		if meta.IsNoMatchError(err) && typ.Optional() {
			d.unserved = append(d.unserved, typ.Kind)
			continue // clusters without the Gateway API are common
		}
		if meta.IsNoMatchError(err) {
			fmt.Fprintf(notes, "# the cluster has no kind %s; install its definition with \"kubectl apply -f config/crd\"\n", typ.Kind)
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", typ.Kind, err)
		}
		objs, err := kube.Items(list)
		if err != nil {
			return err
		}
		if err := store.Put(objs...); err != nil {
			return err
		}
	}
	d.Live, d.secrets, d.unreadable, d.narrowed = true, c, from.unavailable, from.narrowed
	return from.report(notes)
}

// apply puts the objects of files in place of those that are there, as a user's apply does, and returns
// what it did.
func apply(store *cluster.Memory, files []fromFile, notes io.Writer) ([]change, error) {
	seen := map[cluster.Ref]string{}
	var born []*corev1.Service
	var examples []string
	var touched []change
	for _, f := range files {
		ref := cluster.RefOf(f.Object)
		if first, twice := seen[ref]; twice {
			fmt.Fprintf(notes, "# %s is in %s and in %s; the last one counts\n", ref, first, f.file)
		}
		seen[ref] = f.file
		cur, err := store.Get(ref)
		if err != nil {
			return nil, err
		}
		touched = append(touched, change{before: cur, after: f.Object})
		svc, isService := f.Object.(*corev1.Service)
		if cur != nil {
			// What a file has of these is that of an earlier state.
			f.SetUID("")
			f.SetResourceVersion("")
			if isService {
				keepNodePorts(svc, cur.(*corev1.Service))
			}
		} else if isService {
			if svc.UID == "" {
				svc.UID = exampleUID(ref)
				examples = append(examples, ref.Namespace+"/"+ref.Name)
			}
			born = append(born, svc)
		}
		if err := store.Apply(f.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
	}
	ported, err := exampleNodePorts(store, born)
	if err != nil {
		return nil, err
	}
	examples = append(examples, ported...)
	slices.Sort(examples)
	if examples = slices.Compact(examples); len(examples) > 0 {
		fmt.Fprintf(notes, "# these Services do not exist yet: %s; their node ports, and the names of their target groups, are examples\n", output.JoinFirst(examples))
	}
	return touched, nil
}

// exampleUID stands for the one that the API server will give, of which the names of target groups are
// made. It is the same for the same Service.
func exampleUID(ref cluster.Ref) types.UID {
	sum := sha256.Sum256([]byte(ref.String()))
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%x", sum[:6]))
}

// keepNodePorts gives the ports of a Service the node ports that the API server has chosen.
func keepNodePorts(s, live *corev1.Service) {
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		for _, q := range live.Spec.Ports {
			if p.NodePort == 0 && p.Port == q.Port && p.Protocol == q.Protocol {
				p.NodePort = q.NodePort
			}
		}
	}
}

// The range of node ports of a cluster with default settings.
const firstNodePort, lastNodePort = 30000, 32767

// exampleNodePorts gives Services that do not exist yet node ports, which the API server chooses when
// it creates them: without one no target group of instances can be planned. It returns their names.
func exampleNodePorts(store *cluster.Memory, born []*corev1.Service) ([]string, error) {
	taken := map[int32]bool{}
	for _, o := range store.All(cluster.KindService) {
		for _, p := range o.(*corev1.Service).Spec.Ports {
			taken[p.NodePort] = true
		}
	}
	var names []string
	next := int32(firstNodePort)
	slices.SortFunc(born, func(a, b *corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range born {
		if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		changed := false
		ofNumber := map[int32]int32{} // as Kubernetes does, the same for TCP and UDP of one number
		for i := range s.Spec.Ports {
			for taken[next] && next < lastNodePort {
				next++
			}
			p := &s.Spec.Ports[i]
			if p.NodePort == 0 {
				p.NodePort, taken[next], changed = cmp.Or(ofNumber[p.Port], next), true, true
			}
			ofNumber[p.Port] = p.NodePort
		}
		if changed {
			names = append(names, s.Namespace+"/"+s.Name)
			if err := store.Apply(s); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}
