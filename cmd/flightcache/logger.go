package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logs are the loggers of one stream: their lines do not mix.
type logs struct {
	log    *zap.Logger
	always *zap.Logger // logs from info on, whatever the level of the log
	sink   zapcore.WriteSyncer
}

// newLogs logs to w.
func newLogs(w io.Writer, format, level string) (*logs, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	encoder := jsonEncoder()
	if format == "console" {
		config := encoderConfig()
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	}
	l := &logs{sink: zapcore.Lock(zapcore.AddSync(w))}
	l.log = zap.New(zapcore.NewCore(encoder, l.sink, least))
	l.always = zap.New(zapcore.NewCore(encoder, l.sink, zapcore.InfoLevel))
	return l, nil
}

func encoderConfig() zapcore.EncoderConfig {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	return config
}

func jsonEncoder() zapcore.Encoder { return zapcore.NewJSONEncoder(encoderConfig()) }
