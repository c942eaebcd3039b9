/** The search thread: owns the indexes of its process, takes questions, returns answers. */
import { parentPort, workerData } from 'node:worker_threads'
import { GitError } from '../../../gitstore/errors.ts'
import { suggest } from '../../../index/search/answers/suggest.ts'
import { prepareView, viewOf } from '../../../index/search/ranking/view.ts'
import { retrieve } from '../../../index/search/retrieve.ts'
import { openSnapshots } from '../../../index/search/segments/snapshots.ts'
import { loadLanguages } from '../../../index/search/text/languages.ts'
import { toGraphEdge } from '../graph/graph-drawing.ts'
import { toThreadFault } from '../thread-faults.ts'
import { inSlices, openIndexes } from './open-indexes.ts'
import type { FromThread, Outcome, SearchOrder, ThreadOptions } from './search-thread.ts'

const { file, folder, memoryBytes } = workerData as ThreadOptions // as search-thread.ts gives it
const post = (message: FromThread) => parentPort?.postMessage(message)
const report = (error: unknown) => {
  const code = error instanceof GitError ? error.code : undefined
  post({ kind: 'warning', code, message: error instanceof Error ? error.message : String(error) })
}
void start()

async function start(): Promise<void> {
  const languageOf = await loadLanguages()
  const indexes = openIndexes(openSnapshots(file), folder, memoryBytes, languageOf, report)

  const answer = async ({ orgId, asking }: SearchOrder): Promise<Outcome> => {
    if (asking.kind === 'suggest') {
      const suggested = await indexes.ask(orgId, ({ texts }, rows) => suggest(texts, rows, asking.question))
      return suggested === undefined ? { kind: 'missing' } : { kind: 'suggested', answer: suggested }
    }
    const { question, view } = asking
    const prepared = view && (await inSlices(prepareView(view, languageOf)))
    const found = await indexes.ask(orgId, (index, rows) => {
      const searched = prepared === undefined ? { index, rows } : viewOf(index, rows, orgId, prepared)
      return searched ? retrieve(searched.index, searched.rows, languageOf, orgId, question) : 'moved'
    })
    if (found === undefined) return { kind: 'missing' }
    if (found === 'moved') return { kind: 'moved' }
    const nodes = found.nodes.map((node) => ({ ...node, org_id: orgId }))
    return { kind: 'found', answer: { ...found, nodes, connections: found.connections.map(toGraphEdge) } }
  }

  parentPort?.on('message', (order: SearchOrder) => {
    void answer(order)
      .catch(toThreadFault)
      .then((outcome) => post({ kind: 'outcome', number: order.number, outcome, gauges: indexes.gauges() }))
  })
}
