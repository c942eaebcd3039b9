/** Indexes over a database and a folder of segments, as the search thread has them. */

import { type Retrieved, retrieve, type SearchQuestion } from '../../index/search/retrieve.ts'
import type { OrgIndex } from '../../index/search/segments/org-index.ts'
import { openSnapshots } from '../../index/search/segments/read-snapshots.ts'
import type { SearchRows } from '../../index/search/segments/rows.ts'
import type { LanguageOf } from '../../index/search/text/languages.ts'
import { type OpenIndexes, openIndexes } from '../../server/domain/search/open-indexes.ts'

/** Finding out the language costs more than all else, and does not matter here. */
export const languageOf: LanguageOf = () => 'en'

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
    (index: OrgIndex, rows: SearchRows): Retrieved =>
      retrieve(index, rows, languageOf, orgId, question)
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
