package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// method is the one that is answered.
const method = "/arrow.flight.protocol.FlightService/DoGet"

// plainCodec passes messages as they are.
type plainCodec struct{ encoding.CodecV2 }

func (plainCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (plainCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// record reads the whole answer to a ticket: each message behind the five bytes that gRPC puts before it.
func record(address, ticket string) ([]byte, error) {
	connection, err := grpc.NewClient(strings.TrimPrefix(address, "grpc://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(plainCodec{encoding.GetCodecV2(proto.Name)}), grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	stream, err := connection.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), ticket)
	if err := stream.SendMsg(request); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var all []byte
	for {
		var message []byte
		if err := stream.RecvMsg(&message); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = binary.BigEndian.AppendUint32(append(all, 0), uint32(len(message)))
		all = append(all, message...)
	}
}
