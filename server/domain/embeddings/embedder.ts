/**
 * Embeds the texts of all organisations that allow it, and follows their changes.
 *
 * It reads the versions of the organisations at intervals, as reading ahead does for searches. One process of a data
 * folder does so at a time. If it dies, another one takes over.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import { type ChangedOrg, orgStates } from '../../../index/derived/changed-nodes.ts'
import { DatabaseError } from '../../../index/sqlite/database.ts'
import { withFileLock } from '../../../index/sqlite/file-lock.ts'
import { Pauses } from '../../base/rounds.ts'
import { vectorsFile } from '../layout.ts'
import type { Services } from '../services.ts'
import { embeddingLock } from './embed-now.ts'
import type { Embeddings } from './embeddings.ts'
import { EmbeddingError } from './model.ts'
import { type Step, type StepDeps, takeStep } from './org-step.ts'
import { countPendingNodes } from './pending-nodes.ts'

export interface Embedder {
  /** The texts that are not embedded yet, as an estimate. 0 in a process that does not embed. */
  pendingTexts(): number
  /** The bytes of the vectors on the disk, with their log. @throws system errors */
  storeBytes(): Promise<number>
  /** Ends the running request, and resolves within a moment. */
  stop(): Promise<void>
}

/** For tests. Milliseconds. */
interface Intervals {
  /** Between two looks at the versions. */
  readonly lookMs?: number
  /** Between two checks of an organisation without changes. It may be allowed since, or its rows lost. */
  readonly recheckMs?: number
  /** Between two tries to become the process that embeds. */
  readonly lockMs?: number
  /** After a fault other than that of the model. */
  readonly faultMs?: number
}

type EmbedderDeps = Pick<Services, 'index' | 'now' | 'log' | 'store' | 'placement' | 'draining' | 'rounds'>

