package descriptors

import "encoding/json"

// Bounds of a transaction.
const (
	MaxTransactionTTL  = 24 * 60 * 60 // seconds
	MaxTransactionPuts = 100_000      // that a commit may list
)

// Begin begins a transaction of puts to one dataset.
type Begin struct {
	// Dataset is the dataset to write.
	Dataset Name
	// Mode is what the commit does to the rows that are there; a parsed one is not "".
	Mode Mode
	// TTL is how many seconds the transaction may take, 1 to MaxTransactionTTL; 0 is the server's default.
	TTL int64
}

// Commit makes the puts of a transaction visible at once.
type Commit struct {
	// Dataset is the dataset that the transaction was begun for.
	Dataset Name
	// Transaction is the transaction.
	Transaction string
	// Puts are the put_ids of the puts to keep, in the order that their rows are to have; nil is all puts in the order of
	// their completion.
	Puts []string
}

// Abort discards the puts of a transaction.
type Abort struct {
	// Dataset is the dataset that the transaction was begun for; "" leaves it unchecked.
	Dataset Name
	// Transaction is the transaction.
	Transaction string
}

// ActionName returns [ActionBegin].
func (Begin) ActionName() string { return ActionBegin }

// ActionName returns [ActionCommit].
func (Commit) ActionName() string { return ActionCommit }

// ActionName returns [ActionAbort].
func (Abort) ActionName() string { return ActionAbort }

// Marshal returns the body as canonical JSON.
func (a Begin) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	if a.Mode != "" && a.Mode != ModeReplace {
		e.text("mode", string(a.Mode))
	}
	if a.TTL != 0 {
		e.integer("ttl", a.TTL)
	}
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Commit) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	e.text("transaction", a.Transaction)
	if a.Puts != nil {
		list(&e, "puts", a.Puts, func(id string, buf []byte) []byte { return appendString(buf, id) })
	}
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Abort) Marshal() []byte {
	var e encoder
	if a.Dataset != "" {
		e.text("dataset", string(a.Dataset))
	}
	e.text("transaction", a.Transaction)
	return e.finish()
}

var (
	beginKeys = []key[Begin]{
		newDatasetKey(func(a *Begin) *Name { return &a.Dataset }),
		{name: "mode", doc: "replace (the default), append or create", parse: func(d *decoder, at string, a *Begin) error {
			s, err := d.choice(at, string(ModeReplace), string(ModeAppend), string(ModeCreate))
			a.Mode = Mode(s)
			return err
		}},
		{name: "ttl", doc: "seconds until the transaction is discarded, 1 to 86400", parse: func(d *decoder, at string, a *Begin) (err error) {
			a.TTL, err = d.integer(at, 1, MaxTransactionTTL)
			return err
		}},
	}
	commitKeys = []key[Commit]{
		datasetKey(true, func(a *Commit) *Name { return &a.Dataset }),
		transactionKey(func(a *Commit) *string { return &a.Transaction }),
		{name: "puts", doc: "the put_ids to keep, in order; absent: all, in the order of completion", parse: parsePuts},
	}
	abortKeys = []key[Abort]{
		datasetKey(false, func(a *Abort) *Name { return &a.Dataset }),
		transactionKey(func(a *Abort) *string { return &a.Transaction }),
	}
)

func transactionKey[C any](field func(*C) *string) key[C] {
	return key[C]{name: "transaction", doc: "the name that begin gave", required: true, parse: func(d *decoder, at string, c *C) (err error) {
		*field(c), err = d.id(at)
		return err
	}}
}

// parsePuts takes the list of put_ids. The result is never nil: an empty list keeps none.
func parsePuts(d *decoder, at string, a *Commit) error {
	tok, err := d.token()
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return d.bad("%s: want a list of put_ids, got %s", at, describeToken(tok))
	}
	a.Puts = []string{}
	seen := map[string]bool{}
	for d.more() {
		if len(a.Puts) == MaxTransactionPuts {
			return d.bad("%s: the list has more than %d entries", at, MaxTransactionPuts)
		}
		place := index(at, len(a.Puts))
		id, err := d.id(place)
		if err != nil {
			return err
		}
		if seen[id] {
			return d.bad("%s: the put %s is listed twice; list it once", place, quote(id))
		}
		seen[id] = true
		a.Puts = append(a.Puts, id)
	}
	_, err = d.token()
	return err
}
