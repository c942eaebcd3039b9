/** Erases the text of one comment or review, for owners. The operator erases more (`grove erase`). */
import { runGitOrThrow } from '../../../gitstore/native.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type LedgerAccess, recheckAccess } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { authorOf } from '../format/signatures.ts'
import { ledgerIn } from '../layout.ts'
import { parseEntry } from '../ledger/entries.ts'
import type { RequestCtx } from '../services.ts'
import type { Body, EntryAt, Path } from '../targets.ts'
import { authorizeOwner } from './conversations.ts'
import { eraseFromLedger, finishErasures } from './erasure.ts'
import { readTargetEntry } from './erasure-targets.ts'

/** Bounds how many rewrites this process does at once. Each takes up to ten seconds. */
const semaphore = createCallerSemaphore({
  all: { running: 1, waiting: 16 },
  person: { running: 1, waiting: 2 },
  waitTimeoutMs: 60_000,
  refusal: 'Too many erasures are running; try again in a minute',
})

/** How long a request waits for maintenance of the repository, in milliseconds. */
const patienceMs = 20_000

/** The places that an erasure cannot reach. */
const notReached = [
  { code: 'clones', detail: 'Clones and mirrors of the node keep the text until their owners delete them.' },
  { code: 'backups', detail: 'Backups that were made before keep the text. If one is restored, erase the text again.' },
  { code: 'database', detail: 'Unused space of index.sqlite may keep parts until the operator makes that file again.' },
  { code: 'messages', detail: 'E-mails and webhooks that were sent cannot be taken back.' },
  { code: 'quotes', detail: 'Quotes by others, and files on the branches of the node, stay.' },
] as const

export interface Erasure {
  readonly entry: number
  /** Commits of the ledger that were rewritten. 0: the text was erased before. */
  readonly commits_rewritten: number
  readonly objects_removed: number
  readonly not_reached: readonly { readonly code: string; readonly detail: string }[]
}

/**
 * Erases the text of an entry from the whole history of the ledger. May be repeated. The client may disconnect.
 *
 * @throws AppError pull_request_not_found, entry_not_found, too_many_commits, busy
 */
export async function eraseEntry(
  ctx: RequestCtx<Person>,
  { path, body: { reason } }: Path<EntryAt> & Body<{ readonly reason?: string }>,
): Promise<Erasure> {
  const access = await authorizeOwner(ctx, path, 'owner')
  const { number, entry } = path
  const file = await readTargetEntry(access.repo, path)
  await refuseLongLedger(access)
  const why = reason?.trim() ?? ''
  const { rewritten, removed } = await semaphore.run(
    { caller: callerOf(ctx), signal: ctx.request.signal },
    async () => {
      const bounds = { signal: ctx.draining, patienceMs }
      if (isErased(file)) return { rewritten: 0, removed: await finishErasures(ctx, access.repo, bounds) }
      const recheck = () => recheckAccess(ctx, path.org_id, 'owner')
      const by = { id: ctx.actor.id, ...authorOf(ctx.actor) }
      return eraseFromLedger(ctx, path, {
        target: { number, entry },
        by,
        ...(why !== '' && { reason: why }),
        recheck,
        ...bounds,
      })
    },
  )
  const { org_id: orgId, node_id: nodeId } = path
  await audit(ctx, {
    action: 'text.erased',
    actor: ctx.actor,
    orgId,
    nodeId,
    detail: { number, entry, commits: rewritten },
  })
  return { entry, commits_rewritten: rewritten, objects_removed: removed, not_reached: notReached }
}

function isErased(body: string): boolean {
  const record = parseEntry(body)
  return (record.kind === 'comment' || record.kind === 'verdict') && record.erased !== undefined
}

/** @throws AppError too_many_commits */
async function refuseLongLedger({ repo }: LedgerAccess): Promise<void> {
  const args = ['rev-list', '--first-parent', '--count', `--max-count=${limits.erasedCommits + 1}`, ledgerIn(repo).ref]
  if (Number((await runGitOrThrow(repo, args)).toString()) > limits.erasedCommits)
    throw new AppError(
      'too_many_commits',
      `This ledger has more than ${limits.erasedCommits} commits; ask the operator to run grove erase`,
    )
}
