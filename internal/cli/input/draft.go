// Package input reads the input of commands: objects from files and from a cluster, the flags of the controller, and the
// state of AWS, which can be read from AWS, recorded in a file or assumed.
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
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Source is the input of commands that make plans without carrying them out: Kubernetes objects, flags and AWS.
type Source struct {
	scope
	Env    output.Environment
	Config config.Config
	// flags are the flags of the command.
	flags *pflag.FlagSet
	// flagsFrom is the value of --flags-from. It names the controller that sets the flags that the command line does not
	// set.
	flagsFrom string
	// controllerFlagsSet reports whether SetControllerFlags was called. controllerFlags are the flags that it found last.
	controllerFlagsSet bool
	controllerFlags    controllerFlags
	// Files are the values of --filename.
	Files []string
	// FilesOnly reports whether no cluster is read.
	FilesOnly bool
	// ObservedFile is the value of --observed: a file with recorded answers of AWS, which replaces AWS. recordFile is the
	// value of --record: the file to which the answers of AWS are written. Either is "" if its flag is not set.
	ObservedFile, recordFile string
	// Offline reports whether the command reads neither AWS nor a cluster. In that case OfflineAWS replaces AWS.
	Offline    bool
	OfflineAWS *offlineAWS
	// recorder stores the last questions and answers of each stack.
	recorder *recorder
	// Cloud observes AWS, a recording or the assumed account. VPC is the ID of the VPC of the cluster.
	Cloud engine.Cloud
	VPC   string
	// secrets reads Secrets from the cluster. It is nil if no cluster was read.
	secrets client.Reader
	// ClusterRead reports whether the objects of a cluster were read.
	ClusterRead bool
	// unreadableKinds are kinds that the user may not list.
	unreadableKinds []cluster.Kind
	// notInstalledKinds are kinds that the API server does not serve.
	notInstalledKinds []cluster.Kind
	// namespaceOnlyKinds are kinds that were read only in the namespace of the command, because the user may not list other
	// namespaces.
	namespaceOnlyKinds []cluster.Kind
	// selected are the stacks and bindings that the command is about.
	selected selection
	// draft makes the plan of a stack. It is nil before Open.
	draft func(context.Context, model.StackID) (engine.Draft, error)
	// MaxAge is the maximum age of cached facts about AWS, for a command that reads AWS more than once. 0 means any age.
	MaxAge time.Duration
	// MaxAgeOf returns the maximum age of cached facts about one stack. If it is nil, MaxAge applies to all stacks. Lists
	// that find new resources are never older than MaxAge.
	MaxAgeOf func(model.StackID) time.Duration
}

// Bind registers the flags of the controller, because plans depend on them, and the flags that select objects and their
// source.
func (d *Source) Bind(cmd *cobra.Command) {
	d.Config = config.Default()
	d.Config.AddFlags(cmd.Flags())
	d.flags = cmd.Flags()
	if d.Env.Getenv != nil && d.Env.Getenv(clusterNameVariable) != "" {
		output.Must(d.flags.Set("cluster-name", d.Env.Getenv(clusterNameVariable)))
	}
	hideControllerFlags(cmd.Flags())
	d.scope.bind(cmd)
	d.registerCompletions(cmd)
	cmd.Flags().StringArrayVarP(&d.Files, "filename", "f", nil, "file or directory with Kubernetes objects, - for standard input; may be repeated. An object in a file replaces the object of the cluster with the same name")
	cmd.Flags().BoolVar(&d.FilesOnly, "files-only", false, "plan only for the objects of -f, even if --kubeconfig or KUBECONFIG names a cluster")
	cmd.Flags().StringVar(&d.flagsFrom, "flags-from", "", "controller that sets the flags that are not given here, as [NAMESPACE/]deployment/NAME; if empty, the controller that holds the Lease; \"none\" to read no flags of a controller")
	cmd.Flags().StringVar(&d.ObservedFile, "observed", "", "file with recorded answers of AWS, to be used instead of AWS")
	cmd.Flags().StringVar(&d.recordFile, "record", "", "file to record the answers of AWS in")
	cmd.MarkFlagsMutuallyExclusive("observed", "record")
}

