package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt's file, as of its version 2: pages of one size, the first two of which are metas that take turns. The newest valid
// one names the root of a tree of pages and the list of those that are free. Integers are in the machine's order.
const (
	pageSize   = 4096 // whatever the machine's: the file may move
	pageHead   = 16   // id, flags, count, overflow
	element    = 16   // of a page: where its key and its value, or its page, are
	metaBytes  = 64
	bucketHead = 16 // root, sequence

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	noFreelist  = ^uint64(0)

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10
	flagBucket   = 0x01 // of an element of a leaf

	maxDepth = 64 // of pages: each has two children or more, but for damage
)

var native = binary.NativeEndian

// meta is what counts of a meta page.
type meta struct {
	root, freelist, high, txid uint64 // high is the first page that is none
}

func readMeta(page []byte) (m meta, err error) {
	b := page[pageHead:]
	h := fnv.New64a()
	h.Write(b[:metaBytes-8])
	switch {
	case native.Uint32(b) != boltMagic:
		return m, errors.New("it is no meta page")
	case native.Uint32(b[4:]) != boltVersion:
		return m, fmt.Errorf("version %d of the file", native.Uint32(b[4:]))
	case native.Uint64(b[metaBytes-8:]) != h.Sum64():
		return m, errors.New("its checksum is wrong")
	case native.Uint32(b[8:]) != pageSize:
		return m, fmt.Errorf("pages of %d bytes", native.Uint32(b[8:]))
	}
	return meta{native.Uint64(b[16:]), native.Uint64(b[32:]), native.Uint64(b[40:]), native.Uint64(b[48:])}, nil
}

// pages checks the tree of pages in a file.
type pages struct {
	file io.ReaderAt
	meta meta
	seen []bool // by page: it is part of the tree, or free
}

