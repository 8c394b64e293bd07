// Package substrait reads filters that come as Substrait: a serialized substrait.ExtendedExpression, as pyarrow writes one
// by Expression.to_substrait(schema), becomes a tree of package predicate.
//
// # Purpose
//
// Engines that scan a pyarrow dataset, such as DuckDB and polars, push their filters down as pyarrow expressions and may
// rely on them: whoever takes a filter applies it exactly. Substrait is the form in which such an expression can be sent.
//
// # What is read
//
// One referred expression, made of
//
//   - references to fields, through structs; they become names, by the names of the message's base schema. So a client may
//     write the message for a schema of the columns that it filters by, in any order;
//   - literals: booleans, integers, floats, decimals, strings, binary, dates, times, timestamps and nulls, and Arrow's
//     extension types u8 to u64, large_string, large_binary, date_millis, time_seconds, time_millis and time_nanos;
//   - equal, not_equal, lt, lte, gt, gte, is_null, is_not_null and is_nan of functions_comparison; and, or and not of
//     functions_boolean; starts_with of functions_string;
//   - casts, if_then and singular_or_list.
//
// Functions and extension types are looked up by the document that defines them, named by URI (the form up to Substrait
// 0.7x, which Acero writes) or by URN, and by their name.
//
// The meaning is that which Acero gives the message when it reads it back: singular_or_list is a disjunction of
// comparisons, thus null where its value is; an if_then of one clause is if_else, null where the condition is; one of more
// clauses takes a null condition for false.
//
// # Invariants
//
//   - The message is hostile: at most [MaxBytes], nested at most [MaxDepth] deep; every reference is checked; nothing
//     panics. The limits of package predicate hold when the tree is bound.
//   - What is not known is refused by name, never skipped: an option or a function that says more than is understood would
//     let rows through that the sender means to be gone.
//   - The tree shares no memory with the message.
//
// # Concurrency
//
// [Parse] is safe for concurrent use.
//
// # What it is not
//
// It does not check that columns exist, nor that types fit: [predicate.Bind] does. It reads no plans and writes nothing.
package substrait
