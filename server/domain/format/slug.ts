/** Makes a readable name from a title, for URLs and folders. */

/**
 * The most characters read of a title, and of a slug. A slug with `.git` has at most 244 bytes; file systems allow 255.
 */
const titleLength = 500
const slugLength = 60

/**
 * Returns the slug of a title, which is never empty and not unique. It has lower case letters and digits of any script,
 * with hyphens between words. The same title always gives the same slug.
 */
export function slugOf(title: string): string {
  const words = title
    .slice(0, titleLength)
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    // Apostrophes and format characters, such as a soft hyphen, are parts of a word.
    .replace(/['’\p{Cf}]/gu, '')
    .match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu)
  const slug = [...(words ?? []).join('-')].slice(0, slugLength).join('')
  return slug.replace(/-$/, '') || 'node'
}
