/** Questions about another branch or an earlier time, which are read from Git first. */

import type { View } from '../../../index/search/ranking/view.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { type OrgAccess, requireRole } from '../access.ts'
import { type Actor, callerOf } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import type { RequestCtx } from '../services.ts'
import { searchInTurn } from './queue.ts'
import { readView, type Snapshot } from './snapshots.ts'

/** Limits the views that a process reads and searches at once. Each may have 16 MiB of content. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 64 },
  person: { running: 1, waiting: 16 },
  runningInOrg: 1,
  waitTimeoutMs: 30_000,
  refusal: 'Too many branch and point-in-time searches are queued; try again in a moment',
})

/** The most attempts to read a view while its nodes change. */
const rounds = 5

/**
 * Asks the search thread about a view. Reads the view again if nodes have changed in the meantime.
 *
 * @throws AppError busy, and as requireMember and searchInTurn; errors of readView and `ask`
 */
export async function askInView<T>(
  ctx: RequestCtx,
  access: OrgAccess,
  elsewhere: Snapshot,
  ask: (view: View) => Promise<T | 'moved' | undefined>,
): Promise<T> {
  requireMember(ctx.actor, access)
  const orgId = access.org.id
  return semaphore.run({ caller: callerOf(ctx), orgId, signal: ctx.request.signal }, async () => {
    for (let round = 0; round < rounds; round++) {
      const view = await readView(ctx, orgId, elsewhere)
      const found = await searchInTurn(ctx, access, () => ask(view))
      if (found !== 'moved') return found
    }
    throw new AppError('busy', 'The nodes are changing faster than they can be read; try again in a moment')
  })
}

/**
 * The state that is asked for; undefined: main.
 *
 * @param loc the place of both members
 * @throws ValidationError value_error
 */
export function snapshotOf(
  { branch, at }: { readonly branch?: string; readonly at?: string } = {},
  loc: readonly string[],
): Snapshot | undefined {
  if (branch !== undefined && at !== undefined)
    throw invalid([...loc, 'at'], '`branch` and `at` cannot be combined', at)
  if (at !== undefined) return { at, loc: [...loc, 'at'] }
  return branch === undefined || branch === 'main' ? undefined : { branch, loc: [...loc, 'branch'] }
}

/** Allows only members: anonymous callers may search only main. @throws AppError unauthenticated, forbidden */
function requireMember(actor: Actor, access: OrgAccess): void {
  if (actor.kind === 'anonymous') throw new AppError('unauthenticated', 'Sign in to search another branch or a time')
  requireRole(access, 'reader')
}
