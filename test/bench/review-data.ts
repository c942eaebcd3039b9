/** Makes what the measurements of reviews need: proposals, entries of their ledger, and rows of many pull requests. */

import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { entryFile } from '../../server/domain/format/paths.ts'
import { expecting } from '../support/node.ts'
import { git } from './measure.ts'
import { fastImport, importForks } from './repositories.ts'
import type { BenchNode, Scene } from './scene.ts'

/** The users of a conversation. The first are members. */
export interface Talker {
  readonly id: string
  readonly name: string
  readonly email: string
}

const at = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString()

/** Makes users who are no members. */
export function makeTalkers(count: number): Talker[] {
  return Array.from({ length: count }, (_, n) => ({
    id: randomUUID(),
    name: `Talker ${n}`,
    email: `talker.${n}@example.org`,
  }))
}

/** The heads that an entry is about. */
export interface Heads {
  readonly head: string
  readonly base: string
}

/** Adds branches of one commit each to a node, and opens a proposal for each. Returns their heads by number. */
export async function openForks({ ann }: Scene, { at, repo }: BenchNode, count: number): Promise<Heads[]> {
  const base = await git(repo, 'rev-parse', 'main')
  const branches = Array.from({ length: count }, (_, n) => `fork-${n + 1}`)
  await importForks(
    repo,
    branches.map((branch) => ({ branch, from: base })),
  )
  for (const branch of branches)
    await ann.post(`${at}/pull-requests`, { source_branch: branch, title: branch }).then(expecting(201))
  const heads = (await git(repo, 'rev-parse', ...branches)).split('\n')
  return heads.map((head) => ({ head, base }))
}

export interface ImportedEntry {
  readonly number: number
  readonly entry: number
  readonly record: object
}

/** Adds entries to the ledger in one commit. The service indexes them with the next read of the node. */
export async function importEntries(repo: string, entries: readonly ImportedEntry[]): Promise<void> {
  await fastImport(repo, async (write) => {
    const message = 'entries'
    await write(
      `commit refs/grove/ledger\ncommitter Ann <ann@example.org> 1767225600 +0000\ndata ${message.length}\n${message}\nfrom refs/grove/ledger^0\n`,
    )
    for (const { number, entry, record } of entries) {
      const json = `${JSON.stringify(record, null, 2)}\n`
      await write(`M 100644 inline ${entryFile(number, entry)}\ndata ${Buffer.byteLength(json)}\n${json}\n`)
    }
    await write('\n')
  })
}

/** Each thread has this many comments. */
const threadLength = 5

/** Returns comments in threads of five, with the numbers after `after`. Every tenth mentions a user. */
export function commentsOn(
  { head }: Heads,
  talkers: readonly Talker[],
  { number, after = 0, count }: { readonly number: number; readonly after?: number; readonly count: number },
): ImportedEntry[] {
  return Array.from({ length: count }, (_, n) => {
    const entry = after + n + 1
    const first = entry - (n % threadLength)
    const by = talkers[(n * 7) % talkers.length]
    const mentioned = talkers[n % talkers.length]
    return {
      number,
      entry,
      record: {
        ...{ kind: 'comment', id: randomUUID(), by, at: at(entry), head },
        text: `Comment ${entry}: this paragraph could say where the whales were seen, and by whom.`,
        ...(first < entry && { thread: first }),
        ...(n % 10 === 0 && mentioned && { mentions: [mentioned.id] }),
      },
    }
  })
}

/** Returns an approval of each talker. */
export function approvalsOf(
  { head, base }: Heads,
  talkers: readonly Talker[],
  { number, after = 0 }: { readonly number: number; readonly after?: number },
): ImportedEntry[] {
  return talkers.map((by, n) => ({
    number,
    entry: after + n + 1,
    record: {
      ...{ kind: 'verdict', id: randomUUID(), by, at: at(after + n + 1), verdict: 'approve', text: '', head, base },
      ...{ target_branch: 'main', comments: [] },
    },
  }))
}

/** Runs statements on the index of a running service. */
export function changeRows({ dataDir }: Scene, change: (db: ReturnType<typeof openSqlite>) => void): void {
  const db = openSqlite(join(dataDir, 'index.sqlite'), { timeout: 10_000 })
  try {
    db.pragma('foreign_keys = on')
    db.transaction(() => change(db)).immediate()
  } finally {
    db.close()
  }
}

/** Pull requests that exist only as rows. */
export interface RowsOfPulls {
  readonly org: string
  readonly nodes: readonly string[]
  readonly total: number
  readonly open: number
  /** One of them is the reviewer of each open one. */
  readonly reviewers: readonly string[]
  /** Is asked for a review on the first of `waiting`, and mentioned on as many others. */
  readonly user: string
  readonly waiting: number
}

/** Inserts rows of pull requests, of reviewers and of users in a conversation. The nodes take turns. */
export function insertPulls(scene: Scene, rows: RowsOfPulls): void {
  changeRows(scene, (db) => {
    const pull = db.prepare(
      `insert into pull (org_id, node_id, number, id, title, description, source_branch, target_branch, status, is_draft,
         author, author_email, created_at, recorded_at, source_commit, target_commit, ahead, behind, author_id, last_entry,
         last_entry_at)
       values (?, ?, ?, ?, ?, '', ?, 'main', ?, 0, 'Author', ?, ?, ?, ?, ?, 1, 0, ?, 3, ?)`,
    )
    const reviewer = db.prepare(
      'insert into reviewer (user_id, org_id, node_id, number, name, since) values (?, ?, ?, ?, ?, ?)',
    )
    const involvement = db.prepare(
      `insert into involvement (user_id, org_id, node_id, number, last_own, last_mention, last_answer)
       values (?, ?, ?, ?, ?, ?, ?)`,
    )
    const { org, nodes, user } = rows
    const now = Date.now() - rows.total * 1_000
    for (let n = 0; n < rows.total; n++) {
      const node = nodes[n % nodes.length]
      const number = Math.floor(n / nodes.length) + 1
      const oid = createHash('sha1').update(`${n}`).digest('hex')
      const time = new Date(now + n * 1_000).toISOString()
      const isOpen = n >= rows.total - rows.open
      const author = rows.reviewers[n % rows.reviewers.length]
      const other = rows.reviewers[(n + 1) % rows.reviewers.length]
      const name = [org, node, number] as const
      pull.run(
        ...name,
        randomUUID(),
        `Proposal ${n}`,
        `draft-${n}`,
        isOpen ? 'open' : 'merged',
        ...[`${author}@example.org`, time, time, oid, oid, author, time],
      )
      involvement.run(author, ...name, 3, 0, 2)
      const place = n - (rows.total - rows.open)
      if (!isOpen) continue
      const isAsked = place < rows.waiting / 2
      reviewer.run(isAsked ? user : other, ...name, 'Reviewer', time)
      if (!isAsked && place < rows.waiting) involvement.run(user, ...name, 0, 3, 0)
    }
  })
}
