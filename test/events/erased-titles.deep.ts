/** The title of an erased pull request leaves the events that showed it. */
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { made } from '../support/cast.ts'
import { grove as cli } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type LoggedEvent, readLog } from './log-rows.ts'

const secret = 'Zed the patient'

describe('the title of an erased pull request', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient
  let node: TestNode

  beforeEach(async () => {
    dataDir = await newDataDir()
    grove = await startGrove({ dataDir, sweeps: false })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { title: secret })
    for (const branch of ['one', 'two']) await node.proposal(branch)
    await node.open('one', { title: `${secret} 1` })
    await node.open('two', { title: `${secret} 2` })
    await made(ann.patch(`${node.at}/pull-requests/1`, { title: `${secret} 1, again` }))
    await node.commit('one', { 'more.txt': 'more' })
  })
  afterEach(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const file = () => join(dataDir, 'events.sqlite')
  const erase = async () => {
    const { code, stdout } = await cli(dataDir, 'erase', '--node', node.id, '--pull', '1')
    expect(code, stdout).to.equal(0)
  }
  const restart = async (change: () => void) => {
    await grove.close()
    change()
    grove = await startGrove({ dataDir, sweeps: false })
    ann = { ...ann, ...client(grove, ann.session.accessToken) }
  }
  const copy = (from: string, to: string) => {
    for (const end of ['', '-wal', '-shm']) {
      rmSync(to + end, { force: true })
      if (existsSync(from + end)) cpSync(from + end, to + end)
    }
  }
  const titles = (number: number, events: readonly LoggedEvent[] = readLog(grove, ann.org)) =>
    events.filter(({ data }) => data.number === number && 'title' in data).map(({ type, data }) => [type, data.title])

  /** The files that have the text, after a checkpoint. */
  const filesWith = (text: string) => {
    const db = openSqlite(file())
    try {
      const [{ busy }] = db.pragma('wal_checkpoint(truncate)') as [{ busy: number }]
      expect(busy).to.equal(0)
      return ['', '-wal'].filter((end) => existsSync(file() + end) && readFileSync(file() + end).includes(text))
    } finally {
      db.close()
    }
  }

  it('is in no byte of the database, and other titles stay', async () => {
    const before = readLog(grove, ann.org)
    expect(titles(1).map(([, title]) => title)).to.deep.equal([
      `${secret} 1`,
      `${secret} 1, again`,
      `${secret} 1, again`,
    ])
    expect(filesWith(`${secret} 1`)).to.deep.equal([''])
    await erase()
    expect(titles(1)).to.deep.equal([
      ['pull_request.opened', 'Erased'],
      ['pull_request.edited', 'Erased'],
      ['pull_request.updated', 'Erased'],
    ])
    expect(titles(2)).to.deep.equal([['pull_request.opened', `${secret} 2`]])
    expect(filesWith(`${secret} 1`)).to.deep.equal([])
    const after = readLog(grove, ann.org)
    expect(after.slice(0, before.length).map(({ id }) => id)).to.deep.equal(before.map(({ id }) => id))
    expect(after.slice(before.length).map(({ type }) => type)).to.deep.equal(['text.erased'])
    expect(after.find(({ type }) => type === 'node.created')?.data.title).to.equal(secret)
  })

  it('can be followed by another title, which an erasure again removes', async () => {
    await erase()
    await made(ann.patch(`${node.at}/pull-requests/1`, { title: 'Public' }))
    await made(ann.get(node.at))
    expect(titles(1).at(-1)).to.deep.equal(['pull_request.edited', 'Public'])
    await erase()
    expect(new Set(titles(1).map(([, title]) => title))).to.deep.equal(new Set(['Erased']))
  })

  for (const [what, isBehind] of [
    ['was not recorded', false],
    ['was not recorded, nor the change before it', true],
  ] as const)
    it(`leaves the events of an older copy of the database, in which the erasure ${what}`, async () => {
      const old = join(dataDir, 'older.sqlite')
      if (!isBehind) await made(ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }))
      await restart(() => copy(file(), old))
      if (isBehind) await made(ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }))
      await erase()
      await restart(() => copy(old, file()))
      expect(titles(1)[0]).to.deep.equal(['pull_request.opened', `${secret} 1`])
      rmSync(old)
      await made(ann.post(`${node.at}/branches`, { name: 'later' }))
      expect(new Set(titles(1).map(([, title]) => title))).to.deep.equal(new Set(['Erased']))
      expect(filesWith(`${secret} 1`)).to.deep.equal([])
      const types = readLog(grove, ann.org).map(({ type }) => type)
      expect(types.filter((type) => type === 'node.reset' || type === 'text.erased')).to.deep.equal(
        isBehind ? ['node.reset'] : ['text.erased'],
      )
    })
})