// BindOffline registers the flag --offline, for commands that can run without AWS and without a cluster.
func (d *Source) BindOffline(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.Offline, "offline", false, "use only the objects of -f, and assume the answers of AWS and of the cluster; the assumptions are shown")
	cmd.MarkFlagsMutuallyExclusive("offline", "observed")
	cmd.MarkFlagsMutuallyExclusive("offline", "record")
}

// clusterNameVariable is the environment variable with the default of --cluster-name for commands. The controller does not
// read it.
const clusterNameVariable = "FULCRUM_CLUSTER_NAME"

// shownControllerFlags are the flags of the controller that the help of commands lists. Commands also accept the other flags
// of the controller, which only the help of the controller lists.
var shownControllerFlags = []string{"cluster-name", "aws-region", "aws-vpc-id", "kubeconfig"}

// hideControllerFlags hides the other flags of the controller from the help of a command.
func hideControllerFlags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownControllerFlags, f.Name) })
	// The defaults of these flags differ from those of the controller.
	fs.Lookup("kubeconfig").Usage = "path of a kubeconfig; if empty, the environment variable KUBECONFIG, then the pod's own cluster, then ~/.kube/config"
	fs.Lookup("cluster-name").Usage = "name of the cluster; if empty, the environment variable " + clusterNameVariable + ", then the flag of the controller that runs"
}

// Open checks the flags, selects the stacks of the command, connects to AWS and enables DraftOf. If AWS cannot be reached,
// it returns an error, but SelectedStacks returns the stacks.
func Open(ctx context.Context, d *Source, store *cluster.Memory) error {
	if err := d.Validate(); err != nil {
		return err
	}
	frontends := controller.Frontends(d.Config)
	d.selected = d.selectAffected(store, frontends)
	if d.Cloud == nil {
		aws, vpc, err := d.Connect(ctx)
		if err != nil {
			return err
		}
		d.Cloud, d.VPC = aws, vpc
	}
	rec := &recorder{Cloud: d.Cloud, answers: map[model.StackID]observed.Stack{}, questions: map[model.StackID][]model.Question{}}
	if d.MaxAge > 0 {
		// All stacks have the same start time, so that facts that they share are read only once.
		rec.start, rec.maxAge, rec.maxAgeOf = d.Env.Time(), d.MaxAge, d.MaxAgeOf
	}
	d.recorder = rec
	secrets := &objectsAndSecrets{Memory: store, ctx: ctx, cluster: d.secrets}
	eng := engine.New(engine.Config{
		Cloud: rec, Cluster: kube.New(secrets, kube.MemoryAPI{Store: store}, clock.RealClock{}),
		Frontends: frontends, Options: controller.PlanOptions(d.Config, d.VPC),
		Fence: readOnlyFence,
	})
	d.draft = func(ctx context.Context, id model.StackID) (engine.Draft, error) {
		draft, err := eng.DraftPlan(ctx, id)
		if err != nil {
			return engine.Draft{}, sdk.Explain(err)
		}
		draft.Findings = append(secrets.correctFindings(draft.Findings), d.unattachedFindings(store, id)...)
		return draft, nil
	}
	return nil
}

// EachDraft makes the plans of the stacks that the command is about, in order, and passes each to show. After that it prints
// a warning about an unknown cluster name and the assumptions of --offline, and writes the recording of --record.
func (d *Source) EachDraft(ctx context.Context, store *cluster.Memory, show func(engine.Draft) error) error {
	if err := Open(ctx, d, store); err != nil {
		return err
	}
	unknown := ""
	defer func() {
		if unknown != "" {
			fmt.Fprintf(output.PrintableWriter(d.Env.Stderr), "# %s; %s\n", unknown, ClusterNameFix)
		}
		d.OfflineAWS.showFacts(output.PrintableWriter(d.Env.Stderr))
	}()
	for _, id := range d.selected.stacks {
		draft, err := d.draft(ctx, id)
		if err != nil {
			return err
		}
		unknown = cmp.Or(unknown, UnknownClusterWarning(d.Config.ClusterName, draft.Have.Facts.Subnets))
		if err := show(draft); err != nil {
			return err
		}
	}
	return d.saveRecording()
}

// Validate checks the flags. If the name of the cluster is missing, the error explains how to set it.
func (d *Source) Validate() error {
	err := d.Config.Validate()
	if err != nil && d.Config.ClusterName == "" {
		return fmt.Errorf("%w, as in the flags of the controller, or set %s", err, clusterNameVariable)
	}
	return err
}

