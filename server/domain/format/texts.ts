/** Text that people write. Of requests the spec's patterns say the same; this holds for pushes too. */

/** Titles, tags and labels: no control characters, which break lines, lists and terminals, and nothing that UTF-8 cannot hold. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(text)
}

/** A message as git keeps it: git itself would drop each `\r`. */
export function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}
