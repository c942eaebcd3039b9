/** The search thread: owns the indexes of its process, and answers queries. */
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { GitError } from '../../../gitstore/errors.ts'
import { columnSubjects } from '../../../index/properties/masks.ts'
import { answerInView, answerQuery, matchingIds, subjectsOf } from '../../../index/properties/query.ts'
import { suggest } from '../../../index/search/answers/suggest.ts'
import { prepareView } from '../../../index/search/ranking/view.ts'
import { openSnapshots } from '../../../index/search/segments/read-snapshots.ts'
import { loadLanguages } from '../../../index/search/text/languages.ts'
import { openVectorRows } from '../../../index/vectors/read-rows.ts'
import { toGraphEdge } from '../format/graph-edges.ts'
import { type Handlers, notify, serveCalls } from '../worker-client.ts'
import { openAhead } from './ahead.ts'
import { type Searching, searchFiltered } from './filtered-search.ts'
import { openIndexes, prepareIndex } from './open-indexes.ts'
import { openTables } from './open-tables.ts'
import { openVectors } from './open-vectors.ts'
import type { SearchCalls, SearchNotice, ThreadOptions } from './search-thread.ts'
import { addCounts, inSlices, patientFor, said, sliceMs } from './slices.ts'
import { openTypeJudging } from './type-judging.ts'

const { file, vectorsFile, folder, memoryBytes } = workerData as ThreadOptions // search-thread.ts passes it
const report = (error: unknown) => {
  const code = error instanceof GitError ? error.code : undefined
  notify<SearchNotice>({ kind: 'warning', code, message: error instanceof Error ? error.message : String(error) })
}
/** Milliseconds after each slice of preparing an index while queries run. */
const busyRestMs = 50
void start()

async function start(): Promise<void> {
  const languageOf = await loadLanguages()
  const snapshots = openSnapshots(file)
  const indexes = openIndexes(snapshots, folder, memoryBytes, languageOf, report)
  const tables = openTables(snapshots)
  const storedVectors = openVectorRows(vectorsFile)
  const vectors = openVectors(storedVectors, report)
  const judging = openTypeJudging(snapshots)
  const tellGauges = () => {
    const { bytes, rows, ...gauges } = indexes.gauges()
    vectors.makeRoom(memoryBytes - bytes)
    const vectorBytes = vectors.bytes()
    tables.makeRoom(memoryBytes - bytes - vectorBytes)
    const table = tables.gauges()
    const sum = addCounts(rows, table.rows)
    const all = bytes + vectorBytes + table.bytes
    notify<SearchNotice>({ kind: 'gauges', gauges: { ...gauges, bytes: all, vectorBytes, rows: sum } })
  }
  const ahead = openAhead({
    readers: [indexes, tables],
    readStates: (orgIds) => snapshots.read((rows) => rows.orgStates(orgIds)),
    advanced: tellGauges,
  })

  const searching = { indexes, tables, vectors, storedVectors, languageOf }
  const suggestTitles: Handlers<SearchCalls>['suggest'] = ({ orgId, question }) =>
    indexes.ask(
      orgId,
      ({ texts }, rows, unindexed) => ({ ...suggest(texts, rows, question), ...said(unindexed) }),
      patientFor(question),
    )

  /** Queries have most of the thread while any run. */
  const rest = () => sleep(ahead.isQueried() ? busyRestMs : sliceMs)

  const query: Handlers<SearchCalls>['query'] = ({ orgId, question, view }) =>
    tables.ask(orgId, subjectsOf(question), (table, rows) =>
      view === undefined
        ? answerQuery(table, rows, orgId, question)
        : (answerInView(table, rows, orgId, question, view) ?? 'moved'),
    )

  /** The handler goes before reading ahead, and the client knows the gauges before the answer. */
  const first =
    <I extends { readonly orgId: string }, A>(handler: (input: I) => Promise<A>) =>
    (input: I): Promise<A> =>
      ahead.during(input.orgId, () => handler(input)).finally(tellGauges)

  serveCalls<SearchCalls>({
    search: first((input) => search(searching, input)),
    suggest: first(suggestTitles),
    query: first(query),
    listProperties: first(({ orgId }) => tables.ask(orgId, [], (table) => table.names())),
    matching: first(({ orgId, where }) =>
      tables.ask(orgId, columnSubjects(where), (table, rows) => matchingIds(table, rows, orgId, where)),
    ),
    countTypes: first(({ orgId }) =>
      tables.ask(orgId, [{ field: 'type' }], (table) => table.countTexts({ field: 'type' })),
    ),
    listBroken: first(({ orgId, judged, page }) => judging.listBroken(orgId, judged, page)),
    compareTypes: first(({ orgId, before, after }) => judging.compare(orgId, before, after)),
    prepare: ({ orgId }) => prepareIndex(indexes, orgId, rest).finally(tellGauges),
    settle: () => ahead.settle(),
  })
}

/** Searches main or a view. */
async function search(searching: Searching, { orgId, question, view }: Parameters<SearchCalls['search']>[0]) {
  const prepared = view && (await inSlices(prepareView(view, searching.languageOf)))
  const found = await searchFiltered(searching, orgId, question, prepared)
  if (found === undefined || found === 'moved') return found
  const nodes = found.nodes.map((node) => ({ ...node, org_id: orgId }))
  return { ...found, nodes, connections: found.connections.map(toGraphEdge) }
}
