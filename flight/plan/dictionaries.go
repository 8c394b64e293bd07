package plan

import (
	"github.com/flightcache/flightcache/descriptors"
)

// planDictionaries decides whether the dictionaries of the chosen columns are sent or decoded, for the whole read and
// before anything is sent: schema, totals and stream depend on it. The command's word counts first. Without one they are
// decoded for clients that cannot read any, and where one is larger than a message that the client takes: a dictionary
// cannot be cut.
func (r *Read) planDictionaries(c *descriptors.ReadCommand, client Client) error {
	chosen := r.Projection.Schema.Layout.Dictionaries
	if len(chosen) == 0 {
		return nil
	}
	r.Decode = c.Dictionaries == descriptors.DictionariesDecode || c.Dictionaries == "" && client.DecodeDictionaries
	ordinals := map[int64]int64{}
	for i, layout := range r.Generation.Schema.Layout.Dictionaries {
		ordinals[layout.ID] = int64(i)
	}
	for _, layout := range chosen {
		d := r.Generation.Dictionaries[ordinals[layout.ID]]
		if r.Decoded != Unknown {
			r.Decoded += d.Decoded
		}
		largest := d.MaxStored
		if client.Plain {
			largest = d.MaxDecoded
		}
		if c.Dictionaries == "" && client.MaxMessage > 0 && largest > client.MaxMessage {
			r.Decode = true
		}
	}
	if !r.Decode {
		return nil
	}
	var err error
	r.Schema, err = r.Projection.Schema.WithoutDictionaries(func(int64) bool { return true })
	return err
}

// Resolved is the command as it was planned, for a ticket: who reads by it gets the schema that was told.
func (r *Read) Resolved(c descriptors.ReadCommand) descriptors.ReadCommand {
	if len(r.Projection.Schema.Layout.Dictionaries) > 0 {
		c.Dictionaries = descriptors.DictionariesKeep
		if r.Decode {
			c.Dictionaries = descriptors.DictionariesDecode
		}
	}
	return c
}
