package cli

import (
	"io"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// newLogger writes JSON lines. level is info or debug; anything else is info.
func newLogger(w io.Writer, level string) logr.Logger {
	at := zapcore.InfoLevel
	if level == "debug" {
		at = zapcore.DebugLevel
	}
	return zap.New(
		zap.WriteTo(w), zap.Level(at), zap.StacktraceLevel(zapcore.PanicLevel),
		zap.JSONEncoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.TimeEncoderOfLayout(time.RFC3339) }),
	)
}

// shareLogger gives the logger to the client libraries, which have loggers of their own. What they
// tell of their daily work is for those who look for a fault.
func shareLogger(log logr.Logger) {
	ctrllog.SetLogger(log.WithSink(quieter{log.GetSink()}))
	klog.SetLogger(log)
}

// quieter takes what it is told for one level less important; errors stay errors.
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
