/** Percent-encoding of URLs, which anyone may write wrongly. */

/** The decoded text; undefined if it is not percent-encoded UTF-8. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
