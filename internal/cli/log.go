package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// newLogger writes lines of JSON or text. The level can be changed while it is used.
func newLogger(w io.Writer, level, format string) (logr.Logger, zap.AtomicLevel) {
	at := zap.NewAtomicLevelAt(zapcore.InfoLevel)
	if level == config.DebugLevel {
		at.SetLevel(zapcore.DebugLevel)
	}
	times := func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.TimeEncoderOfLayout(time.RFC3339) }
	encoder := ctrlzap.JSONEncoder(times)
	if format == config.TextFormat {
		encoder = ctrlzap.ConsoleEncoder(times)
	}
	return ctrlzap.New(ctrlzap.WriteTo(w), ctrlzap.Level(at), ctrlzap.StacktraceLevel(zapcore.PanicLevel), encoder), at
}

// levelHandler shows the log level, and sets the one that a PUT has in its body: info or debug.
func levelHandler(at zap.AtomicLevel, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
		case http.MethodPut:
			body, _ := io.ReadAll(io.LimitReader(r.Body, 64))
			switch level := strings.TrimSpace(string(body)); level {
			case config.InfoLevel:
				at.SetLevel(zapcore.InfoLevel)
			case config.DebugLevel:
				at.SetLevel(zapcore.DebugLevel)
			default:
				http.Error(w, "unknown log level; allowed: info, debug", http.StatusBadRequest)
				return
			}
			log.Info("changed log level", "level", at.Level().String())
		default:
			w.Header().Set("Allow", "GET, PUT")
			http.Error(w, "use GET or PUT", http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintln(w, at.Level().String())
	})
}

// shareLogger gives the logger to the client libraries, which have loggers of their own. What they
// report of their daily work is for those who look for a fault.
func shareLogger(log logr.Logger) {
	ctrllog.SetLogger(log.WithSink(quieter{log.GetSink()}))
	klog.SetLogger(log)
}

// quieter takes each message for one level less important; errors stay errors.
type quieter struct{ logr.LogSink }

// Enabled implements the sink.
func (q quieter) Enabled(level int) bool { return q.LogSink.Enabled(level + 1) }

// Info implements the sink.
func (q quieter) Info(level int, message string, keys ...any) {
	q.LogSink.Info(level+1, message, keys...)
}

// WithName implements the sink.
func (q quieter) WithName(name string) logr.LogSink { return quieter{q.LogSink.WithName(name)} }

// WithValues implements the sink.
func (q quieter) WithValues(keys ...any) logr.LogSink { return quieter{q.LogSink.WithValues(keys...)} }
