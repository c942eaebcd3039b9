/** The log of events moves with its organisation: whole, once, and with valid cursors. */
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { findCell } from '../../index/credentials/cells.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { type Destination, NotMovedError } from '../../server/domain/cells/migration/copying.ts'
import { connectToCell } from '../../server/domain/cells/migration/other-cell.ts'
import { moveOrg } from '../../server/domain/cells/migration/send.ts'
import { finishMoves } from '../../server/domain/cells/reconciliation.ts'
import { encodeEvent } from '../../server/domain/event-log/event-json.ts'
import { readLog } from '../events/log-rows.ts'
import { append } from '../events/scene.ts'
import { startGroveCommand } from '../support/command.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { cellNamed, database, here, move, orgsIn, placeOf, setUrl, setUrls, signIn, there, useCells } from './scene.ts'

type At = typeof here

const tables = ['log', 'event', 'recorded_repo', 'recorded_ref'] as const

describe('the log of an organisation that moves', () => {
  useCells({ sweeps: false, logLevel: 'error' })
  let ann: PersonClient
  let away: PersonClient

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
  })
  afterEach(setUrls)

  it('is whole at the other cell, with valid cursors, and continues there and back', async () => {
    const { org, node } = await newOrg()
    const middle = (await events(ann, org, '?limit=5')).next
    // More rows than one request carries.
    await append(
      here.deps.events,
      org,
      Array.from({ length: 2_300 }, (_, at) => anEvent(org, at)),
    )
    const before = readLog(here, org)
    const end = (await events(ann, org, '?after=now')).next
    expect(await move(org, 'there')).to.include({ code: 0 })
    expect(readLog(there, org)).to.deep.equal(before)
    expect(rowsOf(here, org)).to.deep.equal({ log: 0, event: 0, recorded_repo: 0, recorded_ref: 0 })
    expect((await events(away, org, `?after=${middle}&limit=1`)).events[0].seq).to.equal(6)
    await change(ann, org, node, 'At the other cell')
    expect(await typesAfter(away, org, end)).to.deep.equal(['branch.updated', 'node.updated'])
    expect(await move(org, 'here')).to.include({ code: 0 })
    await away.delete(`/orgs/${org}/nodes/${node}`).then(expecting(204))
    expect(await typesAfter(ann, org, end)).to.deep.equal(['branch.updated', 'node.updated', 'node.deleted'])
    expect(readLog(here, org).slice(0, before.length)).to.deep.equal(before)
    expect(rowsOf(there, org)).to.deep.equal({ log: 0, event: 0, recorded_repo: 0, recorded_ref: 0 })
  })

  it('has what happened while it was copied, and nothing twice', async () => {
    const { org, node } = await newOrg()
    const to = await otherThere()
    let changes = 0
    const putRange: typeof to.putRange = async (...what) => {
      if (changes < 3) await change(ann, org, node, `While it is copied ${++changes}`)
      return to.putRange(...what)
    }
    await moveOrg(here.deps, org, { ...to, putRange }, options())
    const log = readLog(there, org)
    const moves = gitIn(there, org, node).log().length - 1
    expect([changes, log.filter(({ type }) => type === 'node.updated').length]).to.deep.equal([3, moves])
    expect(new Set(log.map(({ id }) => id)).size).to.equal(log.length)
  })

  it('ends with the deletion of an organisation that has come back, and with nothing at the cell that it left', async () => {
    const { org } = await newOrg()
    for (const to of ['there', 'here', 'there', 'here'] as const) expect(await move(org, to)).to.include({ code: 0 })
    for (const { deps } of [here, there]) await finishMoves(deps)
    expect(readLog(here, org).map(({ type }) => type)).to.not.include('org.deleted')
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    expect(readLog(here, org).at(-1)).to.deep.include({ type: 'org.deleted', via: 'rest' })
    expect(readLog(there, org)).to.deep.equal([])
  })

  it('stays and continues after each request that fails, and arrives at last', async () => {
    const { org, node } = await newOrg()
    const to = await otherThere()
    let failures = 0
    for (let moved = false; !moved; ) {
      const begun = readLog(here, org)
      moved = await moveOrg(here.deps, org, failingAt(to, ++failures), options()).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof NotMovedError)) throw error
          return false
        },
      )
      if (moved) break
      await change(ann, org, node, `After ${failures} failures`)
      const types = readLog(here, org).slice(begun.length)
      expect(types.map(({ type, via }) => [type, via])).to.deep.equal([
        ['branch.updated', 'rest'],
        ['node.updated', 'rest'],
      ])
    }
    expect(failures).to.be.above(15)
    const log = readLog(there, org)
    expect(log.filter(({ type }) => type === 'node.updated')).to.have.length(failures)
    await change(away, org, node, 'There')
    expect(readLog(there, org)).to.have.length(log.length + 2)
  })

  it('is at one cell, once, wherever the command is killed', async () => {
    const { org, node } = await newOrg()
    let [acts, at] = [1, here]
    let other = there
    for (let request = 1; ; request += 3) {
      const hasDied = await moveUntil(org, at, other, request)
      for (const { deps } of [here, there, here]) await finishMoves(deps)
      const place = await placeOf(org)
      expect(place).to.include({ state: 'here' })
      ;[at, other] = place?.cell === 'here' ? [here, there] : [there, here]
      expect(await orgsIn(other)).to.not.include(org)
      const log = readLog(at, org)
      expect(log.filter(({ type }) => type === 'node.updated')).to.have.length(acts)
      expect(log.filter(({ type }) => type === 'log.began')).to.have.length(1)
      await change(at === here ? ann : away, org, node, `After request ${request}`)
      acts++
      expect(readLog(at, org)).to.have.length(log.length + 2)
      // Copies of an attempt stay for the next one, without a reader.
      expect(existsSync(join(other.dataDir, 'arriving', org)) || rowsOf(other, org).log === 0).to.equal(true)
      if (!hasDied) break
    }
    expect(acts).to.be.above(5)
  })

  it('goes with what was sent of an organisation that never came', async () => {
    const { org } = await newOrg()
    const to = await otherThere()
    const prepare = async () => {
      throw new NotMovedError('No more')
    }
    await moveOrg(here.deps, org, { ...to, prepare }, options()).catch(() => undefined)
    expect(rowsOf(there, org)).to.include({ log: 1 })
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    expect(readLog(here, org).at(-1)?.type).to.equal('org.deleted')
    await finishMoves(there.deps)
    expect(rowsOf(there, org)).to.deep.equal({ log: 0, event: 0, recorded_repo: 0, recorded_ref: 0 })
  })

  it('is sent again if the other cell loses its database between two requests', async () => {
    const { org, node } = await newOrg()
    const to = await otherThere()
    let isLost = false
    const arrivedLog: typeof to.arrivedLog = async (...what) => {
      if (!isLost) await there.deps.events.write((trx) => trx.deleteFrom('event').where('org_id', '=', org).execute())
      isLost = true
      return to.arrivedLog(...what)
    }
    const said = await moveOrg(here.deps, org, { ...to, arrivedLog }, options()).catch((error: Error) => error)
    expect(said).to.be.instanceOf(NotMovedError).with.property('message').that.includes('differ from those sent to it')
    await change(ann, org, node, 'Still here')
    const before = readLog(here, org)
    expect(await move(org, 'there')).to.include({ code: 0 })
    expect(readLog(there, org)).to.deep.equal(before)
  })

  /** Starts the command, and kills it when its request of this number arrives, or is answered. False: it has ended before. */
  async function moveUntil(org: string, from: At, to: At, last: number): Promise<boolean> {
    let count = 0
    let kill: () => void = () => {}
    const name = to === here ? 'here' : 'there'
    const relay = createServer((req, res) => {
      if (++count < last)
        return void forward(to.url, req).then((answer) => answer.pipe(res.writeHead(answer.statusCode ?? 500)))
      if (last % 2 === 0) return kill()
      void forward(to.url, req).then(kill, kill)
    })
    await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done))
    await setUrl(name, `http://127.0.0.1:${(relay.address() as AddressInfo).port}`)
    const own = from === here ? 'here' : 'there'
    const { child, finished } = await startGroveCommand(from.dataDir, ['move-org', org, name], {
      ...{ DATABASE_URL: database, CELL: own, CELL_URL: cellNamed(own).url },
    })
    kill = () => void child.kill('SIGKILL')
    const { code } = await finished
    relay.close().closeAllConnections()
    await setUrls()
    return code === null
  }

  async function otherThere(): Promise<Destination> {
    const cell = await findCell(here.deps.credentials.read, 'there')
    if (cell === undefined) throw new Error('There is no such cell')
    return connectToCell(here.deps, cell, new AbortController().signal)
  }

  async function newOrg() {
    const org: string = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body.id
    const made = await ann.post(`/orgs/${org}/nodes`, { title: 'Krill', text_content: 'Small.' })
    const node = String(expecting(201)(made).body.id)
    await ann.post(`/orgs/${org}/nodes/${node}/branches`, { name: 'draft' }).then(expecting(201))
    await change(ann, org, node, 'First')
    return { org, node }
  }
})

