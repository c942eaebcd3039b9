/** Short documents and questions, and what an index of them that is made anew answers. */

import { retrieve, type SearchQuestion } from '../../index/search/retrieve.ts'
import { applyChanges, createOrgIndex } from '../../index/search/segments/org-index.ts'
import type { Random } from '../support/random.ts'
import { languageOf } from './over-files.ts'
import { type SearchIndex, setDocument } from './rows-in-memory.ts'

const syllables = ['ka', 'lo', 'mi', 'ru', 'te', 'von', 'zar', 'pel', 'dug', 'fin']

/** The lower ones are frequent. */
function wordOf(random: Random): string {
  const n = Math.floor(600 ** (random.below(1_000) / 1_000))
  return [n % 10, Math.floor(n / 10) % 10, Math.floor(n / 100)].map((digit) => syllables[digit] ?? '').join('')
}

function wordsOf(random: Random, count: number): string {
  return Array.from({ length: count }, () => wordOf(random)).join(' ')
}

/** Every fourth has passages, up to seven. */
function textOf(random: Random): string {
  const text = wordsOf(random, 1 + random.below(8))
  if (random.below(4) > 0) return text
  const sections = Array.from(
    { length: 1 + random.below(6) },
    () => `## Part\n\n${wordsOf(random, 1 + random.below(8))}`,
  )
  return [text, ...sections].join('\n\n')
}

/** Writes the document of this number, or changes it. */
function setNote(rows: SearchIndex, random: Random, n: number): void {
  setDocument(rows, {
    id: `n${n}`,
    title: wordsOf(random, 2),
    text: textOf(random),
    tags: random.below(5) === 0 ? ['sea'] : [],
    updatedAt: new Date(Date.UTC(2026, 0, 1 + random.below(300))).toISOString(),
  })
}

/** Many at once. */
export function setNotes(rows: SearchIndex, random: Random, numbers: Iterable<number>): void {
  rows.db.transaction(() => {
    for (const n of numbers) setNote(rows, random, n)
  })()
}

const scopes: readonly SearchQuestion['scope'][] = [
  undefined,
  { tags: ['sea'] },
  { updated_after: '2026-05-01T00:00:00.000Z' },
]

export function questionsOf(random: Random, count: number): SearchQuestion[] {
  return Array.from({ length: count }, (_, n) => {
    const scope = scopes[n % scopes.length]
    return {
      query: wordsOf(random, 1 + (n % 5)),
      top_k: 20,
      expansion_depth: 'none',
      include_raw_text: false,
      ...(scope === undefined ? {} : { scope }),
    }
  })
}

/** The answers of a new index of the same rows, as JSON. */
export function answersAnew({ rows, orgId }: SearchIndex, questions: readonly SearchQuestion[]): string[] {
  return rows.inSnapshot(() => {
    const state = rows.orgState(orgId)
    if (state === undefined) throw new Error('The organisation is missing')
    const anew = createOrgIndex(state.epoch)
    applyChanges(anew, rows, orgId, state, languageOf, () => false)
    return questions.map((question) => JSON.stringify(retrieve(anew, rows, languageOf, orgId, question)))
  })
}
