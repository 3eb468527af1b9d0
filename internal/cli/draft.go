package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// drafting is what the commands have in common that make plans without carrying them out.
type drafting struct {
	scope
	env Environment
	cfg config.Config
	// flags are those of the command, flagsFrom names the controller whose flags are taken over where they are not given,
	// and taken: that was tried.
	flags     *pflag.FlagSet
	flagsFrom string
	taken     bool
	files     []string
	// filesOnly leaves the cluster out.
	filesOnly bool
	// observed and record name files with recorded answers of AWS, to read and to write.
	observed, record string
	// offline does without AWS and without a cluster, and assumed is what takes the place of AWS then.
	offline bool
	assumed *assumed
	// aws remembers what was asked.
	aws *recorder
	// connected is AWS, live or recorded, and vpc the one that it is about.
	connected engine.Cloud
	vpc       string
	// secrets reads Secrets from the cluster; nil without one.
	secrets client.Reader
	// live: the objects of a cluster were read.
	live bool
	// partial: some kinds of objects may not be read.
	partial bool
	// chosen is what the command is about.
	chosen selection
	// younger is how old what AWS has shown may be, of a command that looks more than once; 0: it looks once.
	younger time.Duration
}

// bind registers the controller's flags, since they decide what it would do, and where objects are
// read from.
func (d *drafting) bind(cmd *cobra.Command) {
	d.cfg = config.Default()
	d.cfg.Bind(cmd.Flags())
	d.flags = cmd.Flags()
	if d.env.Getenv != nil && d.env.Getenv(clusterNameVariable) != "" {
		must(d.flags.Set("cluster-name", d.env.Getenv(clusterNameVariable)))
	}
	hideControllerFlags(cmd.Flags())
	d.scope.bind(cmd)
	d.complete(cmd)
	cmd.Flags().StringArrayVarP(&d.files, "filename", "f", nil, "file or directory with Kubernetes objects, - for standard input; may be repeated. They take the place of the cluster's objects of the same name")
	cmd.Flags().BoolVar(&d.filesOnly, "files-only", false, "plan for the objects of -f alone, also where --kubeconfig or KUBECONFIG names a cluster")
	cmd.Flags().StringVar(&d.flagsFrom, "flags-from", "", "[NAMESPACE/]deployment/NAME of the controller whose flags count where they are not given here; if empty, the controller that holds the Lease; none for no controller")
	cmd.Flags().StringVar(&d.observed, "observed", "", "file with recorded answers of AWS, to be used instead of AWS")
	cmd.Flags().StringVar(&d.record, "record", "", "file to record the answers of AWS in")
	cmd.MarkFlagsMutuallyExclusive("observed", "record")
}

// bindOffline registers the flag of the commands that can do without AWS and without a cluster.
func (d *drafting) bindOffline(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.offline, "offline", false, "take the objects of -f alone, and assume what AWS and the cluster would say; what is assumed is shown")
	cmd.MarkFlagsMutuallyExclusive("offline", "observed")
	cmd.MarkFlagsMutuallyExclusive("offline", "record")
}

// clusterNameVariable names the cluster for the commands where --cluster-name is not given. The controller does not read
// it.
const clusterNameVariable = "FULCRUM_CLUSTER_NAME"

// shownControllerFlags are those that help lists for every command; the others are the same, and are listed for the
// controller.
var shownControllerFlags = []string{"cluster-name", "aws-region", "aws-vpc-id", "kubeconfig"}

func hideControllerFlags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownControllerFlags, f.Name) })
	// Where commands look, the controller does not.
	fs.Lookup("kubeconfig").Usage = "path of a kubeconfig; if empty, the environment variable KUBECONFIG, then the pod's own cluster, then ~/.kube/config"
	fs.Lookup("cluster-name").Usage = "name of the cluster; if empty, the environment variable " + clusterNameVariable + ", then the flag of the controller that runs"
}

