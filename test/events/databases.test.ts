/** The log when databases and repositories go away, come back, or are older than each other. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { markLogsWhole } from '../../index/log/events.ts'
import { removeGoneLogs } from '../../server/domain/events/gone-logs.ts'
import { recordGaps, recordGoneOrgs } from '../../server/domain/indexing/record-gaps.ts'
import { listNodes } from '../../server/domain/indexing/stored-repositories.ts'
import { made } from '../support/cast.ts'
import { grove as cli } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { chance } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { readLog } from './log-rows.ts'

describe('the log of events', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let passedMs = 0

  beforeEach(async () => {
    passedMs = 0
    dataDir = await newDataDir()
    await start()
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
  })
  afterEach(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const start = async () => {
    // The log level keeps what the service reports about lost databases out of the output.
    grove = await startGrove({ dataDir, sweeps: false, logLevel: 'warn', now: () => new Date(Date.now() + passedMs) })
    if (ann !== undefined) ann = { ...ann, ...client(grove, ann.session.accessToken) }
  }
  const restart = async (change: () => void) => {
    await grove.close()
    change()
    await start()
  }
  const file = (name = 'events.sqlite') => join(dataDir, name)
  const remove = (name: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(file(name) + end, { force: true })
  }
  const types = (from = 0) =>
    readLog(grove, ann.org)
      .slice(from)
      .map(({ type, via }) => [type, via].filter(Boolean).join(' '))
  const count = () => readLog(grove, ann.org).length
  const events = (query: string) => ann.get(`/orgs/${ann.org}/events${query}`)
  const now = async () => (await events('?after=now').then(expecting(200))).body.next
  const retitle = (title: string) => made(ann.patch(node.at, { title }))

  /** The work of one round of the sweep, from the first repository to the last. */
  const sweepOnce = async () => {
    const { deps } = grove
    await recordGaps(deps, ann.org, { isFirst: true, nodeIds: await listNodes(deps, ann.org) })
    await recordGoneOrgs(deps)
    await deps.events.write((trx) => markLogsWhole(trx, new Date(deps.now().getTime() + 1)))
  }
  const isWhole = async () => {
    const { read } = grove.deps.events
    return (await read.selectFrom('log').select('whole').where('org_id', '=', ann.org).executeTakeFirst())?.whole
  }

  it('stays as it is when the index is rebuilt or deleted', async () => {
    await node.proposal('draft')
    await node.open('draft')
    const cursor = await now()
    const before = readLog(grove, ann.org)
    expect((await cli(dataDir, 'reindex')).code).to.equal(0)
    await restart(() => remove('index.sqlite'))
    await sweepOnce()
    expect(readLog(grove, ann.org)).to.deep.equal(before)
    await retitle('Later')
    const { body } = await events(`?after=${cursor}`).then(expecting(200))
    expect(body.events.map(({ type }: { type: string }) => type)).to.deep.equal(['branch.updated', 'node.updated'])
  })

  for (const isRunning of [false, true])
    it(`begins again if its database is deleted ${isRunning ? 'while the service runs' : 'while the service is down'}`, async () => {
      const cursor = await now()
      const other = await newNode(grove, ann, { title: 'Krill' })
      if (isRunning) {
        remove('events.sqlite')
        // Until the service uses the new file, it writes to the deleted one.
        const rows = () => grove.deps.events.read.selectFrom('event').select('id').execute()
        await until(async () => (await rows()).length === 0)
      } else await restart(() => remove('events.sqlite'))
      await sweepOnce()
      expect(types()).to.deep.equal(['log.began'])
      expect((await events(`?after=${cursor}`)).status).to.equal(410)
      await made(ann.patch(other.at, { title: 'Kelp' }))
      const third = await newNode(grove, ann)
      expect(types(1)).to.deep.equal(['branch.updated rest', 'node.updated rest', 'node.created rest'])
      expect(readLog(grove, ann.org).at(-1)?.subject).to.equal(`nodes/${third.id}`)
    })

  it('is not whole before a sweep has seen every repository, and takes none as new', async () => {
    await newNode(grove, ann)
    await restart(() => remove('events.sqlite'))
    await retitle('First')
    await newNode(grove, ann)
    const found = ['log.began', 'branch.updated rest', 'node.updated rest', 'node.created rest']
    expect([types(), await isWhole()]).to.deep.equal([found, 0])
    await sweepOnce()
    expect([types(), await isWhole()]).to.deep.equal([found, 1])
  })

  it('has what happens after its loss, before a sweep has seen the repositories', async () => {
    const [changed, deleted, trashed] = [
      await newNode(grove, ann),
      await newNode(grove, ann),
      await newNode(grove, ann),
    ]
    await changed.proposal('draft')
    await ann.delete(trashed.at).then(expecting(204))
    await signUp(grove, 'Bob')
    await restart(() => remove('events.sqlite'))
    const expected: string[] = ['log.began']
    const has = async (work: Promise<unknown>, ...more: string[]) => {
      await work
      expected.push(...more)
      expect(types()).to.deep.equal(expected)
    }
    const org = `/orgs/${ann.org}`
    await has(ann.put(`${org}/members/bob@example.org`, { role: 'reader' }).then(expecting(200)), 'member.added rest')
    await has(made(ann.patch(changed.at, { title: 'Krill' })), 'branch.updated rest', 'node.updated rest')
    await has(ann.delete(deleted.at).then(expecting(204)), 'node.deleted rest')
    await has(made(ann.post(`${org}/trash/${trashed.id}/restore`)), 'node.restored rest')
    await has(ann.delete(org).then(expecting(204)), 'org.deleted rest')
  })

  for (const hasNode of [true, false])
    it(`begins with the deletion of an organisation ${hasNode ? 'with' : 'without'} nodes, if that comes first`, async () => {
      if (!hasNode) rmSync(node.git.dir, { recursive: true })
      await restart(() => remove('events.sqlite'))
      await ann.delete(`/orgs/${ann.org}`).then(expecting(204))
      expect([types()[0], types().at(-1)]).to.deep.equal(['log.began', 'org.deleted rest'])
    })

  it('has the end of an organisation that is gone before anything of it was recorded', async () => {
    await restart(() => remove('events.sqlite'))
    await now()
    renameSync(join(dataDir, ann.org), join(dataDir, 'aside'))
    await sweepOnce()
    await sweepOnce()
    expect(types()).to.deep.equal(['log.began', 'org.deleted'])
  })

  for (const isRunning of [false, true])
    it(`is set aside if it is damaged ${isRunning ? 'while the service runs' : 'while the service is down'}`, async () => {
      for (const title of ['One', 'Two']) await retitle(title)
      const damage = () => writeFileSync(file(), Buffer.alloc(statSync(file()).size, 'not a database'))
      if (isRunning) {
        const read = (db: typeof grove.deps.events.read) => db.selectFrom('event').select('body').execute()
        // All pages are in the file then, and not in the write-ahead log.
        await restart(() => undefined)
        damage()
        await until(async () => {
          // The service answers in the meantime.
          await made(ann.patch(node.at, { title: `Title ${chance()}` }))
          await read(grove.deps.events.read).catch(() => undefined)
          return existsSync(`${file()}.damaged`)
        })
      } else
        await restart(() => {
          remove('events.sqlite-wal')
          damage()
        })
      expect(existsSync(`${file()}.damaged`)).to.equal(true)
      await until(
        async () =>
          (await sweepOnce().then(
            () => true,
            () => false,
          )) && count() > 0,
      )
      const begun = count()
      await retitle('Three')
      expect(types()[0]).to.equal('log.began')
      expect(types(begun)).to.deep.equal(['branch.updated rest', 'node.updated rest'])
    })

  it('has another chain after an older copy of the folder was put back, also for the same kind of change', async () => {
    const copy = await newDataDir()
    await restart(() => cpSync(dataDir, copy, { recursive: true }))
    const shared = await now()
    await retitle('Lost')
    const lost = await now()
    await restart(() => {
      rmSync(dataDir, { recursive: true })
      renameSync(copy, dataDir)
    })
    await retitle('Kept')
    const kept = await now()
    expect([kept.split('-')[0], kept === lost]).to.deep.equal([lost.split('-')[0], false])
    expect((await events(`?after=${lost}`)).status).to.equal(410)
    expect((await events(`?after=${shared}`).then(expecting(200))).body.events).to.have.length(2)
  })

  it('records what a process that died between the index and the log has left, once', async () => {
    const older = join(dataDir, 'older')
    await restart(() => cpSync(file(), older))
    await retitle('Unrecorded')
    const gone = await newNode(grove, ann, { title: 'Also unrecorded' })
    await ann.delete(gone.at).then(expecting(204))
    await restart(() => {
      remove('events.sqlite')
      cpSync(older, file())
    })
    const before = count()
    await sweepOnce()
    await sweepOnce()
    // Nobody has ever seen the node that came and went.
    expect(types(before)).to.deep.equal(['branch.updated path', 'node.updated path'])
  })

  it('has a mirror that was put in its place by hand as one new node', async () => {
    await sweepOnce()
    const before = count()
    const id = crypto.randomUUID()
    cpSync(node.git.dir, join(dataDir, ann.org, `${id}.git`), { recursive: true })
    await sweepOnce()
    await made(ann.get(`/orgs/${ann.org}/nodes/${id}`)).catch(() => undefined)
    await sweepOnce()
    expect(
      readLog(grove, ann.org)
        .slice(before)
        .map(({ type, subject }) => [type, subject]),
    ).to.deep.equal([['node.created', `nodes/${id}`]])
  })

  it('has a repository that was moved away and back, with what is different then', async () => {
    await sweepOnce()
    const before = count()
    renameSync(node.git.dir, join(dataDir, 'aside.git'))
    await sweepOnce()
    expect(types(before)).to.deep.equal(['node.deleted path'])
    renameSync(join(dataDir, 'aside.git'), node.git.dir)
    node.git.point('other', node.git.head())
    await sweepOnce()
    expect(types(before + 1)).to.deep.equal(['node.restored path', 'branch.created path'])
  })

  it('has refs that were moved by hand: a branch back, a tag', async () => {
    await retitle('First')
    const first = node.git.head()
    await retitle('Second')
    await sweepOnce()
    const before = count()
    node.git.point('main', first)
    node.git.say('tag', 'v1', first)
    await sweepOnce()
    node.git.say('update-ref', 'refs/tags/v1', node.git.commit({ message: 'Elsewhere' }))
    await sweepOnce()
    node.git.say('tag', '-d', 'v1')
    await sweepOnce()
    expect(types(before)).to.deep.equal([
      'tag.created path',
      'branch.updated path',
      'node.updated path',
      'tag.updated path',
      'tag.deleted path',
    ])
    expect(readLog(grove, ann.org).find(({ seq }) => seq === before + 2)?.data).to.include({ forced: true })
  })

  it.deep('has a push once, with its pusher, while two processes record it', async () => {
    const other = await startGrove({ dataDir, sweeps: false })
    try {
      const reader = client(other, ann.session.accessToken)
      const { token } = await made(ann.post('/auth/tokens', { name: 'push', access: 'write' }))
      const url = `${grove.url.replace('//', `//x:${token}@`)}/git/${ann.org}/${node.id}.git`
      for (let round = 0; round < 5; round++) {
        const before = count()
        const oid = node.git.commit({ files: { 'a.txt': `${round}` }, parents: [node.git.head()] })
        let isOver = false
        const reading = (async () => {
          while (!isOver) await reader.get(node.at)
        })()
        await promisify(execFile)('git', ['push', '-q', url, `${oid}:main`], {
          cwd: node.git.dir,
          env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
        })
        isOver = true
        await reading
        await made(ann.get(node.at))
        expect(types(before)).to.deep.equal(['branch.updated push', 'node.updated push'])
        expect(readLog(grove, ann.org).at(-1)?.data.actor.name).to.equal('Ann')
      }
    } finally {
      await other.close()
    }
  })

  it('is kept for 30 days after the organisation is deleted, and ends with that', async () => {
    await ann.delete(`/orgs/${ann.org}`).then(expecting(204))
    expect(types().at(-1)).to.equal('org.deleted rest')
    const rows = async () => {
      const { read } = grove.deps.events
      const [log, repos, refs] = [
        await read.selectFrom('log').select('org_id').where('org_id', '=', ann.org).execute(),
        await read.selectFrom('recorded_repo').select('node_id').where('org_id', '=', ann.org).execute(),
        await read.selectFrom('recorded_ref').select('ref').where('node_id', '=', node.id).execute(),
      ]
      return [log.length, repos.length, refs.length]
    }
    const day = 86_400_000
    passedMs = 29 * day
    await removeGoneLogs(grove.deps)
    expect(await rows()).to.deep.equal([1, 2, 1])
    passedMs = 31 * day
    await removeGoneLogs(grove.deps)
    expect(await rows()).to.deep.equal([0, 0, 0])
    expect(types()).to.deep.equal([])
  })

  it('forgets the refs of purged nodes, and knows such a node if it comes back', async () => {
    const copy = join(dataDir, 'copy.git')
    cpSync(node.git.dir, copy, { recursive: true })
    await ann.delete(node.at).then(expecting(204))
    passedMs = 1_000
    const purged = await cli(dataDir, 'purge', '--older-than', '0', '--force')
    expect(purged.code, purged.stdout + purged.stderr).to.equal(0)
    const { read } = grove.deps.events
    for (const table of ['recorded_repo', 'recorded_ref'] as const)
      expect(await read.selectFrom(table).select('node_id').where('node_id', '=', node.id).execute()).to.deep.equal([])
    const before = count()
    renameSync(copy, node.git.dir)
    await sweepOnce()
    expect(types(before)).to.deep.equal(['node.restored path'])
  })
})
