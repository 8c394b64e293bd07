package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// cli is the whole command line. Kong reads the grammar from its fields.
type cli struct {
	Config string `help:"Read flags from this YAML file; a flag's name is its key." placeholder:"FILE" type:"path"`

	Serve    serveCmd    `cmd:"" help:"Run the server."`
	Put      putCmd      `cmd:"" help:"Put a file's record batches into a dataset."`
	Get      getCmd      `cmd:"" help:"Read a dataset: show it, or write it to a file."`
	Ls       lsCmd       `cmd:"" help:"List datasets."`
	Describe describeCmd `cmd:"" help:"Show a dataset's facts and its columns."`
	Drop     dropCmd     `cmd:"" help:"Drop a dataset."`
	Evict    evictCmd    `cmd:"" help:"Evict a dataset, as the server does when memory is short."`
	Compact  compactCmd  `cmd:"" help:"Join the small batches of a dataset that grew by small appends."`
	Pin      pinCmd      `cmd:"" help:"Let eviction leave a dataset alone."`
	Unpin    unpinCmd    `cmd:"" help:"Let eviction take a dataset again."`
	Stats    statsCmd    `cmd:"" help:"Show the server's counters, or one dataset's."`
	Secret   secretCmd   `cmd:"" help:"Make tokens, keys and lines of password files for the server."`
	Version  versionCmd  `cmd:"" help:"Show the versions of this program and of what it was built with."`
}

// env is what a subcommand may touch of the process around it. Run methods take it instead of the os package's globals,
// so that tests can give their own.
type env struct {
	// ctx is done when the user interrupts the program.
	ctx context.Context
	// serves is set by a command that a signal tells to end: what goes wrong then is not the interruption.
	serves bool
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once, whatever it is at.
	context.AfterFunc(ctx, stop)
	code := run(&env{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// exitCode carries the code with which kong wants to leave (after --help) from its hook up to run.
type exitCode int

// run parses args and runs the chosen subcommand. It returns the exit code, 0 or 1, after any error was written to
// stderr in one line.
func run(e *env, args []string) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exitCode:
			code = int(r)
		default:
			// A damaged file or a hostile server can make a decoder panic. The user gets one line, as for any other
			// error, and the stack only on request.
			fmt.Fprintln(e.stderr, "flightcache: "+oneLine(fmt.Errorf("internal error: %v", r)))
			if os.Getenv("FLIGHTCACHE_TRACEBACK") != "" {
				fmt.Fprintf(e.stderr, "%s", debug.Stack())
			}
			code = 1
		}
	}()
	if err := parseAndRun(e, args); err != nil {
		if e.ctx.Err() != nil && !e.serves {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(e.stderr, "flightcache: "+oneLine(err))
		return 1
	}
	return 0
}

func parseAndRun(e *env, args []string) error {
	parser, err := kong.New(&cli{},
		kong.Name("flightcache"),
		kong.Description("Named tables of Arrow record batches, served over Arrow Flight."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.DefaultEnvars("FLIGHTCACHE"),
		kong.Vars{"csv_types": csvTypeNames()},
	)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		var parseErr *kong.ParseError
		if errors.As(err, &parseErr) {
			return fmt.Errorf("%w (see flightcache --help)", err)
		}
		return err
	}
	return kctx.Run(e)
}

// isTerminal tells whether a stream that a subcommand was given is a terminal, and how wide it is: 0 if it is none.
func isTerminal(stream any) (width int) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
