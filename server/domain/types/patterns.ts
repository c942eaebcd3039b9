/**
 * Matches the patterns of schemas in bounded time, with RE2.
 *
 * A match takes at most the characters of the text times the states of the pattern. JavaScript's own matcher tries all
 * ways one after the other, which can take exponential time.
 */

import { RE2JS, RE2JSSyntaxException } from 're2js'
import { createCache } from '../../../gitstore/caching/caches.ts'
import * as limits from '../../base/limits.ts'
import { PatternError, translatePattern } from './pattern-translation.ts'

export interface Pattern {
  /** The time of a match per character, compared with other patterns. A cost of 1 takes at most 70 ns. */
  readonly cost: number
  /** True if a part of the text matches. */
  readonly test: (text: string) => boolean
}

/** The cost of a pattern with few states. */
const leastCost = 16

/** Compiled patterns by their source. A pattern with the most states takes 50 KB. */
const compiled = createCache<Pattern>('patterns', { sizeCalculation: ({ cost }) => 50 + cost })

/** Compiles a pattern. @throws PatternError */
export function compilePattern(source: string): Pattern {
  const known = compiled.get(source)
  if (known) return known
  checkSyntax(source)
  const { states, expression } = translatePattern(source)
  // Refused before RE2 compiles it: 34,000 states can take 400 ms.
  if (states > limits.patternStates)
    throw new PatternError(
      `must be simpler: with all its repetitions it has ${states} states, and at most ${limits.patternStates} are allowed`,
    )
  const matcher = compileExpression(expression)
  // `matcher.test` would keep the states that it meets, up to 8 MiB of them. `find` keeps nothing.
  const pattern = { cost: Math.max(leastCost, states), test: (text: string) => matcher.matcher(text).find() }
  compiled.set(source, pattern)
  return pattern
}

function checkSyntax(source: string): void {
  if (source.length > limits.pattern)
    throw new PatternError(`must have at most ${limits.pattern} characters; it has ${source.length}`)
  try {
    new RegExp(source, 'u')
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new PatternError(`must be a regular expression of JavaScript: ${error.message.replace(/^.*\/u: /s, '')}`)
  }
}

/** Compiles a translated expression. RE2 lacks some properties of characters, such as `\p{ID_Start}`. */
function compileExpression(expression: string): RE2JS {
  try {
    // In a group, `^` does not make RE2 compile a second form, which can take 15 ms and 800 KB.
    return RE2JS.compile(`(${expression})`)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    const part = error.getPattern() ?? expression
    throw new PatternError(`must be a regular expression that RE2 supports; it does not support \`${part}\``)
  }
}
