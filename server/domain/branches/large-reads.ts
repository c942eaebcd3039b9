/**
 * Limits reads whose cost grows with the repository. A few run at a time, in this process or in a Git process. Callers
 * take turns, and reads above a size are refused.
 */
import { isGitError } from '../../../gitstore/errors.ts'
import { createYielder, runLarge, type Yielder } from '../../../gitstore/yielder.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type Actor, callerOf, type RequestContext, type RequestFacts } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import type { Services } from '../services.ts'

/** Limits reads of trees, per process. */
const treeSemaphore = createCallerSemaphore({
  all: { running: 2, waiting: 64 },
  person: { running: 1, waiting: 16 },
  address: { running: 1, waiting: 8 },
  anonymous: { running: 1, waiting: 32 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many large trees are being read; try again in a moment',
})

/** Runs `work`. `tooLarge` is the error message above the limit, with the alternative. */
export type LargeRead = <T>(tooLarge: string, work: (pace: Yielder) => Promise<T>) => Promise<T>

/** The caller of a read. Without `signal` the read continues even if the caller disconnects. */
interface Reader {
  readonly actor: Actor
  readonly request: Pick<RequestFacts, 'from'> & Partial<Pick<RequestFacts, 'signal'>>
}

/**
 * Returns a function that reads on the caller's share of the semaphore.
 *
 * @returns a function that throws AppError too_large, busy; the signal's reason
 */
export function createLargeRead(reader: Reader): LargeRead {
  const turn = { caller: callerOf(reader), signal: reader.request.signal }
  return async (tooLarge, work) => {
    try {
      return await runLarge(work, () => treeSemaphore.acquire(turn))
    } catch (error) {
      if (isGitError(error, 'limit_exceeded')) throw new AppError('too_large', tooLarge, {}, { cause: error })
      throw error
    }
  }
}

/** Reads for the response to a change that is already made: without limits, without waiting. */
export const readOfChange: LargeRead = (_tooLarge, work) => work(createYielder())

/** Limits reads that need their own Git process, per process of the service. */
const gitSemaphore = createCallerSemaphore({
  all: { running: 4, waiting: 256 },
  person: { running: 2, waiting: 64 },
  anonymous: { running: 2, waiting: 192 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many diffs and histories are being computed; try again in a moment',
})

export interface GitBounds {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Runs `work` with a Git process on the caller's share of the semaphore.
 *
 * @param tooLarge the error message above the limit, with the alternative
 * @throws AppError too_large, busy; the signal's reason
 */
export async function readBounded<T>(
  ctx: RequestContext & Pick<Services, 'waited'>,
  tooLarge: string,
  work: (bounds: GitBounds) => Promise<T>,
): Promise<T> {
  const { signal } = ctx.request
  const asked = performance.now()
  try {
    return await gitSemaphore.run({ caller: callerOf(ctx), signal }, () => {
      ctx.waited?.(performance.now() - asked)
      return work({ timeoutMs: limits.diffMs, signal })
    })
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) throw new AppError('too_large', tooLarge, {}, { cause: error })
    throw error
  }
}

/** The path of a file or folder in a query, without a trailing slash. @throws ValidationError */
export function pathIn(query: { readonly path?: string | undefined }): string | undefined {
  const { path } = query
  const names = path?.replace(/\/$/, '').split('/')
  if (names?.some((name) => ['', '.', '..'].includes(name) || name.includes('\0')))
    throw invalid(['query', 'path'], 'The path must begin at the root of the repository, such as folder/file.txt', path)
  return names?.join('/')
}
