package migrate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
)

// Document is what migrate prints for tools.
type Document struct {
	// Groups are the load balancers of the Ingresses.
	Groups []Group `json:"groups"`
	// NotOurs are Ingresses that another controller serves, which are not translated.
	NotOurs []string `json:"notOurs"`
	// Deleted are Ingresses that are being deleted, which are not translated.
	Deleted []string `json:"deleted"`
	// Files are the files that were written.
	Files []File `json:"files,omitempty"`
}

// Group is a load balancer: an IngressGroup, or an Ingress by itself.
type Group struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
	// Gateway is NAMESPACE/NAME of the one that takes its place; it is missing where none is made.
	Gateway string `json:"gateway,omitempty"`
	// FrontendGateway is NAMESPACE/NAME of the one in front of it that takes the place of the frontend NLB; it is missing where
	// none is made.
	FrontendGateway string `json:"frontendGateway,omitempty"`
	// Annotations are the annotations of the Ingresses, and of the Services behind them.
	Annotations []Annotation `json:"annotations"`
	// Notes are what is lost, what is to be decided, and what is kept in another way.
	Notes []Note `json:"notes"`
	// Differences are answers to requests, and settings, that the Gateway has otherwise.
	Differences []check.Difference `json:"differences"`
	// Requests is how many were compared.
	Requests int `json:"requests"`
	// Partial are ports of which not all requests were compared, because they are too many.
	Partial []int32 `json:"partial,omitempty"`
	// Manifests are the objects as YAML, with comments that say where each part comes from.
	Manifests string `json:"manifests,omitempty"`
}

// Annotation is an annotation with what it became.
type Annotation struct {
	Object string `json:"object"`
	Key    string `json:"key"`
	// To is the kind and field; it is missing where there is none.
	To string `json:"to,omitempty"`
}

