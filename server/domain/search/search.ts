/** Retrieval within one organisation: a search index in memory, updated before each search. */
import { findTextWithHead } from '../../../index/derived/search-rows.ts'
import {
  createSearchIndex,
  type Retrieved,
  retrieve as retrieveFrom,
  type SearchQuestion,
} from '../../../index/search/retrieve.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { orgFor } from '../access.ts'
import type { Person } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { refuseLongQuery } from '../format/limits.ts'
import { openSlices } from '../slices.ts'
import { catchUp } from './search-catch-up.ts'
import type { OrgSearch } from './search-memory.ts'

/** Waiting queries per organisation, and how long they wait. */
const maxWaiting = 64
const waitTimeoutMs = 120_000

/** How often a query is repeated because a node changed before its text was read. */
const rounds = 5
/** @throws Refusal as orgFor; busy (too many queries, or the index takes long to build); too_large */
export async function retrieve(deps: Deps, actor: Person, at: OrgAt, question: SearchQuestion) {
  const { orgId } = at
  const { epoch } = (await orgFor(deps, actor, at, 'reader')).org
  refuseLongQuery(question.query)
  const search = searchOf(deps, orgId, epoch)
  if (search.asked >= maxWaiting) throw new Refusal('busy', 'Too many searches of this organisation wait; try again')
  const waiting = { isOver: false }
  const stop = deps.metrics.searchSeconds.startTimer({ expansion: question.expansion_depth })
  const answer = search.turn.then(() => (waiting.isOver ? undefined : answerTo(deps, orgId, search, question)))
  search.asked++
  search.turn = answer.catch(() => undefined).then(() => void search.asked--)
  const { nodes, ...rest } = await withinTime(answer).finally(() => {
    stop()
    waiting.isOver = true
  })
  return { ...rest, nodes: nodes.map((node) => ({ ...node, org_id: orgId })) }
}

function searchOf(deps: Deps, orgId: string, epoch: string): OrgSearch {
  const known = deps.searches.get(orgId)
  if (known?.epoch === epoch) return known
  const index = createSearchIndex({ key: epoch })
  deps.metrics.searchBuilds.inc()
  const turn = Promise.resolve()
  const search: OrgSearch = { index, epoch, nodes: 0, tombstones: 0, asked: 0, turn, isDropped: false }
  deps.searches.set(orgId, search)
  return search
}

async function answerTo(deps: Deps, orgId: string, search: OrgSearch, question: SearchQuestion): Promise<Retrieved> {
  const run = openSlices()
  for (let round = 0; round < rounds; round++) {
    await catchUp(deps, orgId, search, run)
    const answer = await run(retrieveFrom(search.index, question))
    if (await readCutTexts(deps, answer)) return answer
  }
  throw new Refusal('busy', 'The nodes that were found change faster than they can be read; try again')
}

/** Reads the full text of long nodes, of which only the beginning is indexed. False if a node has changed since the search. */
async function readCutTexts({ index }: Deps, { nodes }: Retrieved): Promise<boolean> {
  for (const node of nodes) {
    if (!node.partly_indexed || node.text_content === undefined) continue
    const row = await findTextWithHead(index.read, node.id)
    if (!row || row.head !== node.commit_id) return false
    node.text_content = row.text
  }
  return true
}

/** A query that takes longer continues, for the next request. @throws Refusal busy */
async function withinTime(answer: Promise<Retrieved | undefined>): Promise<Retrieved> {
  const late = new Refusal('busy', 'The search index of this organisation is being made; try again')
  let timer: NodeJS.Timeout | undefined
  const clock = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), waitTimeoutMs)
  })
  try {
    const found = await Promise.race([answer, clock])
    if (found === undefined) throw late
    return found
  } finally {
    clearTimeout(timer)
  }
}
