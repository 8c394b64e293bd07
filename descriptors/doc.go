// Package descriptors is the grammar of what clients send to name data and to say what to do with it: dataset names,
// the two forms of a flight descriptor, read and put commands, tickets, and the bodies of actions.
//
// # Purpose
//
// One place decides what a client's words mean, before anything is looked up. Each parser either returns a command that
// keeps all of its rules or an error that says what was wrong, where, and what to do.
//
// # Grammar
//
// A dataset [Name] is 1 to 8 segments, each 1 to 255 bytes of UTF-8 without '/' or control characters, and neither "."
// nor ".."; the first does not start with '{'. It is written "sales/2024". Of a new dataset it has no invisible character either
// ([Name.CheckNew]).
//
// A [Pattern] is of names, as "sales/**": in it * is any text within a segment, and ** any number of segments.
//
// A descriptor is a path, ["sales", "2024"], which names a dataset and means all defaults, or a cmd, which is one JSON
// object.
//
// A [ReadCommand] has the keys
//
//	dataset            the name, as written; required
//	generation         the generation to read; absent: the newest
//	columns            a list of names, dotted paths or ordinals; absent: all; []: none
//	wire               none | stored | zstd | lz4; absent: the server chooses
//	max_message_bytes  65536 to 2147483647
//	batch_metadata     true | false
//	limit              the largest number of rows, 0 or more
//	dictionaries       keep | decode; absent: the server chooses
//	filters            which rows, see below; absent: all
//	substrait          which rows, as base64 of a serialized substrait.ExtendedExpression; not beside filters
//	prune_only         true | false: leave out whole batches only
//	count              exact: count the rows that a filter keeps
//	statistics         true | false
//	partitions         how many endpoints, 1 to 65536; absent: 1
//
// and a [PutCommand] has
//
//	dataset            the name, as written; required
//	mode               replace (the default) | append | create
//	codec              none | lz4 | zstd; absent: the server's default
//	level              1 to 22, with the codec zstd only
//	encode             now | deferred; when the batches are encoded
//	batching           auto (the default) | keep
//	rows               how many rows the put must have, 0 or more
//	dictionaries       keep | decode; absent: the server chooses
//	sorted_by          the order of the rows, the most significant column first, "-" for descending: ["x", "-y"]; "+" before
//	                   the name of an ascending one that begins with "-": ["+-x"]
//	ttl                seconds from the commit until the dataset is dropped, 1 to 315360000
//	pin                true | false: whether eviction leaves the dataset alone; absent: as before
//	durable            true | false: whether the dataset outlives the server; absent: the server's default, on append as before
//	put_id             names the put in its dataset or transaction, 1 to 255 bytes; sent again, it is not stored again
//	transaction        the transaction that the put belongs to; mode is then the transaction's
//
// The grammar has further keys, and what some of these ask for may not be built yet: such a key is [ErrNotYet], whatever
// its value. [ReadKeys] and [PutKeys] list all keys and say which are supported.
//
// A [Filter] is a list of terms that must all hold, or a list of such lists of which one must hold, as
// pyarrow.parquet.read_table takes it:
//
//	[["k", ">", 5], ["s", "in", ["a", "b"]]]
//	[[["k", "=", 5]], [["s", "is null"], ["t", "starts with", "x"]]]
//
// A term is [column, operator, value]; the column is a name, a dotted path or an ordinal. The operators are = (or ==), !=,
// <, <=, >, >= with one value; in, not in with a list of values; is null, is not null with none; starts with with a
// string. A value is a JSON scalar, null included; numbers keep every digit. No list is empty but that of in and not in.
//
// A [Ticket] is told by its first byte: 0x01 an opaque ticket from GetFlightInfo, see [Sealer]; '{' a JSON read
// command; anything else a plain dataset name.
//
// An action has a name and a body of one JSON object, where an empty body is {}:
//
//	drop          dataset (required), if_exists (true | false)
//	statistics    dataset (required), columns (a list, as in reads), per_batch (true | false)
//	describe      dataset (required)
//	server_stats  dataset
//	pin           dataset (required)
//	unpin         dataset (required)
//	evict         dataset (required)
//	compact       dataset (required)
//	begin         dataset (required), mode (as in puts), ttl (seconds, 1 to 86400)
//	commit        dataset (required), transaction (required), puts (a list of put_ids, none twice)
//	abort         dataset, transaction (required)
//
// # Invariants
//
//   - JSON is taken strictly: one object and nothing after it, no unknown or repeated key (keys are compared exactly),
//     no null but as a value of a filter, valid Unicode only, whole numbers written as such. A default is asked for by leaving its key out.
//   - Input is hostile: [Limits] bound it before it is parsed, nothing nests deeper than the grammar, an error repeats
//     only the front of what it complains about, and no input panics.
//   - A command's canonical JSON (its Marshal method) parses back to an equal command, and is never longer than the
//     text that the command came from.
//   - No field of an opaque ticket is parsed before its check code is found right.
//
// # Concurrency
//
// All functions are safe for concurrent use, as is a [Sealer]. Commands and tickets are plain values that share their
// slices and pointers when they are copied.
//
// # What it is not
//
// It knows no schema, no dataset and no user: whether a column or generation exists, and who may read it, is decided by
// others. It knows neither gRPC nor Flight's messages.
package descriptors
