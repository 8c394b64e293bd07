package compress

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idle counts the contexts that p keeps.
func (p *Pool) idle() int {
	n := len(p.lz4Encoders.idle) + len(p.zstdDecoders.idle)
	for _, c := range p.zstdEncoders {
		n += len(c.idle)
	}
	return n
}

// One context of each kind, given every kind of work in any order, gives what a new pool gives.
func TestRecycledContextsGiveTheSameBytes(t *testing.T) {
	buffers := samples()
	buffers["huge"] = bytes.Repeat(text(32<<10), 512) // 16 MiB
	rounds := 150
	if underRace {
		buffers["huge"], rounds = bytes.Repeat(text(32<<10), 32), 30
	}
	// The slow speeds get the shorter buffers only.
	skip := func(src []byte, w way) bool { return w.level > 5 && len(src) > 70_000 }
	var names []string
	fresh := map[string][]byte{}
	for name, src := range buffers {
		names = append(names, name)
		for _, w := range ways {
			if skip(src, w) {
				continue
			}
			fresh[key(name, w)] = mustAppend(t, newPool(t, Options{}), nil, src, w)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := newPool(t, Options{Contexts: 1, RetainBytes: 64 << 20})
	var dst, back []byte
	for i := range rounds {
		name, w := names[r.IntN(len(names))], ways[r.IntN(len(ways))]
		if i < len(ways) { // chance alone may leave a way out
			name, w = "text 100", ways[i]
		}
		src, want := buffers[name], fresh[key(name, w)]
		if skip(src, w) {
			continue
		}
		dst = mustAppend(t, p, dst[:0], src, w)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%s, %v: a recycled context gave %d bytes that differ from the %d of a fresh one", name, w, len(dst), len(want))
		}
		if r.IntN(3) == 0 && len(want) > 30 { // an error in between
			broken := bytes.Clone(want)
			for i := 8; i < len(broken); i += 1 + len(broken)/9 {
				broken[i] ^= byte(1 + r.IntN(255))
			}
			_ = p.Decode(make([]byte, len(src)), broken, w.codec)
		}
		back = append(back[:0], src...)
		clear(back)
		if err := p.Decode(back, want, w.codec); err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%s, %v: a recycled decoder: %v", name, w, err)
		}
	}
	if n := p.idle(); n != 6 {
		t.Errorf("%d contexts are kept, want one of each kind: four speeds, lz4, a decoder", n)
	}
}

func key(name string, w way) string { return name + w.codec.String() + string(rune('a'+w.level)) }

func heap() int {
	runtime.GC()
	runtime.GC() // sync.Pools of the libraries need two
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestRetainedMemory(t *testing.T) {
	p := newPool(t, Options{Contexts: 2})
	size := 256 << 20
	if underRace {
		size = 16 << 20
	}
	src := make([]byte, size)
	chunk := text(32 << 10) // well within every window, so that this is quick
	for i := 0; i < len(src); i += len(chunk) {
		copy(src[i:], chunk)
	}
	var dst []byte
	before := heap()
	for _, w := range []way{{LZ4, 0}, {Zstd, 1}} {
		dst = mustAppend(t, p, dst[:0], src, w)
		clear(src[:1<<20])
		if err := p.Decode(src, dst, w.codec); err != nil || !bytes.Equal(src[:len(chunk)], chunk) {
			t.Fatalf("%v: %v", w, err)
		}
	}
	dst = nil
	kept := heap() - before
	t.Logf("kept after two buffers of %d bytes: %d bytes in %d contexts", size, kept, p.idle())
	if n := p.idle(); n != 3 {
		t.Errorf("%d contexts are kept, want 3", n)
	}
	if limit := 3*DefaultRetainBytes + 1<<20; kept > limit || kept < 1<<20 {
		t.Errorf("%d bytes are kept, want the contexts' own, at most %d", kept, limit)
	}
	p.Close()
	if kept := heap() - before; kept > 1<<20 || p.idle() != 0 {
		t.Errorf("%d bytes in %d contexts are kept after Close", kept, p.idle())
	}
	runtime.KeepAlive(src)
	runtime.KeepAlive(chunk)
}

func TestOverweightContextsAreNotKept(t *testing.T) {
	for _, tt := range []struct {
		retain, kept int
	}{{0, 5}, {64 << 20, 6}, {5 << 20, 4}, {1, 0}} {
		p := newPool(t, Options{RetainBytes: tt.retain, Contexts: 3})
		for _, w := range ways {
			stored := mustAppend(t, p, nil, text(5000), w)
			if _, err := p.DecodeLimit(stored, w.codec, 5000); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.idle(); n != tt.kept {
			t.Errorf("RetainBytes %d: %d contexts are kept, want %d", tt.retain, n, tt.kept)
		}
		p.Close()
		p.Close()
		mustAppend(t, p, nil, text(5000), way{Zstd, 1})
		if n := p.idle(); n != 0 {
			t.Errorf("a closed pool keeps %d contexts", n)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	const contexts = 3
	p := newPool(t, Options{Contexts: contexts})
	buffers := samples()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var dst []byte
			for name, src := range buffers {
				w := ways[(g+len(name))%5]
				var err error
				if dst, err = p.Append(dst[:0], src, w.codec, w.level); err != nil {
					t.Error(err)
					return
				}
				got, err := p.DecodeLimit(dst, w.codec, int64(len(src)))
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%s, %v: %v", name, w, err)
				}
			}
		})
	}
	wg.Wait()
	for i, c := range p.zstdEncoders {
		if len(c.idle) > contexts || len(c.slots) != 0 {
			t.Errorf("speed %d: %d idle, %d in use", i, len(c.idle), len(c.slots))
		}
	}
	if n := len(p.zstdDecoders.idle); n == 0 || n > contexts {
		t.Errorf("%d decoders are kept", n)
	}
}

// A caller beyond Contexts gets its turn only when one is given back.
func TestContextsAreBounded(t *testing.T) {
	p := newPool(t, Options{Contexts: 1})
	e, err := p.Encoder(Zstd, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Another level of that speed shares the one context; another speed has its own.
	if len(p.zstdEncoders[0].slots) != cap(p.zstdEncoders[0].slots) {
		t.Error("the one slot is not taken")
	}
	mustAppend(t, p, nil, text(100), way{Zstd, 3})
	got := make(chan []byte)
	go func() {
		out, err := p.Append(nil, text(100), Zstd, 2)
		if err != nil {
			t.Error(err)
		}
		got <- out
	}()
	want, err := e.Append(nil, text(100))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
		t.Error("a second context was made")
	default:
	}
	e.Release()
	if out := <-got; !bytes.Equal(out, want) {
		t.Error("levels 1 and 2 differ")
	}
}
