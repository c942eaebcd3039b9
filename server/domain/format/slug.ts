/** Makes a readable name from a title, for URLs and folders. */

import { wordsOf } from '../../base/page-segments.ts'

/** The most characters of a slug. A slug with `.git` has at most 244 bytes; file systems allow 255. */
const slugLength = 60

/**
 * Returns the slug of a title, which is never empty and not unique. It has lower case letters and digits of any script,
 * with hyphens between words. The same title always gives the same slug.
 */
export function slugOf(title: string): string {
  const slug = [...wordsOf(title).join('-')].slice(0, slugLength).join('')
  return slug.replace(/-$/, '') || 'node'
}
