package flight

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// reflected asks one question. The messages of both versions are the same on the wire.
func reflected(f *fixture, version string, request *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
	f.Helper()
	method := "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
	stream, err := f.dial().NewStream(f.context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		f.Fatal(err)
	}
	response := &reflectionpb.ServerReflectionResponse{}
	if err := stream.SendMsg(request); err != nil {
		f.Fatal(err)
	}
	if err := stream.RecvMsg(response); err != nil {
		f.Fatalf("%s: %v", method, err)
	}
	if err := stream.CloseSend(); err != nil {
		f.Fatal(err)
	}
	return response
}

// A client that knows nothing of Flight can list the services, and learn all of their methods and messages, by both versions of
// reflection. It needs no credentials: it learns what anyone can read in Flight.proto.
func TestReflection(t *testing.T) {
	f, _ := guarded(t)
	for _, version := range []string{"v1", "v1alpha"} {
		listed := reflected(f, version, &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		var names []string
		for _, s := range listed.GetListServicesResponse().GetService() {
			names = append(names, s.Name)
		}
		for _, want := range []string{"arrow.flight.protocol.FlightService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s: %s is not among %q", version, want, names)
			}
		}
		methods := map[string]protoreflect.MethodDescriptor{}
		for _, name := range names {
			service := describeService(f, version, name)
			for i := range service.Methods().Len() {
				m := service.Methods().Get(i)
				methods[fmt.Sprintf("/%s/%s", name, m.Name())] = m
			}
		}
		for service, info := range f.grpc.GetServiceInfo() {
			for _, m := range info.Methods {
				name := "/" + service + "/" + m.Name
				d := methods[name]
				if d == nil || d.IsStreamingClient() != m.IsClientStream || d.IsStreamingServer() != m.IsServerStream {
					t.Errorf("%s: %s is described as %v", version, name, d)
				}
			}
		}
		put := methods["/arrow.flight.protocol.FlightService/DoPut"]
		if body := put.Input().Fields().ByName("data_body"); body == nil || body.Number() != fieldBody || body.Kind() != protoreflect.BytesKind {
			t.Errorf("%s: the body of FlightData is described as %v", version, body)
		}
	}
}

// describeService resolves a service's descriptor with all files that it needs.
func describeService(f *fixture, version, name string) protoreflect.ServiceDescriptor {
	f.Helper()
	files := &descriptorpb.FileDescriptorSet{}
	known := map[string]bool{}
	var add func(request *reflectionpb.ServerReflectionRequest)
	add = func(request *reflectionpb.ServerReflectionRequest) {
		response := reflected(f, version, request).GetFileDescriptorResponse()
		if len(response.GetFileDescriptorProto()) == 0 {
			f.Fatalf("%s: no file for %v", version, request)
		}
		for _, raw := range response.FileDescriptorProto {
			file := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(raw, file); err != nil {
				f.Fatal(err)
			}
			if known[file.GetName()] {
				continue
			}
			known[file.GetName()] = true
			files.File = append(files.File, file)
			for _, needed := range file.Dependency {
				if !known[needed] {
					add(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: needed}})
				}
			}
		}
	}
	add(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
	registry, err := protodesc.NewFiles(files)
	if err != nil {
		f.Fatalf("%s: %s: %v", version, name, err)
	}
	d, err := registry.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		f.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}
