package segment

import (
	"fmt"
	"hash/crc32"

	"github.com/flightcache/flightcache/arrowipc"
)

// castagnoli is the table of CRC32C, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// runChecksums are those of the runs of a body's top-level columns.
func runChecksums(l *arrowipc.Layout, h *arrowipc.RecordBatch, body []byte) []uint32 {
	sums := make([]uint32, len(l.Columns))
	runs(l, h, int64(len(body)), 0, len(sums), func(i int, start, end int64) { sums[i] = checksum(body[start:end]) })
	return sums
}

// footerDigits is how a checksum is written in a footer.
const footerDigits = "%08x"

// footerChecksum is that of a footer whose own digits, at a position, count as zeros.
func footerChecksum(footer []byte, digits int) string {
	end := digits + 8
	sum := crc32.Update(0, castagnoli, footer[:digits])
	sum = crc32.Update(sum, castagnoli, []byte("00000000"))
	return fmt.Sprintf(footerDigits, crc32.Update(sum, castagnoli, footer[end:]))
}
