package flight

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/identity"
	"github.com/flightcache/flightcache/flight/limits"
	"github.com/flightcache/flightcache/flight/plan"
)

// wantCodes says of every error of ours, by package and name, what a client gets. Those that no handler lets through
// are faults of ours: Internal.
var wantCodes = map[string]struct {
	err  error
	code codes.Code
}{
	"catalog.ErrNotFound":       {catalog.ErrNotFound, codes.NotFound},
	"catalog.ErrStale":          {catalog.ErrStale, codes.NotFound},
	"catalog.ErrExists":         {catalog.ErrExists, codes.AlreadyExists},
	"catalog.ErrSchemaMismatch": {catalog.ErrSchemaMismatch, codes.InvalidArgument},
	"catalog.ErrPinned":         {catalog.ErrPinned, codes.FailedPrecondition},
	"catalog.ErrDurable":        {catalog.ErrDurable, codes.FailedPrecondition},
	"catalog.ErrNotKept":        {catalog.ErrNotKept, codes.FailedPrecondition},
	"catalog.ErrOrder":          {catalog.ErrOrder, codes.InvalidArgument},
	"catalog.ErrConflict":       {catalog.ErrConflict, codes.Aborted},

	"descriptors.ErrBadName":    {descriptors.ErrBadName, codes.InvalidArgument},
	"descriptors.ErrBadCommand": {descriptors.ErrBadCommand, codes.InvalidArgument},
	"descriptors.ErrFlightSQL":  {descriptors.ErrFlightSQL, codes.Unimplemented},
	"descriptors.ErrBadTicket":  {descriptors.ErrBadTicket, codes.InvalidArgument},
	"batchstore.ErrOrder":       {batchstore.ErrOrder, codes.InvalidArgument},
	"descriptors.ErrNotYet":     {descriptors.ErrNotYet, codes.Unimplemented},

	"plan.ErrColumn":     {plan.ErrColumn, codes.InvalidArgument},
	"plan.ErrBatchRange": {plan.ErrBatchRange, codes.InvalidArgument},

	"batchstore.ErrMemory":       {batchstore.ErrMemory, codes.ResourceExhausted},
	"batchstore.ErrTooLarge":     {batchstore.ErrTooLarge, codes.ResourceExhausted},
	"batchstore.ErrNoSpace":      {batchstore.ErrNoSpace, codes.ResourceExhausted},
	"batchstore.ErrFiles":        {batchstore.ErrFiles, codes.FailedPrecondition},
	"batchstore.ErrInPlace":      {batchstore.ErrInPlace, codes.FailedPrecondition},
	"journal.ErrFull":            {journal.ErrFull, codes.ResourceExhausted},
	"journal.ErrTooLarge":        {journal.ErrTooLarge, codes.ResourceExhausted},
	"journal.ErrClosed":          {journal.ErrClosed, codes.Unavailable},
	"journal.ErrDoubt":           {journal.ErrDoubt, codes.Internal},
	"journal.ErrDamaged":         {journal.ErrDamaged, codes.DataLoss},
	"journal.ErrVersion":         {journal.ErrVersion, codes.DataLoss},
	"segment.ErrDamaged":         {segment.ErrDamaged, codes.DataLoss},
	"segment.ErrUnsupported":     {segment.ErrUnsupported, codes.DataLoss},
	"segment.ErrFull":            {segment.ErrFull, codes.ResourceExhausted},
	"segment.ErrClosed":          {segment.ErrClosed, codes.Unavailable},
	"batchstore.ErrInvalidBatch": {batchstore.ErrInvalidBatch, codes.InvalidArgument},

	"arena.ErrNoMemory": {arena.ErrNoMemory, codes.ResourceExhausted},
	"arena.ErrSize":     {arena.ErrSize, codes.ResourceExhausted},
	"arena.ErrInUse":    {arena.ErrInUse, codes.Internal},
	"arena.ErrClosed":   {arena.ErrClosed, codes.Internal},

	"arrowipc.ErrMalformed":   {arrowipc.ErrMalformed, codes.InvalidArgument},
	"arrowipc.ErrLimit":       {arrowipc.ErrLimit, codes.InvalidArgument},
	"arrowipc.ErrUnsupported": {arrowipc.ErrUnsupported, codes.InvalidArgument},
	"arrowipc.ErrFields":      {fmt.Errorf("%w: %w", arrowipc.ErrLimit, arrowipc.ErrFields), codes.InvalidArgument},
	"arrowipc.ErrDepth":       {fmt.Errorf("%w: %w", arrowipc.ErrLimit, arrowipc.ErrDepth), codes.InvalidArgument},
	"arrowipc.ErrMetadata":    {fmt.Errorf("%w: %w", arrowipc.ErrLimit, arrowipc.ErrMetadata), codes.InvalidArgument},
	"arrowipc.ErrPick":        {arrowipc.ErrPick, codes.InvalidArgument},

	"compress.ErrCorrupt":      {compress.ErrCorrupt, codes.DataLoss},
	"compress.ErrNotOneFrame":  {compress.ErrNotOneFrame, codes.DataLoss},
	"compress.ErrLimit":        {compress.ErrLimit, codes.DataLoss},
	"compress.ErrLevel":        {compress.ErrLevel, codes.Internal},
	"compress.ErrReleased":     {compress.ErrReleased, codes.Internal},
	"compress.ErrUnknownCodec": {compress.ErrUnknownCodec, codes.Internal},

	"flight.errFlightData":     {errFlightData, codes.InvalidArgument},
	"flight.errStream":         {errStream, codes.InvalidArgument},
	"flight.errRows":           {errRows, codes.InvalidArgument},
	"catalog.ErrLeaseEnded":    {catalog.ErrLeaseEnded, codes.NotFound},
	"catalog.ErrNoTransaction": {catalog.ErrNoTransaction, codes.NotFound},
	"catalog.ErrResent":        {catalog.ErrResent, codes.InvalidArgument},
	"catalog.ErrMode":          {catalog.ErrMode, codes.InvalidArgument},
	"catalog.ErrIncomplete":    {catalog.ErrIncomplete, codes.FailedPrecondition},
	"catalog.ErrTooMany":       {catalog.ErrTooMany, codes.ResourceExhausted},

	"identity.ErrUnauthenticated": {identity.ErrUnauthenticated, codes.Unauthenticated},

	"limits.ErrLimit":       {limits.ErrLimit, codes.ResourceExhausted},
	"flight.errIdle":        {errIdle, codes.DeadlineExceeded},
	"flight.errStopping":    {errStopping, codes.Unavailable},
	"flight.errDenied":      {errDenied, codes.PermissionDenied},
	"flight.errLayout":      {errLayout, codes.NotFound},
	"flight.errNoLease":     {errNoLease, codes.InvalidArgument},
	"flight.errTooBig":      {errTooBig, codes.ResourceExhausted},
	"flight.errUnsupported": {errUnsupported, codes.Unimplemented},
}

