/** Reads change sets with native Git only. Checks what must hold between the repositories of an organisation. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Git, gitIn } from './git.ts'
import { readBlobs } from './ledger-replay.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a ledger
type Json = any // each use says what it expects

interface ReadItem {
  readonly node_id: string
  readonly number: number
  readonly act: 'change' | 'create' | 'delete' | 'restore'
  readonly base?: string | null
  readonly head?: string
  /** The page has it in its ledger. */
  readonly status: 'open' | 'merged' | 'closed' | 'missing'
  /** The effect of the heads of its branches, while it is open. */
  readonly actNow: 'change' | 'create' | 'delete' | 'restore'
  readonly page: 'there' | 'proposed' | 'deleted' | 'in the trash' | 'missing'
}

interface ReadSet {
  readonly id: string
  readonly number: number
  readonly title: string
  readonly status: 'open' | 'merged' | 'closed'
  /** When it ended, or else when it last changed. */
  readonly at: string
  readonly items: readonly ReadItem[]
}

interface SetsReading {
  readonly sets: readonly ReadSet[]
  readonly broken: readonly string[]
  /**
   * Proposed pages with open pull requests that no set lists. A crash may leave some, and the sweep discards them. A page
   * that was taken out of a set has a closed pull request, and stays for a while.
   */
  readonly orphans: readonly string[]
}

interface Page {
  readonly id: string
  readonly place: ReadItem['page']
  readonly node: Json
  readonly pulls: ReadonlyMap<number, Json>
  readonly branches: ReadonlyMap<string, string>
  /** The branches whose head has no files. */
  readonly empty: ReadonlySet<string>
  /** The commits of main, the last one first. */
  readonly main: readonly string[]
}

interface Org {
  readonly sets: readonly ReadSet[]
  readonly pages: ReadonlyMap<string, Page>
}

const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const setsRef = 'refs/grove/sets'

/**
 * Reads the folder of an organisation, and its trash.
 *
 * @param mayEndOutside true if users also merge changes of a set by other ways than its merge. Otherwise that is broken
 */
export function readSets(
  { dataDir }: { readonly dataDir: string },
  orgId: string,
  { mayEndOutside = false } = {},
): SetsReading {
  const listed = [...readPages(join(dataDir, 'trash'), orgId), ...readPages(dataDir, orgId)]
  const all = new Map(listed.map((page) => [page.id, page]))
  const own = gitIn({ dataDir }, orgId, 'org')
  const hasSets = own.lines('for-each-ref', setsRef).length > 0
  const files = hasSets ? readFiles(own, setsRef, ['last', 'ids', 'pulls']) : new Map()
  const records = [...files].filter(([path]) => path.startsWith('pulls/')).map(([, record]) => record)
  const sets = records.map((record) => setOf(record, all)).sort((a, b) => a.number - b.number)
  const isUnlisted = ({ id, place, node }: Page) =>
    place === 'proposed' && !sets.some((set) => set.id === node.proposed_in && itemOf(set, id))
  const unlisted = [...all.values()].filter(isUnlisted)
  const orphans = unlisted.filter(({ pulls }) => [...pulls.values()].some(({ status }) => status === 'open'))
  const pages = new Map([...all].filter(([, page]) => !unlisted.includes(page)))
  const org = { sets, pages }
  const broken = [
    ...faultsOfNumbers(files),
    ...[...pages.values()].flatMap((page) => [...faultsOfPulls(org, page), ...faultsOfState(org, page)]),
    ...sets.flatMap((set) => set.items.flatMap((item) => faultsOfItem(org, set, item, mayEndOutside))),
  ]
  return { sets, broken, orphans: orphans.map(({ id }) => id) }
}

function setOf({ id, number, title, status, at, ended, items }: Json, pages: ReadonlyMap<string, Page>): ReadSet {
  const read = items.map((item: ReadItem): ReadItem => {
    const page = pages.get(item.node_id)
    const pull = page?.pulls.get(item.number)
    const actNow = page && pull?.status === 'open' ? actOf(page, pull) : item.act
    return { ...item, status: pull?.status ?? 'missing', actNow, page: page?.place ?? 'missing' }
  })
  return { id, number, title, status, at: ended?.at ?? at, items: read }
}

