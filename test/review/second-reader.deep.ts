/** Rows and answers after random acts, compared with a second reader of the ledger's files. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { expecting } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { ann, aProposal, bob, cy, di, grove, nodes, type Proposal, pass, useScene } from './scene.ts'
import { type Reading, secondReading } from './second-reader.ts'

/** An act with numbers from which it chooses. */
type Act = (proposal: Proposal, a: number, b: number) => Promise<unknown>

const someone = (a: number) => [cy, bob, ann, di][a % 4] ?? ann
const pathOf = ({ node }: Proposal, a: number) => `${node.at}/pull-requests/${1 + (a % 2)}`
const entryOf = (a: number) => 1 + (a % 9)
const texts = ['Which whales?', '@Bob and @Di, see', 'Done.\n\n> really', '“é” 🐋']
const verdicts = ['approve', 'request_changes', 'comment']

/** Nothing that a client sends may break the service. */
const sent = async (answer: Promise<Answer>) => {
  const { status, body } = await answer
  if (status >= 500) throw new Error(`${status} ${JSON.stringify(body)}`)
}

const acts: Record<string, Act> = {
  comment: (p, a, b) => sent(someone(a).post(`${pathOf(p, b)}/comments`, { text: texts[b % 4] })),
  answer: (p, a, b) => sent(someone(a).post(`${pathOf(p, b)}/comments`, { text: texts[a % 4], thread: entryOf(b) })),
  edit: (p, a, b) => sent(someone(a).patch(`${pathOf(p, b)}/comments/${entryOf(b)}`, { text: texts[a % 3] })),
  delete: (p, a, b) => sent(someone(a).delete(`${pathOf(p, b)}/comments/${entryOf(a)}`)),
  erase: (p, a, b) => sent(ann.post(`${pathOf(p, b)}/entries/${entryOf(a)}/erase`, {})),
  resolve: (p, a, b) => sent(bob.patch(`${pathOf(p, b)}/threads/${entryOf(b)}`, { resolved: a % 3 > 0 })),
  review: async (p, a, b) => {
    const { body } = await ann.get(pathOf(p, b))
    const comments = a % 2 === 0 ? [{ text: 'So?' }, { text: 'Why?', thread: entryOf(b) }] : []
    const review = { verdict: verdicts[b % 3], text: 'Read.', comments, expected_source_commit: body.pr?.source_commit }
    await sent(someone(a).post(`${pathOf(p, b)}/reviews`, review))
  },
  withdraw: (p, a, b) => sent(someone(a).patch(`${pathOf(p, b)}/reviews/${entryOf(b)}`, { state: 'withdrawn' })),
  dismiss: (p, a, b) =>
    sent(di.patch(`${pathOf(p, b)}/reviews/${entryOf(a)}`, { state: 'dismissed', reason: 'Mended.' })),
  retitle: (p, a, b) => sent(ann.patch(pathOf(p, b), { title: `Title ${a % 3}` })),
  ask: (p, a, b) => sent(ann.patch(pathOf(p, b), { reviewers: [cy.user.id, di.user.id].slice(a % 3) })),
  status: (p, a, b) => sent(ann.patch(pathOf(p, b), { status: a % 2 === 0 ? 'closed' : 'open' })),
  retarget: (p, a) => sent(ann.patch(pathOf(p, 0), { target_branch: a % 2 === 0 ? 'release' : 'main' })),
  push: (p, a) => sent(ann.post(`${p.node.at}/tree/draft/commits`, commitTo(`a${a}.md`))),
  merge: (p, _, b) => sent(bob.post(`${pathOf(p, b)}/merge`)),
  unbranch: (p) => sent(ann.delete(`${p.node.at}/branches/release`)),
}

const commitTo = (path: string) => ({ message: path, changes: [{ action: 'put', path, content: path }] })

