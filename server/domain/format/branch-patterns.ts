/** Patterns of branch names. `*` stands for any characters except `/`, and `**` for any characters. */

import { branchNameProblem } from '../../../gitstore/names.ts'
import * as limits from '../../base/limits.ts'

/**
 * True if the whole name matches. Stars also stand for no characters. Upper and lower case differ.
 *
 * Takes time in proportion to the length of the name times that of the pattern, also for hostile patterns.
 */
export function matchesPattern(pattern: string, branch: string): boolean {
  if (!pattern.includes('*')) return pattern === branch
  const parts = pattern.match(/\*+|[^*]/g) ?? []
  // reached[i]: the characters so far match the first i parts.
  let reached = [true, ...parts.map(() => false)]
  skipStars(parts, reached)
  for (const character of branch.split('')) {
    const next = [false, ...parts.map((part, at) => reached[at] === true && part === character)]
    for (const [at, part] of parts.entries())
      if (reached[at] && part.startsWith('*') && (character !== '/' || part !== '*')) next[at] = true
    skipStars(parts, next)
    if (!next.includes(true)) return false
    reached = next
  }
  return reached[parts.length] === true
}

/** Marks the parts that are reached if stars stand for no characters. */
function skipStars(parts: readonly string[], reached: boolean[]): void {
  for (const [at, part] of parts.entries()) if (reached[at] && part.startsWith('*')) reached[at + 1] = true
}

/** Says why a pattern matches no valid branch name. Undefined if it matches one. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'A pattern cannot be empty'
  if (Buffer.byteLength(pattern) > limits.branchPatternBytes)
    return `A pattern cannot be longer than ${limits.branchPatternBytes} bytes`
  // If any name matches, this one does: a letter at a star breaks no rule, and separates characters that would.
  const problem = branchNameProblem(pattern.replace(/\*+/g, 'x'))
  return problem && `No branch can match this: ${problem.charAt(0).toLowerCase()}${problem.slice(1)}`
}
