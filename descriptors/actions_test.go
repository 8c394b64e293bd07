package descriptors

import (
	"errors"
	"reflect"
	"testing"
)

func TestParseActionTakes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Action
		canonical  string
	}{
		{"drop", `{"dataset":"sales/2024"}`, Drop{Dataset: "sales/2024"}, `{"dataset":"sales/2024"}`},
		{"drop", `{"if_exists":true,"dataset":"x"}`, Drop{Dataset: "x", IfExists: true}, `{"dataset":"x","if_exists":true}`},
		{"drop", `{"dataset":"x","if_exists":false}`, Drop{Dataset: "x"}, `{"dataset":"x"}`},
		{"describe", ` {"dataset":"x"} `, Describe{Dataset: "x"}, `{"dataset":"x"}`},
		{"server_stats", ``, ServerStats{}, `{}`},
		{"server_stats", " \n", ServerStats{}, `{}`},
		{"server_stats", `{}`, ServerStats{}, `{}`},
		{"server_stats", `{"dataset":"x"}`, ServerStats{Dataset: "x"}, `{"dataset":"x"}`},
		{"statistics", `{"per_batch":true,"columns":[0,"b.c"],"dataset":"x"}`,
			Statistics{Dataset: "x", Columns: []Column{{IsOrdinal: true}, {Name: "b.c"}}, PerBatch: true},
			`{"dataset":"x","columns":[0,"b.c"],"per_batch":true}`},
		{"statistics", `{"dataset":"x","columns":[],"per_batch":false}`, Statistics{Dataset: "x", Columns: []Column{}},
			`{"dataset":"x","columns":[]}`},
		{"statistics", `{"dataset":"x"}`, Statistics{Dataset: "x"}, `{"dataset":"x"}`},
		{"pin", `{"dataset":"x"}`, Pin{Dataset: "x"}, `{"dataset":"x"}`},
		{"unpin", `{"dataset":"x"}`, Unpin{Dataset: "x"}, `{"dataset":"x"}`},
		{"evict", `{"dataset":"x"}`, Evict{Dataset: "x"}, `{"dataset":"x"}`},
		{"compact", `{"dataset":"x"}`, Compact{Dataset: "x"}, `{"dataset":"x"}`},
		{"begin", `{"dataset":"x"}`, Begin{Dataset: "x"}, `{"dataset":"x"}`},
		{"begin", `{"ttl":86400,"mode":"append","dataset":"x"}`, Begin{Dataset: "x", Mode: ModeAppend, TTL: MaxTransactionTTL},
			`{"dataset":"x","mode":"append","ttl":86400}`},
		{"commit", `{"dataset":"x","transaction":"t"}`, Commit{Dataset: "x", Transaction: "t"}, `{"dataset":"x","transaction":"t"}`},
		{"commit", `{"puts":["b","a"],"dataset":"x","transaction":"t"}`, Commit{Dataset: "x", Transaction: "t", Puts: []string{"b", "a"}},
			`{"dataset":"x","transaction":"t","puts":["b","a"]}`},
		{"commit", `{"puts":[],"dataset":"x","transaction":"t"}`, Commit{Dataset: "x", Transaction: "t", Puts: []string{}},
			`{"dataset":"x","transaction":"t","puts":[]}`},
		{"abort", `{"transaction":"t"}`, Abort{Transaction: "t"}, `{"transaction":"t"}`},
		{"abort", `{"transaction":"t","dataset":"x"}`, Abort{Dataset: "x", Transaction: "t"}, `{"dataset":"x","transaction":"t"}`},
	} {
		got, err := ParseAction(c.name, []byte(c.body))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v", c.name, c.body, got, err)
			continue
		}
		if got.ActionName() != c.name || string(got.Marshal()) != c.canonical {
			t.Errorf("%s %s is written %s %s", c.name, c.body, got.ActionName(), got.Marshal())
		}
		if again, err := ParseAction(c.name, got.Marshal()); err != nil || !reflect.DeepEqual(again, c.want) {
			t.Errorf("%s %s parses to %+v, %v", c.name, got.Marshal(), again, err)
		}
	}
}