// checkPages reads the file's pages as bbolt will, and tells of anything that bbolt trusts and should not. Values are not
// looked into: records have checksums. It tells too whether one of the two metas is damaged: what the other one says is whole,
// but may be the state before the last change. ErrDamaged.
func checkPages(f *os.File) (fellBack bool, err error) {
	var metas [2]meta
	var bad [2]error
	buf := make([]byte, pageSize)
	for i := range metas {
		if _, err := f.ReadAt(buf, int64(i)*pageSize); err != nil {
			return false, readError(err)
		}
		metas[i], bad[i] = readMeta(buf)
	}
	p := pages{file: f, meta: metas[0]}
	switch {
	case bad[0] != nil && bad[1] != nil:
		return false, fmt.Errorf("%w: page 0: %w; page 1: %w", ErrDamaged, bad[0], bad[1])
	case bad[0] != nil || bad[1] == nil && metas[1].txid > metas[0].txid:
		p.meta = metas[1]
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if most := uint64(info.Size()) / pageSize; p.meta.high > most {
		return false, fmt.Errorf("%w: it was cut to %d bytes, its pages are %d", ErrDamaged, info.Size(), p.meta.high)
	}
	if p.meta.high < 4 {
		return false, fmt.Errorf("%w: it says that it has %d pages", ErrDamaged, p.meta.high)
	}
	p.seen = make([]bool, p.meta.high)
	p.seen[0], p.seen[1] = true, true
	if err := p.bucket(p.meta.root, 0); err != nil {
		return false, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := p.free(); err != nil {
		return false, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return bad[0] != nil || bad[1] != nil, nil
}

func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it was cut", ErrDamaged)
	}
	return err
}

// take reads a page with all that belongs to it, which no other page may.
func (p *pages) take(id uint64, flags uint16) (page []byte, count int, err error) {
	if id < 2 || id >= p.meta.high {
		return nil, 0, fmt.Errorf("page %d of %d is referred to", id, p.meta.high)
	}
	var head [pageHead]byte
	if _, err := p.file.ReadAt(head[:], int64(id)*pageSize); err != nil {
		return nil, 0, readError(err)
	}
	overflow := uint64(native.Uint32(head[12:]))
	kind := native.Uint16(head[8:])
	if own := native.Uint64(head[:]); own != id || kind&^flags != 0 || kind == 0 || kind&(kind-1) != 0 || overflow >= p.meta.high-id {
		return nil, 0, fmt.Errorf("page %d is none: id %d, flags %x, %d more", id, own, kind, overflow)
	}
	for i := id; i <= id+overflow; i++ {
		if p.seen[i] {
			return nil, 0, fmt.Errorf("page %d is used twice", i)
		}
		p.seen[i] = true
	}
	page = make([]byte, (overflow+1)*pageSize)
	if _, err := p.file.ReadAt(page, int64(id)*pageSize); err != nil {
		return nil, 0, readError(err)
	}
	return page, int(native.Uint16(head[10:])), nil
}

// bucket checks the tree below a bucket's root. Buckets lie in the file's own only.
func (p *pages) bucket(root uint64, depth int) error {
	w := walk{pages: p, depth: depth}
	return w.page(root, 0)
}

// walk is a way through a bucket's pages in the order of their keys.
type walk struct {
	*pages
	depth int // of buckets

	last []byte // the key before, nil at first
	from bool   // it is a branch's: the keys below it may begin with the same
}

// key checks that keys ascend. A branch has, for each child, a key that no key below it comes before.
func (w *walk) key(k []byte, branch bool) error {
	if c := bytes.Compare(w.last, k); w.last != nil && (c > 0 || c == 0 && !w.from) {
		return errors.New("keys are out of order")
	}
	w.last, w.from = append(w.last[:0], k...), branch
	if w.last == nil {
		w.last = []byte{}
	}
	return nil
}

func (w *walk) page(id uint64, level int) error {
	if level > maxDepth {
		return fmt.Errorf("page %d is too deep", id)
	}
	page, count, err := w.take(id, flagBranch|flagLeaf)
	if err != nil {
		return err
	}
	if native.Uint16(page[8:]) == flagLeaf {
		return w.leaf(page, count, fmt.Sprintf("page %d", id))
	}
	if count == 0 || pageHead+count*element > len(page) {
		return fmt.Errorf("page %d cannot have %d children", id, count)
	}
	for i := range count {
		at := pageHead + i*element
		e := page[at:]
		key, ok := part(page, at, native.Uint32(e), native.Uint32(e[4:]))
		if !ok {
			return fmt.Errorf("a key reaches out of page %d", id)
		}
		if err := w.key(key, true); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		if err := w.page(native.Uint64(e[8:]), level+1); err != nil {
			return err
		}
	}
	return nil
}

// part gives a piece of a page, whose place is told from the element at an offset.
func part(page []byte, at int, pos, size uint32) ([]byte, bool) {
	from := uint64(at) + uint64(pos)
	if from+uint64(size) > uint64(len(page)) {
		return nil, false
	}
	return page[from : from+uint64(size)], true
}

// leaf checks a leaf, in a page of its own or within a bucket's value.
func (w *walk) leaf(page []byte, count int, name string) error {
	if pageHead+count*element > len(page) {
		return fmt.Errorf("%s cannot have %d records", name, count)
	}
	for i := range count {
		at := pageHead + i*element
		e := page[at:]
		pos, keySize, valueSize := native.Uint32(e[4:]), native.Uint32(e[8:]), native.Uint32(e[12:])
		if uint64(pos)+uint64(keySize) > uint64(len(page)) {
			return fmt.Errorf("a key reaches out of %s", name)
		}
		key, ok := part(page, at, pos, keySize)
		value, fits := part(page, at, pos+keySize, valueSize)
		if !ok || !fits {
			return fmt.Errorf("a record reaches out of %s", name)
		}
		if err := w.key(key, false); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		bucket := native.Uint32(e)
		if bucket > flagBucket || (bucket != 0) != (w.depth == 0) {
			return fmt.Errorf("%s: buckets are where records are expected, or records where buckets are", name)
		}
		if bucket == 0 {
			continue
		}
		if len(value) < bucketHead {
			return fmt.Errorf("%s: a bucket of %d bytes", name, len(value))
		}
		if err := w.inner(value, name); err != nil {
			return err
		}
	}
	return nil
}

// inner checks a bucket, whose only leaf may lie in its value.
func (w *walk) inner(value []byte, name string) error {
	if root := native.Uint64(value); root != 0 {
		return w.bucket(root, w.depth+1)
	}
	page := value[bucketHead:]
	if len(page) < pageHead || native.Uint16(page[8:]) != flagLeaf {
		return fmt.Errorf("%s: a bucket without its page", name)
	}
	inline := walk{pages: w.pages, depth: w.depth + 1}
	return inline.leaf(page, int(native.Uint16(page[10:])), name)
}

// free checks the list of free pages: bbolt writes into those.
func (p *pages) free() error {
	if p.meta.freelist == noFreelist {
		return nil
	}
	page, count, err := p.take(p.meta.freelist, flagFreelist)
	if err != nil {
		return err
	}
	list := page[pageHead:]
	if count == 0xFFFF { // the number did not fit
		n := native.Uint64(list)
		list = list[8:]
		if n > uint64(len(list)/8) {
			return fmt.Errorf("a list of %d free pages", n)
		}
		count = int(n)
	}
	if count*8 > len(list) {
		return fmt.Errorf("a list of %d free pages", count)
	}
	last := uint64(0)
	for i := range count {
		id := native.Uint64(list[8*i:])
		if id <= last || id >= p.meta.high || p.seen[id] {
			return fmt.Errorf("page %d is said to be free", id)
		}
		p.seen[id], last = true, id
	}
	return nil
}
