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

// newLogger returns a logger that writes lines of JSON or text to w, and the level of the logger, which may be changed at
// any time. level and format are values of the flags --log-level and --log-format.
func newLogger(w io.Writer, level, format string) (logr.Logger, zap.AtomicLevel) {
	enabled := zap.NewAtomicLevelAt(zapcore.InfoLevel)
	if level == config.DebugLevel {
		enabled.SetLevel(zapcore.DebugLevel)
	}
	times := func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.TimeEncoderOfLayout(time.RFC3339) }
	encoder := ctrlzap.JSONEncoder(times)
	if format == config.TextFormat {
		encoder = ctrlzap.ConsoleEncoder(times)
	}
	return ctrlzap.New(ctrlzap.WriteTo(w), ctrlzap.Level(enabled), ctrlzap.StacktraceLevel(zapcore.PanicLevel), encoder), enabled
}

// levelHandler answers GET with the log level. It answers PUT by setting the level in the request body: info or debug.
func levelHandler(enabled zap.AtomicLevel, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
		case http.MethodPut:
			body, _ := io.ReadAll(io.LimitReader(r.Body, 64))
			switch level := strings.TrimSpace(string(body)); level {
			case config.InfoLevel:
				enabled.SetLevel(zapcore.InfoLevel)
			case config.DebugLevel:
				enabled.SetLevel(zapcore.DebugLevel)
			default:
				http.Error(w, "unknown log level; allowed: info, debug", http.StatusBadRequest)
				return
			}
			log.Info("changed log level", "level", enabled.Level().String())
		default:
			w.Header().Set("Allow", "GET, PUT")
			http.Error(w, "use GET or PUT", http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintln(w, enabled.Level().String())
	})
}

// setLibraryLoggers sets log as the logger of controller-runtime and client-go. Info messages of controller-runtime are
// written at level debug, because they report routine work.
func setLibraryLoggers(log logr.Logger) {
	ctrllog.SetLogger(log.WithSink(demotingSink{log.GetSink()}))
	klog.SetLogger(log)
}

// demotingSink lowers the level of each message by one, so that info messages become debug messages. Errors remain errors.
type demotingSink struct{ logr.LogSink }

// Enabled implements logr.LogSink.
func (s demotingSink) Enabled(level int) bool { return s.LogSink.Enabled(level + 1) }

// Info implements logr.LogSink.
func (s demotingSink) Info(level int, message string, keys ...any) {
	s.LogSink.Info(level+1, message, keys...)
}

// WithName implements logr.LogSink.
func (s demotingSink) WithName(name string) logr.LogSink {
	return demotingSink{s.LogSink.WithName(name)}
}

// WithValues implements logr.LogSink.
func (s demotingSink) WithValues(keys ...any) logr.LogSink {
	return demotingSink{s.LogSink.WithValues(keys...)}
}
