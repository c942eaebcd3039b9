/** Sends deliveries: plans them, chooses those that leave now, and records what receivers answered. */
import type { Webhook } from '../../../index/credentials/schema.ts'
import { dataVersion } from '../../../index/log/events.ts'
import { syncEvents } from '../../domain/event-log/durable-events.ts'
import { claimMs, type Ended, sendOutbox } from '../../domain/outbox.ts'
import type { Services } from '../../domain/services.ts'
import { keptOf, noteDisabled } from './keepers.ts'
import { type Outcome, outcomeOf, recordOutcomes } from './outcomes.ts'
import { planAll } from './plan.ts'
import { type Attempt, sendMessage } from './receivers.ts'
import { isServedHere, reconcileHooks } from './reconcile.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  giveBack,
  listClaimed,
  listWaiting,
  mostOfHook,
  type WaitingDelivery,
} from './rows/delivery-claims.ts'
import { type HookState, listHooksAtWork } from './rows/hook-states.ts'
import { findWebhooks } from './rows/webhooks.ts'
import { signingSecrets } from './secrets.ts'
import { chooseInTurns } from './turns.ts'

/** Attempts that run at once. `ofHook` and `ofOrg` count those of all processes. */
const most = { ofHook: mostOfHook, ofOrg: 8, ofProcess: 32 } as const
/** Webhooks among whose deliveries one turn chooses. */
const hooksAtOnce = 64
/** Milliseconds between two comparisons of the databases. */
const reconcileMs = 60_000

/** A webhook, and the secrets that sign its messages now. */
interface OpenHook {
  readonly hook: Webhook
  readonly secrets: readonly string[]
}

/** A claimed delivery, and what is needed to send it. */
type Parcel = ClaimedDelivery & OpenHook

/** Sends deliveries until `deps.draining`. */
export function sendWebhooks(deps: Services): Promise<void> {
  const queue = new Queue(deps)
  return sendOutbox<Parcel, Outcome>(deps, {
    ...{ name: 'webhooks', everyMs: 100, failedMs: 1_000, database: deps.events, table: 'delivery', folder: '' },
    failed: 'webhooks could not be sent; they will be retried',
    claim: (sending) => queue.claim(sending),
    send: (parcel, signal) => send(deps, parcel, signal),
    record: (ended) => record(deps, ended),
  })
}

const nothingSeen = { version: -1, nextMs: 0 } as const

/** Deliveries that wait, of all webhooks that this process serves. */
class Queue {
  readonly #deps: Services
  /** The version that the last turn read, and the time of the next delivery. */
  #seen: { readonly db?: Services['events']['read']; readonly version: number; readonly nextMs: number } = nothingSeen
  #syncedVersion = -1
  #reconcileAt = 0
  /** The organisation whose turn was the last. The next choice begins after it. */
  #lastOrg = ''

  constructor(deps: Services) {
    this.#deps = deps
  }