/** Starts to embed. @param deps with an index that is busy until it is whole */
export function startEmbedder(deps: EmbedderDeps, embeddings: Embeddings, intervals: Intervals = {}): Embedder {
  const stopping = new AbortController()
  const signal = AbortSignal.any([deps.draining, stopping.signal])
  const loop = new EmbedderLoop({ ...deps, embeddings, signal }, intervals)
  const running = loop.run()
  return {
    pendingTexts: () => loop.pendingTexts(),
    storeBytes: async () => (await sizeOf(deps, '')) + (await sizeOf(deps, '-wal')),
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

async function sizeOf({ store }: Pick<Services, 'store'>, end: string): Promise<number> {
  return (await ignoreMissing(stat(join(store.root, `${vectorsFile}${end}`))))?.size ?? 0
}

class EmbedderLoop {
  readonly #deps: EmbedderDeps & StepDeps
  readonly #intervals: Required<Intervals>
  readonly #pauses: Pauses
  /** The states in which nothing was left to do, and when they were checked. */
  readonly #done = new Map<string, { readonly state: string; readonly checked: number }>()
  /** Nodes that wait, by organisation. */
  readonly #pending = new Map<string, number>()
  /** The organisation of the last step. The next round begins after it. */
  #last = ''
  #lastFault = ''

  constructor(deps: EmbedderDeps & StepDeps, intervals: Intervals) {
    this.#deps = deps
    this.#intervals = { lookMs: 1_000, recheckMs: 60_000, lockMs: 5_000, faultMs: 30_000, ...intervals }
    this.#pauses = new Pauses('embeddings', deps.signal)
  }

  run(): Promise<void> {
    return this.#pauses.during(this.#deps.rounds, () => this.#tryToEmbed())
  }

  /** Embeds if no other process of the data folder does. */
  async #tryToEmbed(): Promise<void> {
    const { signal } = this.#deps
    const lock = embeddingLock(this.#deps)
    while (!signal.aborted) {
      await withFileLock(lock, signal, () => this.#embedAll(), 0).catch((error: unknown) => {
        // Another process embeds.
        if (!(error instanceof DatabaseError && error.code === 'busy')) this.#report(error)
      })
      this.#pending.clear()
      await this.#pauses.rest(this.#intervals.lockMs, true)
    }
  }

  /** Texts of a node are counted as four, until they are known. */
  pendingTexts(): number {
    const textsOfNode = 4
    let nodes = 0
    for (const count of this.#pending.values()) nodes += count
    return nodes * textsOfNode
  }

  async #embedAll(): Promise<void> {
    const { signal } = this.#deps
    this.#done.clear()
    while (!signal.aborted) {
      try {
        const left = await this.#round()
        if (left !== 'more') await this.#pauses.rest(this.#intervals.lookMs, left === 'nothing')
      } catch (error) {
        if (signal.aborted) return
        this.#report(error)
        const { faultMs } = this.#intervals
        await this.#waitAndCount(error instanceof EmbeddingError ? Math.max(error.retryAfterMs, 1) : faultMs)
      }
    }
  }

  /** Takes a step of each organisation with changes. Returns what is left for the next round. */
  async #round(): Promise<'more' | 'retry' | 'nothing'> {
    const { signal } = this.#deps
    const due = await this.#listDue()
    const kinds = new Set<Step['kind']>()
    for (const org of due) {
      if (signal.aborted || !this.#deps.placement.lease.isHeld()) break
      this.#last = org.id
      const step = await takeStep(this.#deps, org)
      this.#note(org, step)
      kinds.add(step.kind)
    }
    this.#lastFault = ''
    if (kinds.has('more')) return 'more'
    return kinds.has('retry') ? 'retry' : 'nothing'
  }

  /** Waits after a fault, maybe for hours. So what waits is counted again and again. */
  async #waitAndCount(ms: number): Promise<void> {
    const ends = performance.now() + ms
    for (let left = ms; left > 0 && !this.#deps.signal.aborted; left = ends - performance.now()) {
      // A database that fails here also fails in the next step, which says so.
      await this.#countAll().catch(() => {})
      await this.#pauses.rest(Math.min(left, this.#intervals.recheckMs), true)
    }
  }

  async #countAll(): Promise<void> {
    for (const org of await this.#listDue()) {
      if (this.#deps.signal.aborted) return
      this.#notePending(org, await countPendingNodes(this.#deps, org))
    }
  }

  #notePending({ id }: ChangedOrg, pending: number): void {
    if (pending > 0) this.#pending.set(id, pending)
    else this.#pending.delete(id)
  }

  #note(org: ChangedOrg, { kind, pending }: Step): void {
    this.#notePending(org, pending)
    if (kind === 'done' || kind === 'not allowed')
      this.#done.set(org.id, { state: stateOf(org), checked: performance.now() })
  }

  /** Lists the organisations that may have changes, beginning after the one of the last step. */
  async #listDue(): Promise<ChangedOrg[]> {
    const before: ChangedOrg[] = []
    const after: ChangedOrg[] = []
    const present = new Set<string>()
    for await (const some of orgStates(this.#deps.index.read))
      for (const org of some) {
        present.add(org.id)
        if (this.#isDue(org)) (org.id > this.#last ? after : before).push(org)
      }
    for (const known of [this.#done, this.#pending])
      for (const orgId of known.keys()) if (!present.has(orgId)) known.delete(orgId)
    return [...after, ...before]
  }

  #isDue(org: ChangedOrg): boolean {
    const done = this.#done.get(org.id)
    const { recheckMs } = this.#intervals
    return done?.state !== stateOf(org) || this.#pauses.isAwaited || performance.now() - done.checked > recheckMs
  }

  #report(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    if (message !== this.#lastFault)
      this.#deps.log.warn({ err: error }, 'texts could not be embedded; it will be retried')
    this.#lastFault = message
  }
}

function stateOf({ epoch, version }: ChangedOrg): string {
  return `${epoch} ${version}`
}
