/** Decodes the percent-encoding of URLs, which may be malformed. */

/** Returns the decoded text, or undefined if it is not percent-encoded UTF-8. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
