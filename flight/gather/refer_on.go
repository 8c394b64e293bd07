//go:build !nogather

package gather

// referring says that memory that stays is sent from where it lies. A build with the tag nogather copies all of it: only to weigh
// what that gains.
const referring = true
