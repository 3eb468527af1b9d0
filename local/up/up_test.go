package up_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// upProcess is a process of `fulcrum-local up` with its output.
type upProcess struct {
	t                 *testing.T
	baseDir, stateDir string // the directory of all local worlds, and the state directory of this local world
	cmd               *exec.Cmd

	mu  sync.Mutex
	out strings.Builder
}

// Write appends to the output.
func (r *upProcess) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(b)
}

func (r *upProcess) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// lastLine is the last line that up prints before it waits.
const lastLine = "Ctrl-C stops this local world\n"

// startUp runs `fulcrum-local up` with args, and waits until it has printed how to use its local world. Other local worlds
// may use the same base directory. When the test ends, it calls interrupt, unless up has ended.
func startUp(t *testing.T, base string, args ...string) *upProcess {
	t.Helper()
	r := &upProcess{t: t, baseDir: base}
	r.cmd = exec.Command(worldtest.BinaryPath(t), append([]string{"up", "--nodes=1", "--base=" + r.baseDir}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.interrupt(t)
		}
		if t.Failed() {
			t.Log(r.String())
		}
	})
	r.awaitOutputWithin(t, 2*world.StartTimeout, lastLine) // the local world and the controller have a timeout each
	dir := regexp.MustCompile(`(?m)^logs are in (.*)/logs;`).FindStringSubmatch(r.String())
	if dir == nil {
		t.Fatal("up does not print where the logs are")
	}
	r.stateDir = dir[1]
	return r
}

// interrupt ends up as Ctrl-C does. It checks that at least six processes ran in the local world, that up ends without an
// error, and that the state directory is removed.
func (r *upProcess) interrupt(t *testing.T) {
	t.Helper()
	if n := len(r.processIDs(t)); r.stateDir != "" && n < 6 {
		t.Errorf("%d processes run in the local world, want at least 6", n)
	}
	r.cmd.Process.Signal(os.Interrupt)
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("up ended with %v", err)
	}
	r.awaitNoProcess(t)
	if _, err := os.Stat(r.stateDir); r.stateDir != "" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state directory still exists: %v", err)
	}
}

// crash kills up with SIGKILL. It checks that all processes of the local world end, and that the logs remain.
func (r *upProcess) crash(t *testing.T) {
	t.Helper()
	r.cmd.Process.Kill()
	r.cmd.Wait()
	r.awaitNoProcess(t)
	if _, err := os.Stat(filepath.Join(r.stateDir, "logs")); err != nil {
		t.Errorf("the logs of a crashed local world are not kept for the user: %v", err)
	}
}

// processIDs returns the IDs of the processes whose working directory is the state directory, also if this directory is
// removed: the kernel then appends " (deleted)" to the path.
func (r *upProcess) processIDs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("the test needs /proc to count processes")
	}
	var out []string
	for _, e := range entries {
		if cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")); err == nil && r.stateDir != "" && strings.TrimSuffix(cwd, " (deleted)") == r.stateDir {
			out = append(out, e.Name())
		}
	}
	return out
}

func (r *upProcess) awaitNoProcess(t *testing.T) {
	t.Helper()
	worldtest.Eventually(t, 2*time.Minute, func(context.Context) error {
		if left := r.processIDs(t); len(left) > 0 {
			return fmt.Errorf("processes still run: %v", left)
		}
		return nil
	})
}

// awaitOutput waits until up has printed a text.
func (r *upProcess) awaitOutput(t *testing.T, text string) {
	t.Helper()
	r.awaitOutputWithin(t, 2*time.Minute, text)
}

func (r *upProcess) awaitOutputWithin(t *testing.T, limit time.Duration, text string) {
	t.Helper()
	worldtest.Eventually(t, limit, func(context.Context) error {
		if !strings.Contains(r.String(), text) {
			return fmt.Errorf("up has not printed %q", text)
		}
		return nil
	})
}

// exportLines returns the lines with export commands that up has printed, which a user copies.
func (r *upProcess) exportLines() string {
	return strings.Join(regexp.MustCompile(`(?m)^export .*\n`).FindAllString(r.String(), -1), "")
}

