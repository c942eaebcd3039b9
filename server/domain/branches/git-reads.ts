/** Questions that a git of their own answers: a few at a time, within a time limit, and refused above a size. */
import { isGitError } from '../../../gitstore/errors.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid, Refusal } from '../../base/errors.ts'
import { type Asker, callerOf } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'

/** Per process. */
const semaphore = createCallerSemaphore({
  all: { running: 4, waiting: 256 },
  person: { running: 2, waiting: 64 },
  anonymous: { running: 2, waiting: 192 },
  waitTimeoutMs: 30_000,
  refusal: 'Others read differences and histories just now; try again',
})

/** Milliseconds for one git. */
const timeoutMs = 10_000

export interface GitBounds {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** `tooLarge`: the message where it is too much, with the alternative. @throws Refusal too_large, busy; the signal's reason */
export async function gitRead<T>(
  { waited }: Pick<Deps, 'waited'>,
  asker: Asker,
  tooLarge: string,
  work: (bounds: GitBounds) => Promise<T>,
): Promise<T> {
  const { signal } = asker
  const asked = performance.now()
  try {
    return await semaphore.run({ caller: callerOf(asker), signal }, () => {
      waited?.(performance.now() - asked)
      return work({ timeoutMs, signal })
    })
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) throw new Refusal('too_large', tooLarge, {}, { cause: error })
    throw error
  }
}

/** The path of a file or folder that a query names, without the slash at its end. @throws Invalid */
export function pathIn(query: { readonly path?: string | undefined }): string | undefined {
  const { path } = query
  const names = path?.replace(/\/$/, '').split('/')
  if (names?.some((name) => ['', '.', '..'].includes(name) || name.includes('\0')))
    throw invalid(['query', 'path'], 'is no path from the root of the repository, such as folder/file.txt', path)
  return names?.join('/')
}
