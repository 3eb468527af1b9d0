package migrate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Document is the output of "fulcrum migrate" as JSON or YAML.
type Document struct {
	// IngressGroups are the reports about the load balancers of the Ingresses.
	IngressGroups []IngressGroup `json:"groups"`
	// NotOurs are Ingresses that another controller serves; they are not translated.
	NotOurs []string `json:"notOurs"`
	// Deleted are Ingresses that are being deleted; they are not translated.
	Deleted []string `json:"deleted"`
	// Files are the files that were written.
	Files []File `json:"files,omitempty"`
}

// IngressGroup reports the translation of the load balancer of an IngressGroup, or of a single Ingress.
type IngressGroup struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
	// Gateway is NAMESPACE/NAME of the Gateway that replaces the Ingresses; empty if there is none.
	Gateway string `json:"gateway,omitempty"`
	// FrontendGateway is NAMESPACE/NAME of the Gateway that replaces the frontend NLB; empty if there is none.
	FrontendGateway string `json:"frontendGateway,omitempty"`
	// Annotations are the annotations of the Ingresses, and of the Services behind them.
	Annotations []Annotation `json:"annotations"`
	// Notes are remarks about settings that are lost or have another form, and about decisions for users.
	Notes []Note `json:"notes"`
	// Differences are answers to requests, and settings, that differ between Ingresses and Gateway.
	Differences []check.Difference `json:"differences"`
	// Requests is the number of compared requests.
	Requests int `json:"requests"`
	// Partial are the ports for which not all requests were compared, because there are too many.
	Partial []int32 `json:"partial,omitempty"`
	// Manifests are the objects as YAML, with comments that name the origin of each part.
	Manifests string `json:"manifests,omitempty"`
}

// Annotation is an annotation with its translation.
type Annotation struct {
	Object string `json:"object"`
	Key    string `json:"key"`
	// To is the kind and field to which the annotation is translated; empty if there is none.
	To string `json:"to,omitempty"`
}