func TestParseActionRefuses(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"drop", ``, `action drop: key "dataset" is missing`},
		{"drop", `{"dataset":"x","ifexists":true}`, `unknown key "ifexists"; did you mean "if_exists"?`},
		{"drop", `{"dataset":"x","if_exists":"yes"}`, "if_exists: want true or false"},
		{"drop", `"x"`, `want a JSON object, got "x"`},
		{"drop", `x`, "not JSON"},
		{"describe", `{}`, `key "dataset" is missing`},
		{"describe", `{"dataset":"x","if_exists":true}`, "unknown key"},
		{"statistics", `{}`, `key "dataset" is missing`},
		{"statistics", `{"dataset":"x","per_batch":1}`, "per_batch: want true or false"},
		{"statistics", `{"dataset":"x","columns":"a"}`, "columns: want a list"},
		{"server_stats", `{"dataset":""}`, "segment 1 of 1"},
		{"server_stats", `null`, "want a JSON object, got null"},
		{"server_stats", `[]`, "want a JSON object, got a list"},
		{"pin", `{}`, `key "dataset" is missing`},
		{"compact", `{}`, `key "dataset" is missing`},
		{"compact", `{"dataset":"x","all":true}`, `unknown key "all"`},
		{"unpin", `{"dataset":"x","ttl":1}`, `unknown key "ttl"`},
		{"begin", `{}`, `key "dataset" is missing`},
		{"begin", `{"dataset":"x","mode":"upsert"}`, "mode: want one of replace, append, create"},
		{"begin", `{"dataset":"x","ttl":86401}`, "ttl: want a whole number from 1 to 86400"},
		{"commit", `{"dataset":"x"}`, `key "transaction" is missing`},
		{"commit", `{"dataset":"x","transaction":"t","puts":"p"}`, `puts: want a list of put_ids, got "p"`},
		{"commit", `{"dataset":"x","transaction":"t","puts":["p",""]}`, "puts[1]: want 1 to 255 bytes"},
		{"commit", `{"dataset":"x","transaction":"t","puts":["p","q","p"]}`, `puts[2]: the put "p" is listed twice`},
		{"commit", `{"dataset":"x","transaction":"t","puts":["p"`, "ends too early"},
		{"abort", `{}`, `key "transaction" is missing`},
		{"delete", `{}`, `unknown action "delete"; the actions are drop, describe, server_stats, statistics, pin, unpin, evict, compact, begin, commit, abort`},
		{"descripe", `{}`, `unknown action "descripe"; did you mean "describe"?`},
		{"", `{}`, `unknown action ""`},
		{"CancelFlightInfo", ``, "unknown action"},
	} {
		got, err := ParseAction(c.name, []byte(c.body))
		checkRefused(t, err, ErrBadCommand, c.want)
		if got != nil {
			t.Errorf("%s %s: %+v beside an error", c.name, c.body, got)
		}
	}
	_, err := Limits{CommandBytes: 14, Columns: 1}.ParseAction("describe", []byte(`{"dataset":"x"}`))
	checkRefused(t, err, ErrBadCommand, "15 bytes; at most 14")
}

func TestActionsOfFlightSQL(t *testing.T) {
	for _, name := range []string{"CreatePreparedStatement", "ClosePreparedStatement", "BeginTransaction", "CancelQuery"} {
		_, err := ParseAction(name, []byte{0x0a, 0x01})
		checkRefused(t, err, ErrFlightSQL, "one of Flight SQL, and Flight SQL is not spoken here; read by a ticket")
	}
}

func TestActionsListsWhatParses(t *testing.T) {
	infos := Actions()
	if len(infos) != 11 {
		t.Errorf("%d actions: %+v", len(infos), infos)
	}
	for _, info := range infos {
		body := `{"dataset":"x"}`
		if info.Name == ActionCommit || info.Name == ActionAbort {
			body = `{"dataset":"x","transaction":"t"}`
		}
		_, err := ParseAction(info.Name, []byte(body))
		if err != nil || info.Doc == "" || len(info.Keys) == 0 {
			t.Errorf("%+v: %v", info, err)
		}
		infos[0].Keys[0].Name = "changed"
	}
	if Actions()[0].Keys[0].Name != "dataset" {
		t.Error("a caller changed the table")
	}
}

func FuzzAction(f *testing.F) {
	f.Add("statistics", []byte(`{"dataset":"x","columns":["a",1],"per_batch":true}`))
	f.Add("drop", []byte(`{"dataset":"x","if_exists":true}`))
	f.Add("server_stats", []byte(``))
	f.Add("begin", []byte(`{"dataset":"x","mode":"append","ttl":60}`))
	f.Add("commit", []byte(`{"dataset":"x","transaction":"t","puts":["a","b"]}`))
	f.Add("abort", []byte(`{"transaction":"t"}`))
	f.Add("compact", []byte(`{}`))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		a, err := ParseAction(name, body)
		if err != nil {
			if errors.Is(err, ErrBadCommand) == errors.Is(err, ErrNotYet) {
				t.Fatalf("error of no kind, or of two: %v", err)
			}
			return
		}
		if again, err := ParseAction(a.ActionName(), a.Marshal()); err != nil || !reflect.DeepEqual(again, a) {
			t.Fatalf("%+v became %+v, %v", a, again, err)
		}
	})
}