// Note is something that is to be known.
type Note struct {
	// Severity is lost, differs or info.
	Severity string `json:"severity"`
	Object   string `json:"object,omitempty"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
	// Fix is what to do about the note.
	Fix string `json:"fix,omitempty"`
}

// documentOf compares what a translation makes with what it was made from.
func documentOf(store *cluster.Memory, r migrate.Result, opt migrate.Options) (Document, error) {
	doc := Document{Groups: []Group{}, NotOurs: []string{}, Deleted: []string{}}
	stacks, found, err := migrate.Compile(store, r, opt)
	if err != nil {
		return doc, err
	}
	for _, ref := range r.Others {
		doc.NotOurs = append(doc.NotOurs, ref.Namespace+"/"+ref.Name)
	}
	for _, ref := range r.Deleted {
		doc.Deleted = append(doc.Deleted, ref.Namespace+"/"+ref.Name)
	}
	port := migrate.PortOf(store)
	for _, g := range r.Groups {
		out := Group{ID: g.ID.String(), Members: []string{}, Annotations: []Annotation{}, Notes: []Note{}, Differences: []check.Difference{}}
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
			if !g.Frontend.IsZero() {
				out.FrontendGateway = g.Frontend.Namespace + "/" + g.Frontend.Name
			}
			for _, f := range slices.Concat(found[g.Gateway], found[g.Frontend]) {
				if f.Severity == finding.Error {
					out.Notes = append(out.Notes, Note{migrate.Lost.String(), f.Object.String(), f.Field, f.Message, f.Fix})
				}
			}
			res := g.Compare(stacks, port)
			out.Differences, out.Requests, out.Partial = append(out.Differences, res.Differences...), res.Requests, res.Partial
		}
		if opt.InPlace {
			out.addInPlace(g, stacks[g.Gateway], port)
		}
		var text strings.Builder
		if err := migrate.WriteYAML(&text, r.ObjectsOf(g)); err != nil {
			return doc, err
		}
		out.Manifests = text.String()
		doc.Groups = append(doc.Groups, out)
	}
	return doc, nil
}

// addConfigured notes Services that have a TargetGroupConfiguration already: of two, the older one has effect.
func (d *Document) addConfigured(store *cluster.Memory, r migrate.Result) {
	for _, o := range r.Targets {
		made := o.Object.(*gwconfig.TargetGroupConfiguration)
		for _, obj := range store.All(cluster.KindTargetGroupConfiguration) {
			have := obj.(*gwconfig.TargetGroupConfiguration)
			if have.Namespace != made.Namespace || have.Name == made.Name || have.Spec.TargetReference == nil || have.Spec.TargetReference.Name != made.Spec.TargetReference.Name {
				continue
			}
			note := Note{migrate.Lost.String(), fmt.Sprintf("Service %s/%s", made.Namespace, made.Spec.TargetReference.Name), "",
				fmt.Sprintf("TargetGroupConfiguration %q already targets the Service; of two, the older one has effect", have.Name), "put what " + made.Name + " says into it"}
			for i := range d.Groups {
				if slices.ContainsFunc(d.Groups[i].Members, func(m string) bool { return strings.HasPrefix(m, made.Namespace+"/") }) {
					d.Groups[i].Notes = append(d.Groups[i].Notes, note)
				}
			}
		}
	}
}

// addUnavailable notes with each load balancer that what it may be made of was not read.
func (d *Document) addUnavailable(unavailable []cluster.Kind) {
	var names []string
	for _, k := range unavailable {
		names = append(names, string(k))
	}
	note := Note{migrate.Lost.String(), "", "", fmt.Sprintf("you may not list %s, so that what those say is missing here", strings.Join(names, ", ")),
		"bind the rules of config/rbac with the verbs get and list to whoever runs this"}
	for i := range d.Groups {
		d.Groups[i].Notes = append([]Note{note}, d.Groups[i].Notes...)
	}
}

// losesAnything reports whether something is lost or differs, or could not be compared.
func (d Document) losesAnything() bool {
	return slices.ContainsFunc(d.Groups, func(g Group) bool {
		return g.Gateway == "" || len(g.Differences)+len(g.Partial) > 0 || slices.ContainsFunc(g.Notes, func(n Note) bool { return n.Severity == migrate.Lost.String() })
	})
}

// showText prints the report in readable form.
func showText(w io.Writer, d Document) {
	for _, g := range d.Groups {
		fmt.Fprintf(w, "# %s\n", g.title())
		for _, n := range g.Notes {
			fmt.Fprintf(w, "%-8s%s\n", n.Severity, n.text())
		}
		const most = 50
		for _, x := range g.Differences[:min(len(g.Differences), most)] {
			what := "answers"
			if x.Request == "" {
				what = "setting"
			}
			fmt.Fprintf(w, "%s %s\n", what, x.Text())
		}
		if more := len(g.Differences) - most; more > 0 {
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
		fmt.Fprintf(w, "wrote %s: %s\n", f.Path, output.Amount(f.Objects, "object"))
	}
}

func (g Group) title() string {
	what := "Ingress " + g.ID
	if !strings.Contains(g.ID, "/") {
		what = fmt.Sprintf("IngressGroup %s (%s)", g.ID, strings.Join(g.Members, ", "))
	}
	return what + " -> " + cmp.Or(prefixed("Gateway ", g.Gateway), "not translated") + prefixed(", behind Gateway ", g.FrontendGateway)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (n Note) text() string {
	out := strings.TrimSpace(n.Object + " " + n.Field)
	if out != "" {
		out += ": "
	}
	out += n.Message
	if n.Fix != "" {
		out += "; " + n.Fix
	}
	return out
}

func (g Group) summary() string {
	if g.Gateway == "" {
		return "nothing is written for it"
	}
	kept := 0
	for _, a := range g.Annotations {
		if a.To != "" {
			kept++
		}
	}
	out := fmt.Sprintf("%d of %s have a counterpart; ", kept, output.Amount(len(g.Annotations), "annotation"))
	answers := 0
	for _, d := range g.Differences {
		answers += d.Requests
	}
	switch settings := len(g.Differences) - countAnswers(g.Differences); {
	case len(g.Differences) == 0:
		out += fmt.Sprintf("%s compared, all are answered alike, and the settings are the same", output.Amount(g.Requests, "request"))
	default:
		out += fmt.Sprintf("%s compared, of which %d are answered otherwise; %s differ", output.Amount(g.Requests, "request"), answers, output.Amount(settings, "setting"))
	}
	for _, p := range g.Partial {
		out += fmt.Sprintf("; port %d has more requests to tell apart than were compared", p)
	}
	return out
}

func countAnswers(all []check.Difference) (n int) {
	for _, d := range all {
		if d.Request != "" {
			n++
		}
	}
	return n
}

// showMarkdown prints the report for a ticket or a pull request.
func showMarkdown(w io.Writer, d Document) {
	cell := strings.NewReplacer("|", `\|`, "[", `\[`, "\n", " ", "<", "&lt;", "`", "'")
	for _, g := range d.Groups {
		fmt.Fprintf(w, "## %s\n\n%s.\n\n", cell.Replace(g.title()), cell.Replace(g.summary()))
		if len(g.Notes) > 0 {
			fmt.Fprint(w, "| | Object | Note | What to do |\n|---|---|---|---|\n")
			for _, n := range g.Notes {
				fmt.Fprintf(w, "| %s | %s | %s | %s |\n", n.Severity, cell.Replace(strings.TrimSpace(n.Object+" "+n.Field)), cell.Replace(n.Message), cell.Replace(n.Fix))
			}
			fmt.Fprintln(w)
		}
		if len(g.Differences) > 0 {
			fmt.Fprint(w, "| Request or setting | Ingress | Gateway |\n|---|---|---|\n")
			for _, x := range g.Differences {
				what := cmp.Or(x.Request, x.Setting)
				fmt.Fprintf(w, "| %s | %s | %s |\n", cell.Replace(what), cell.Replace(strings.TrimSpace(x.Ingress+" "+parenthesised(x.IngressRule))), cell.Replace(strings.TrimSpace(x.Gateway+" "+parenthesised(x.GatewayRule))))
			}
			fmt.Fprintln(w)
		}
		if len(g.Annotations) > 0 {
			fmt.Fprint(w, "| Object | Annotation | Becomes |\n|---|---|---|\n")
			for _, a := range g.Annotations {
				fmt.Fprintf(w, "| %s | %s | %s |\n", cell.Replace(a.Object), cell.Replace(a.Key), cell.Replace(cmp.Or(a.To, "nothing, see the notes")))
			}
			fmt.Fprintln(w)
		}
	}
	for _, name := range d.NotOurs {
		fmt.Fprintf(w, "- Ingress %s is served by another controller and is not translated.\n", cell.Replace(name))
	}
	for _, name := range d.Deleted {
		fmt.Fprintf(w, "- Ingress %s is being deleted and is not translated.\n", cell.Replace(name))
	}
	for _, f := range d.Files {
		fmt.Fprintf(w, "- `%s`: %s\n", cell.Replace(f.Path), output.Amount(f.Objects, "object"))
	}
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
