// Package migrate implements the command "fulcrum migrate", which translates Ingresses to objects of the Gateway API, and
// compares the answers of both to requests.
package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// New returns the command migrate.
func New(env output.Environment) *cobra.Command {
	m := &migrateCommand{Source: input.Source{Env: env}}
	cmd := &cobra.Command{
		Use: "migrate [ingress/NAME ...]", Short: "Translate Ingresses to the Gateway API, and check that requests get the same answers",
		Long: `migrate writes a Gateway, routes and configurations for each Ingress and IngressGroup: those in files (-f), or those of a
cluster (--from-cluster): all, or those that flags and arguments select by namespace, IngressGroup (--group) or name. It changes
nothing in the cluster and does not call AWS.

It translates the desired state that the controller has for the Ingresses, with its flags: with --from-cluster those of the controller
that runs. It then compares the result with the Ingresses: the rules of both are evaluated over all requests that their hosts,
paths, methods, headers, parameters and client addresses distinguish, and so are listeners, certificates, client
ranges, target groups and attributes. The report says what each annotation became, what differs and what is lost, and
what to do about it.

The Gateways have the annotation gateway.k8s.aws/dry-run, so that the controller only plans them; to omit it, use
--dry-run=false.

--in-place gives them the annotation fulcrum.dev/adopt too: each Gateway takes over the load balancer of the Ingresses,
with its addresses and its DNS name, as soon as gateway.k8s.aws/dry-run is removed. "migrate status" shows the
obstacles, and what to do next.

Exit codes: 0 nothing is lost and nothing differs, 3 an Ingress is not translated, a setting is lost, a setting or an answer differs, or not all
requests were compared (2 instead of 3 with --check); 1 there is no Ingress, or the command failed.`,
		Example: `  fulcrum migrate -f shop/ --output-dir gateway/
  fulcrum migrate --from-cluster --namespaces shop,blog
  fulcrum migrate --from-cluster --group edge --check
  fulcrum migrate --from-cluster --group edge --in-place
  fulcrum migrate -f web.yaml --output-dir - --dry-run=false | kubectl apply -f -`,
		ValidArgsFunction: m.CompleteObjects,
	}
	m.Bind(cmd)
	m.form.Bind(cmd, env, "markdown")
	fs := cmd.Flags()
	fs.StringSliceVar(&m.files, "file", nil, "the same as --filename")
	fs.StringVar(&m.inputDir, "input-dir", "", "directory of manifests, the same as --filename DIRECTORY")
	fs.BoolVar(&m.fromCluster, "from-cluster", false, "read the Ingresses of the cluster that the kubeconfig names")
	fs.StringSliceVar(&m.namespaces, "namespaces", nil, "namespaces whose Ingresses are translated, with --from-cluster; all if empty")
	fs.StringVar(&m.ingressName, "ingress-name", "", "the one Ingress that is translated, of the one namespace of --namespaces")
	fs.StringVar(&m.group, "group", "", "the IngressGroup that is translated")
	fs.StringVar(&m.outputDir, "output-dir", "./gateway-output", "directory for the manifests, - for the standard output")
	fs.StringVar(&m.outputFormat, "output-format", "yaml", "yaml, with comments that name the origin of each part, or json")
	fs.StringVar(&m.split, "split", "", "namespace writes one directory for each namespace")
	fs.BoolVar(&m.dryRun, "dry-run", true, "give the Gateways the annotation gateway.k8s.aws/dry-run")
	fs.BoolVar(&m.inPlace, "in-place", false, "give the Gateways the annotation fulcrum.dev/adopt, by which they take over the load balancers of the Ingresses")
	fs.BoolVar(&m.check, "check", false, "compare only, and write no manifests")
	output.Must(fs.MarkHidden("file"))
	output.Must(fs.MarkHidden("input-dir"))
	for _, name := range []string{"observed", "record", "files-only"} {
		output.Must(fs.MarkHidden(name))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return m.run(cmd, args) }
	cmd.AddCommand(newStatusCommand(env))
	return cmd
}

// migrateCommand has the flags of the command migrate.
type migrateCommand struct {
	input.Source
	form                           output.Format
	inputDir, ingressName, group   string
	namespaces, files              []string
	fromCluster, dryRun, check     bool
	commands                       commandLines
	inPlace                        bool
	outputDir, outputFormat, split string
}

