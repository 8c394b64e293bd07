package main

import (
	"flag"
	"fmt"
	"net"
	"os"
)

// run serves until the process is killed, and gives why it cannot.
func run() error {
	from := flag.String("from", "", "address of the server that has the answer")
	ticket := flag.String("ticket", "", "what is asked for")
	chunk := flag.Int("chunk", 2<<20, "bytes of the largest frame")
	flag.Parse()
	answer, err := record(*from, *ticket)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("grpc://%s\n", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go (&conn{Conn: c, answer: answer, chunk: *chunk}).serve()
	}
}

func main() {
	fmt.Fprintln(os.Stderr, "bare:", run())
	os.Exit(1)
}