/** The entries that an operator's hand, or a later version, writes to the ledger. */
const hands: Record<string, Act> = {
  damage: async ({ node }, a, b) => {
    const damages = ['{', '[]', '"x"', '{"kind":7}', `${JSON.stringify({ ...aComment(), text: 'x'.repeat(262_144) })}`]
    const { at: _, ...undated } = aComment()
    damages.push(JSON.stringify(undated), JSON.stringify({ ...aComment(), thread: 'one' }), '\0', '')
    await write(node, { [entryAt(b, entryOf(a))]: damages[a % damages.length] ?? '' })
  },
  later: ({ node }, a, b) => {
    const at = a % 2 === 0 ? { at: '2026-02-02T00:00:00Z' } : { at: 'yesterday' }
    return write(node, { [entryAt(b, entryOf(a))]: JSON.stringify({ kind: 'reaction', by: 'Ann', ...at }) })
  },
  event: ({ node }, a, b) => {
    const { by, at } = aComment()
    return write(node, { [entryAt(b, entryOf(a))]: JSON.stringify({ kind: 'event', event: 'stack', by, at }) })
  },
  keys: ({ node }, a, b) => {
    const deep = a % 4 === 0 ? `${'['.repeat(90)}${']'.repeat(90)}` : '{"a":null}'
    const record = [aComment(), aVerdict('approve'), aVerdict('request_changes')][b % 3]
    return write(node, { [entryAt(b, entryOf(a))]: JSON.stringify(record).replace('{', `{"later":${deep},`) })
  },
  remove: ({ node }, a, b) => write(node, { [entryAt(b, entryOf(a))]: null }),
  twice: ({ node }, a, b) => {
    const text = JSON.stringify(aComment())
    return write(node, { [entryAt(b, entryOf(a))]: text, [entryAt(b + 1, 120 + (a % 3))]: text })
  },
  lost: ({ node }, a, b) => {
    const mentions = ['\ud800', '\ud801', bob.user.id, bob.user.id, 'Bob']
    const nobody = { name: 'Nobody', email: 'nobody@example.org' }
    const record = { ...aComment(), thread: 1 + (b % 11), mentions, ...(a % 2 === 0 && { by: nobody }) }
    return write(node, { [entryAt(b, entryOf(a))]: JSON.stringify(record) })
  },
  strange: ({ node }, a) => {
    const text = JSON.stringify(aComment())
    const names = ['reviews/0/0/1/9/1.json', 'reviews/0/0/1/00/2.json', 'reviews/0/0/1/0/03.json', 'reviews/0/0/1/3/x']
    names.push('reviews/0/0/1/0/0.json', 'reviews/0/0/7/0/1.json', 'reviews/1/0/1/0/1.json', 'reviews/0/0/2/5/501.json')
    return write(node, { [names[a % names.length] ?? '']: text })
  },
  forget: async ({ node }, _, b) => {
    const path = `pulls/0/0/${1 + (b % 2)}.json`
    // An earlier moment, to which the ledger was moved back, may lack it.
    if (node.git.lines('ls-tree', 'refs/grove/ledger', path).length === 0) return
    const record = node.git.run(['cat-file', 'blob', `refs/grove/ledger:${path}`])
    await write(node, { [path]: null })
    await ann.get(node.at).then(expecting(200))
    await write(node, { [path]: record })
  },
  back: async ({ node }, a) => {
    const commits = node.git.lines('log', '--first-parent', '--format=%H', 'refs/grove/ledger')
    const to = commits[a % Math.max(1, commits.length - 4)] ?? ''
    node.git.say('update-ref', 'refs/grove/ledger', to)
  },
}

const entryAt = (b: number, entry: number) => `reviews/0/0/${1 + (b % 2)}/${Math.floor(entry / 100)}/${entry}.json`

function aComment() {
  const by = { id: cy.user.id, name: 'Cy', email: 'cy@example.org' }
  return {
    kind: 'comment',
    id: randomUUID(),
    by,
    at: '2026-01-01T12:00:00.000Z',
    head: '1'.repeat(40),
    text: 'By hand',
  }
}

function aVerdict(verdict: string) {
  return { ...aComment(), kind: 'verdict', verdict, base: null, target_branch: 'main', comments: [] }
}

async function write({ git }: Proposal['node'], files: Record<string, string | Buffer | null>): Promise<void> {
  const parents = [git.say('rev-parse', 'refs/grove/ledger')]
  git.say('update-ref', 'refs/grove/ledger', git.commit({ files, parents, message: 'by hand' }))
}

