package flight

import (
	"context"
	"errors"
	"fmt"

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
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
	"github.com/flightcache/flightcache/flight/plan"
	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/predicate/substrait"
)

// Errors of this package.
var (
	// errFlightData: a FlightData message that cannot be read as protobuf, or is over a bound of its small fields.
	errFlightData = errors.New("malformed FlightData")
	// errStream: a stream of messages whose order is not that of a put.
	errStream = errors.New("bad message order")
	// errRows: a put whose total is not the one that its command expects.
	errRows = errors.New("wrong number of rows")
	// errTooBig: a message that is larger than it may be, received or to be sent.
	errTooBig = errors.New("message too large")
	// errLayout: a ticket for some of the batches of a generation that lies in other batches by now.
	errLayout = errors.New("ticket is stale")
	// errNoLease: an endpoint that has no lease is to be renewed.
	errNoLease = errors.New("endpoint has no lease")
	// errUnsupported: a request that this server does not answer.
	errUnsupported = errors.New("not supported by this server")
)

// statusTable says which gRPC code each error becomes; the first that matches counts. What no row names is Internal.
var statusTable = []struct {
	err  error
	code codes.Code
}{
	{context.Canceled, codes.Canceled},
	{context.DeadlineExceeded, codes.DeadlineExceeded},
	{identity.ErrUnauthenticated, codes.Unauthenticated},
	{errDenied, codes.PermissionDenied},
	{descriptors.ErrNotYet, codes.Unimplemented},
	{descriptors.ErrFlightSQL, codes.Unimplemented},
	{errUnsupported, codes.Unimplemented},
	{catalog.ErrNotFound, codes.NotFound},
	{catalog.ErrStale, codes.NotFound},
	{catalog.ErrExists, codes.AlreadyExists},
	{catalog.ErrPinned, codes.FailedPrecondition},
	{catalog.ErrDurable, codes.FailedPrecondition},
	{catalog.ErrNotKept, codes.FailedPrecondition},
	{catalog.ErrConflict, codes.Aborted},
	{catalog.ErrOrder, codes.InvalidArgument},
	{catalog.ErrLeaseEnded, codes.NotFound},
	{catalog.ErrNoTransaction, codes.NotFound},
	{catalog.ErrMode, codes.InvalidArgument},
	{catalog.ErrResent, codes.InvalidArgument},
	{catalog.ErrIncomplete, codes.FailedPrecondition},
	{catalog.ErrTooMany, codes.ResourceExhausted},
	{errLayout, codes.NotFound},
	{errNoLease, codes.InvalidArgument},
	{catalog.ErrSchemaMismatch, codes.InvalidArgument},
	{plan.ErrColumn, codes.InvalidArgument},
	{plan.ErrBatchRange, codes.InvalidArgument},
	{predicate.ErrUnsupported, codes.Unimplemented},
	{substrait.ErrMalformed, codes.InvalidArgument},
	{predicate.ErrType, codes.InvalidArgument},
	{predicate.ErrLiteral, codes.InvalidArgument},
	{predicate.ErrColumn, codes.InvalidArgument},
	{predicate.ErrLimit, codes.InvalidArgument},
	{descriptors.ErrBadName, codes.InvalidArgument},
	{descriptors.ErrBadCommand, codes.InvalidArgument},
	{descriptors.ErrBadTicket, codes.InvalidArgument},
	{batchstore.ErrMemory, codes.ResourceExhausted},
	{intake.ErrTooLarge, codes.ResourceExhausted},
	{intake.ErrFull, codes.ResourceExhausted},
	{intake.ErrStalled, codes.DeadlineExceeded},
	{errIdle, codes.DeadlineExceeded},
	{errStopping, codes.Unavailable},
	{limits.ErrLimit, codes.ResourceExhausted},
	{batchstore.ErrTooLarge, codes.ResourceExhausted},
	{batchstore.ErrNoSpace, codes.ResourceExhausted},
	{batchstore.ErrFiles, codes.FailedPrecondition},
	{batchstore.ErrInPlace, codes.FailedPrecondition},
	{journal.ErrDoubt, codes.Internal}, // before what the disk said
	{journal.ErrFull, codes.ResourceExhausted},
	{journal.ErrTooLarge, codes.ResourceExhausted},
	{journal.ErrClosed, codes.Unavailable},
	{journal.ErrDamaged, codes.DataLoss},
	{journal.ErrVersion, codes.DataLoss},
	{segment.ErrDamaged, codes.DataLoss},
	{segment.ErrUnsupported, codes.DataLoss},
	{segment.ErrFull, codes.ResourceExhausted},
	{segment.ErrClosed, codes.Unavailable},
	{errTooBig, codes.ResourceExhausted},
	{arena.ErrNoMemory, codes.ResourceExhausted},
	{arena.ErrSize, codes.ResourceExhausted},
	{batchstore.ErrOrder, codes.InvalidArgument},
	{batchstore.ErrInvalidBatch, codes.InvalidArgument},
	{arrowipc.ErrMalformed, codes.InvalidArgument},
	{arrowipc.ErrLimit, codes.InvalidArgument},
	{arrowipc.ErrUnsupported, codes.InvalidArgument},
	{arrowipc.ErrPick, codes.InvalidArgument},
	{errFlightData, codes.InvalidArgument},
	{errStream, codes.InvalidArgument},
	{errRows, codes.InvalidArgument},
	// A stored body that does not decode is the server's loss; one that arrives so is wrapped in ErrInvalidBatch.
	{compress.ErrCorrupt, codes.DataLoss},
	{compress.ErrLimit, codes.DataLoss},
}

// toStatus turns an error into the one that a handler returns. An error that is a status already, as those of gRPC's
// streams are, keeps its code however it is wrapped.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if s, is := status.FromError(err); is {
		return s.Err()
	}
	for _, row := range statusTable {
		if errors.Is(err, row.err) {
			return status.Error(row.code, err.Error())
		}
	}
	return status.Error(codes.Internal, err.Error())
}

// inDataset puts the dataset's name before an error, if it is known: a command that cannot be read names none.
func inDataset(name descriptors.Name, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("dataset %q: %w", name, err)
}
