package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// drafting is what the commands have in common that make plans without carrying them out.
type drafting struct {
	env   Environment
	cfg   config.Config
	files []string
	// observed and record name files with recorded answers of AWS, to read and to write.
	observed, record string
}

// bind registers the controller's flags, since they decide what it would do, and where objects are
// read from.
func (d *drafting) bind(cmd *cobra.Command) {
	d.cfg = config.Default()
	d.cfg.Bind(cmd.Flags())
	cmd.Flags().StringArrayVarP(&d.files, "filename", "f", nil, "file with Kubernetes objects, - for standard input; may be repeated. Without it the cluster of --kubeconfig is read")
	cmd.Flags().StringVar(&d.observed, "observed", "", "file with recorded answers of AWS, to be used instead of AWS")
	cmd.Flags().StringVar(&d.record, "record", "", "file to record the answers of AWS in")
	cmd.MarkFlagsMutuallyExclusive("observed", "record")
}

// read returns the objects to plan for.
func (d *drafting) read(ctx context.Context, stdin io.Reader, notes io.Writer) (*cluster.Memory, error) {
	store, err := cluster.NewMemory(time.Now)
	if err != nil {
		return nil, err
	}
	if len(d.files) == 0 {
		return store, d.readCluster(ctx, store)
	}
	for _, name := range d.files {
		var data []byte
		if name == "-" {
			data, err = io.ReadAll(stdin)
		} else {
			data, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, err
		}
		l, err := cluster.LoadYAML(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range l.Skipped {
			fmt.Fprintf(notes, "# %s: %s is not looked at\n", name, s)
		}
		if err := store.Put(l.Objects...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return store, nil
}

// readCluster copies what translators read from a live cluster. Secrets are left out.
func (d *drafting) readCluster(ctx context.Context, store *cluster.Memory) error {
	rc, err := restConfig(d.cfg.Kubernetes.Kubeconfig)
	if err != nil {
		return fmt.Errorf("give objects with -f or a cluster with --kubeconfig: %w", err)
	}
	c, err := client.New(rc, client.Options{Scheme: store.Scheme()})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	for _, typ := range cluster.Types() {
		if typ.Kind == cluster.KindSecret {
			continue
		}
		list := typ.NewList()
		if err := c.List(ctx, list, client.InNamespace(d.cfg.Kubernetes.WatchNamespace)); err != nil {
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
	return nil
}

// each makes the plan of every stack of the objects, in order, and passes it on.
func (d *drafting) each(ctx context.Context, store *cluster.Memory, show func(*engine.Engine, engine.Draft) error) error {
	if err := d.cfg.Validate(); err != nil {
		return err
	}
	aws, vpc, err := d.connect(ctx)
	if err != nil {
		return err
	}
	rec := &recorder{Cloud: aws, answers: map[model.StackID]observed.Stack{}}
	frontends := controller.Frontends(d.cfg)
	eng := engine.New(engine.Config{
		Cloud: rec, Cluster: kube.New(store, kube.InMemory{Store: store}, time.Now),
		Frontends: frontends, Options: controller.PlanOptions(d.cfg, vpc),
		Fence: func() error { return errReadOnly },
	})
	ids := stacksOf(store, frontends)
	for _, id := range ids {
		draft, err := eng.Draft(ctx, id)
		if err != nil {
			return err
		}
		if err := show(eng, draft); err != nil {
			return err
		}
	}
	return d.save(vpc, ids, rec.answers)
}

var errReadOnly = errors.New("this command changes nothing")

// connect returns AWS, live or recorded, and the VPC that it is about.
func (d *drafting) connect(ctx context.Context) (engine.Cloud, string, error) {
	if d.observed != "" {
		return d.load()
	}
	cc, err := cloudConfig(d.cfg, d.env)
	if err != nil {
		return nil, "", err
	}
	cc.Fence = func() error { return errReadOnly }
	aws, err := cloud.New(ctx, cc)
	if err != nil {
		return nil, "", err
	}
	return aws, aws.VPC(), nil
}

func (d *drafting) load() (engine.Cloud, string, error) {
	data, err := os.ReadFile(d.observed)
	if err != nil {
		return nil, "", err
	}
	var rec recording
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, "", fmt.Errorf("%s: %w", d.observed, err)
	}
	r := replay{map[model.StackID]observed.Stack{}}
	for _, a := range rec.Stacks {
		if r.answers[a.Stack], err = a.Have.observed(); err != nil {
			return nil, "", fmt.Errorf("%s: %w", d.observed, err)
		}
	}
	return r, rec.VPC, nil
}

func (d *drafting) save(vpc string, ids []model.StackID, answers map[model.StackID]observed.Stack) error {
	if d.record == "" {
		return nil
	}
	rec := recording{VPC: vpc}
	for _, id := range ids {
		have, err := record(answers[id])
		if err != nil {
			return err
		}
		rec.Stacks = append(rec.Stacks, recordedAnswer{id, have})
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.record, append(data, '\n'), 0o600)
}

// stacksOf lists the stacks that any object belongs to.
func stacksOf(store *cluster.Memory, frontends map[model.Kind]engine.Frontend) []model.StackID {
	var out []model.StackID
	for _, typ := range cluster.Types() {
		for _, obj := range store.All(typ.Kind) {
			for _, f := range frontends {
				out = append(out, f.Stacks(cluster.NewView(store), obj)...)
			}
		}
	}
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}
