// Package arena allocates the memory of stored bodies outside Go's heap.
//
// # Purpose
//
// A store that fills its budget with bodies on Go's heap makes the garbage collector's goal grow with them: the process
// may come to twice the budget, and every collection is weighed by memory that it can never free. An [Arena] takes the
// bodies out of the collector's sight. It reserves one range of addresses at the start and cuts blocks from it; a block
// lives until its owner frees it.
//
// # Invariants
//
//   - No two live blocks share a byte. Every block starts at a multiple of 64 bytes.
//   - A block's contents are not cleared: they are whatever the last owner left, or zero. Memory that is still backed is
//     handed out again as it is, which saves a page fault for each page; the price is that a block must be written
//     before it is read, and that nothing may be sent beyond the bytes that were written.
//   - Adjacent free pages are always one free run, whether backed or not. When every block has been freed, the arena is
//     one run again, and [Stats] InUse, Allocated and Blocks are zero.
//   - Free pages that are still backed ("warm") are kept for reuse: up to [Options] WarmBytes for ever, what lies above for
//     WarmTime, and never more than TotalBytes leaves beside live blocks. All else goes back to the operating system. With
//     huge pages that happens in whole aligned units of 2 MiB, because giving back a part makes the kernel split the page.
//     What is left over in units that live blocks hold in part stays warm, is counted, and is given back page by page
//     only when Warm has passed twice what it may be, or blocks and it have passed TotalBytes.
//   - Warm is never less than what is backed, short of memory that the kernel adds by itself (khugepaged): a page is
//     taken to be backed once it has been handed out, and so is the whole unit that its first touch brings in. So
//     resident memory stays within InUse plus Warm.
//
// # Layout
//
// Blocks over 16 KiB are runs of whole pages, found by best fit among warm runs first. Smaller ones are slots of slabs,
// 256 KiB each, one size a slab; an empty slab goes back to the pages at once. The free runs are kept in one treap by
// size and address, see runs.go.
//
// # Concurrency
//
// An Arena is safe for concurrent use; one mutex guards it, and it is not held while memory is given back to the
// operating system. A timer runs only while more than WarmBytes is warm. A [Block] belongs to one owner at a time: its
// methods must not run concurrently with one another, and Free only when nobody reads or writes the block's bytes any more.
//
// # What it is not
//
// It is no cache and no budget: it hands out what it has addresses for, and the store above decides how much that may
// be. It does not count references; see the store's leases for that. It holds bytes only: a Go pointer written into
// a block is invisible to the collector.
package arena
