/** A readable name made from a title, for addresses and folders. */

/** Characters of a title that are read, and of a slug: with `.git` at most 244 bytes, and file systems allow 255. */
const titleLength = 500
const slugLength = 60

/**
 * Lower case, letters and digits of any script, a hyphen for whatever lies between words: never empty, not unique, and the
 * same for the same title.
 */
export function slugOf(title: string): string {
  const words = title
    .slice(0, titleLength)
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    // Apostrophes and characters of format, such as a soft hyphen, lie within a word.
    .replace(/['’\p{Cf}]/gu, '')
    .match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu)
  const slug = [...(words ?? []).join('-')].slice(0, slugLength).join('')
  return slug.replace(/-$/, '') || 'node'
}