// Note is a remark about the translation of an object.
type Note struct {
	// Severity is lost, differs or info.
	Severity string `json:"severity"`
	Object   string `json:"object,omitempty"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
	// Fix is what to do about the note.
	Fix string `json:"fix,omitempty"`
}

// documentOf returns the report of a translation. It compares the desired states of the Gateways with those of the
// Ingresses.
func documentOf(store *cluster.Memory, r migrate.Result, opt migrate.Options) (Document, error) {
	doc := Document{IngressGroups: []IngressGroup{}, NotOurs: []string{}, Deleted: []string{}}
	stacks, found, err := migrate.Compile(store, r, opt)
	if err != nil {
		return doc, err
	}
	for _, ref := range r.ServedByOthers {
		doc.NotOurs = append(doc.NotOurs, ref.Namespace+"/"+ref.Name)
	}
	for _, ref := range r.Deleting {
		doc.Deleted = append(doc.Deleted, ref.Namespace+"/"+ref.Name)
	}
	port := migrate.PortOf(store)
	for _, g := range r.IngressGroups {
		out := IngressGroup{ID: g.ID.String(), Members: []string{}, Annotations: []Annotation{}, Notes: []Note{}, Differences: []check.Difference{}}
		for _, m := range g.Members {
			out.Members = append(out.Members, m.Namespace+"/"+m.Name)
		}
		for _, a := range g.Annotations {
			out.Annotations = append(out.Annotations, Annotation{a.Object.String(), a.Key, a.To})
		}
		for _, n := range g.Notes {
			object := ""
			if !n.Object.IsZero() {
				object = n.Object.String()
			}
			out.Notes = append(out.Notes, Note{n.Severity.String(), object, n.Field, n.Message, n.Fix})
		}
		if !g.Gateway.IsZero() {
			out.Gateway = g.Gateway.Namespace + "/" + g.Gateway.Name
			if !g.FrontendGateway.IsZero() {
				out.FrontendGateway = g.FrontendGateway.Namespace + "/" + g.FrontendGateway.Name
			}
			for _, f := range slices.Concat(found[g.Gateway], found[g.FrontendGateway]) {
				if f.Severity == finding.Error {
					out.Notes = append(out.Notes, Note{migrate.Lost.String(), f.Object.String(), f.Field, f.Message, f.Fix})
				}
			}
			result := g.Compare(stacks, port)
			out.Differences, out.Requests, out.Partial = append(out.Differences, result.Differences...), result.Requests, result.Partial
		}
		if opt.InPlace {
			out.addTakeOverObstacles(g, stacks[g.Gateway], port)
		}
		var text strings.Builder
		if err := migrate.WriteYAML(&text, r.ObjectsOf(g)); err != nil {
			return doc, err
		}
		out.Manifests = text.String()
		doc.IngressGroups = append(doc.IngressGroups, out)
	}
	return doc, nil
}

// addConfiguredServices adds a note if a Service already has a TargetGroupConfiguration. Of two TargetGroupConfigurations
// for a Service, only the older one has effect. The note is added to all load balancers that use the Service.
func (d *Document) addConfiguredServices(store *cluster.Memory, r migrate.Result) {
	for _, o := range r.TargetConfigurations {
		translated := o.Object.(*gwconfig.TargetGroupConfiguration)
		for _, obj := range store.All(cluster.KindTargetGroupConfiguration) {
			existing := obj.(*gwconfig.TargetGroupConfiguration)
			if existing.Namespace != translated.Namespace || existing.Name == translated.Name || existing.Spec.TargetReference == nil || existing.Spec.TargetReference.Name != translated.Spec.TargetReference.Name {
				continue
			}
			note := Note{migrate.Lost.String(), fmt.Sprintf("Service %s/%s", translated.Namespace, translated.Spec.TargetReference.Name), "",
				fmt.Sprintf("TargetGroupConfiguration %q already targets the Service; only the older of two TargetGroupConfigurations has effect", existing.Name), "add the settings of " + translated.Name + " to it"}
			for i := range d.IngressGroups {
				if slices.ContainsFunc(o.SharedBy, func(id model.StackID) bool { return id.String() == d.IngressGroups[i].ID }) {
					d.IngressGroups[i].Notes = append(d.IngressGroups[i].Notes, note)
				}
			}
		}
	}
}

// addUnavailableKinds adds to each load balancer a note about kinds that could not be listed, because settings in objects of
// these kinds may be missing.
func (d *Document) addUnavailableKinds(unavailable []cluster.Kind) {
	note := Note{migrate.Lost.String(), "", "", fmt.Sprintf("you have no permission to list %s, so the settings in these objects are missing here", input.JoinKinds(unavailable)),
		"bind the rules of config/rbac with the verbs get and list to the user or role that runs this command"}
	for i := range d.IngressGroups {
		d.IngressGroups[i].Notes = append([]Note{note}, d.IngressGroups[i].Notes...)
	}
}

// hasLossesOrDifferences reports whether an IngressGroup is not translated, a setting is lost, a setting or an answer to a
// request differs, or not all requests were compared.
func (d Document) hasLossesOrDifferences() bool {
	return slices.ContainsFunc(d.IngressGroups, func(g IngressGroup) bool {
		return g.Gateway == "" || len(g.Differences)+len(g.Partial) > 0 || slices.ContainsFunc(g.Notes, func(n Note) bool { return n.Severity == migrate.Lost.String() })
	})
}

// showText prints the report as text.
func showText(w io.Writer, d Document) {
	for _, g := range d.IngressGroups {
		fmt.Fprintf(w, "# %s\n", g.title())
		for _, n := range g.Notes {
			fmt.Fprintf(w, "%-8s%s\n", n.Severity, n.text())
		}
		const maxShown = 50
		for _, difference := range g.Differences[:min(len(g.Differences), maxShown)] {
			label := "answers"
			if difference.Request == "" {
				label = "setting"
			}
			fmt.Fprintf(w, "%s %s\n", label, difference.Text())
		}
		if more := len(g.Differences) - maxShown; more > 0 {
			fmt.Fprintf(w, "… and %d more, which -o json shows\n", more)
		}
		fmt.Fprintf(w, "%s\n\n", g.summary())
	}
	for _, name := range d.NotOurs {
		fmt.Fprintf(w, "Ingress %s is served by another controller and is not translated\n", name)
	}
	for _, name := range d.Deleted {
		fmt.Fprintf(w, "Ingress %s is being deleted and is not translated\n", name)
	}
	for _, f := range d.Files {
		fmt.Fprintf(w, "wrote %s: %s\n", f.Path, output.CountWithNoun(f.Objects, "object"))
	}
}

// title returns the names of the Ingresses and of the Gateways that replace them.
func (g IngressGroup) title() string {
	name := "Ingress " + g.ID
	if !strings.Contains(g.ID, "/") {
		name = fmt.Sprintf("IngressGroup %s (%s)", g.ID, strings.Join(g.Members, ", "))
	}
	return name + " -> " + cmp.Or(encloseUnlessEmpty("Gateway ", g.Gateway, ""), "not translated") + encloseUnlessEmpty(", behind Gateway ", g.FrontendGateway, "")
}

// encloseUnlessEmpty returns s between before and after, or "" if s is empty.
func encloseUnlessEmpty(before, s, after string) string {
	if s == "" {
		return ""
	}
	return before + s + after
}

// text returns the note on one line, without control characters.
func (n Note) text() string {
	out := strings.TrimSpace(n.Object + " " + n.Field)
	if out != "" {
		out += ": "
	}
	out += n.Message
	if n.Fix != "" {
		out += "; " + n.Fix
	}
	return finding.EscapeNonPrintable(out)
}

// summary returns how many annotations have a counterpart, and how many requests and settings differ.
func (g IngressGroup) summary() string {
	if g.Gateway == "" {
		return "no manifests are written"
	}
	translated := 0
	for _, a := range g.Annotations {
		if a.To != "" {
			translated++
		}
	}
	out := fmt.Sprintf("%d of %s have a counterpart; ", translated, output.CountWithNoun(len(g.Annotations), "annotation"))
	answers, settings := 0, 0
	for _, d := range g.Differences {
		answers += d.Requests
		if d.Request == "" {
			settings++
		}
	}
	if len(g.Differences) == 0 {
		out += fmt.Sprintf("%s compared; their answers and the settings are the same", output.CountWithNoun(g.Requests, "request"))
	} else {
		verb := "differ"
		if settings == 1 {
			verb = "differs"
		}
		out += fmt.Sprintf("%s compared, %d of them answered differently; %s %s", output.CountWithNoun(g.Requests, "request"), answers, output.CountWithNoun(settings, "setting"), verb)
	}
	for _, p := range g.Partial {
		out += fmt.Sprintf("; port %d has more different requests than were compared", p)
	}
	return out
}

// showMarkdown prints the report as Markdown, for an issue or a pull request.
func showMarkdown(w io.Writer, d Document) {
	escape := strings.NewReplacer("|", `\|`, "[", `\[`, "\n", " ", "<", "&lt;", "`", "'")
	for _, g := range d.IngressGroups {
		fmt.Fprintf(w, "## %s\n\n%s.\n\n", escape.Replace(g.title()), escape.Replace(g.summary()))
		if len(g.Notes) > 0 {
			fmt.Fprint(w, "| | Object | Note | What to do |\n|---|---|---|---|\n")
			for _, n := range g.Notes {
				fmt.Fprintf(w, "| %s | %s | %s | %s |\n", n.Severity, escape.Replace(strings.TrimSpace(n.Object+" "+n.Field)), escape.Replace(n.Message), escape.Replace(n.Fix))
			}
			fmt.Fprintln(w)
		}
		if len(g.Differences) > 0 {
			fmt.Fprint(w, "| Request or setting | Ingress | Gateway |\n|---|---|---|\n")
			for _, difference := range g.Differences {
				fmt.Fprintf(w, "| %s | %s | %s |\n", escape.Replace(difference.Subject()), escape.Replace(strings.TrimSpace(difference.Ingress+encloseUnlessEmpty(" (", difference.IngressRule, ")"))), escape.Replace(strings.TrimSpace(difference.Gateway+encloseUnlessEmpty(" (", difference.GatewayRule, ")"))))
			}
			fmt.Fprintln(w)
		}
		if len(g.Annotations) > 0 {
			fmt.Fprint(w, "| Object | Annotation | Becomes |\n|---|---|---|\n")
			for _, a := range g.Annotations {
				fmt.Fprintf(w, "| %s | %s | %s |\n", escape.Replace(a.Object), escape.Replace(a.Key), escape.Replace(cmp.Or(a.To, "nothing, see the notes")))
			}
			fmt.Fprintln(w)
		}
	}
	for _, name := range d.NotOurs {
		fmt.Fprintf(w, "- Ingress %s is served by another controller and is not translated.\n", escape.Replace(name))
	}
	for _, name := range d.Deleted {
		fmt.Fprintf(w, "- Ingress %s is being deleted and is not translated.\n", escape.Replace(name))
	}
	for _, f := range d.Files {
		fmt.Fprintf(w, "- `%s`: %s\n", escape.Replace(f.Path), output.CountWithNoun(f.Objects, "object"))
	}
}
