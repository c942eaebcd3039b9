/** Random acts on change sets by several people, and the comparison of the API with a second reader. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import type { Answer, Client } from '../support/people.ts'
import type { Random } from '../support/random.ts'
import { readSets } from '../support/sets-reader.ts'

type Json = Answer['body']

export interface ActsPlace {
  readonly org: string
  readonly people: readonly Client[]
  readonly random: Random
  /** The pages that were there at the beginning. Sets add others. */
  readonly pages: string[]
  /** How many of each act were not refused. */
  readonly done: Record<string, number>
  readonly problems: string[]
}

interface Acting extends ActsPlace {
  readonly who: Client
  /** A change set, and one of its items. */
  readonly set: Json
  readonly item: Json
}

let next = 0
const words = () => `Whale ${++next}`
const nodesOf = ({ org }: ActsPlace) => `/orgs/${org}/nodes`
const setsOf = ({ org }: ActsPlace) => `/orgs/${org}/change-sets`
const aCommit = () => ({
  message: 'Edit',
  changes: [{ action: 'put', path: `files/${next % 3}.txt`, content: words() }],
})

/** The items of a new set, or more items. Other sets may have the same pages. */
function someItems({ random, pages }: ActsPlace): object {
  const [first, second, third] = random.shuffled(pages)
  const kind = random.below(4)
  const nodes = [
    { id: first, text_content: `${words()}\n` },
    ...(kind > 0 ? [{ title: words(), parents: [second] }] : []),
    ...(kind > 1 ? [{ id: second, tags: [`w${++next}`] }] : []),
  ]
  return { nodes, ...(kind === 3 && { deletions: [{ node_id: third }] }) }
}

const acts: Readonly<Record<string, (acting: Acting) => Promise<Answer>>> = {
  open: (one) => one.who.post(setsOf(one), { title: words(), ...someItems(one) }),
  add: (one) => one.who.patch(`${setsOf(one)}/${one.set.number}`, { add: someItems(one) }),
  remove: (one) => one.who.patch(`${setsOf(one)}/${one.set.number}`, { remove: [one.item.node_id] }),
  edit: (one) =>
    one.who.patch(`${setsOf(one)}/${one.set.number}`, { title: words(), is_draft: one.random.below(4) === 0 }),
  close: (one) => one.who.patch(`${setsOf(one)}/${one.set.number}`, { status: 'closed' }),
  reopen: (one) => one.who.patch(`${setsOf(one)}/${one.set.number}`, { status: 'open' }),
  merge: (one) => one.who.post(`${setsOf(one)}/${one.set.number}/merge`),
  update: (one) => one.who.post(`${setsOf(one)}/${one.set.number}/update-branch`),
  undo: (one) => one.who.post(`${setsOf(one)}/${one.set.number}/undo`),
  review: (one) => {
    const verdict = one.random.pick(['approve', 'request_changes', 'comment'])
    const body = { verdict, text: words(), expected_version: one.set.version }
    return one.who.post(`${setsOf(one)}/${one.set.number}/reviews`, body)
  },
  'commit to an item': (one) => {
    const branch = encodeURIComponent(one.item.source_branch ?? 'none')
    return one.who.post(`${nodesOf(one)}/${one.item.node_id}/tree/${branch}/commits`, aCommit())
  },
  'commit to main': (one) => one.who.post(`${nodesOf(one)}/${one.random.pick(one.pages)}/tree/main/commits`, aCommit()),
  'close an item': (one) =>
    one.who.patch(`${nodesOf(one)}/${one.item.node_id}/pull-requests/${one.item.number}`, { status: 'closed' }),
  'delete a page': (one) => one.who.delete(`${nodesOf(one)}/${one.random.pick(one.pages)}`),
  'delete a branch': (one) =>
    one.who.delete(
      `${nodesOf(one)}/${one.item.node_id}/branches/${encodeURIComponent(one.item.source_branch ?? 'none')}`,
    ),
}

/** Acts that are drawn more or less often than the others. */
const weights: Readonly<Record<string, number>> = {
  ...{ open: 5, add: 2, review: 2, merge: 4, update: 3, 'commit to an item': 2, 'commit to main': 2, close: 0.7 },
  ...{ 'delete a page': 0.2, 'delete a branch': 0.4, 'close an item': 0.4 },
}
const drawn = Object.keys(acts).flatMap((name) => Array<string>(Math.ceil((weights[name] ?? 1) * 10)).fill(name))

