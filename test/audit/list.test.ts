/** Lists of the audit: their order, filters and pages, who may read them, and that the export has the same. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { appendEvents, beginLog, findLog } from '../../index/log/events.ts'
import type { EventActor } from '../../server/domain/event-log/event-facts.ts'
import { encodeEvent } from '../../server/domain/event-log/event-json.ts'
import { tidyAudit } from '../../server/features/audit/retention.ts'
import { cli } from '../operator/desk.ts'
import { made } from '../support/cast.ts'
import { outcomeOf, startGroveCommand } from '../support/command.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import {
  ann,
  cliDone,
  type Entry,
  entriesOf,
  grove,
  now,
  orgAudit,
  pass,
  root,
  serviceAudit,
  useScene,
} from './scene.ts'

/** Appends an event of Ann's organisation. */
async function happen(actor: EventActor, name: string): Promise<void> {
  const at = now()
  await grove.deps.events.write(async (trx) => {
    const log = (await findLog(trx, ann.org)) ?? (await beginLog(trx, ann.org, { at, isWhole: true }))
    const facts = { type: 'branch.created', key: randomUUID(), at: at.toISOString(), actor, data: { name } } as const
    appendEvents(trx, log, [encodeEvent(ann.org, randomUUID(), facts)], at)
  })
}

async function invite(): Promise<void> {
  await made(ann.post(`/orgs/${ann.org}/invitations`, { role: 'reader' }))
}

async function exported(...args: string[]): Promise<Entry[]> {
  const { body } = await cliDone('audit', 'export', ...args)
  return body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Entry]))
}

/** Reads page by page. */
async function inPages(limit: number, query = ''): Promise<Entry[]> {
  const all: Entry[] = []
  for (let after = ''; ; ) {
    const { entries, next } = await made(ann.get(`/orgs/${ann.org}/audit?limit=${limit}${query}${after}`))
    expect(entries.length).to.be.at.most(limit)
    all.push(...entries)
    if (next === undefined) return all
    after = `&after=${next}`
  }
}

