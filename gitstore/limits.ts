/** The limits of Git storage that clients meet, as in server/base/limits.ts. */

export const pathBytes = 1024
export const branchNameBytes = 200
export const pushedFileBytes = 100 * 1_048_576
export const pushedObjectBytes = 8 * 1_048_576
export const packBytes = 2 * 1024 ** 3
/** `readCommit` returns and caches so much of a message. */
export const listedMessageBytes = 65_536
export const identityCharacters = 1_000
/** Names may be long, and every path repeats those above it. */
export const treePathCharacters = 16_777_216
/** The largest objects that are ever read: what one request can hold in memory. */
export const blobBytes = 32 * 1_048_576
export const objectBytes = 8 * 1_048_576
/** Twice the entries of one tree, so that any two trees can be compared. Stops trees whose 12 objects make 10^10 paths. */
export const diffEntries = 200_000
/** Git compares a larger file as binary, without reading it for hunks. */
export const comparedFileBytes = 8 * 1_048_576
/** Up to so many, each pair is compared. With more, only identical bytes are a rename. */
export const renamedFiles = 200