  /** Plans, and claims what may leave now, in one transaction. */
  async claim(sending: readonly Parcel[]): Promise<Parcel[]> {
    const { events, draining, now } = this.#deps
    if (performance.now() >= this.#reconcileAt) {
      this.#reconcileAt = performance.now() + reconcileMs
      await reconcileHooks(this.#deps)
    }
    const [db, nowMs] = [events.read, now().getTime()]
    const version = await dataVersion(db)
    const isChanged = this.#seen.db !== db || this.#seen.version !== version
    if (!isChanged && nowMs < this.#seen.nextMs) return []
    let hooks = await listHooksAtWork(db, nowMs)
    const behind = hooks.filter(({ is_behind }) => is_behind === 1)
    if (isChanged && behind.length > 0) {
      await planAll(this.#deps, behind)
      hooks = await listHooksAtWork(db, now().getTime())
    }
    this.#seen = { db, version, nextMs: Math.min(...hooks.map(({ next_at }) => next_at ?? Number.POSITIVE_INFINITY)) }
    const due = hooks.filter(({ is_due }) => is_due === 1)
    if (due.length === 0 || draining.aborted || sending.length >= most.ofProcess) return []
    if (version !== this.#syncedVersion) await syncEvents(this.#deps)
    this.#syncedVersion = version
    const open = await this.#openHooks(due, sending)
    return open.length === 0 ? [] : this.#claimOf(open, sending)
  }

  /** Lists the webhooks that may send now, beginning after the organisation that was the last. */
  async #openHooks(due: readonly HookState[], sending: readonly Parcel[]): Promise<OpenHook[]> {
    const { credentials, now } = this.#deps
    const ids = due.map(({ hook_id }) => hook_id)
    const hooks = await findWebhooks(credentials.read, ids)
    const running = countsOf(sending)
    const served = new Map<string, boolean>()
    const open: (HookState & OpenHook)[] = []
    const later = due.filter(({ org_id }) => org_id > this.#lastOrg)
    for (const state of [...later, ...due.filter(({ org_id }) => org_id <= this.#lastOrg)]) {
      const hook = hooks.get(state.hook_id)
      if (hook === undefined || hook.active === 0) continue
      const isAlone = hook.ordered === 1 || state.failing_since !== null
      if (running(hook.id) >= mostOf(isAlone) || running(hook.org_id) >= most.ofOrg) continue
      const isServed = served.get(hook.org_id) ?? (await isServedHere(this.#deps, hook.org_id))
      served.set(hook.org_id, isServed)
      const secrets = isServed ? signingSecrets(this.#deps, hook, now()) : []
      if (secrets.length > 0) open.push({ ...state, hook, secrets })
    }
    const inTurns = chooseInTurns(open, { all: hooksAtOnce, ofOrg: () => hooksAtOnce, ofHook: () => 1 })
    const kept = await keptOf(
      this.#deps,
      inTurns.map(({ hook }) => hook),
    )
    return inTurns.filter(({ hook }) => kept.has(hook))
  }

  /** Claims deliveries of webhooks in one transaction. */
  async #claimOf(hooks: readonly OpenHook[], sending: readonly Parcel[]): Promise<Parcel[]> {
    const { events, store, now } = this.#deps
    const nowMs = now().getTime()
    const byId = new Map(hooks.map((one) => [one.hook.id, one]))
    const waiting = {
      hooks: hooks.map(({ hook: { id, ordered } }) => ({ id, ordered })),
      sending: sending.map(({ id }) => id),
      nowMs,
    }
    const own = countsOf(sending)
    const claimed = await events.write(async (trx) => {
      const all = countsOf(await listClaimed(trx, nowMs))
      const running = (id: string) => Math.max(own(id), all(id))
      const isAlone = ({ hook_id, is_probe }: WaitingDelivery) =>
        is_probe === 1 || byId.get(hook_id)?.hook.ordered === 1
      const chosen = chooseInTurns(await listWaiting(trx, waiting), {
        all: most.ofProcess - sending.length,
        ofOrg: (id) => most.ofOrg - running(id),
        ofHook: (delivery) => mostOf(isAlone(delivery)) - running(delivery.hook_id),
      })
      return claimDeliveries(trx, chosen, { by: store.process, untilMs: nowMs + claimMs })
    })
    this.#lastOrg = (claimed.at(-1) ?? hooks.at(-1)?.hook)?.org_id ?? ''
    return claimed.flatMap((delivery) => {
      const open = byId.get(delivery.hook_id)
      return open === undefined ? [] : { ...delivery, ...open }
    })
  }
}

/** Attempts of a webhook that may run at once. */
function mostOf(isAlone: boolean): number {
  return isAlone ? 1 : most.ofHook
}

/** Counts rows by webhook and by organisation. */
function countsOf(rows: readonly { readonly hook_id: string; readonly org_id: string }[]): (id: string) => number {
  const counts = new Map<string, number>()
  for (const id of rows.flatMap(({ hook_id, org_id }) => [hook_id, org_id])) counts.set(id, (counts.get(id) ?? 0) + 1)
  return (id) => counts.get(id) ?? 0
}

/** Returns undefined if the service stops first. The receiver may have the message. */
async function send(deps: Services, parcel: Parcel, signal: AbortSignal): Promise<Outcome | undefined> {
  const { body, event_id, hook, secrets } = parcel
  if (body === null) return outcomeOf(parcel, undefined, deps.now())
  const attempt = await sendMessage(deps, { hook, secrets, message: { id: event_id, body } }, signal)
  deps.metrics.webhookAttempts.inc({ outcome: nameOf(attempt) })
  return attempt.isAborted ? undefined : outcomeOf(parcel, attempt, deps.now())
}

function nameOf({ isDelivered, isAborted }: Attempt): 'delivered' | 'failed' | 'aborted' {
  if (isDelivered) return 'delivered'
  return isAborted ? 'aborted' : 'failed'
}

async function record(deps: Services, ended: readonly Ended<Parcel, Outcome>[]): Promise<void> {
  const by = deps.store.process
  const untried = ended.filter(({ outcome }) => outcome === undefined).map(({ row }) => row.id)
  const outcomes = ended.flatMap(({ outcome }) => outcome ?? [])
  const disabled = await deps.events.write(async (trx) => {
    if (untried.length > 0) await giveBack(trx, untried, by)
    return recordOutcomes(trx, outcomes, by)
  })
  const hooks = new Map(ended.map(({ row }) => [row.hook.id, row.hook]))
  for (const [id, reason] of disabled) {
    const hook = hooks.get(id)
    if (hook) await noteDisabled(deps, hook, reason)
  }
}
