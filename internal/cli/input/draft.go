// Package input is what commands read: objects of files and of a cluster, the flags of the controller, and AWS, which is
// live, recorded or assumed.
package input

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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Source is what the commands have in common that make plans without carrying them out.
type Source struct {
	scope
	Env    output.Environment
	Config config.Config
	// flags are the flags of the command, flagsFrom names the controller whose flags are taken over where they are not
	// given, and taken: that was tried.
	flags     *pflag.FlagSet
	flagsFrom string
	taken     bool
	Files     []string
	// FilesOnly leaves the cluster out.
	FilesOnly bool
	// Observed and record name files with recorded answers of AWS, to read and to write.
	Observed, record string
	// Offline does without AWS and without a cluster, and Assumed is what takes the place of AWS then.
	Offline bool
	Assumed *assumed
	// aws remembers what was asked.
	aws *recorder
	// Connected is AWS, live or recorded, and VPC the one that it is about.
	Connected engine.Cloud
	VPC       string
	// secrets reads Secrets from the cluster; nil without one.
	secrets client.Reader
	// Live: the objects of a cluster were read.
	Live bool
	// unreadable are kinds that may not be read, and unserved those that the cluster does not have.
	unreadable, unserved []cluster.Kind
	// narrowed are kinds that were read in the namespace of the command alone.
	narrowed []cluster.Kind
	// chosen is what the command is about.
	chosen Selection
	// draft makes the plan of a stack.
	draft func(context.Context, model.StackID) (engine.Draft, error)
	// Younger is how old what AWS has shown may be, of a command that looks more than once; 0: it looks once.
	Younger time.Duration
	// YoungerOf is how old what AWS has shown of a stack may be, where that differs; nil: it does not. What there is in AWS
	// is listed again after Younger all the same.
	YoungerOf func(model.StackID) time.Duration
}

// Bind registers the controller's flags, since they decide what it would do, and where objects are
// read from.
func (d *Source) Bind(cmd *cobra.Command) {
	d.Config = config.Default()
	d.Config.Bind(cmd.Flags())
	d.flags = cmd.Flags()
	if d.Env.Getenv != nil && d.Env.Getenv(clusterNameVariable) != "" {
		output.Must(d.flags.Set("cluster-name", d.Env.Getenv(clusterNameVariable)))
	}
	hideControllerFlags(cmd.Flags())
	d.scope.bind(cmd)
	d.complete(cmd)
	cmd.Flags().StringArrayVarP(&d.Files, "filename", "f", nil, "file or directory with Kubernetes objects, - for standard input; may be repeated. They take the place of the cluster's objects of the same name")
	cmd.Flags().BoolVar(&d.FilesOnly, "files-only", false, "plan for the objects of -f alone, also where --kubeconfig or KUBECONFIG names a cluster")
	cmd.Flags().StringVar(&d.flagsFrom, "flags-from", "", "[NAMESPACE/]deployment/NAME of the controller whose flags count where they are not given here; if empty, the controller that holds the Lease; none for no controller")
	cmd.Flags().StringVar(&d.Observed, "observed", "", "file with recorded answers of AWS, to be used instead of AWS")
	cmd.Flags().StringVar(&d.record, "record", "", "file to record the answers of AWS in")
	cmd.MarkFlagsMutuallyExclusive("observed", "record")
}

// BindOffline registers the flag of the commands that can do without AWS and without a cluster.
func (d *Source) BindOffline(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.Offline, "offline", false, "take the objects of -f alone, and assume what AWS and the cluster would say; what is assumed is shown")
	cmd.MarkFlagsMutuallyExclusive("offline", "observed")
	cmd.MarkFlagsMutuallyExclusive("offline", "record")
}

// clusterNameVariable names the cluster for the commands where --cluster-name is not given. The controller does not read
// it.
const clusterNameVariable = "FULCRUM_CLUSTER_NAME"

// shownControllerFlags are the flags of the controller that help lists for every command; the others are the same, and
// are listed for the controller.
var shownControllerFlags = []string{"cluster-name", "aws-region", "aws-vpc-id", "kubeconfig"}

func hideControllerFlags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownControllerFlags, f.Name) })
	// Where commands look, the controller does not.
	fs.Lookup("kubeconfig").Usage = "path of a kubeconfig; if empty, the environment variable KUBECONFIG, then the pod's own cluster, then ~/.kube/config"
	fs.Lookup("cluster-name").Usage = "name of the cluster; if empty, the environment variable " + clusterNameVariable + ", then the flag of the controller that runs"
}

