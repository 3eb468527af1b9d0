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

// Objects returns the objects that the command plans for: the objects of the cluster as if the files had been applied to it.
// If files are given, no cluster is needed. It prints notes about objects that were not read or not used.
func (d *Source) Objects(ctx context.Context, stdin io.Reader, notes io.Writer) (*cluster.Memory, error) {
	if d.Offline && len(d.Files) == 0 {
		return nil, errors.New("--offline needs the objects of files; name them with -f")
	}
	if d.FilesOnly && len(d.Files) == 0 {
		return nil, errors.New("--files-only needs the objects of files; name them with -f")
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
	if files, err = watchedNamespace(d.Config.Kubernetes.WatchNamespace).filter(files, notes); err != nil {
		return nil, err
	}
	fileChanges, err := applyFiles(store, files, notes)
	if err != nil {
		return nil, err
	}
	if d.Offline {
		if err := d.assumeOffline(store); err != nil {
			return nil, err
		}
	}
	if len(d.unreadableKinds) > 0 {
		facts, err := addAssumedObjects(store, d.unreadableKinds...)
		if err != nil {
			return nil, err
		}
		(&offlineAWS{Facts: facts}).showFacts(notes)
	}
	if d.ClusterRead {
		d.fileChanges = fileChanges // without a cluster, all objects come from files, and the command is about all of them
	}
	for _, ref := range d.Named {
		if off := acceleratorsOffReason(d.Config); ref.Kind == cluster.KindGlobalAccelerator && d.ClusterRead && off != "" {
			return nil, errors.New(off)
		}
	}
	return store, d.checkExistence(store)
}

// fileObject is an object and the file that it was read from.
type fileObject struct {
	cluster.Object
	file string
}

// readFiles returns the objects of all files. It prints a note about each document that it does not use.
func (d *Source) readFiles(stdin io.Reader, notes io.Writer) ([]fileObject, error) {
	var out []fileObject
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
				fmt.Fprintf(notes, "# %s: %s is not used%s\n", name, s, similarKindHint(s))
			}
			if len(l.Objects)+len(l.Skipped) == 0 {
				fmt.Fprintf(notes, "# %s contains no object\n", name)
			}
			for _, o := range l.Objects {
				out = append(out, fileObject{o, name})
			}
		}
	}
	if len(d.Files) > 0 && len(out) == 0 {
		return nil, fmt.Errorf("--filename %s has no object of a kind that this command reads; give files with one of %s",
			output.JoinFirst(d.Files), strings.ToLower(JoinKinds(shownKinds())))
	}
	return out, nil
}

// similarKindHint returns the end of a message about a document that is not used: the apiVersion that its kind needs, or a
// kind with a similar name. skipped has the form "apiVersion Kind name".
func similarKindHint(skipped string) string {
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
	return finding.SpellingHint(kind, kinds)
}

