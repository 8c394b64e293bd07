package main

import "fmt"

// ask asks an action about a dataset and prints the answer: as it came for --output json, else as table writes it.
func (f *clientFlags) ask(e *env, action, dataset string, table func(answer []byte) error) error {
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := conn.action(e.ctx, action, datasetBody{Dataset: dataset})
	if err != nil {
		return err
	}
	if f.json() {
		return writeJSON(e.stdout, answer)
	}
	return table(answer)
}

// tell asks an action that has nothing to tell but that it was done, which is a word and the dataset's name.
func (f *clientFlags) tell(e *env, action, dataset, done string) error {
	return f.ask(e, action, dataset, func([]byte) error {
		_, err := fmt.Fprintf(e.stdout, "%s %s\n", done, printable(dataset))
		return err
	})
}