// open checks the flags, connects to AWS, and prepares the plans of single stacks. It returns what AWS is asked by.
func open(ctx context.Context, d *Source, store *cluster.Memory) (*recorder, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	frontends := controller.Frontends(d.Config)
	d.chosen = d.selection(store, frontends)
	if d.Connected == nil {
		aws, vpc, err := d.Connect(ctx)
		if err != nil {
			return nil, err
		}
		d.Connected, d.VPC = aws, vpc
	}
	rec := &recorder{Cloud: d.Connected, answers: map[model.StackID]observed.Stack{}, asked: map[model.StackID][]model.Question{}}
	if d.Younger > 0 {
		// One time for the whole look, so that nothing is read twice in it.
		rec.start, rec.younger, rec.youngerOf = d.Env.Time(), d.Younger, d.YoungerOf
	}
	d.aws = rec
	secrets := &namedSecrets{Memory: store, ctx: ctx, cluster: d.secrets}
	eng := engine.New(engine.Config{
		Cloud: rec, Cluster: kube.New(secrets, kube.InMemory{Store: store}, clock.RealClock{}),
		Frontends: frontends, Options: controller.PlanOptions(d.Config, d.VPC),
		Fence: readOnly,
	})
	d.draft = func(ctx context.Context, id model.StackID) (engine.Draft, error) {
		draft, err := eng.Draft(ctx, id)
		if err != nil {
			return engine.Draft{}, sdk.Explain(err)
		}
		draft.Findings = append(secrets.correct(draft.Findings), d.unattached(store, id)...)
		return draft, nil
	}
	return rec, nil
}

// Each makes the plan of every stack that the command is about, in order, and passes it on.
func (d *Source) Each(ctx context.Context, store *cluster.Memory, show func(engine.Draft) error) error {
	rec, err := open(ctx, d, store)
	if err != nil {
		return err
	}
	unknown := ""
	defer func() {
		if unknown != "" {
			fmt.Fprintf(output.Printable(d.Env.Stderr), "# %s; %s\n", unknown, NameCluster)
		}
		d.Assumed.show(output.Printable(d.Env.Stderr))
	}()
	for _, id := range d.chosen.stacks {
		draft, err := d.draft(ctx, id)
		if err != nil {
			return err
		}
		unknown = cmp.Or(unknown, UnknownCluster(d.Config.ClusterName, draft.Have.Facts.Subnets))
		if err := show(draft); err != nil {
			return err
		}
	}
	return d.save(d.VPC, d.chosen.stacks, rec.answers)
}

// Validate checks the flags, and says where a command finds the name of the cluster.
func (d *Source) Validate() error {
	err := d.Config.Validate()
	if err != nil && d.Config.ClusterName == "" {
		return fmt.Errorf("%w; use the name that the controller has in its flags, or set %s", err, clusterNameVariable)
	}
	return err
}

// AskMore observes a stack once more, with more questions than its plan has.
func (d *Source) AskMore(ctx context.Context, id model.StackID, more []model.Question) (observed.Stack, error) {
	have, err := d.aws.Observe(ctx, id, append(slices.Clone(d.aws.asked[id]), more...))
	if err != nil {
		return have, sdk.Explain(err)
	}
	return have, nil
}

var errReadOnly = errors.New("this command changes nothing")

// readOnly is the fence of commands.
var readOnly = engine.ReadOnly{Err: errReadOnly}

// Connect returns AWS, live or recorded, and the VPC that it is about.
func (d *Source) Connect(ctx context.Context) (engine.Cloud, string, error) {
	if d.Observed != "" {
		return d.load()
	}
	cc, err := d.CloudConfig()
	if err != nil {
		return nil, "", err
	}
	aws, err := cloud.New(ctx, cc)
	if err != nil {
		return nil, "", sdk.Explain(err)
	}
	return aws, aws.VPC(), nil
}

// CloudConfig returns the controller's, for a user who waits: it changes nothing, and AWS has
// seconds to answer. Retries that the user asks for are made.
func (d *Source) CloudConfig() (cloud.Config, error) {
	cc, err := CloudConfig(d.Config, d.Env)
	cc.Fence = readOnly
	within := cmp.Or(d.Env.AnswerWithin, durations.Answer)
	cc.AttemptTimeout, cc.CallTimeout = within, 2*within
	cc.MaxWait, cc.Clock = durations.Often, d.Env.Clock
	if d.Env.Called != nil {
		cc.Calls = countedCalls{d.Env}
	}
	if d.Config.AWS.MaxRetries == config.Default().AWS.MaxRetries {
		cc.MaxAttempts = 3
	}
	return cc, err
}

// countedCalls counts requests to AWS in the environment of a command.
type countedCalls struct{ env output.Environment }

// RecordCall implements sdk.CallRecorder.
func (countedCalls) RecordCall(cloud.Call) {}

// RecordAttempt implements sdk.CallRecorder.
func (c countedCalls) RecordAttempt(cloud.Call) { c.env.Called() }

func (d *Source) load() (engine.Cloud, string, error) {
	data, err := os.ReadFile(d.Observed)
	if err != nil {
		return nil, "", err
	}
	var rec recording
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, "", fmt.Errorf("%s: %w", d.Observed, err)
	}
	r := replay{map[model.StackID]observed.Stack{}}
	for _, a := range rec.Stacks {
		if r.answers[a.Stack], err = a.Have.observed(); err != nil {
			return nil, "", fmt.Errorf("%s: %w", d.Observed, err)
		}
	}
	return r, rec.VPC, nil
}

func (d *Source) save(vpc string, ids []model.StackID, answers map[model.StackID]observed.Stack) error {
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
func stacksOf(store *cluster.Memory, frontends engine.Frontends) []model.StackID {
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
