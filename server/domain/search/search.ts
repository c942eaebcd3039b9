/** Retrieval within one organisation: an index in memory, caught up by version whenever it is asked. */
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
import { refuseLongQuery } from '../format/limits.ts'
import { openSlices } from '../slices.ts'
import { catchUp } from './search-catch-up.ts'
import type { OrgSearch } from './search-memory.ts'

/** Questions of one organisation that wait at once, and for how long. */
const mostAsked = 64
const waitMs = 120_000

/** How often a question is answered again because a node changed before its text was read. */
const rounds = 5

/** @throws Refusal as orgFor; busy, where too many ask, or the index takes long to make; too_large */
export async function retrieve(deps: Deps, actor: Person, orgId: string, question: SearchQuestion) {
  const { epoch } = (await orgFor(deps, actor, orgId, 'reader')).org
  refuseLongQuery(question.query)
  const search = searchOf(deps, orgId, epoch)
  if (search.asked >= mostAsked) throw new Refusal('busy', 'Too many searches of this organisation wait; try again')
  const waiting = { isOver: false }
  const answer = search.turn.then(() => (waiting.isOver ? undefined : answerTo(deps, orgId, search, question)))
  search.asked++
  search.turn = answer.catch(() => undefined).then(() => void search.asked--)
  const { nodes, ...rest } = await withinTime(answer).finally(() => {
    waiting.isOver = true
  })
  return { ...rest, nodes: nodes.map((node) => ({ ...node, org_id: orgId })) }
}

function searchOf(deps: Deps, orgId: string, epoch: string): OrgSearch {
  const known = deps.searches.get(orgId)
  if (known?.epoch === epoch) return known
  const index = createSearchIndex({ key: epoch })
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

/** The index has the beginnings of long texts only; false where a node is another by now than the one that was searched. */
async function readCutTexts({ index }: Deps, { nodes }: Retrieved): Promise<boolean> {
  for (const node of nodes) {
    if (!node.partly_indexed || node.text_content === undefined) continue
    const row = await findTextWithHead(index.read, node.id)
    if (!row || row.head !== node.commit_id) return false
    node.text_content = row.text
  }
  return true
}

/** What has not come by then goes on, for those who ask again. @throws Refusal busy */
async function withinTime(answer: Promise<Retrieved | undefined>): Promise<Retrieved> {
  const late = new Refusal('busy', 'The search index of this organisation is being made; try again')
  let timer: NodeJS.Timeout | undefined
  const clock = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), waitMs)
  })
  try {
    const found = await Promise.race([answer, clock])
    if (found === undefined) throw late
    return found
  } finally {
    clearTimeout(timer)
  }
}