// each makes the plan of every stack that the command is about, in order, and passes it on.
func (d *drafting) each(ctx context.Context, store *cluster.Memory, show func(engine.Draft) error) error {
	if err := d.validate(); err != nil {
		return err
	}
	if d.connected == nil {
		aws, vpc, err := d.connect(ctx)
		if err != nil {
			return err
		}
		d.connected, d.vpc = aws, vpc
	}
	rec := &recorder{Cloud: d.connected, younger: d.younger, now: d.env.now, answers: map[model.StackID]observed.Stack{}, asked: map[model.StackID][]model.Question{}}
	d.aws = rec
	frontends := controller.Frontends(d.cfg)
	secrets := &namedSecrets{Memory: store, ctx: ctx, cluster: d.secrets}
	eng := engine.New(engine.Config{
		Cloud: rec, Cluster: kube.New(secrets, kube.InMemory{Store: store}, time.Now),
		Frontends: frontends, Options: controller.PlanOptions(d.cfg, d.vpc),
		Fence: func() error { return errReadOnly },
	})
	d.chosen = d.of(store, frontends)
	unknown := ""
	defer func() {
		if unknown != "" {
			fmt.Fprintf(printable{d.env.Stderr}, "# %s; %s\n", unknown, nameCluster)
		}
		d.assumed.show(printable{d.env.Stderr})
	}()
	for _, id := range d.chosen.stacks {
		draft, err := eng.Draft(ctx, id)
		if err != nil {
			return sdk.Explain(err)
		}
		draft.Findings = secrets.correct(draft.Findings)
		unknown = cmp.Or(unknown, unknownCluster(d.cfg.ClusterName, draft.Have.Facts.Subnets))
		if err := show(draft); err != nil {
			return err
		}
	}
	return d.save(d.vpc, d.chosen.stacks, rec.answers)
}

// validate checks the flags, and says where a command finds the name of the cluster.
func (d *drafting) validate() error {
	err := d.cfg.Validate()
	if err != nil && d.cfg.ClusterName == "" {
		return fmt.Errorf("%w; use the name that the controller has in its flags, or set %s", err, clusterNameVariable)
	}
	return err
}

// askMore observes a stack once more, with more questions than its plan has.
func (d *drafting) askMore(ctx context.Context, id model.StackID, more []model.Question) (observed.Stack, error) {
	have, err := d.aws.Observe(ctx, id, append(slices.Clone(d.aws.asked[id]), more...))
	if err != nil {
		return have, sdk.Explain(err)
	}
	return have, nil
}

var errReadOnly = errors.New("this command changes nothing")

// connect returns AWS, live or recorded, and the VPC that it is about.
func (d *drafting) connect(ctx context.Context) (engine.Cloud, string, error) {
	if d.observed != "" {
		return d.load()
	}
	cc, err := d.cloudConfig()
	if err != nil {
		return nil, "", err
	}
	aws, err := cloud.New(ctx, cc)
	if err != nil {
		return nil, "", sdk.Explain(err)
	}
	return aws, aws.VPC(), nil
}

// cloudConfig is the controller's, for a user who waits: it changes nothing, and AWS has
// seconds to answer. Retries that the user asks for are made.
func (d *drafting) cloudConfig() (cloud.Config, error) {
	cc, err := cloudConfig(d.cfg, d.env)
	cc.Fence = func() error { return errReadOnly }
	within := cmp.Or(d.env.AnswerWithin, answerWithin)
	cc.AttemptTimeout, cc.CallTimeout = within, 2*within
	cc.MaxWait, cc.Now = longestTurn, d.env.now
	if d.cfg.AWS.MaxRetries == config.Default().AWS.MaxRetries {
		cc.MaxAttempts = 3
	}
	return cc, err
}

// longestTurn is how long a call may wait for its turn by the limits that the controller keeps too.
const longestTurn = time.Minute

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
