/** Many commenters at two processes over one data folder, which are restarted, and a ledger that grows at once. */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { cli } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { times } from '../support/many.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('two processes over one data folder', () => {
  let dataDir: string
  /** Undefined while it is restarted. */
  const seats: (SpawnedGrove | undefined)[] = []
  let ann: PersonClient
  let node: TestNode
  let path: string

  before(async () => {
    dataDir = await newDataDir()
    for (const seat of [0, 1]) await start(seat)
  })
  beforeEach(async () => {
    ann = await signUp(seats[0] ?? nowhere, `Ann ${randomUUID()}`)
    node = await newNode({ dataDir }, ann)
    await node.proposal('draft')
    await node.open('draft')
    path = `${node.at}/pull-requests/1`
  })
  after(async () => {
    await Promise.all(seats.map((process) => process?.stop()))
    await rm(dataDir, { recursive: true, force: true })
  })

  const nowhere = { url: 'http://127.0.0.1:9' }
  const start = async (seat: number) => {
    seats[seat] = await spawnGrove(dataDir)
  }
  const kill = async (seat: number) => {
    const process = seats[seat]
    seats[seat] = undefined
    await process?.kill()
  }
  const at = (seat: number) => client(seats[seat] ?? nowhere, ann.session.accessToken)
  const timeline = async (seat: number) => {
    const found: Record<string, { id: string; text: string }>[] = []
    for (let after: number | undefined = 0; after !== undefined; ) {
      const answer: Answer = await at(seat).get(`${path}/timeline?limit=200&after=${after}`).then(expecting(200))
      found.push(...answer.body.entries)
      after = answer.body.next
    }
    return found
  }
  /** Until it is told that the comment is there; the id makes a repeat harmless. */
  const comment = async (seat: number, id: string) => {
    await until(async () => {
      const answer = await at(seat)
        .post(`${path}/comments`, { id, text: id })
        .catch(() => undefined)
      return answer?.status === 201 || answer?.body?.code === 'comment_exists'
    })
    return id
  }
  const rows = () => {
    const db = openSqlite(join(dataDir, 'index.sqlite'), { readonly: true })
    try {
      return Number(db.prepare('select count(*) from review_entry where node_id = ?').pluck().get(node.id))
    } finally {
      db.close()
    }
  }
  /** Kills the process while it writes rows. It stands still during each look, so that it cannot finish first. */
  const killWhileIndexing = async (seat: number) => {
    const pid = seats[seat]?.pid ?? expect.fail('it does not run')
    await until(() => {
      process.kill(pid, 'SIGSTOP')
      const isIndexing = rows() > 0
      if (!isIndexing) process.kill(pid, 'SIGCONT')
      return isIndexing
    })
    await kill(seat)
  }
  /** Compares the rows with a rebuild, and the repositories with git fsck. */
  const expectHealthy = async () => {
    const { code, stdout } = await cli(dataDir, 'doctor')
    expect(code, stdout).to.equal(0)
  }

  it('take the comments of 16 commenters each, both restarted: each once, numbers without gaps', async () => {
    let done = 0
    const writing = times(32, async (n) => {
      const written: string[] = []
      for (let k = 0; k < 3; k++) {
        written.push(await comment(n % 2, randomUUID()))
        done++
      }
      return written
    })
    for (const seat of [0, 1]) {
      await until(() => done > 20 + 25 * seat)
      await kill(seat)
      await start(seat)
    }
    const written = (await writing).flat()
    const entries = await timeline(0)
    expect(entries.map(({ entry }) => entry)).to.deep.equal(written.map((_, n) => n + 1))
    expect(entries.map((one) => one.comment?.id)).to.have.members(written)
    expect(entries.every((one) => one.comment?.text === one.comment?.id)).to.equal(true)
    expect(await timeline(1)).to.deep.equal(entries)
    node.git.fsck()
  })

  it('take 16 checks of one commit each at once, and lose none', async () => {
    const head = node.git.head('draft')
    const names = Array.from({ length: 32 }, (_, n) => `machine/${`${n}`.padStart(2, '0')}`)
    const body = { state: 'success', description: 'Fine' }
    const answers = await times(32, (n) =>
      at(n % 2).put(`${node.at}/checks/${head}/${encodeURIComponent(names[n] ?? '')}`, body),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(32).fill(200))
    for (const seat of [0, 1]) {
      const { checks } = (await at(seat).get(`${node.at}/checks/${head}`).then(expecting(200))).body
      expect(checks.map(({ name }: { name: string }) => name)).to.deep.equal(names)
    }
    const subjects = node.git.lines('log', '--first-parent', '--format=%s', 'refs/grove/ledger')
    expect(subjects.filter((one) => one.startsWith('check ')).sort()).to.deep.equal(
      names.map((name) => `check ${head} ${name}`),
    )
    node.git.fsck()
  })

  it('index 3,000 entries that came at once, while both are used and one is killed', async () => {
    importEntries(node, ann, 3_000)
    const reading = at(0)
      .get(path)
      .catch(() => undefined)
    await killWhileIndexing(0)
    await reading
    expect(rows()).to.be.within(1, 2_999)
    await start(0)
    const added = await times(8, (n) => comment(n % 2, randomUUID()))
    const entries = await timeline(1)
    expect(entries.map(({ entry }) => entry)).to.deep.equal(Array.from({ length: 3_008 }, (_, n) => n + 1))
    expect(entries.slice(3_000).map((one) => one.comment?.id)).to.have.members(added)
    expect((await at(0).get(path)).body.pr).to.include({ comments: 3_008, open_threads: 3_008 })
    await expectHealthy()
  })

  it('forget 3,000 entries of which some have rows, if the ledger is moved back', async () => {
    const before = node.git.say('rev-parse', 'refs/grove/ledger')
    importEntries(node, ann, 3_000)
    const reading = at(0)
      .get(path)
      .catch(() => undefined)
    await killWhileIndexing(0)
    await reading
    node.git.say('update-ref', 'refs/grove/ledger', before)
    await start(0)
    expect((await at(0).get(path).then(expecting(200))).body.pr).to.include({ comments: 0, open_threads: 0 })
    expect(rows()).to.equal(0)
    await expectHealthy()
  })
})

/** Adds comments in one commit of the ledger. */
function importEntries({ git }: TestNode, { user }: PersonClient, count: number): void {
  const by = { id: user.id, name: 'Ann', email: user.email }
  const files = Array.from({ length: count }, (_, n) => {
    const entry = n + 1
    const record = { kind: 'comment', id: randomUUID(), by, at: '2026-01-01T00:00:00Z', head: '1'.repeat(40) }
    const text = JSON.stringify({ ...record, text: `Comment ${entry}` })
    const path = `reviews/0/0/1/${Math.floor(entry / 100)}/${entry}.json`
    return `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`
  })
  const ref = 'refs/grove/ledger'
  const head = `commit ${ref}\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 7\nby hand\nfrom ${ref}^0\n`
  git.run(['fast-import', '--quiet'], { input: head + files.join('') })
}