// checkFlags checks the flags in the same order as the command lbc-migrate of aws-load-balancer-controller. It also adds
// values of flags that have two names to m.Files and m.namespaces.
func (m *migrateCommand) checkFlags(cmd *cobra.Command) error {
	isSet := func(name string) bool { return cmd.Flags().Changed(name) }
	if m.inputDir != "" {
		m.Files = append([]string{m.inputDir}, m.Files...)
	}
	m.Files = append(m.Files, m.files...)
	if m.Namespace != "" {
		m.namespaces = append(m.namespaces, m.Namespace)
	}
	switch {
	case len(m.Files) == 0 && !m.fromCluster:
		return errors.New("give manifests with --filename, or --from-cluster")
	case len(m.Files) > 0 && m.fromCluster:
		return errors.New("--from-cluster reads no files; leave out --filename, or --from-cluster")
	}
	if !m.fromCluster {
		for _, name := range []string{"namespaces", "namespace", "all-namespaces", "ingress-name", "kubeconfig"} {
			if isSet(name) {
				return fmt.Errorf("--%[1]s is valid only with --from-cluster; add --from-cluster, or remove --%[1]s", name)
			}
		}
	}
	switch {
	case len(m.namespaces) > 0 && m.AllNamespaces:
		return errors.New("--namespaces and --all-namespaces exclude each other")
	case strings.Contains(m.ingressName, ","):
		return errors.New("--ingress-name takes one name; name several as arguments ingress/NAME")
	case m.ingressName != "" && m.AllNamespaces:
		return errors.New("--ingress-name and --all-namespaces exclude each other")
	case m.ingressName != "" && len(m.namespaces) != 1:
		return errors.New("--ingress-name needs the one namespace of the Ingress in --namespaces")
	case m.outputFormat != "yaml" && m.outputFormat != "json":
		return fmt.Errorf("--output-format %q is neither yaml nor json", m.outputFormat)
	case m.split != "" && m.split != "namespace":
		return fmt.Errorf("--split %q is not supported; use --split=namespace", m.split)
	case m.outputDir == "-" && m.form.Name != "text" && !m.check:
		return fmt.Errorf("--output %s and the manifests of --output-dir - would be one stream; write one of them elsewhere", m.form.Name)
	case m.outputDir == "-" && m.split != "":
		return errors.New("--split needs a directory in --output-dir")
	}
	return nil
}

func (m *migrateCommand) run(cmd *cobra.Command, args []string) error {
	m.commands = newCommandLines(cmd)
	if err := m.form.Check(); err != nil {
		return err
	}
	if err := m.checkFlags(cmd); err != nil {
		return output.NewUsageError(fmt.Errorf("%w; %s", err, output.HelpHint(cmd)))
	}
	if err := m.Parse(args, cmp.Or(append(slices.Clone(m.namespaces), m.NamespaceOfObjects())...)); err != nil {
		return err
	}
	m.FilesOnly = !m.fromCluster
	notes := m.form.NotesWriter()
	if m.outputDir == "-" && !m.check {
		notes = output.PrintableWriter(cmd.ErrOrStderr())
	}
	read, err := m.Objects(cmd.Context(), cmd.InOrStdin(), notes)
	if err != nil {
		return err
	}
	if m.Config.ClusterName == "" {
		m.Config.ClusterName = "unnamed" // only the names of AWS resources depend on it
	}
	store, err := copyTranslatedKinds(read)
	if err != nil {
		return err
	}
	doc, result, err := m.translate(store)
	if err != nil {
		return err
	}
	doc.addConfiguredServices(read, result)
	if unavailable := input.UnavailableKinds(&m.Source, translatedKinds...); len(unavailable) > 0 {
		doc.addUnavailableKinds(unavailable)
	}
	if len(doc.IngressGroups)+len(doc.NotOurs)+len(doc.Deleted) == 0 {
		return errors.New("there is no Ingress to translate")
	}
	report := m.form.Out()
	if m.outputDir == "-" && !m.check {
		report = notes
	}
	if !m.check {
		if doc.Files, err = m.writeManifests(cmd.OutOrStdout(), result); err != nil {
			return err
		}
	}
	if err := m.showReport(report, doc); err != nil {
		return err
	}
	switch {
	case m.inPlace && !slices.ContainsFunc(doc.IngressGroups, func(g IngressGroup) bool { return g.Gateway != "" }):
		return errors.New("--in-place: no Ingress is translated, so there is no Gateway that could take over a load balancer; correct the problems in the notes")
	case !doc.hasLossesOrDifferences():
		return nil
	case m.check:
		return output.ErrChanges
	}
	return output.ErrObjectErrors
}

