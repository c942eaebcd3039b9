/**
 * Sends deliveries. Each is claimed in the database first, so several processes may send. A process that dies after a
 * receiver has accepted a delivery leaves a claim. Another process then sends it again, under the same id.
 */
import { setMaxListeners } from 'node:events'
import type { Webhook } from '../../../index/credentials/schema.ts'
import { findWebhooks } from '../../../index/credentials/webhooks.ts'
import { type ClaimedDelivery, claimDelivery, endClaimsOf, listClaimers } from '../../../index/log/deliveries.ts'
import { dataVersion } from '../../../index/log/events.ts'
import { type HookState, listHooksDue } from '../../../index/log/hook-states.ts'
import type { Deps } from '../../base/deps.ts'
import { Pauses } from '../../base/rounds.ts'
import { syncEvents } from '../event-log/durable-events.ts'
import { isLiveProcess } from '../live-processes.ts'
import { endIfUnkept, noteDisabled } from './keepers.ts'
import { recordLost, recordOutcome } from './outcomes.ts'
import { planAll } from './plan.ts'
import { type Attempt, sendMessage } from './receivers.ts'
import { isServedHere, reconcileHooks } from './reconcile.ts'
import { signingSecrets } from './secrets.ts'

/** Attempts that run at once. */
const most = { ofHook: 4, ofOrg: 8, ofProcess: 32 } as const
/** Milliseconds after which a claim of a live process ends. */
const claimMs = 60_000
/** Milliseconds between two checks for new events and for deliveries whose time has come. */
const pollMs = 100
/** A check is followed by a pause this many times as long. */
const restFactor = 4
/** Milliseconds between two searches for dead processes, and between two comparisons of the databases. */
const [deadMs, reconcileMs] = [1_000, 60_000]
/** Milliseconds to wait after a failure of the database. */
const failedMs = 1_000
/** Milliseconds that running attempts have to end when the service stops. */
const graceMs = 3_000

/** Sends deliveries until `deps.draining`. Then running attempts end, or their claims do. */
export async function sendWebhooks(deps: Deps): Promise<void> {
  const pauses = new Pauses('webhooks', deps.draining)
  const sender = new Sender(deps, pauses)
  deps.rounds.add(pauses)
  let failure = ''
  while (!deps.draining.aborted) {
    const began = performance.now()
    let pause = pollMs
    let isIdle = false
    try {
      isIdle = !deps.placement.lease.isHeld() || (await sender.round())
      failure = ''
    } catch (error) {
      pause = failedMs
      const message = String(error)
      if (message !== failure) deps.log.warn({ err: error }, 'webhooks could not be sent; they will be retried')
      failure = message
    }
    await pauses.rest(Math.max(pause, restFactor * (performance.now() - began)), isIdle)
  }
  await sender.end()
}

interface Sending {
  readonly hookId: string
  readonly orgId: string
  readonly done: Promise<void>
}

class Sender {
  readonly #deps: Deps
  readonly #pauses: Pauses
  /** The running attempts, by the id of their delivery. */
  readonly #sending = new Map<string, Sending>()
  readonly #stopping = new AbortController()
  #plannedVersion = -1
  #syncedVersion = -1
  #deadAt = 0
  #reconcileAt = 0
  /** The organisation that was served last. The next round begins after it. */
  #lastOrg = ''
  /** Attempts that were begun. */
  #begun = 0