// shellCommand returns a command that runs a shell script after the printed export lines, without other environment
// variables for clusters or AWS.
func (r *upProcess) shellCommand(script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", r.exportLines()+script)
	cmd.Dir = r.t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// checkBecomesReady runs script, which is a command that starts a controller. It waits until the controller is ready and all
// checks succeed, and stops the controller.
func (r *upProcess) checkBecomesReady(t *testing.T, script string, checks ...func(context.Context) error) {
	t.Helper()
	cmd := r.shellCommand("exec " + script)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	health := regexp.MustCompile(`--health-probe-bind-addr=(\S+)`).FindStringSubmatch(script)
	worldtest.Eventually(t, 2*time.Minute, func(ctx context.Context) error {
		select {
		case err := <-done:
			t.Fatalf("the controller has ended: %v\n%s\n%s", err, script, log.String())
		default:
		}
		if _, err := httpGet(ctx, "http://"+health[1]+"/readyz"); err != nil {
			return err
		}
		for _, check := range checks {
			if err := check(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	<-done
}

func httpGet(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return string(b), err
}

func readSourceFile(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{worldtest.SourceRoot(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// libraryMetrics returns the names of the controller-runtime metrics that docs/metrics.md lists.
func libraryMetrics(t *testing.T) []string {
	t.Helper()
	_, section, _ := strings.Cut(readSourceFile(t, "docs", "metrics.md"), "\n## Metrics of controller-runtime\n")
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1) {
		out = append(out, row[1])
	}
	if len(out) == 0 {
		t.Fatal("docs/metrics.md lists no metrics of controller-runtime")
	}
	return out
}

// testPrintedCommands runs the commands for a controller that `up --controller none` and the README show, and the printed
// `fulcrum plan`. fulcrum is the path of Fulcrum.
func testPrintedCommands(t *testing.T, r *upProcess, fulcrum string) {
	// up prints the path of fulcrum in its own directory. In tests, fulcrum may be in another directory.
	beside := filepath.Join(filepath.Dir(worldtest.BinaryPath(t)), "fulcrum")
	r.awaitOutput(t, "--leader-election-namespace=kube-system\n")
	_, command, _ := strings.Cut(r.String(), "start one with:\n")
	command = strings.ReplaceAll(command, beside, fulcrum)

	t.Run("the controller with the flags that are printed", func(t *testing.T) {
		r.checkBecomesReady(t, command)
	})
	t.Run("the minimum that a controller needs according to the README", func(t *testing.T) {
		least := regexp.MustCompile(`(?m)^fulcrum --cluster-name=.*--kubeconfig=.*$`).FindString(readSourceFile(t, "README.md"))
		if least == "" {
			t.Fatal("the README has no command of a controller outside a cluster")
		}
		least = strings.NewReplacer("NAME", "local", "FILE", `"$KUBECONFIG"`).Replace(strings.TrimPrefix(least, "fulcrum "))
		// Another controller on this machine may use the default ports.
		for _, flag := range []string{"--health-probe-bind-addr", "--metrics-bind-addr", "--webhook-bind-port"} {
			least += " " + regexp.MustCompile(flag+`=\S+`).FindString(command)
		}
		metrics := "http://" + regexp.MustCompile(`--metrics-bind-addr=(\S+)`).FindStringSubmatch(least)[1] + "/metrics"
		r.checkBecomesReady(t, fulcrum+" "+least, func(ctx context.Context) error {
			page, err := httpGet(ctx, metrics)
			for _, name := range libraryMetrics(t) {
				if !strings.Contains(page, "\n# TYPE "+name+" ") {
					err = errors.Join(err, fmt.Errorf("docs/metrics.md lists %s, but it is not served", name))
				}
			}
			return err
		})
	})
	t.Run("fulcrum plan", func(t *testing.T) {
		plan := strings.Replace(regexp.MustCompile(`(?m)^.* plan .*$`).FindString(r.String()), beside, fulcrum, 1)
		if plan == "" {
			t.Fatal("up does not print a command with \"plan\"")
		}
		var ended *exec.ExitError
		out, err := r.shellCommand(plan).CombinedOutput()
		if errors.As(err, &ended) && ended.ExitCode() == 2 {
			err = nil // exit code 2 means that the plan has changes
		}
		if err != nil {
			t.Errorf("%s: %v: %s", plan, err, out)
		}
	})
}

// TestFaultyFilesStartNothing checks that up starts no local world if a file is missing or has a fault, and that it reports
// all errors together.
func TestFaultyFilesStartNothing(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("apiVersion: v1\nkind: Ingress\nmetadata: {name: web}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(worldtest.BinaryPath(t), "up", "--controller=none", "--base="+base, "-f", "missing.yaml", "-f", broken).CombinedOutput()
	if err == nil {
		t.Error("up succeeds")
	}
	for _, want := range []string{"nothing is started", "missing.yaml", broken + `: there is no kind "Ingress" in "v1"; it is in networking.k8s.io/v1`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if _, err := os.Stat(base); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a local world was started: %v", err)
	}
}

// TestUp runs the commands that up prints and those of the README. It crashes up and starts it again, adds a second cluster
// that uses the same AWS, and kills the controllers of both clusters.
func TestUp(t *testing.T) {
	if worldtest.IsOtherControllerTested() {
		t.Skip("the commands are those of Fulcrum")
	}
	fulcrum := worldtest.ControllerPath(t)
	t.Setenv("PATH", filepath.Dir(worldtest.ClientPath(t, "kubectl"))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	base := t.TempDir()
	own := startUp(t, base, "--controller=none", "-f", filepath.Join(worldtest.SourceRoot(t), "examples", "shop"))
	t.Run("the printed commands work", func(t *testing.T) { testPrintedCommands(t, own, fulcrum) })
	own.crash(t)
	first := startUp(t, base, "--controller="+fulcrum)
	t.Run("the next start removes what a crash has left", func(t *testing.T) {
		first.awaitOutput(t, "removed "+own.stateDir+", left by an earlier world\n")
		if _, err := os.Stat(own.stateDir); first.stateDir != own.stateDir && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s still exists: %v", own.stateDir, err)
		}
	})
	t.Run("the commands of the README", func(t *testing.T) { testREADMECommands(t, first, fulcrum) })
	t.Run("a second cluster uses the AWS", func(t *testing.T) {
		line := regexp.MustCompile(`(?m)^another cluster of this AWS: \S+ up (.*)$`).FindStringSubmatch(first.String())
		if line == nil {
			t.Fatal("up prints no line for another cluster")
		}
		second := startUp(t, base, append(strings.Fields(line[1]), "--controller="+fulcrum, "--restart")...)
		checkClustersUseTheirRegions(t, first, second, fulcrum)
		checkWrongArgumentsAreRejected(t, first, line[1])
		t.Run("its controller is started again", func(t *testing.T) {
			second.killController(t)
			second.awaitOutput(t, "controller has ended: signal: killed")
			second.awaitOutput(t, "starting it again in 1s")
			second.awaitOutput(t, "the controller is started again")
		})
	})
	t.Run("the end of the controller is reported, with the command to start it again", func(t *testing.T) {
		first.killController(t)
		first.awaitOutput(t, "controller has ended: signal: killed")
		first.awaitOutput(t, "--leader-election-namespace=kube-system\n")
		_, command, _ := strings.Cut(first.String(), "(or use up --restart):\n")
		first.checkBecomesReady(t, command)
	})
}

// killController kills the controller of the local world with SIGKILL.
func (r *upProcess) killController(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.stateDir, "pids", "controller"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(b), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// testREADMECommands runs the commands of section "Try it" in the README. It waits until up has printed three curl commands,
// and all of them reach a pod of the example.
func testREADMECommands(t *testing.T, r *upProcess, fulcrum string) {
	t.Helper()
	_, text, _ := strings.Cut(readSourceFile(t, "README.md"), "\n## Try it\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(block[1], "fulcrum-local up") {
			blocks = append(blocks, strings.ReplaceAll(block[1], "bin/fulcrum ", fulcrum+" "))
		}
	}
	if len(blocks) != 2 || !strings.Contains(blocks[0], "kubectl apply -f examples/first") {
		t.Fatalf("the README does not have the two expected blocks of commands: %q", blocks)
	}
	for _, block := range blocks {
		cmd := r.shellCommand("set -e\n" + block)
		cmd.Dir = worldtest.SourceRoot(t)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "# error") || strings.Contains(string(out), "# warning") {
			t.Fatalf("%v\n%s\n%s", err, block, out)
		}
	}
	worldtest.Eventually(t, 2*time.Minute, func(context.Context) error {
		lines := regexp.MustCompile(`(?m)^  curl .*--connect-to .*$`).FindAllString(r.String(), -1)
		if len(lines) != 3 {
			return fmt.Errorf("up has printed %d curl lines", len(lines))
		}
		for _, line := range lines {
			out, err := r.shellCommand(line + " -sS").CombinedOutput()
			if err != nil || !strings.Contains(string(out), `"app": "web"`) {
				return fmt.Errorf("%s: %v: %s", line, err, out)
			}
		}
		return nil
	})
}
