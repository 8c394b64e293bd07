package main

import (
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
)

const maxMessage = 1 << 30

func serve() error {
	s := flight.NewServerWithMiddleware(nil, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	if err := s.Init("127.0.0.1:0"); err != nil {
		return err
	}
	s.RegisterFlightService(&peer{tables: map[string]table{}})
	fmt.Println("grpc://" + s.Addr().String())
	return s.Serve()
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "arrowgo:", err)
		os.Exit(1)
	}
}
