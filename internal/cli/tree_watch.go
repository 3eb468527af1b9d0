package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// shortestInterval keeps a watch from eating up the calls that AWS admits for the account.
const shortestInterval = 2 * time.Second

// structureAge is how old load balancers, listeners and rules may be that a watch shows. The health of targets is
// always that of the moment.
const structureAge = time.Minute

// clearScreen moves a terminal to its upper left corner and empties it.
const clearScreen = "\x1b[H\x1b[2J"

// follow shows the tree whenever it has changed, until the context ends.
func (t *treeing) follow(cmd *cobra.Command) error {
	if t.every < shortestInterval {
		return usageError{fmt.Errorf("--interval %s is shorter than %s; %s", t.every, shortestInterval, seeHelp(cmd)), exitFailed}
	}
	if slices.Contains(t.files, "-") {
		return usageError{errors.New("--watch reads objects again and again, and standard input can be read once; give files or a cluster"), exitFailed}
	}
	t.younger = structureAge
	ctx := cmd.Context()
	var last string
	for first := true; ; first = false {
		text, err := t.picture(ctx, cmd.InOrStdin())
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = last
			fmt.Fprintf(printable{cmd.ErrOrStderr()}, "# %v; looking again in %s\n", err, t.every)
		}
		if text != last {
			if _, err := io.WriteString(cmd.OutOrStdout(), t.before(first)+text); err != nil {
				return err
			}
			last = text
		}
		if t.pause(ctx) != nil {
			return nil
		}
	}
}

// picture is what tree shows now.
func (t *treeing) picture(ctx context.Context, stdin io.Reader) (string, error) {
	var out bytes.Buffer
	w := t.form.to(&out)
	notes := w
	if !t.form.text() {
		notes = io.Discard
	}
	all, err := t.look(ctx, stdin, notes)
	if err != nil {
		return "", err
	}
	err = t.show(w, all)
	return out.String(), err
}

// before separates a picture from the one before it.
func (t *treeing) before(first bool) string {
	switch {
	case t.env.Terminal && t.form.text():
		return clearScreen
	case first:
		return ""
	case t.form.form == "yaml":
		return "---\n"
	case t.form.text():
		return "# changed\n"
	}
	return ""
}

func (t *treeing) pause(ctx context.Context) error {
	if t.env.Wait != nil {
		return t.env.Wait(ctx, t.every)
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