/** The effect of an open pull request. It follows from the trees of main and of its branch. */
function actOf({ branches, empty }: Page, { source_branch }: Json): ReadItem['act'] {
  if (!branches.has('main')) return 'create'
  if (empty.has('main')) return 'restore'
  return empty.has(source_branch) ? 'delete' : 'change'
}

function itemOf(set: ReadSet, id: string): ReadItem | undefined {
  return set.items.find(({ node_id }) => node_id === id)
}

/** The JSON of each file at these paths. */
function readFiles(git: Git, ref: string, paths: readonly string[]): Map<string, Json> {
  const entries = git.lines('ls-tree', '-r', ref, ...paths).map((line) => line.split(/[ \t]/))
  const texts = readBlobs(git, [...new Set(entries.map(([, , blob = '']) => blob))])
  return new Map(entries.map(([, , blob = '', path = '']) => [path, texts.get(blob)]))
}

/** The pages in a folder of repositories. In the trash, names have a time. */
function readPages(dataDir: string, orgId: string): Page[] {
  const folder = join(dataDir, orgId)
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  return names.flatMap((name): Page[] => {
    const [, repository = '', id, time] = /^(([0-9a-f-]{36})(\.\d+)?)\.git$/.exec(name) ?? []
    if (id === undefined) return []
    const git = gitIn({ dataDir }, orgId, repository)
    const { 'node.json': node = {}, ...pulls } = Object.fromEntries(
      readFiles(git, 'refs/grove/ledger', ['node.json', 'pulls']),
    )
    const refs = git.lines('for-each-ref', '--format=%(objectname) %(tree) %(refname:lstrip=2)', 'refs/heads')
    const heads = refs.map((line) => line.split(' '))
    const branches = new Map(heads.map(([head = '', , name = '']) => [name, head]))
    const empty = new Set(heads.flatMap(([, tree, name = '']) => (tree === emptyTree ? name : [])))
    const place = time === undefined ? (node.state ?? 'there') : 'in the trash'
    const main = branches.has('main') ? git.log() : []
    const byNumber = new Map(Object.values(pulls).map((one) => [one.number, one]))
    return [{ id, place, node, pulls: byNumber, branches, empty, main }]
  })
}

/** Numbers go from 1 to the last without gaps. Each id leads to its set. */
function faultsOfNumbers(files: ReadonlyMap<string, Json>): string[] {
  const records = [...files].filter(([path]) => path.startsWith('pulls/'))
  const ids = [...files].filter(([path]) => path.startsWith('ids/'))
  const count = files.get('last') ?? 0
  const expected = Array.from({ length: count }, (_, at) => pathOf(at + 1))
  const paths = records.map(([path]) => path)
  const wanted = new Map(records.map(([, { id, number }]) => [`ids/${id.slice(0, 2)}/${id}`, number]))
  return [
    ...expected.filter((path) => !paths.includes(path)).map((path) => `${path} is missing; the last set is ${count}`),
    ...paths.filter((path) => !expected.includes(path)).map((path) => `${path} is there; the last set is ${count}`),
    ...records.filter(([path, { number }]) => path !== pathOf(number)).map(([path]) => `${path} has another number`),
    ...[...wanted]
      .filter(([path, number]) => files.get(path) !== number)
      .map(([path, number]) => `${path} is not ${number}`),
    ...ids.filter(([path]) => !wanted.has(path)).map(([path]) => `${path} is of no set`),
  ]
}

function pathOf(number: number): string {
  return `pulls/${Math.floor(number / 10_000)}/${Math.floor(number / 100) % 100}/${number}.json`
}