// showReport writes the report in the format of --output.
func (m *migrateCommand) showReport(w io.Writer, doc Document) error {
	switch m.form.Name {
	case "text":
		showText(w, doc)
		if len(doc.Files) > 0 {
			fmt.Fprintln(w, m.commands.nextStepAfterWrite(m.outputDir, m.inPlace))
		}
	case "markdown":
		showMarkdown(w, doc)
	default:
		return m.form.PrintDocument(doc)
	}
	return nil
}

// translatedKinds are the kinds that a translation reads.
var translatedKinds = []cluster.Kind{cluster.KindIngress, cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindService, cluster.KindNamespace}

// copyTranslatedKinds returns a store with the objects of translatedKinds in from. Other objects of the cluster, such as
// Gateways, must not affect the translation.
func copyTranslatedKinds(from *cluster.Memory) (*cluster.Memory, error) {
	store, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		return nil, err
	}
	for _, kind := range translatedKinds {
		if err := store.Put(from.All(kind)...); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// translate translates the selected Ingresses. It returns the report and the translation.
func (m *migrateCommand) translate(store *cluster.Memory) (Document, migrate.Result, error) {
	frontends := controller.Frontends(m.Config)
	opt := migrate.Options{
		Ingress: frontends[model.Ingress], ALBGateway: frontends[model.ALBGateway], NLBGateway: frontends[model.NLBGateway], DefaultTags: m.Config.Defaults.Tags,
		DefaultSSLPolicy: m.Config.Defaults.SSLPolicy, WithoutDryRun: !m.dryRun, InPlace: m.inPlace, FromManifests: !m.fromCluster,
	}
	if opt.ALBGateway == nil {
		return Document{}, migrate.Result{}, errors.New("feature gate ALBGatewayAPI is off, so the controller would not serve the translated Gateways; set --feature-gates=ALBGatewayAPI=true")
	}
	if key, value, ok := m.Config.SecretsLabel(); ok {
		opt.SecretLabels = map[string]string{key: value}
	}
	if err := addPlaceholderSecrets(store, opt.SecretLabels, m.Env.Time()); err != nil {
		return Document{}, migrate.Result{}, err
	}
	opt.ImportSecrets, opt.ImportForGateways = m.Config.ImportsSecretsOf(config.IngressSecrets), m.Config.ImportsSecretsOf(config.GatewaySecrets)
	opt.IsSelected = m.selects
	result, err := migrate.Translate(store, opt)
	if err != nil {
		return Document{}, result, err
	}
	doc, err := documentOf(store, result, opt)
	return doc, result, err
}

// selects reports whether arguments and flags select the load balancer of a stack. The text is the reason why a selected
// load balancer cannot be translated, or "" if it can.
func (m *migrateCommand) selects(id model.StackID, members []finding.Ref) (bool, string) {
	if m.group != "" && (id.Namespace != "" || id.Name != m.group) {
		return false, ""
	}
	inNamespaces := func(ref finding.Ref) bool {
		return len(m.namespaces) == 0 || slices.Contains(m.namespaces, ref.Namespace)
	}
	isNamed := func(ref finding.Ref) bool {
		if m.ingressName == "" && len(m.Named) == 0 {
			return true
		}
		return ref.Name == m.ingressName || slices.ContainsFunc(m.Named, func(n cluster.Ref) bool {
			return n.Kind == cluster.KindIngress && n.Namespace == ref.Namespace && n.Name == ref.Name
		})
	}
	var chosen, others []string
	for _, ref := range members {
		if inNamespaces(ref) && isNamed(ref) {
			chosen = append(chosen, ref.Namespace+"/"+ref.Name)
		} else {
			others = append(others, ref.Namespace+"/"+ref.Name)
		}
	}
	switch {
	case len(chosen) == 0:
		return false, ""
	case id.Namespace == "" && len(input.NamespaceOnlyKinds(&m.Source, cluster.KindIngress)) > 0:
		return true, fmt.Sprintf("you may list Ingresses only in namespace %q, and the IngressGroup may have members in other namespaces; a Gateway for some of the members would receive the requests of all; let a user translate it who may list Ingresses in all namespaces, or bind the rules of config/rbac with the verbs get and list", m.SingleNamespace())
	case len(others) > 0:
		return true, fmt.Sprintf("the load balancer also serves Ingresses that are not selected: %s; a Gateway for some of the members would receive the requests of all; select them too", output.JoinFirst(others))
	}
	return true, ""
}