describe('the audit, listed', () => {
  useScene()
  let bob: PersonClient
  const by = ({ user: { id, name } }: PersonClient): EventActor => ({ kind: 'user', id, name })

  before(async () => {
    bob = await signUp(grove, 'Bob')
    // Several of each at the same time, and then alternating.
    for (let round = 0; round < 12; round++) {
      await happen(by(ann), `a${round}`)
      await invite()
      if (round % 3 === 0) await happen(by(bob), `b${round}`)
      if (round > 4) pass(1_000)
    }
  })

  it('shows from where events came, and for how long', async () => {
    const { token, id } = await made(ann.post('/auth/tokens', { name: 'Script', access: 'write' }))
    const node = await made(client(grove, token).post(`/orgs/${ann.org}/nodes`, { title: 'Seen' }))
    const created = async () =>
      (await orgAudit(ann, ann.org, '&action=node.created')).find(({ target }) => target?.id === node.id)
    const entry = await created()
    expect(entry?.origin).to.include({ address: '127.0.0.1', via: 'rest' })
    expect(entry?.actor).to.include({ id: ann.user.id, token_id: id })
    expect(entry?.request_id).to.match(/^[0-9a-f-]{36}$/)
    const { events } = await made(ann.get(`/orgs/${ann.org}/events?limit=200&types=node.created`))
    expect(JSON.stringify(events)).to.not.include('127.0.0.1')
    const later = new Date(now().getTime() + 31 * 24 * 3600 * 1000)
    await tidyAudit({ ...grove.deps, now: () => later })
    expect((await created())?.origin).to.deep.equal({ via: 'rest' })
  })

  it('has events and rows, newest first, the same in pages of each size', async () => {
    const whole = await orgAudit()
    expect(whole.filter(({ action }) => action === 'branch.created').length).to.be.at.least(16)
    expect(whole.filter(({ action }) => action === 'invitation.created').length).to.equal(12)
    const times = whole.map(({ at }) => at)
    expect(times).to.deep.equal([...times].sort().reverse())
    expect(new Set(whole.map(({ id }) => id)).size).to.equal(whole.length)
    for (const limit of [1, 2, 3, 7, 200]) expect(await inPages(limit), `${limit}`).to.deep.equal(whole)
  })

  it('shows an event with its actor, its place and its data', async () => {
    const entry = (await orgAudit()).find(({ action }) => action === 'branch.created')
    expect(entry).to.deep.include({ org_id: ann.org, outcome: 'success', origin: {} })
    expect(entry?.actor).to.deep.equal({ kind: 'user', id: ann.user.id, name: 'Ann' })
    expect(entry?.target?.type).to.equal('node')
    expect(entry?.detail).to.have.all.keys('name', 'seq', 'time')
  })

  it('filters by action, its beginning, actor and time, in pages of each size', async () => {
    const whole = await orgAudit()
    const middle = whole[Math.floor(whole.length / 2)]?.at ?? ''
    const filters: [string, (entry: Entry) => boolean][] = [
      ['&action=invitation.created', ({ action }) => action === 'invitation.created'],
      ['&action=branch.*', ({ action }) => action.startsWith('branch.')],
      [`&actor=${bob.user.id}`, ({ actor }) => actor.id === bob.user.id],
      [
        `&actor=${ann.user.id.toUpperCase()}&action=branch.*`,
        ({ actor, action }) => actor.id === ann.user.id && action.startsWith('branch.'),
      ],
      ['&actor=operator', ({ actor }) => actor.kind === 'operator'],
      [`&since=${middle}`, ({ at }) => at >= middle],
      [`&until=${middle}`, ({ at }) => at < middle],
    ]
    for (const [query, holds] of filters)
      for (const limit of [1, 3, 200])
        expect(await inPages(limit, query), `${query} ${limit}`).to.deep.equal(whole.filter(holds))
  })

  it('continues from a cursor while new entries come', async () => {
    const whole = await orgAudit()
    const first = await made(ann.get(`/orgs/${ann.org}/audit?limit=5`))
    await invite()
    await happen(by(ann), 'later')
    const rest = await entriesOf(ann, `/orgs/${ann.org}/audit`, `&after=${first.next}`)
    expect([...first.entries, ...rest]).to.deep.equal(whole)
  })

  it('refuses malformed parameters', async () => {
    for (const query of [
      'after=5',
      'after=1-x-2',
      'action=auth',
      'action=a.b%27',
      'actor=ann',
      'since=yesterday',
      'limit=201',
    ])
      expect((await ann.get(`/orgs/${ann.org}/audit?${query}`)).status, query).to.equal(422)
  })

  it('is for owners, also with a read token of the organisation, and not with one of a node', async () => {
    const { token: invitation } = await made(ann.post(`/orgs/${ann.org}/invitations`, { role: 'maintainer' }))
    await made(bob.post('/auth/invitations/accept', { token: invitation }))
    const at = `/orgs/${ann.org}/audit`
    const tokenOf = async (fields: object): Promise<Client> =>
      client(grove, (await made(ann.post('/auth/tokens', { name: 'SIEM', access: 'read', ...fields }))).token)
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }))
    const statuses = {
      owner: (await ann.get(at)).status,
      maintainer: (await bob.get(at)).status,
      administrator: (await root.get(at)).status,
      anonymous: (await client(grove).get(at)).status,
      'token of the organisation': (await (await tokenOf({ org_id: ann.org })).get(at)).status,
      'token of a node': (await (await tokenOf({ org_id: ann.org, node_id: id })).get(at)).status,
      'owner of the service audit': (await ann.get('/admin/audit')).status,
      'token of my audit': (await (await tokenOf({})).get('/auth/audit')).status,
    }
    expect(statuses).to.deep.equal({
      owner: 200,
      maintainer: 403,
      administrator: 404,
      anonymous: 401,
      'token of the organisation': 200,
      'token of a node': 403,
      'owner of the service audit': 403,
      'token of my audit': 403,
    })
  })

  it('shows administrators no event, and each user what concerns them', async () => {
    expect((await serviceAudit()).filter(({ action }) => action === 'branch.created')).to.deep.equal([])
    await made(root.post(`/admin/accounts/${bob.user.id}/reset`, {}))
    await client(grove).post('/auth/login', { email: bob.user.email, password: 'not the password' })
    const mine = await entriesOf(bob, '/auth/audit')
    const of = (action: string) => mine.find((entry) => entry.action === action)
    expect(of('auth.failed')?.origin).to.have.property('address', '127.0.0.1')
    expect(of('auth.reset_issued')).to.deep.include({
      origin: { via: 'rest' },
      target: { type: 'account', id: bob.user.id },
    })
    expect(mine.every(({ actor, target }) => actor.id === bob.user.id || target?.id === bob.user.id)).to.equal(true)
    expect((await entriesOf(ann, '/auth/audit')).some(({ actor }) => actor.id === bob.user.id)).to.equal(false)
  })

  it('is exported as the API lists it, oldest first', async () => {
    const listed = (await orgAudit()).reverse()
    expect(await exported('--org', ann.org)).to.deep.equal(listed)
    const middle = listed[Math.floor(listed.length / 2)]?.at ?? ''
    expect(await exported('--org', ann.org, '--since', middle)).to.deep.equal(listed.filter(({ at }) => at >= middle))
    const all = await exported()
    const rows = (await serviceAudit()).reverse()
    const ids = new Set(rows.map(({ id }) => id))
    expect(all.filter(({ id }) => ids.has(id))).to.deep.equal(rows)
    expect(all.filter(({ org_id }) => org_id === ann.org)).to.deep.equal(listed)
  })

  it.deep('is exported as it comes, until the command is stopped', async () => {
    const command = await startGroveCommand(grove.dataDir, ['audit', 'export', '--org', ann.org, '--follow'])
    const said = { stdout: '', stderr: '' }
    const outcome = outcomeOf(command.child, said)
    const before = (await orgAudit()).length
    const lines = () => said.stdout.split('\n').filter((line) => line !== '')
    await until(() => lines().length >= before)
    await invite()
    await happen(by(ann), 'followed')
    await until(() => lines().length >= before + 2)
    const last = lines()
      .slice(-2)
      .map((line) => (JSON.parse(line) as Entry).action)
    expect(last).to.have.members(['invitation.created', 'branch.created'])
    command.child.kill('SIGTERM')
    expect((await outcome).code).to.equal(143)
  })

  it('refuses a time and an organisation that are none', async () => {
    for (const args of [
      ['--since', 'yesterday'],
      ['--org', 'Atlas'],
    ])
      expect((await cli(grove.dataDir, 'audit', 'export', ...args)).code).to.equal(2)
  })
})