function options() {
  return { atOnce: 1, signal: new AbortController().signal, onProgress: () => {} }
}

/** The same cell, whose request of this number fails. `arrive` is not one of them: it comes after the decision. */
function failingAt(to: Destination, last: number): Destination {
  let count = 0
  const failing = Object.entries(to).map(([name, step]) => {
    if (typeof step !== 'function' || name === 'arrive') return [name, step]
    return [
      name,
      async (...what: never[]) => {
        const answer = await (step as (...args: never[]) => Promise<unknown>)(...what)
        if (++count === last) throw new NotMovedError(`Request ${last} failed`)
        return answer
      },
    ]
  })
  return Object.fromEntries(failing) as Destination
}

function forward(url: string, req: IncomingMessage): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, headers } = req
    const sent = request(url + req.url, { method, headers }, resolve)
    sent.once('error', reject)
    req.pipe(sent)
  })
}

function anEvent(org: string, key: number) {
  const facts = {
    type: 'webhook.enabled',
    key: `${key}`,
    at: new Date().toISOString(),
    data: { webhook_id: 'w' },
  } as const
  return encodeEvent(org, null, facts)
}

function change(person: PersonClient, org: string, node: string, text: string) {
  const changes = [{ action: 'put', path: 'content.md', content: text }]
  const at = `/orgs/${org}/nodes/${node}/tree/main/commits`
  return person.post(at, { message: text, changes }).then(expecting(201))
}

async function events(person: PersonClient, org: string, query: string) {
  return (await person.get(`/orgs/${org}/events${query}`).then(expecting(200))).body
}

async function typesAfter(person: PersonClient, org: string, cursor: string): Promise<string[]> {
  return (await events(person, org, `?after=${cursor}`)).events.map(({ type }: { type: string }) => type)
}

/** How many rows of an organisation each table has. */
function rowsOf({ dataDir }: { readonly dataDir: string }, org: string): Record<string, number> {
  const db = openSqlite(join(dataDir, 'events.sqlite'), { readonly: true })
  try {
    const of = (table: string) =>
      table === 'recorded_ref' ? 'node_id in (select node_id from recorded_repo where org_id = ?)' : 'org_id = ?'
    const count = (table: string) =>
      db
        .prepare(`select count(*) from ${table} where ${of(table)}`)
        .pluck()
        .get(org)
    return Object.fromEntries(tables.map((table) => [table, Number(count(table))]))
  } finally {
    db.close()
  }
}
