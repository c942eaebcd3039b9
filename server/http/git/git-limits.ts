/** Limits Git processes, waiting requests and their memory, with a share per caller. */

import { availableParallelism } from 'node:os'
import { createSemaphore, type Turn } from '../../../gitstore/concurrency/semaphore.ts'
import { AppError } from '../../base/errors.ts'
import { type Caller, createCallerQuota } from '../connection/caller-quota.ts'

/** The most concurrent Git processes. They are niced, so that REST goes first. */
const running = Math.max(4, 2 * availableParallelism())
/** Requests that have been read and wait for a Git process, and their time limit. */
const waiting = {
  quota: createCallerQuota(256),
  timeoutMs: 300_000,
  refusal: () => new AppError('busy', 'Too many clones and pushes are running; try again in a moment'),
} as const
/** The bytes that unanswered requests hold, without the packs of pushes. */
const bytes = createCallerQuota(32 * 2 ** 20)

interface GitTurn extends Caller, Turn {}

const createGitSemaphore = () => createSemaphore<GitTurn>({ running: createCallerQuota(running), waiting })

/**
 * One semaphore for each kind of work, with the same number of Git processes. Lists of refs take a moment, so they
 * never wait for packs.
 */
const semaphores = { list: createGitSemaphore(), pack: createGitSemaphore() } as const

/** The work of a Git process: a list of refs and capabilities, or a pack. */
export type GitWork = keyof typeof semaphores

export function waitingForGit(): number {
  return semaphores.list.waiting() + semaphores.pack.waiting()
}

/**
 * Waits until a Git process may run. The caller calls the returned function when it ends.
 *
 * @throws AppError busy: too many wait, or it took five minutes; the reason of `signal`
 */
export function acquireGit(work: GitWork, caller: Caller, signal: AbortSignal): Promise<() => void> {
  return semaphores[work].acquire({ ...caller, signal })
}

/** Counts the bytes that a request holds until `release`. */
export function newHold(caller: Caller): { readonly hold: (amount: number) => void; readonly release: () => void } {
  let held = 0
  return {
    hold: (amount) => {
      if (!bytes.has(caller, amount)) throw waiting.refusal()
      bytes.acquire(caller, amount)
      held += amount
    },
    release: () => {
      bytes.release(caller, held)
      held = 0
    },
  }
}
