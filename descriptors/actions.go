package descriptors

import (
	"bytes"
	"fmt"
	"slices"
)

// The names of the actions that this server has.
const (
	ActionDrop        = "drop"
	ActionDescribe    = "describe"
	ActionServerStats = "server_stats"
	ActionStatistics  = "statistics"
	ActionPin         = "pin"
	ActionUnpin       = "unpin"
	ActionEvict       = "evict"
	ActionCompact     = "compact"
	ActionBegin       = "begin"
	ActionCommit      = "commit"
	ActionAbort       = "abort"
)

// Action is the request of one DoAction: a [Drop], a [Describe], a [ServerStats], a [Statistics], a [Pin], an [Unpin], an [Evict], a
// [Compact], a [Begin], a [Commit] or an [Abort].
type Action interface {
	// ActionName returns the action's type as DoAction has it.
	ActionName() string
	// Marshal returns the body as canonical JSON.
	Marshal() []byte
}

// Drop takes a dataset away.
type Drop struct {
	// Dataset is the dataset.
	Dataset Name
	// IfExists makes the drop of an absent dataset no error.
	IfExists bool
}

// Describe asks for the facts about a dataset.
type Describe struct {
	// Dataset is the dataset.
	Dataset Name
}

// ServerStats asks for the server's counters.
type ServerStats struct {
	// Dataset narrows them to one dataset; "" is the whole server.
	Dataset Name
}

// Statistics asks for what is known of the values of columns.
type Statistics struct {
	// Dataset is the dataset.
	Dataset Name
	// Columns are the columns; nil is all, and an empty slice that is not nil is none.
	Columns []Column
	// PerBatch asks for the statistics of each stored batch beside those of the whole.
	PerBatch bool
}

// ActionName returns [ActionDrop].
func (Drop) ActionName() string { return ActionDrop }

// ActionName returns [ActionDescribe].
func (Describe) ActionName() string { return ActionDescribe }

// ActionName returns [ActionServerStats].
func (ServerStats) ActionName() string { return ActionServerStats }

// ActionName returns [ActionStatistics].
func (Statistics) ActionName() string { return ActionStatistics }

// Marshal returns the body as canonical JSON.
func (a Drop) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	if a.IfExists {
		e.boolean("if_exists", true)
	}
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Describe) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a ServerStats) Marshal() []byte {
	var e encoder
	if a.Dataset != "" {
		e.text("dataset", string(a.Dataset))
	}
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Statistics) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	if a.Columns != nil {
		list(&e, "columns", a.Columns, Column.append)
	}
	if a.PerBatch {
		e.boolean("per_batch", true)
	}
	return e.finish()
}

var (
	dropKeys = []key[Drop]{
		datasetKey(true, func(a *Drop) *Name { return &a.Dataset }),
		{name: "if_exists", doc: "true: an absent dataset is no error", parse: func(d *decoder, at string, a *Drop) (err error) {
			a.IfExists, err = d.boolean(at)
			return err
		}},
	}
	describeActionKeys = []key[Describe]{datasetKey(true, func(a *Describe) *Name { return &a.Dataset })}
	serverStatsKeys    = []key[ServerStats]{datasetKey(false, func(a *ServerStats) *Name { return &a.Dataset })}
	statisticsKeys     = []key[Statistics]{
		datasetKey(true, func(a *Statistics) *Name { return &a.Dataset }),
		{name: "columns", doc: "a list of names, dotted paths or ordinals; absent: all", parse: func(d *decoder, at string, a *Statistics) (err error) {
			a.Columns, err = d.columns(at)
			return err
		}},
		{name: "per_batch", doc: "true: of each stored batch too", parse: func(d *decoder, at string, a *Statistics) (err error) {
			a.PerBatch, err = d.boolean(at)
			return err
		}},
	}
)

// actionRow is one row of the table of actions.
type actionRow struct {
	name, doc string
	keys      []Key
	parse     func(body []byte, what string, limits Limits) (Action, error)
}

// supported says whether the action is taken: every one is.
func (a actionRow) supported() bool { return true }

func (a actionRow) word() string { return a.name }

var actions = []actionRow{
	actionOf(ActionDrop, "Take a dataset away.", dropKeys),
	actionOf(ActionDescribe, "Return the facts about a dataset.", describeActionKeys),
	actionOf(ActionServerStats, "Return the counters of the server, or of one dataset.", serverStatsKeys),
	actionOf(ActionStatistics, "Return what is known of the values of a dataset's columns.", statisticsKeys),
	actionOf(ActionPin, "Let eviction leave a dataset alone.", pinKeys),
	actionOf(ActionUnpin, "Let eviction take a dataset again.", unpinKeys),
	actionOf(ActionEvict, "Evict a dataset now.", evictKeys),
	actionOf(ActionCompact, "Join the small batches of a dataset.", compactKeys),
	actionOf(ActionBegin, "Begin a transaction of puts.", beginKeys),
	actionOf(ActionCommit, "Make the puts of a transaction visible at once.", commitKeys),
	actionOf(ActionAbort, "Discard the puts of a transaction.", abortKeys),
}

func actionOf[A Action](name, doc string, keys []key[A]) actionRow {
	return actionRow{
		name: name, doc: doc, keys: describeKeys(keys),
		parse: func(body []byte, what string, limits Limits) (Action, error) {
			var a A
			if err := parseObject(body, what, keys, limits, &a); err != nil {
				return nil, err
			}
			return a, nil
		},
	}
}

// ActionInfo describes one action, for ListActions and documentation.
type ActionInfo struct {
	// Name is the action's type.
	Name string
	// Doc says in one sentence what it does.
	Doc string
	// Keys are the keys of its body.
	Keys []Key
}

// Actions returns the actions that this server has, in a fixed order. The slices are the caller's.
func Actions() []ActionInfo {
	var infos []ActionInfo
	for _, a := range actions {
		infos = append(infos, ActionInfo{Name: a.name, Doc: a.doc, Keys: slices.Clone(a.keys)})
	}
	return infos
}

// ParseAction returns the action of this name and body, under [DefaultLimits]. The body is one JSON object; an empty
// body is {}. The error is ErrNotYet for a key that is not supported yet, else ErrBadCommand (with
// ErrBadName or ErrFlightSQL where that is the reason). Flight's own actions, whose bodies are protobuf, are unknown here. Nothing of
// body is kept.
func ParseAction(name string, body []byte) (Action, error) {
	return DefaultLimits().ParseAction(name, body)
}

// ParseAction is the function of the same name under these limits.
func (l Limits) ParseAction(name string, body []byte) (Action, error) {
	i := slices.IndexFunc(actions, func(a actionRow) bool { return a.name == name })
	if slices.Contains(flightSQLActions, name) {
		return nil, fmt.Errorf("%w: action %s is one of Flight SQL, and %w; read by a ticket: a name, or a JSON command", ErrBadCommand, quote(name), ErrFlightSQL)
	}
	if i < 0 {
		return nil, fmt.Errorf("%w: unknown action %s; %s", ErrBadCommand, quote(name), hint(name, "actions", actions))
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	return actions[i].parse(body, "action "+name, l)
}
