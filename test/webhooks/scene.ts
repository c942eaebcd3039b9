/** Shared by the tests of webhooks. It has a service whose clock they move, and an organisation. */
import { expect } from 'chai'
import { appendEvents, beginLog, findLog } from '../../index/log/events.ts'
import type { EventType } from '../../server/base/event-types.ts'
import { encodeEvent } from '../../server/domain/event-log/event-json.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove
/** Owns the organisation. */
export let ann: PersonClient
/** Edits. */
export let bob: PersonClient

let time = 0

/** Milliseconds by the service's clock. */
export const nowMs = () => time

export const pass = (seconds: number) => {
  time += seconds * 1000
}

/** Starts a service for the file. */
export function useScene(options: GroveOptions = {}): void {
  before(async () => {
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ ...options, now: () => new Date(time) })
    ann = await lasting('Ann')
    bob = await lasting('Bob')
    await member(bob, 'editor')
  })
  // Otherwise later tests also wait for the receivers of this one.
  afterEach(async () => {
    const { webhooks } = (await ann.get(`/orgs/${ann.org}/webhooks`).then(expecting(200))).body
    for (const { id } of webhooks) await ann.delete(`/orgs/${ann.org}/webhooks/${id}`).then(expecting(204))
  })
  after(() => grove.close())
}

/** A user whose token does not expire, because tests pass days. */
export async function lasting(name: string): Promise<PersonClient> {
  const user = await signUp(grove, name)
  const { token } = (await user.post('/auth/tokens', { name: 'Tests', access: 'write' }).then(expecting(201))).body
  signedIn.set(user.user.id, user)
  return { ...user, ...client(grove, token) }
}

/** The same user, by a token that is limited to an organisation or a node. */
export async function limited({ user }: PersonClient, to: object): Promise<Client> {
  const body = { name: 'Limited', access: 'write', ...to }
  const created = await signedIn.get(user.id)?.post('/auth/tokens', body).then(expecting(201))
  return client(grove, created?.body.token)
}

/** The clients of the sign-ups, which may also do what tokens may not. */
const signedIn = new Map<string, PersonClient>()

const member = async ({ user }: PersonClient, role: string) =>
  signedIn.get(ann.user.id)?.put(`/orgs/${ann.org}/members/${user.email}`, { role }).then(expecting(200))

export interface Hook {
  readonly id: string
  readonly secret: string
  /** Its path. */
  readonly at: string
}

/** Creates a webhook. By default it wants only events that `happen` causes. */
export async function aHook(url: string, fields: object = {}, by: PersonClient = ann): Promise<Hook> {
  const body = { url, types: ['node.*'], ...fields }
  const { body: hook } = await by.post(`/orgs/${by.org}/webhooks`, body).then(expecting(201))
  return { id: hook.id, secret: hook.secret, at: `/orgs/${by.org}/webhooks/${hook.id}` }
}

export const read = async ({ at }: Hook, by: PersonClient = ann) => (await by.get(at).then(expecting(200))).body

export const deliveriesOf = async ({ at }: Hook, query = '', by: PersonClient = ann) =>
  (await by.get(`${at}/deliveries?limit=200${query}`).then(expecting(200))).body.deliveries

/** Lets the service send all that is due. Then the webhook must have so many deliveries, all in this state. */
export async function settledAll(hook: Hook, count: number, state: 'pending' | 'delivered' | 'failed') {
  await grove.settled()
  const states = (await deliveriesOf(hook)).map((one: { state: string }) => one.state)
  expect(states).to.deep.equal(Array(count).fill(state))
}

/** Lets the service send all that is due. Then a delivery must have had so many attempts, and none more. */
export async function settledAttempts(hook: Hook, attempts: number) {
  await grove.settled()
  const all = (await deliveriesOf(hook)).map((one: { attempts: number }) => one.attempts)
  expect(Math.max(...all)).to.equal(attempts)
}

let happened = 0

/** Records events of a type, as if they had happened. Returns their ids in order. */
export async function happen(
  count: number,
  { by = ann, type = 'node.updated', nodeId = null, in: service = grove }: Happening = {},
): Promise<string[]> {
  const now = new Date(time)
  const events = Array.from({ length: count }, () =>
    encodeEvent(by.org, nodeId, { type, key: `${happened++}`, at: now.toISOString(), data: { title: 'Whales' } }),
  )
  await service.deps.events.write(async (trx) => {
    const log = (await findLog(trx, by.org)) ?? (await beginLog(trx, by.org, { at: now, isWhole: true }))
    appendEvents(trx, log, events, now)
  })
  return events.map(({ id }) => id)
}

interface Happening {
  readonly by?: PersonClient
  readonly type?: EventType
  readonly nodeId?: string | null
  readonly in?: Pick<Grove, 'deps'>
}
