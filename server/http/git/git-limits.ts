/** Limits concurrent gits, waiting requests and the memory they hold, with a share per caller. */

import { availableParallelism } from 'node:os'
import { createSemaphore, type Turn } from '../../../gitstore/concurrency/semaphore.ts'
import { AppError } from '../../base/errors.ts'
import { type Caller, createCallerQuota } from '../connection/caller-quota.ts'

/** Gits of this process. They are niced, so that REST goes before them. */
const running = Math.max(4, 2 * availableParallelism())
/** Requests that are read and wait for a git, and for how long. */
const waiting = {
  quota: createCallerQuota(256),
  timeoutMs: 300_000,
  refusal: () => new AppError('busy', 'Too many clones and pushes at this moment; try again'),
} as const
/** Bytes held by unanswered requests, without the packs of pushes. */
const bytes = createCallerQuota(32 * 2 ** 20)

interface GitTurn extends Caller, Turn {}

const createGitSemaphore = () => createSemaphore<GitTurn>({ running: createCallerQuota(running), waiting })

/** Lists of refs take a moment, so they never wait for packs; they have as many gits of their own. */
const semaphores = { list: createGitSemaphore(), pack: createGitSemaphore() } as const

/** What a git is for: a list of refs and capabilities, or a pack. */
export type GitWork = keyof typeof semaphores

export function waitingForGit(): number {
  return semaphores.list.waiting() + semaphores.pack.waiting()
}

/**
 * Waits until a git may run; the caller calls the returned function at its end.
 *
 * @throws AppError busy: too many wait, or it took five minutes; the reason of `signal`
 */
export function acquireGit(work: GitWork, caller: Caller, signal: AbortSignal): Promise<() => void> {
  return semaphores[work].acquire({ ...caller, signal })
}

/** Counts the bytes that a request holds, until `release`. */
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