// readFile reads a file, or standard input if name is "-".
func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// filesOf returns the files that a value of --filename names: the file itself, or the manifests in a directory, sorted by
// name. It does not read subdirectories.
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
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(e.Name()))) {
			out = append(out, filepath.Join(arg, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("directory %q has no file that ends in .yaml, .yml or .json", arg)
	}
	return out, nil
}

// readCluster copies from a cluster into store the objects that translators read, except for Secrets, which are later read
// one by one. If no cluster is configured, it returns an error unless files are given.
func (d *Source) readCluster(ctx context.Context, store *cluster.Memory, notes io.Writer) error {
	if d.FilesOnly {
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
	if err := CheckReachable(ctx, rc); err != nil {
		if len(d.Files) > 0 {
			return fmt.Errorf("%w; check --kubeconfig and KUBECONFIG, or plan without the cluster by --files-only", err)
		}
		return fmt.Errorf("%w; check --kubeconfig and KUBECONFIG", err)
	}
	if err := d.SetControllerFlags(ctx, rc, d.Env.Stderr); err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard()) // a client without a logger prints a stack trace after 30 seconds
	c, err := client.New(rc, client.Options{Scheme: store.Scheme()})
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	d.notInstalledKinds = nil // the command may read the cluster more than once
	from := &lister{Reader: c, watchedNamespace: d.Config.Kubernetes.WatchNamespace, namespace: d.SingleNamespace()}
	for _, typ := range cluster.Types() {
		if typ.Kind == cluster.KindSecret || typ.Kind == cluster.KindGlobalAccelerator && !d.Config.Gates.IsEnabled(config.GlobalAcceleratorController) {
			continue
		}
		list := typ.NewList()
		err := from.list(ctx, typ, list)
		if meta.IsNoMatchError(err) && typ.Optional() {
			d.notInstalledKinds = append(d.notInstalledKinds, typ.Kind)
			continue // clusters without the Gateway API are common
		}
		if meta.IsNoMatchError(err) {
			fmt.Fprintf(notes, "# the cluster has no kind %s; install its definition with \"kubectl apply -f config/crd\"\n", typ.Kind)
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", typ.Kind, err)
		}
		objs, err := kube.SortedItems(list)
		if err != nil {
			return err
		}
		if err := store.Put(objs...); err != nil {
			return err
		}
	}
	d.ClusterRead, d.secrets, d.unreadableKinds, d.namespaceOnlyKinds = true, c, from.unavailableKinds, from.namespaceOnlyKinds
	return from.reportUnavailableKinds(notes)
}

// applyFiles puts the objects of files into store, as "kubectl apply" does: each replaces the object with the same name.
// Services that do not exist yet get an example UID and example node ports. It returns the changes.
func applyFiles(store *cluster.Memory, files []fileObject, notes io.Writer) ([]objectChange, error) {
	fileOf := map[cluster.Ref]string{}
	var created []*corev1.Service
	var examples []string // NAMESPACE/NAME of Services that get an example UID or node ports
	var fileChanges []objectChange
	for _, f := range files {
		ref := cluster.RefOf(f.Object)
		if first, twice := fileOf[ref]; twice {
			fmt.Fprintf(notes, "# %s is in %s and in %s; the last one is used\n", ref, first, f.file)
		}
		fileOf[ref] = f.file
		live, err := store.Get(ref)
		if err != nil {
			return nil, err
		}
		fileChanges = append(fileChanges, objectChange{before: live, after: f.Object})
		svc, isService := f.Object.(*corev1.Service)
		if live != nil {
			// The UID and resource version in a file may be out of date.
			f.SetUID("")
			f.SetResourceVersion("")
			if isService {
				copyNodePorts(svc, live.(*corev1.Service))
			}
		} else if isService {
			if svc.UID == "" {
				svc.UID = exampleUID(ref)
				examples = append(examples, ref.Namespace+"/"+ref.Name)
			}
			created = append(created, svc)
		}
		if err := store.Apply(f.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
	}
	withPorts, err := setExampleNodePorts(store, created)
	if err != nil {
		return nil, err
	}
	examples = append(examples, withPorts...)
	slices.Sort(examples)
	if examples = slices.Compact(examples); len(examples) > 0 {
		fmt.Fprintf(notes, "# these Services do not exist yet: %s; their node ports, and the names of their target groups, are examples\n", output.JoinFirst(examples))
	}
	return fileChanges, nil
}

// exampleUID returns a UID for a Service that does not exist yet, because the names of target groups contain a hash of the
// UID. The same Service always gets the same UID.
func exampleUID(ref cluster.Ref) types.UID {
	sum := sha256.Sum256([]byte(ref.String()))
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%x", sum[:6]))
}

// copyNodePorts copies the node ports of Service live, which the API server has chosen, to the same ports of Service s,
// which is from a file.
func copyNodePorts(s, live *corev1.Service) {
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		for _, q := range live.Spec.Ports {
			if p.NodePort == 0 && p.Port == q.Port && p.Protocol == q.Protocol {
				p.NodePort = q.NodePort
			}
		}
	}
}

// firstNodePort and lastNodePort are the limits of the default range of node ports in Kubernetes.
const firstNodePort, lastNodePort = 30000, 32767

// setExampleNodePorts sets free node ports in Services that do not exist yet, because a target group of instances cannot be
// planned without node ports. The API server will choose other ports. It returns the Services that it changed, as
// NAMESPACE/NAME.
func setExampleNodePorts(store *cluster.Memory, created []*corev1.Service) ([]string, error) {
	taken := map[int32]bool{}
	for _, o := range store.All(cluster.KindService) {
		for _, p := range o.(*corev1.Service).Spec.Ports {
			taken[p.NodePort] = true
		}
	}
	var names []string
	next := int32(firstNodePort)
	slices.SortFunc(created, func(a, b *corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range created {
		if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		changed := false
		byPort := map[int32]int32{} // node port by port: TCP and UDP of one port have the same node port, as in Kubernetes
		for i := range s.Spec.Ports {
			for taken[next] && next < lastNodePort {
				next++
			}
			p := &s.Spec.Ports[i]
			if p.NodePort == 0 {
				p.NodePort, taken[next], changed = cmp.Or(byPort[p.Port], next), true, true
			}
			byPort[p.Port] = p.NodePort
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