/** One act of somebody. Refusals are no problem, but failures of the service are. */
export async function actOnce(place: ActsPlace): Promise<void> {
  const { people, random, pages, done, problems } = place
  const who = random.pick(people)
  const name = random.pick(drawn)
  const status = { reopen: 'closed', undo: 'merged' }[name] ?? (random.below(6) > 0 ? 'open' : 'all')
  const { change_sets: all } = (await who.get(`${setsOf(place)}?status=${status}&limit=12`).then(expecting(200))).body
  if (all.length === 0 && name !== 'open') return
  const set =
    all.length === 0
      ? {}
      : (await who.get(`${setsOf(place)}/${random.pick<Json>(all).number}`).then(expecting(200))).body.change_set
  const item = set.items?.length > 0 ? random.pick<Json>(set.items) : { node_id: pages[0], number: 1 }
  const answer = await (acts[name] ?? fail)({ ...place, who, set, item })
  const { body } = answer
  if (answer.status >= 500) problems.push(`${name}: ${answer.status} ${JSON.stringify(body)}`)
  if (answer.status >= 300) return
  done[name] = (done[name] ?? 0) + 1
  if (name !== 'merge') return
  for (const { node_id, act } of body.change_set.items) if (act === 'create') pages.push(node_id)
}

function fail(): never {
  throw new Error('There is no such act')
}

/** A mirror of each repository of the organisation, also in the trash. */
export function mirrored(dataDir: string, org: string, into: string): void {
  for (const folder of ['', 'trash']) {
    const from = join(dataDir, folder, org)
    const names = existsSync(from) ? readdirSync(from).filter((name) => name.endsWith('.git')) : []
    mkdirSync(join(into, folder, org), { recursive: true })
    for (const name of names)
      execFileSync('git', [
        'clone',
        '-q',
        '--mirror',
        '--no-hardlinks',
        join(from, name),
        join(into, folder, org, name),
      ])
  }
}

/** The differences between the answers of the API and the second reader, and what the reader finds broken. */
export async function differences({ org }: ActsPlace, person: Client, dataDir: string): Promise<string[]> {
  const { sets, broken, orphans } = readSets({ dataDir }, org, { mayEndOutside: true })
  const { total } = (await person.get(`/orgs/${org}/change-sets?status=all&limit=1`).then(expecting(200))).body
  const found = [...broken, ...orphans.map((id) => `${id} is proposed by no set`)]
  if (total !== sets.length) found.push(`the API has ${total} sets, and the repositories ${sets.length}`)
  for (const { number, id, title, status, items } of sets) {
    const { change_set: set } = (await person.get(`/orgs/${org}/change-sets/${number}`).then(expecting(200))).body
    const read = {
      ...{ id, title, status },
      items: items.map(({ node_id, number, actNow, status, page }) => {
        const isGone = page !== 'there' && page !== 'proposed'
        return `${node_id} ${number} ${actNow} ${isGone ? 'gone' : status}`
      }),
    }
    const shown = {
      ...{ id: set.id, title: set.title, status: set.status },
      items: set.items.map(({ node_id, number, act, status }: Json) => `${node_id} ${number} ${act} ${status}`),
    }
    read.items.sort()
    shown.items.sort()
    if (JSON.stringify(read) !== JSON.stringify(shown))
      found.push(`set ${number} is ${JSON.stringify(read)}, and shown as ${JSON.stringify(shown)}`)
  }
  return found
}

/** Each page has its merged items one after the other, in the order in which their sets merged. */
export function orderProblems({ org }: ActsPlace, dataDir: string): string[] {
  const { sets } = readSets({ dataDir }, org, { mayEndOutside: true })
  const merges = gitIn({ dataDir }, org, 'org').lines('log', '--reverse', '--format=%s', 'refs/grove/sets')
  const order = merges.flatMap((subject) => {
    const [, number] = /^merge (\d+)$/.exec(subject) ?? []
    return number === undefined ? [] : Number(number)
  })
  const ends = new Map<string, string>()
  const problems: string[] = []
  for (const number of order) {
    const { items = [] } = sets.find((set) => set.number === number) ?? {}
    for (const { node_id: id, base, head, page } of items) {
      if (head === undefined || !['there', 'deleted'].includes(page)) continue
      const last = ends.get(id)
      const isAfter = (commit: string) =>
        base != null && gitIn({ dataDir }, org, id).lines('merge-base', '--all', commit, base).includes(commit)
      if (last !== undefined && !isAfter(last))
        problems.push(`set ${number} changed ${id} from ${base}, before ${last}`)
      ends.set(id, head)
    }
  }
  return problems
}
