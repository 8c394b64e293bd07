package flight

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/flightcache/flightcache/descriptors"
)

// Who reads no dictionaries is known by how the client names itself, first thing in its user agent.
func TestClientsWithoutDictionaries(t *testing.T) {
	for agent, want := range map[string]bool{
		"grpc-dotnet/2.70.0 (.NET 9.0.0; CLR 9.0.0; net9.0; linux; x64)": true,
		"grpc-c++/1.60.0 grpc-c/37.0.0 (linux; chttp2)":                  false,
		"grpc-java-netty/1.75.0":                                         false,
		"grpc-go/1.85.0":                                                 false,
		"x grpc-dotnet/2.70.0":                                           false,
		"":                                                               false,
	} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("user-agent", agent))
		s := &Server{}
		if got := client(ctx, s.readOptions(ctx, &descriptors.ReadCommand{})).DecodeDictionaries; got != want {
			t.Errorf("%q: dictionaries decoded: %v, want %v", agent, got, want)
		}
	}
	if client(t.Context(), (&Server{}).readOptions(t.Context(), &descriptors.ReadCommand{})).DecodeDictionaries {
		t.Error("without metadata: dictionaries decoded")
	}
}