// An error has its code however deep it is wrapped, and the client sees the whole text.
func TestErrorsHaveTheirCodes(t *testing.T) {
	f := start(t)
	other := map[string]struct {
		err  error
		code codes.Code
	}{
		"cancelled":                 {context.Canceled, codes.Canceled},
		"deadline":                  {context.DeadlineExceeded, codes.DeadlineExceeded},
		"unknown":                   {errors.New("surprise"), codes.Internal},
		"refused memory of a batch": {errors.Join(batchstore.ErrInvalidBatch, arena.ErrNoMemory), codes.ResourceExhausted},
		"batch too large":           {errors.Join(batchstore.ErrInvalidBatch, batchstore.ErrTooLarge), codes.ResourceExhausted},
		"damage that arrived":       {errors.Join(batchstore.ErrInvalidBatch, compress.ErrCorrupt), codes.InvalidArgument},
		"limit that arrived":        {errors.Join(batchstore.ErrInvalidBatch, compress.ErrLimit), codes.InvalidArgument},
		"Flight SQL":                {errors.Join(descriptors.ErrBadCommand, descriptors.ErrFlightSQL), codes.Unimplemented},
	}
	for name, c := range wantCodes {
		other[name] = c
	}
	for name, c := range other {
		t.Run(name, func(t *testing.T) {
			hook(t, func(*Server) ([]byte, error) {
				return nil, fmt.Errorf("outside: %w", fmt.Errorf("inside: %w", c.err))
			})
			err := f.in(t).action(hooked, "", nil)
			wantStatus(t, err, c.code, "outside: inside: "+c.err.Error())
		})
	}
	t.Run("status", func(t *testing.T) {
		hook(t, func(*Server) ([]byte, error) { return nil, status.Error(codes.FailedPrecondition, "as it is") })
		wantStatus(t, f.in(t).action(hooked, "", nil), codes.FailedPrecondition, "as it is")
	})
	t.Run("wrapped status", func(t *testing.T) {
		hook(t, func(*Server) ([]byte, error) {
			return nil, fmt.Errorf("outside: %w", status.Error(codes.FailedPrecondition, "inside"))
		})
		wantStatus(t, f.in(t).action(hooked, "", nil), codes.FailedPrecondition, "outside: ", "inside")
	})
}

// hooked is the name of an action that hook adds until the test ends.
const hooked = "test.hook"

func hook(t *testing.T, f func(*Server) ([]byte, error)) {
	testActions[hooked] = f
	t.Cleanup(func() { delete(testActions, hooked) })
}

// No error of our packages is without a decision on its code.
func TestEveryErrorIsInTheTable(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{"../catalog", "../catalog/journal", "../descriptors", "plan", "identity", "limits", "../batchstore", "../batchstore/arena", "../batchstore/segment", "../arrowipc", "../compress", "."} {
		name := path.Base(folder)
		prefix := "Err"
		if folder == "." {
			name, prefix = "flight", "err"
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					for _, id := range spec.(*ast.ValueSpec).Names {
						if strings.HasPrefix(id.Name, prefix) {
							found[name+"."+id.Name] = true
						}
					}
				}
			}
		}
	}
	for name := range found {
		if _, ok := wantCodes[name]; !ok {
			t.Errorf("%s: no test says which code it has", name)
		}
	}
	for name := range wantCodes {
		if !found[name] {
			t.Errorf("%s is no error of ours any more", name)
		}
	}
}
