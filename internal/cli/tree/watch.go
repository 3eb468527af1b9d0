package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// follow shows the tree whenever it has changed, until the context ends.
func (t *treeCommand) follow(cmd *cobra.Command) error {
	if t.every < durations.Glance {
		return output.NewUsageError(fmt.Errorf("--interval %s is shorter than %s; %s", t.every, durations.Glance, output.HelpHint(cmd)))
	}
	if slices.Contains(t.Files, "-") {
		return output.NewUsageError(errors.New("--watch reads objects again and again, and standard input can be read once; give files or a cluster"))
	}
	ctx := cmd.Context()
	var last Picture
	for first := true; ; first = false {
		picture, err := t.confirmedPicture(ctx, cmd.InOrStdin(), last)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			picture = last
			fmt.Fprintf(output.PrintableWriter(cmd.ErrOrStderr()), "# %v; looking again in %s\n", err, t.every)
		}
		if picture.Text != last.Text {
			out := cmd.OutOrStdout()
			if t.form.Text() {
				out = t.form.WriterFor(out)
			}
			if _, err := io.WriteString(out, t.changed(first, last.Text, picture.Text)); err != nil {
				return err
			}
			last = picture
		}
		if t.pause(ctx) != nil {
			return nil
		}
	}
}

// Picture is what tree shows at one time.
type Picture struct {
	Document Document
	// Text is what is printed in the form of the command, without colours and not wrapped, to be compared.
	Text string
	// Notes is what was left out or cannot be known, in lines that begin with #; in the form text they are in Text too.
	Notes string
}

// confirmedPicture returns the picture now. The load balancers that differ from the last one, which is empty the first
// time, are looked at twice: objects are read at each look, and load balancers may be older, so that what looks as if
// it were missing may have been made.
func (t *treeCommand) confirmedPicture(ctx context.Context, stdin io.Reader, last Picture) (Picture, error) {
	t.MaxAge = durations.Often
	unchanged := map[string]bool{}
	for _, s := range last.Document.Stacks {
		unchanged[s.Kind+" "+s.ID] = !s.pending
	}
	t.MaxAgeOf = func(id model.StackID) time.Duration {
		if t.again {
			return 0
		}
		if unchanged[keyOf(id)] {
			return max(durations.Often, t.unchangedAge)
		}
		return durations.Often
	}
	p, err := t.picture(ctx, stdin)
	if err != nil || t.again || last.Text == "" || p.Text == last.Text {
		return p, err
	}
	differ, err := changedStacks(last.Document, p.Document)
	if err != nil || len(differ) == 0 {
		return p, err
	}
	usual := t.MaxAgeOf
	t.MaxAgeOf = func(id model.StackID) time.Duration {
		if differ[keyOf(id)] {
			return 0
		}
		return usual(id)
	}
	return t.picture(ctx, stdin)
}

// keyOf returns a stack as its kind and id.
func keyOf(id model.StackID) string { return string(id.Kind) + " " + id.String() }

// changedStacks returns the stacks of a document that another one does not have, or has otherwise, by kind and id.
func changedStacks(last, now Document) (map[string]bool, error) {
	was, err := last.byStack()
	if err != nil {
		return nil, err
	}
	is, err := now.byStack()
	out := map[string]bool{}
	for key, data := range is {
		if !bytes.Equal(was[key], data) {
			out[key] = true
		}
	}
	return out, err
}

// byStack returns the stacks of a document as JSON, by kind and id.
func (d Document) byStack() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, s := range d.Stacks {
		data, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		out[s.Kind+" "+s.ID] = data
	}
	return out, nil
}

func (t *treeCommand) picture(ctx context.Context, stdin io.Reader) (Picture, error) {
	var text, notes bytes.Buffer
	w, aside := output.PrintableWriter(&text), output.PrintableWriter(&notes)
	if t.form.Text() {
		aside = io.MultiWriter(aside, w)
	}
	all, err := t.look(ctx, stdin, aside)
	if err != nil {
		return Picture{}, err
	}
	err = t.show(w, all)
	return Picture{all, text.String(), notes.String()}, err
}

// changed returns what is shown of a picture: as a text all of the first one, and of each later one what has changed,
// with the time; in other forms all of it.
func (t *treeCommand) changed(first bool, last, text string) string {
	switch {
	case first:
		return text
	case t.form.Kind == "yaml":
		return "---\n" + text
	case t.form.Text():
		return fmt.Sprintf("# %s\n%s\n", t.Env.Time().UTC().Format(time.RFC3339), Changed(last, text))
	}
	return text
}

// Changed has, for each load balancer of two pictures, the lines that are in one of them alone.
func Changed(last, text string) string {
	before, after := sectionsOf(last), sectionsOf(text)
	var out strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.names, after.names)))) {
		was, is := before.lines[name], after.lines[name]
		gone, come := linesWithout(was, is), linesWithout(is, was)
		if len(gone)+len(come) == 0 {
			continue
		}
		fmt.Fprintln(&out, name)
		for _, l := range gone {
			fmt.Fprintf(&out, "  was %s\n", l)
		}
		for _, l := range come {
			fmt.Fprintf(&out, "  now %s\n", l)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// sections are the parts of a picture, each of which begins with a name and ends with an empty line.
type sections struct {
	names []string
	lines map[string][]string
}

func sectionsOf(text string) sections {
	out := sections{lines: map[string][]string{}}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, rest, _ := strings.Cut(part, "\n")
		out.names = append(out.names, name)
		out.lines[name] = append(out.lines[name], strings.Split(rest, "\n")...)
	}
	return out
}

// linesWithout returns the lines that others does not have, or has less often.
func linesWithout(lines, others []string) []string {
	count := map[string]int{}
	for _, l := range others {
		count[l]++
	}
	var out []string
	for _, l := range lines {
		if count[l]--; count[l] < 0 {
			out = append(out, l)
		}
	}
	return out
}

func (t *treeCommand) pause(ctx context.Context) error {
	if t.Env.Wait != nil {
		return t.Env.Wait(ctx, t.every)
	}
	timer := time.NewTimer(t.every)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
