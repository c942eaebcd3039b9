/** What single requests cost, as counts: SQL statements, system calls on files, and started programs. */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Calls, noteCalls } from '../support/calls.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove, untilReady } from '../support/spawned-grove.ts'

/** Rounds before the first that counts. They fill caches. */
const warmUps = 2
const rounds = 7

type Counts = Readonly<Record<string, number>>

/** The usual counts of a round. `wal` are pages that SQLite writes, `moves` are calls that change names, `start` are programs. */
const expected: Readonly<Record<string, Counts>> = {
  get: { credentials: 1, index: 7, stat: 4 },
  list: { credentials: 1, index: 2 },
  // Two requests. The first leads to the path with words, and the second counts what is unread and lists drafts.
  page: { credentials: 8, events: 1, index: 35, stat: 12 },
  // A view that reads nothing new writes nothing.
  proposal: { credentials: 9, events: 1, index: 32, stat: 23, open: 7 },
  commit: {
    ...{ credentials: 2, index: 21, events: 15 },
    ...{ stat: 20, list: 2, open: 13, write: 5, moves: 9, sync: 8, wal: 56 },
  },
  create: {
    ...{ credentials: 2, index: 21, events: 16 },
    ...{ stat: 3, open: 12, write: 6, moves: 10, sync: 11, wal: 80 },
  },
}

/** These depend on the clock: the webhooks' loop asks once or twice after a change, and a request each second reads the mode. */
const isTimed = (line: string) =>
  line.startsWith('sql events with given (now) as (select ?), hook as') || line.endsWith('/maintenance.json')

/** A statement that binds a value which conditions of partial indexes compare. SQLite compiles it anew at each call. */
const isRecompiled = /^sql .*\b(?:edge_type|is_root|kind|state|status)"? (?:=|<>|!=) \?/

const moves = ['rename', 'link', 'unlink', 'mkdir', 'rmdir']

function kindOf(line: string): string {
  const [call = '', path = ''] = line.split(' ')
  if (call === 'sql') return path
  if (call === 'write' && path.endsWith('-wal')) return 'wal'
  if (moves.includes(call)) return 'moves'
  return call.endsWith('sync') ? 'sync' : call
}

function countsOf(lines: readonly string[]): Counts {
  const kinds = lines.filter((line) => !isTimed(line)).map(kindOf)
  return Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((one) => one === kind).length]))
}

/**
 * The third least of each kind. It is more often if a page of a tree splits, in every second commit, and if a session is
 * noted as used. It is less often if two new objects share a folder, in one of forty commits.
 */
function usualOf(all: readonly Counts[]): Counts {
  const kinds = new Set(all.flatMap((counts) => Object.keys(counts)))
  const usual = (kind: string) => all.map((counts) => counts[kind] ?? 0).sort((a, b) => a - b)[2] ?? 0
  return Object.fromEntries([...kinds].map((kind) => [kind, usual(kind)] as const).filter(([, count]) => count > 0))
}

describe('calls and statements of one request', () => {
  let grove: SpawnedGrove
  let calls: Calls
  let ann: PersonClient
  /** A node with a parent, a child, a connection and a tag. */
  let id: string
  let shelf: string
  /** A node with a proposal that has a comment. */
  let friend: string
  let words = 0

  before(async () => {
    const folder = await newDataDir()
    calls = noteCalls(folder)
    grove = await spawnGrove(folder, calls.environment)
    await untilReady(grove)
    ann = await signUp(grove, 'Ann')
    const newId = async (fields: object) =>
      (await ann.post(`/orgs/${ann.org}/nodes`, { text_content: 'Sing\n', ...fields }).then(expecting(201))).body.id
    shelf = await newId({ title: 'Shelf' })
    friend = await newId({ title: 'Friend' })
    id = await newId({ title: 'Whales', tags: ['sea'], parents: [shelf], connections: [{ target: friend }] })
    await newId({ title: 'Calf', parents: [id] })
    const proposed = `/orgs/${ann.org}/nodes/${friend}`
    const commit = { message: 'Edit', changes: [change()] }
    await ann.post(`${proposed}/branches`, { name: 'songs' }).then(expecting(201))
    await ann.post(`${proposed}/tree/songs/commits`, commit).then(expecting(201))
    await ann.post(`${proposed}/pull-requests`, { source_branch: 'songs', title: 'Sing' }).then(expecting(201))
    await ann.post(`${proposed}/pull-requests/1/comments`, { text: 'Loud.' }).then(expecting(201))
    // A loose object needs a folder that may be missing: by the first byte of its id, which is random.
    const objects = join(folder, ann.org, `${id}.git`, 'objects')
    for (let byte = 0; byte < 256; byte++)
      await mkdir(join(objects, byte.toString(16).padStart(2, '0')), { recursive: true })
    await calls.learnIdle()
  })
  after(async () => {
    await grove.stop()
    calls.remove()
  })

  const at = () => `/orgs/${ann.org}/nodes/${id}`
  const note = () => ({ title: 'Note', text_content: 'Sing\n', parents: [shelf] })
  const change = () => ({ action: 'put', path: 'content.md', content: `Words ${words++}\n` })
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => ann.get(at()).then(expecting(200)),
    list: () => ann.get(`/orgs/${ann.org}/nodes`).then(expecting(200)),
    page: () => readPage(ann, pageAt(ann.org, { id, title: 'Whales' })),
    proposal: () => readPage(ann, `${pageAt(ann.org, friend)}/proposals/1?tab=conversation`),
    commit: () => ann.post(`${at()}/tree/main/commits`, { message: 'Edit', changes: [change()] }).then(expecting(201)),
    create: () => ann.post(`/orgs/${ann.org}/nodes`, note()).then(expecting(201)),
  }

  for (const [what, work] of Object.entries(works))
    it(`of ${what} are these`, async () => {
      const noted: string[][] = []
      for (let round = 0; round < warmUps + rounds; round++) noted.push(await calls.during(work))
      expect(noted.flat().filter((line) => isRecompiled.test(line))).to.deep.equal([])
      const counts = usualOf(noted.slice(warmUps).map(countsOf))
      expect(counts, noted.at(-1)?.join('\n')).to.deep.equal(expected[what])
    })
})