  constructor(deps: Deps, pauses: Pauses) {
    this.#deps = deps
    this.#pauses = pauses
    // Each attempt listens a few times.
    setMaxListeners(8 * most.ofProcess, this.#stopping.signal)
  }

  /** Plans, and begins to send. Returns true if nothing was due, and no attempt runs. */
  async round(): Promise<boolean> {
    const { events } = this.#deps
    const begun = this.#begun
    const now = performance.now()
    if (now >= this.#reconcileAt) {
      this.#reconcileAt = now + reconcileMs
      await reconcileHooks(this.#deps)
    }
    if (now >= this.#deadAt) {
      this.#deadAt = now + deadMs
      await this.#releaseDead()
    }
    const version = await dataVersion(events.read)
    if (version !== this.#plannedVersion) await planAll(this.#deps)
    this.#plannedVersion = version
    const due = await listHooksDue(events.read, this.#deps.now().getTime())
    if (due.length > 0) {
      if (version !== this.#syncedVersion) await syncEvents(this.#deps)
      this.#syncedVersion = version
      await this.#serve(due)
    }
    return this.#begun === begun && this.#sending.size === 0
  }

  /** Ends the claims of processes that no longer run. */
  async #releaseDead(): Promise<void> {
    const { events, store } = this.#deps
    for (const by of await listClaimers(events.read))
      if (by !== store.process && !isLiveProcess(store.run, by)) await events.write((trx) => endClaimsOf(trx, by))
  }

  /** Gives organisations turns, and the webhooks of each. One that fails slowly cannot fill all places. */
  async #serve(due: readonly HookState[]): Promise<void> {
    const hooks = await findWebhooks(
      this.#deps.credentials.read,
      due.map(({ hook_id }) => hook_id),
    )
    const lanes = await this.#lanesOf(due.filter(({ hook_id }) => hooks.has(hook_id)))
    for (let isAny = true; isAny; ) {
      isAny = false
      for (const [orgId, lane] of lanes) {
        if (this.#sending.size >= most.ofProcess || this.#deps.draining.aborted) return
        if (await this.#serveLane(lane, hooks)) {
          isAny = true
          this.#lastOrg = orgId
        } else lanes.delete(orgId)
      }
    }
  }

  /** The webhooks of each organisation, beginning after the one that was served last. */
  async #lanesOf(due: readonly HookState[]): Promise<Map<string, HookState[]>> {
    const lanes = new Map<string, HookState[]>()
    const later = due.filter(({ org_id }) => org_id > this.#lastOrg)
    for (const state of [...later, ...due.filter(({ org_id }) => org_id <= this.#lastOrg)]) {
      const lane = lanes.get(state.org_id)
      if (lane) lane.push(state)
      else if (await isServedHere(this.#deps, state.org_id)) lanes.set(state.org_id, [state])
    }
    return lanes
  }

  /** Sends a delivery of the first webhook that may, and moves it to the end. False: none may. */
  async #serveLane(lane: HookState[], hooks: ReadonlyMap<string, Webhook>): Promise<boolean> {
    while (lane.length > 0) {
      const state = lane.shift()
      const hook = state && hooks.get(state.hook_id)
      if (state === undefined || hook === undefined || this.#isFull(state, hook)) continue
      if ((await endIfUnkept(this.#deps, hook)) || !(await this.#sendNext(hook))) continue
      lane.push(state)
      return true
    }
    return false
  }

  /** True if this process reaches a limit. It need not lock the database to find out. */
  #isFull({ failing_since }: HookState, { id, org_id, ordered }: Webhook): boolean {
    const sending = [...this.#sending.values()]
    const ofHook = sending.filter(({ hookId }) => hookId === id).length
    const ofOrg = sending.filter(({ orgId }) => orgId === org_id).length
    const isAlone = ordered === 1 || failing_since !== null
    return ofHook >= (isAlone ? 1 : most.ofHook) || ofOrg >= most.ofOrg
  }

  /** Claims the next delivery and begins to send it. Returns false if there is none. */
  async #sendNext(hook: Webhook): Promise<boolean> {
    const { events, store, now } = this.#deps
    const secrets = signingSecrets(this.#deps, hook, now())
    if (hook.active === 0 || secrets.length === 0) return false
    const nowMs = now().getTime()
    const delivery = await events.write((trx) =>
      claimDelivery(trx, {
        ...{ hook_id: hook.id, org_id: hook.org_id, ordered: hook.ordered === 1, by: store.process },
        ...{ nowMs, untilMs: nowMs + claimMs, most, sending: new Set(this.#sending.keys()) },
      }),
    )
    if (delivery === undefined) return false
    this.#begun++
    const done = this.#send(hook, secrets, delivery)
      .catch((error: unknown) => {
        this.#deps.log.error({ err: error, webhookId: hook.id }, 'the outcome of a delivery could not be recorded')
      })
      .finally(() => {
        this.#sending.delete(delivery.id)
        // There is room for another one.
        this.#pauses.wake()
      })
    this.#sending.set(delivery.id, { hookId: hook.id, orgId: hook.org_id, done })
    return true
  }

  async #send(hook: Webhook, secrets: readonly string[], delivery: ClaimedDelivery): Promise<void> {
    const { events, store, metrics, now } = this.#deps
    const { body, event_id } = delivery
    if (body === null) {
      const lost = { delivery, by: store.process, now: now() }
      await events.write((trx) => recordLost(trx, lost))
      return
    }
    const message = { id: event_id, body }
    const attempt = await sendMessage(this.#deps, { hook, secrets, message }, this.#stopping.signal)
    metrics.webhookAttempts.inc({ outcome: outcomeOf(attempt) })
    const outcome = { delivery, by: store.process, attempt, now: now() }
    const reason = await events.write((trx) => recordOutcome(trx, outcome))
    if (reason === undefined) return
    await noteDisabled(this.#deps, hook, reason)
  }

  /** Lets attempts end for a while, and gives the others back. */
  async end(): Promise<void> {
    const all = Promise.all([...this.#sending.values()].map(({ done }) => done))
    const grace = setTimeout(() => this.#stopping.abort(), graceMs)
    await all
    clearTimeout(grace)
  }
}

function outcomeOf({ isDelivered, isAborted }: Attempt): 'delivered' | 'failed' | 'aborted' {
  if (isDelivered) return 'delivered'
  return isAborted ? 'aborted' : 'failed'
}
