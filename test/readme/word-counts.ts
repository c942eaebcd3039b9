/** How often each rule is broken, in each kind of prose. */

import type { Sentence } from './prose.ts'
import type { WordRule } from './word-rules.ts'

export const countsFile = 'test/readme/words.json'

/** By rule, then by surface; zeros are left out. */
export type Counts = Record<string, Partial<Record<Sentence['surface'], number>>>

export function countsOf(rules: readonly WordRule[], sentences: readonly Sentence[]): Counts {
  const counts: Counts = {}
  for (const { name, breaks } of rules) {
    const bySurface: Counts[string] = {}
    for (const sentence of sentences) {
      if (breaks(sentence)) bySurface[sentence.surface] = (bySurface[sentence.surface] ?? 0) + 1
    }
    if (Object.keys(bySurface).length > 0) counts[name] = bySurface
  }
  return counts
}
