// Package permissions says which datasets a caller may read, write and administer.
//
// # Purpose
//
// One YAML file has roles, with patterns of names, and the roles of callers:
//
//	roles:
//	  analyst:
//	    read: ["sales/**", "rates/*"]
//	    write: ["scratch/**"]
//	  operator:
//	    admin: ["**"]
//	callers:
//	  alice: [analyst]
//	  "CN=loader,O=Flights": [operator]
//	  "*": [guest]    # everyone who is known
//
// Who may administer may write, and who may write may read. In a pattern * is any text within a segment of a name, and ** as a
// segment is any number of segments, or none.
//
// # Invariants
//
// What no pattern has is not permitted. A file with anything that is not understood, as a role that is not there, is of no use
// as a whole: then the rules before it stay.
//
// # Concurrency
//
// [Rules] never change. A [File] may be asked by any number of goroutines.
//
// # What it is not
//
// It does not say who calls, and knows nothing of columns or rows.
package permissions