describe('a second reader of the ledger', () => {
  useScene({ logLevel: 'error' })

  const everyAct = { ...acts, ...hands }
  const nat = fc.nat(1_000)
  const anAct = fc.tuple(fc.constantFrom(...Object.keys(acts), ...Object.keys(acts), ...Object.keys(hands)), nat, nat)

  it('finds what rows and answers say, after any acts, and edits by hand', async () => {
    const property = fc.asyncProperty(fc.array(anAct, { minLength: 10, maxLength: 40 }), async (chosen) => {
      const proposal = await aProposal()
      await proposal.node.branch('release')
      await proposal.node.proposal('other')
      await proposal.node.open('other')
      for (const [n, [name, a, b]] of chosen.entries()) {
        pass(1)
        await everyAct[name]?.(proposal, a, b)
        if (n % 7 === 6) await compare(proposal)
      }
      await compare(proposal)
    })
    await fc.assert(property, { numRuns: 6, endOnFailure: true, includeErrorInReport: true })
  })

  it('leaves repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
})

async function compare({ node }: Proposal): Promise<void> {
  await ann.get(node.at).then(expecting(200))
  const readings = secondReading(node.git)
  expect(rowsOf(node.id)).to.deep.equal(rowsFrom(readings))
  for (const [number, reading] of readings) {
    const path = `${node.at}/pull-requests/${number}`
    if (reading.record === undefined) expect((await ann.get(path)).status).to.equal(404)
    else expect(await answersAt(path)).to.deep.equal(answersFrom(reading))
  }
  const listed = (await ann.get(`${node.at}/pull-requests?status=all`).then(expecting(200))).body.pull_requests
  const counts = listed.map((one: Answer['body']) => [one.number, one.comments, one.open_threads])
  const known = [...readings].filter(([, { record }]) => record !== undefined)
  expect(counts.sort()).to.deep.equal(known.map(([number, one]) => [number, one.comments, one.openThreads]).sort())
}

function rowsOf(node: string) {
  const db = openSqlite(join(grove.dataDir, 'index.sqlite'), { readonly: true })
  try {
    const all = (columns: string, table: string) =>
      db.prepare(`select ${columns} from ${table} where node_id = ? order by 1, 2, 3`).raw().all(node)
    return {
      entries: all('number, entry, kind, body, thread, resolved, deleted, user_id, head, id', 'review_entry'),
      mentions: all('number, entry, user_id', 'review_mention'),
      involved: all('number, user_id, last_own, last_mention, last_answer', 'involvement'),
      reviewers: all('number, user_id, name, since', 'reviewer'),
      pulls: all('number, title, status, author_id, comments, open_threads, last_entry, last_entry_at', 'pull'),
    }
  } finally {
    db.close()
  }
}

function rowsFrom(readings: ReadonlyMap<number, Reading>): ReturnType<typeof rowsOf> {
  const sorted = [...readings].sort(([a], [b]) => a - b)
  const each = (rows: (number: number, reading: Reading) => unknown[][]) =>
    sorted.flatMap(([number, reading]) => rows(number, reading).map((row) => [number, ...row]))
  return {
    entries: each((_n, { entries }) =>
      entries.map(({ entry, kind, body, json }) => {
        const isComment = kind === 'comment'
        const thread = isComment ? (json.thread ?? entry) : null
        const isResolved = isComment && thread === entry && json.resolved !== undefined
        const isSaid = isComment || kind === 'verdict'
        const user = isSaid || kind === 'event' ? (json.by.id ?? null) : null
        const [head, id] = isSaid ? [json.head, json.id] : [null, null]
        const isDeleted = isComment && (json.deleted !== undefined || json.erased !== undefined)
        return [entry, kind, body, thread, Number(isResolved), Number(isDeleted), user, head, id]
      }),
    ),
    mentions: each((_n, { entries }) =>
      entries.flatMap(({ entry, kind, json }) => {
        const named: string[] = kind === 'comment' ? (json.mentions ?? []) : []
        return [...new Set(named)]
          .filter((user) => /^[0-9a-f-]{36}$/.test(user))
          .sort()
          .map((user) => [entry, user])
      }),
    ),
    involved: each((_n, { users }) =>
      [...users].sort(([a], [b]) => (a < b ? -1 : 1)).map(([user, one]) => [user, one.own, one.mention, one.answer]),
    ),
    reviewers: each((_n, { record }) =>
      [...(record?.reviewers ?? [])]
        .sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1))
        .map(({ id, name, since }: Record<string, string>) => [id, name, since]),
    ),
    pulls: each((_n, { record, ...one }) =>
      record === undefined
        ? []
        : [[record.title, record.status, record.author_id, one.comments, one.openThreads, one.last, one.lastAt]],
    ),
  }
}

async function answersAt(path: string) {
  const read = async (what: string) => (await cy.get(`${path}${what}limit=200`).then(expecting(200))).body
  const { pr } = (await cy.get(path).then(expecting(200))).body
  const threads = async (state: string) =>
    (await read(`/threads?state=${state}&`)).threads.map((one: Answer['body']) => one.thread)
  const all = await read('/threads?')
  return {
    counts: [pr.comments, pr.open_threads, pr.reviewers.length],
    total: all.total,
    threads: all.threads.map((one: Answer['body']) => [
      one.thread,
      one.is_resolved,
      one.num_comments,
      one.comments.map(({ text }: { text: string }) => text),
    ]),
    open: await threads('open'),
    resolved: await threads('resolved'),
    timeline: (await read('/timeline?')).entries.map((one: Answer['body']) => [one.entry, one.kind]),
    reviews: (await read('/reviews?')).reviews.map((one: Answer['body']) => [
      one.entry,
      one.verdict,
      one.state === 'stale' ? 'current' : one.state,
    ]),
  }
}

function answersFrom({ record, threads, entries, reviews, comments, openThreads }: Reading) {
  const lastOf = new Map<string, number>()
  for (const { entry, json } of reviews) if (json.verdict !== 'comment' && json.by.id) lastOf.set(json.by.id, entry)
  const stateOf = ({ entry, json }: Reading['reviews'][number]) => {
    if (json.withdrawn) return 'withdrawn'
    if (json.dismissed) return 'dismissed'
    return json.verdict === 'comment' || lastOf.get(json.by.id) === entry ? 'current' : 'superseded'
  }
  return {
    counts: [comments, openThreads, record.reviewers?.length ?? 0],
    total: threads.length,
    threads: threads.map((one) => [one.thread, one.isResolved, one.texts.length, one.texts]),
    open: threads.filter(({ isOpen }) => isOpen).map(({ thread }) => thread),
    resolved: threads.filter(({ isResolved }) => isResolved).map(({ thread }) => thread),
    timeline: entries.map(({ entry, kind }) => [entry, kind === 'verdict' ? 'review' : kind]),
    reviews: reviews.map((one) => [one.entry, one.json.verdict, stateOf(one)]),
  }
}