/** A pull request that names a set is in it. A page is in one open set. */
function faultsOfPulls({ sets }: Org, { id, pulls, place }: Page): string[] {
  const inSets = [...pulls.values()].filter(({ change_set }) => change_set !== undefined)
  const lost = inSets.filter(
    ({ number, status, change_set }) =>
      // A page that comes back from the trash leaves the sets that have left it.
      !(place === 'in the trash' && status === 'open') &&
      !sets.some((set) => set.id === change_set && itemOf(set, id)?.number === number),
  )
  const open = inSets.filter(({ status }) => status === 'open').map(({ number }) => number)
  return [
    ...lost.map(
      ({ number, change_set }) => `pull request ${number} of ${id} is in the set ${change_set}, which does not list it`,
    ),
    ...(open.length > 1 ? [`pull requests ${open} of ${id} are open in sets`] : []),
  ]
}

/** The state of a page in its ledger is that of its last merged item. */
function faultsOfState({ sets }: Org, { id, place, node, main }: Page): string[] {
  const merged = sets.filter(
    (set) =>
      ['create', 'delete', 'restore'].includes(itemOf(set, id)?.act ?? '') && itemOf(set, id)?.status === 'merged',
  )
  const last = merged.sort((a, b) => (a.at < b.at ? -1 : 1)).at(-1)
  const item = last && itemOf(last, id)
  const isProposed = item === undefined && sets.some((set) => itemOf(set, id)?.act === 'create')
  // A page that was restored has a later commit.
  const isDeleted = item?.act === 'delete' && (place === 'deleted' || main[0] === item.head)
  const isReturning = sets.some((set) => set.status === 'open' && itemOf(set, id)?.act === 'restore')
  const expected = isProposed || isReturning ? 'proposed' : isDeleted ? 'deleted' : 'there'
  if (place !== 'in the trash' && place !== expected) return [`${id} should be ${expected}, and is ${place}`]
  if (place === 'proposed' && main.length > 0 && !isReturning) return [`${id} is proposed, and has a main`]
  if (place === 'deleted' && node.proposed_in !== last?.id)
    return [`${id} is deleted by ${node.proposed_in}, not by set ${last?.number}`]
  return []
}

/** A set is merged if its items are. Then main contains their heads, and their pull requests are merged. */
function faultsOfItem({ pages }: Org, set: ReadSet, item: ReadItem, mayEndOutside: boolean): string[] {
  const { node_id: id, number, act, status, base, head } = item
  const where = `set ${set.number}, ${act} of ${id}`
  const page = pages.get(id)
  const isNeeded = set.status === 'open' && act === 'create'
  if (isNeeded && page?.place !== 'proposed' && status !== 'merged') return [`${where}: the page is ${item.page}`]
  // It was purged from the trash.
  if (page === undefined) return []
  const pull = page.pulls.get(number)
  if (pull?.change_set !== set.id) return [`${where}: pull request ${number} is in the set ${pull?.change_set}`]
  const faults: string[] = []
  if (set.items.filter(({ node_id }) => node_id === id).length > 1) faults.push('the page is listed twice')
  const isMerged = set.status === 'merged' && head !== undefined
  // Nothing changes in the trash.
  const isLeft = status === 'open' && set.status !== 'open' && page.place !== 'in the trash'
  if (isMerged ? status !== 'merged' : isLeft) faults.push(`it is ${status}, and the set is ${set.status}`)
  if (isMerged) {
    if (!page.main.includes(head)) faults.push('main does not contain its head')
    if (pull.source_commit !== head) faults.push(`its pull request is of ${pull.source_commit}`)
    if (act === 'create' ? base !== null : base == null || !page.main.includes(base)) faults.push(`its base is ${base}`)
  }
  if (status === 'merged' && !isMerged && !(mayEndOutside && act === 'change'))
    faults.push('it is merged, and the set has not merged it')
  const source = page.branches.get(pull.source_branch)
  if (status === 'open' && source !== undefined && page.main.includes(source) && !(mayEndOutside && act === 'change'))
    faults.push('it is open, and main contains its head')
  return faults.map((fault) => `${where}: ${fault}`)
}
