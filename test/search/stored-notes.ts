/** Indexes over a database on disk: short documents, questions, what is answered with files of segments and without any. */
import type { LanguageOf } from '../../index/search/languages.ts'
import { catchUp, createOrgIndex, type OrgIndex } from '../../index/search/org-index.ts'
import { type Retrieved, retrieve, type SearchQuestion } from '../../index/search/retrieve.ts'
import type { SearchRows } from '../../index/search/rows.ts'
import { openSnapshots } from '../../index/search/snapshots.ts'
import { type OpenIndexes, openIndexes } from '../../server/domain/search/open-indexes.ts'
import type { Random } from './random.ts'
import { type SearchIndex, setDocument } from './rows-in-memory.ts'

/** Finding out the language costs more than all else, and does not matter here. */
const languageOf: LanguageOf = () => 'en'

const syllables = ['ka', 'lo', 'mi', 'ru', 'te', 'von', 'zar', 'pel', 'dug', 'fin']

/** The lower ones are frequent. */
function wordOf(random: Random): string {
  const n = Math.floor(600 ** (random.below(1_000) / 1_000))
  return [n % 10, Math.floor(n / 10) % 10, Math.floor(n / 100)].map((digit) => syllables[digit] ?? '').join('')
}

function wordsOf(random: Random, count: number): string {
  return Array.from({ length: count }, () => wordOf(random)).join(' ')
}

/** Writes the document of this number, or changes it. */
export function setNote(rows: SearchIndex, random: Random, n: number): void {
  setDocument(rows, {
    id: `n${n}`,
    title: wordsOf(random, 2),
    text: wordsOf(random, 1 + random.below(8)),
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

/** What an index that is made anew of the same rows answers, as JSON. */
export function answersAnew({ rows, orgId }: SearchIndex, questions: readonly SearchQuestion[]): string[] {
  return rows.inSnapshot(() => {
    const state = rows.orgState(orgId)
    if (state === undefined) throw new Error('The organisation is missing')
    const anew = createOrgIndex(state.epoch)
    catchUp(anew, rows, orgId, state, languageOf, () => false)
    return questions.map((question) => JSON.stringify(retrieve(anew.texts, rows, languageOf, orgId, question)))
  })
}

export interface OverFiles {
  readonly indexes: OpenIndexes
  /** Errors that were reported. */
  readonly reports: unknown[]
  /** How many documents were indexed from their rows. */
  indexed(): number
  /** The answers, as JSON. */
  ask(questions: readonly SearchQuestion[], orgId?: string): Promise<string[]>
}

/** @param file of the database; @param folder of segments */
export function openOver(file: string, folder: string, memoryBytes = 2 ** 28): OverFiles {
  const reports: unknown[] = []
  let indexed = 0
  const counting = (text: string) => {
    indexed++
    return languageOf(text)
  }
  const indexes = openIndexes(openSnapshots(file), folder, memoryBytes, counting, (error) => reports.push(error))
  const answer =
    (orgId: string, question: SearchQuestion) =>
    ({ texts }: OrgIndex, rows: SearchRows): Retrieved =>
      retrieve(texts, rows, languageOf, orgId, question)
  return {
    indexes,
    reports,
    indexed: () => indexed,
    ask: async (questions, orgId = 'org') => {
      const answers: string[] = []
      for (const question of questions) {
        const found = await indexes.ask(orgId, answer(orgId, question))
        answers.push(JSON.stringify(found))
      }
      return answers
    },
  }
}