// ObserveWith observes a stack again, with questions in addition to those of its plan.
func (d *Source) ObserveWith(ctx context.Context, id model.StackID, more []model.Question) (observed.Stack, error) {
	have, err := d.recorder.Observe(ctx, id, append(slices.Clone(d.recorder.questions[id]), more...))
	if err != nil {
		return have, sdk.Explain(err)
	}
	return have, nil
}

// errReadOnly is the error of each attempt to change a resource in AWS.
var errReadOnly = errors.New("this command changes nothing")

// readOnlyFence is the fence of commands. It admits no change in AWS.
var readOnlyFence = engine.ReadOnlyFence{Err: errReadOnly}

// readOnlyCloud has the methods of engine.Cloud that a recorded and an assumed AWS share. Its Apply fails with errReadOnly.
type readOnlyCloud struct{}

// Apply implements engine.Cloud.
func (readOnlyCloud) Apply(context.Context, model.StackID, plan.Step, plan.KnownIDs) (plan.StepResult, error) {
	return plan.StepResult{}, errReadOnly
}

// Class implements engine.Cloud.
func (readOnlyCloud) Class(error) failure.Class { return failure.Unknown }

// Connect returns the source of the observed state, which is AWS or the recording that --observed names. It also returns the
// ID of the VPC of the cluster.
func (d *Source) Connect(ctx context.Context) (engine.Cloud, string, error) {
	if d.ObservedFile != "" {
		return d.loadRecording()
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

// CloudConfig returns the configuration of the AWS client of a command. Unlike the client of the controller, the client of a
// command admits no change in AWS. Because a user waits for the command, its timeouts are a few seconds, and it makes at
// most 3 attempts unless --aws-max-retries has a value other than the default.
func (d *Source) CloudConfig() (cloud.Config, error) {
	cc, err := CloudConfig(d.Config, d.Env)
	cc.Fence = readOnlyFence
	timeout := cmp.Or(d.Env.AttemptTimeout, durations.AnswerTimeout)
	cc.AttemptTimeout, cc.CallTimeout = timeout, 2*timeout
	cc.MaxWait, cc.Clock = durations.MinuteInterval, d.Env.Clock
	if d.Env.CountRequest != nil {
		cc.CallRecorder = requestCounter{d.Env}
	}
	if d.Config.AWS.MaxRetries == config.Default().AWS.MaxRetries {
		cc.MaxAttempts = 3
	}
	return cc, err
}

// requestCounter calls env.CountRequest for each request to AWS.
type requestCounter struct{ env output.Environment }

// RecordCall implements sdk.CallRecorder.
func (requestCounter) RecordCall(cloud.Call) {}

// RecordAttempt implements sdk.CallRecorder.
func (c requestCounter) RecordAttempt(cloud.Call) { c.env.CountRequest() }

// loadRecording reads ObservedFile. It returns a cloud that answers from the recording, and the recorded ID of the VPC.
func (d *Source) loadRecording() (engine.Cloud, string, error) {
	data, err := os.ReadFile(d.ObservedFile)
	if err != nil {
		return nil, "", err
	}
	var rec recording
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, "", fmt.Errorf("%s: %w", d.ObservedFile, err)
	}
	r := replayedCloud{answers: map[model.StackID]observed.Stack{}}
	for _, a := range rec.Stacks {
		if r.answers[a.Stack], err = a.Have.toObserved(); err != nil {
			return nil, "", fmt.Errorf("%s: %w", d.ObservedFile, err)
		}
	}
	return r, rec.VPC, nil
}

// saveRecording writes the answers of AWS for the selected stacks to recordFile. It does nothing if recordFile is "".
func (d *Source) saveRecording() error {
	if d.recordFile == "" {
		return nil
	}
	rec := recording{VPC: d.VPC}
	for _, id := range d.selected.stacks {
		have, err := recordStack(d.recorder.answers[id])
		if err != nil {
			return err
		}
		rec.Stacks = append(rec.Stacks, recordedAnswer{id, have})
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.recordFile, append(data, '\n'), 0o600)
}

// stacksOf returns the stacks of all objects in store, sorted and without duplicates.
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
