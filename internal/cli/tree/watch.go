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

// runWatch prints the tree, and then its changes, until the context ends.
func (t *treeCommand) runWatch(cmd *cobra.Command) error {
	if t.interval < durations.BriefWait {
		return output.NewUsageError(fmt.Errorf("--interval %s is shorter than %s; %s", t.interval, durations.BriefWait, output.HelpHint(cmd)))
	}
	if slices.Contains(t.Files, "-") {
		return output.NewUsageError(errors.New("--watch reads objects repeatedly, but standard input can be read only once; use files or a cluster"))
	}
	ctx := cmd.Context()
	var previous Snapshot
	for first := true; ; first = false {
		current, err := t.confirmedSnapshot(ctx, cmd.InOrStdin(), previous)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			current = previous
			fmt.Fprintf(output.PrintableWriter(cmd.ErrOrStderr()), "# %v; trying again in %s\n", err, t.interval)
		}
		if current.Text != previous.Text {
			out := cmd.OutOrStdout()
			if t.form.IsText() {
				out = t.form.WriterFor(out)
			}
			if _, err := io.WriteString(out, t.changeText(first, previous.Text, current.Text)); err != nil {
				return err
			}
			previous = current
		}
		if t.waitInterval(ctx) != nil {
			return nil
		}
	}
}

// Snapshot is the output of the command tree at one time.
type Snapshot struct {
	Document Document
	// Text is the output in the format of the command. It is neither coloured nor wrapped, so that two texts can be
	// compared.
	Text string
	// Notes are lines that begin with # about objects that were not read. If the format is text, Text also contains these
	// lines.
	Notes string
}

// confirmedSnapshot returns the current snapshot. previous is the previous snapshot, or empty at the first call. If stacks
// have changed, it reads them again without the cache, because cached facts may be older than the objects: a resource that
// seems to be missing may exist.
func (t *treeCommand) confirmedSnapshot(ctx context.Context, stdin io.Reader, previous Snapshot) (Snapshot, error) {
	t.MaxAge = durations.MinuteInterval
	unchanged := map[model.StackID]bool{}
	for _, s := range previous.Document.Stacks {
		unchanged[s.stack] = !s.hasChangesOrFindings
	}
	t.MaxAgeOf = func(id model.StackID) time.Duration {
		if t.bypassCache {
			return 0
		}
		if unchanged[id] {
			return max(durations.MinuteInterval, t.unchangedMaxAge)
		}
		return durations.MinuteInterval
	}
	current, err := t.snapshot(ctx, stdin)
	if err != nil || t.bypassCache || previous.Text == "" || current.Text == previous.Text {
		return current, err
	}
	changed, err := changedStacks(previous.Document, current.Document)
	if err != nil || len(changed) == 0 {
		return current, err
	}
	maxAgeOfUnchanged := t.MaxAgeOf
	t.MaxAgeOf = func(id model.StackID) time.Duration {
		if changed[id] {
			return 0
		}
		return maxAgeOfUnchanged(id)
	}
	return t.snapshot(ctx, stdin)
}

// changedStacks returns the stacks in current that are missing in previous, or that differ from the same stack in
// previous.
func changedStacks(previous, current Document) (map[model.StackID]bool, error) {
	before, err := previous.stacksAsJSON()
	if err != nil {
		return nil, err
	}
	after, err := current.stacksAsJSON()
	out := map[model.StackID]bool{}
	for id, data := range after {
		if !bytes.Equal(before[id], data) {
			out[id] = true
		}
	}
	return out, err
}

// stacksAsJSON returns the JSON of each stack of a document.
func (d Document) stacksAsJSON() (map[model.StackID][]byte, error) {
	out := map[model.StackID][]byte{}
	for _, s := range d.Stacks {
		data, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		out[s.stack] = data
	}
	return out, nil
}

// snapshot reads the cluster and AWS, and returns the output as a snapshot.
func (t *treeCommand) snapshot(ctx context.Context, stdin io.Reader) (Snapshot, error) {
	var text, notes bytes.Buffer
	textWriter, notesWriter := output.PrintableWriter(&text), output.PrintableWriter(&notes)
	if t.form.IsText() {
		notesWriter = io.MultiWriter(notesWriter, textWriter)
	}
	doc, err := t.buildDocument(ctx, stdin, notesWriter)
	if err != nil {
		return Snapshot{}, err
	}
	err = t.showDocument(textWriter, doc)
	return Snapshot{doc, text.String(), notes.String()}, err
}

// changeText returns the text to print for a snapshot. For the first snapshot, and in formats other than text, that is the
// whole output. Otherwise it is the time and the difference from the previous text.
func (t *treeCommand) changeText(first bool, previous, text string) string {
	switch {
	case first:
		return text
	case t.form.Name == "yaml":
		return "---\n" + text
	case t.form.IsText():
		return fmt.Sprintf("# %s\n%s\n", t.Env.Time().UTC().Format(time.RFC3339), DiffText(previous, text))
	}
	return text
}

// DiffText compares the texts of two snapshots. For each stack it returns the lines that only one of the texts contains.
func DiffText(previous, current string) string {
	before, after := sectionsOf(previous), sectionsOf(current)
	var out strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.names, after.names)))) {
		removed := linesWithout(before.lines[name], after.lines[name])
		added := linesWithout(after.lines[name], before.lines[name])
		if len(removed)+len(added) == 0 {
			continue
		}
		fmt.Fprintln(&out, name)
		for _, l := range removed {
			fmt.Fprintf(&out, "  was %s\n", l)
		}
		for _, l := range added {
			fmt.Fprintf(&out, "  now %s\n", l)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// sections are the parts of the text of a snapshot, by name. Each part is a line with the name, more lines, and an empty
// line.
type sections struct {
	names []string
	lines map[string][]string
}

// sectionsOf splits the text of a snapshot into sections.
func sectionsOf(text string) sections {
	out := sections{lines: map[string][]string{}}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, rest, _ := strings.Cut(part, "\n")
		out.names = append(out.names, name)
		out.lines[name] = append(out.lines[name], strings.Split(rest, "\n")...)
	}
	return out
}

// linesWithout returns those lines that occur more often in lines than in others.
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

// waitInterval waits until the next snapshot is due. It returns an error if the context has ended.
func (t *treeCommand) waitInterval(ctx context.Context) error {
	if t.Env.Wait != nil {
		return t.Env.Wait(ctx, t.interval)
	}
	timer := time.NewTimer(t.interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
